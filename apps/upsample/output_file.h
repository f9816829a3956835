// Files that appear complete or not at all: written beside their target under another name, then renamed.
#ifndef UPSAMPLE_OUTPUT_FILE_H
#define UPSAMPLE_OUTPUT_FILE_H

#include <cstdio>
#include <string>

namespace upsample {

/// "-" is standard output, which also gets a finished picture or nothing.
class OutputFile {
  public:
    /// Throws PictureError when the folder cannot be written.
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
    void copy_to_standard_output();

    std::string path_, temporary_;
    std::FILE *stream_ = nullptr;
};

/// Lets SIGINT, SIGTERM and SIGHUP remove the unfinished file before they end the program.
void remove_unfinished_output_on_signals();

}  // namespace upsample

#endif
