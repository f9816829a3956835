// A folder of a test's own, so that tests may run at the same time and find nothing left over from others.
#ifndef CONV_TRANSPOSE_TESTS_TEMPORARY_FOLDER_H
#define CONV_TRANSPOSE_TESTS_TEMPORARY_FOLDER_H

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace conv_transpose::testing {

/// Goes away with its contents.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "conv_transpose.XXXXXX").string();
        if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;

    std::string path() const { return path_.string(); }
    std::string file(const std::string &name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

}  // namespace conv_transpose::testing

#endif
