// Files that appear complete or not at all: written beside their target under another name, then renamed. What
// is no file, a device or a pipe, is written to.
#ifndef UPSAMPLE_OUTPUT_FILE_H
#define UPSAMPLE_OUTPUT_FILE_H

#include <cstdio>
#include <string>

namespace upsample {

/// Whether the path names a regular file, so that writing would replace it; through symbolic links.
bool is_existing_file(const std::string &path);

/// "-", /dev/stdout and the like, devices and pipes get a finished picture or nothing. Several may be open at
/// a time, and in several threads.
class OutputFile {
  public:
    /// Throws PictureError when the folder, or the device, cannot be written.
    explicit OutputFile(const std::string &path);

    /// Removes what was written unless it was committed.
    ~OutputFile();
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    std::FILE *stream() const { return stream_; }

    /// Makes what was written the target, on the disk. Throws PictureError when that fails; without
    /// `overwrite`, also when the target exists by now.
    void commit(bool overwrite);

  private:
    void open_spool();
    void open_beside(const std::string &target);
    void copy_out();
    void rename_new();

    std::string path_;       // as it was given
    std::string target_;     // what a symbolic link leads to
    std::string temporary_;  // empty where there is none, or none any more
    int slot_ = -1;          // in the table of names that signals remove
    int descriptor_ = -1;    // where a finished picture is copied, instead of being renamed
    bool own_descriptor_ = false;
    std::FILE *stream_ = nullptr;
};

/// Lets every signal that would end the program, and can be caught, remove unfinished files first. A limit on
/// the size of files and a reader that goes away become errors.
void remove_unfinished_output_on_signals();

}  // namespace upsample

#endif
