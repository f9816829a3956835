#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "picture.h"

namespace upsample {
namespace {

// The name that a signal's handler removes. The program writes one file at a time; `armed` is set after the
// name is complete and cleared before it changes, so that the handler never sees half of one.
char unfinished[4096];
volatile std::sig_atomic_t armed = 0;

extern "C" void remove_and_end(int signal) {
    if (armed) unlink(unfinished);
    std::signal(signal, SIG_DFL);
    raise(signal);
}

[[noreturn]] void fail(const std::string &path, const char *what, int error) {
    throw PictureError(path + ": " + what + ": " + std::strerror(error));
}

mode_t default_mode() {
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

}  // namespace

void remove_unfinished_output_on_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        action.sa_handler = remove_and_end;
        struct sigaction previous {};
        sigaction(signal, nullptr, &previous);
        if (previous.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays in force
    }
    std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error like any other
}

OutputFile::OutputFile(const std::string &path) : path_(path) {
    if (path == "-") {
        stream_ = std::tmpfile();
        if (!stream_) fail("standard output", "no temporary file can be made for it", errno);
        return;
    }
    temporary_ = path + ".XXXXXX";
    if (temporary_.size() >= sizeof unfinished) fail(path, "cannot be written", ENAMETOOLONG);
    const int file = mkstemp(temporary_.data());
    if (file < 0) fail(path, "cannot be written", errno);
    std::memcpy(unfinished, temporary_.c_str(), temporary_.size() + 1);
    armed = 1;
    fchmod(file, default_mode());
    stream_ = fdopen(file, "w+b");
    if (!stream_) {
        const int error = errno;
        close(file);
        armed = 0;
        unlink(temporary_.c_str());
        fail(path, "cannot be written", error);
    }
}

OutputFile::~OutputFile() {
    if (stream_) std::fclose(stream_);
    if (!temporary_.empty()) {
        unlink(temporary_.c_str());
        armed = 0;
    }
}

void OutputFile::commit(bool overwrite) {
    if (std::fflush(stream_) != 0) fail(path_, "cannot be written", errno);
    if (path_ == "-") return copy_to_standard_output();
    if (fsync(fileno(stream_)) != 0 && errno != EINVAL) fail(path_, "cannot be written", errno);
    const int closed = std::fclose(stream_);
    stream_ = nullptr;
    if (closed != 0) fail(path_, "cannot be written", errno);
    if (overwrite) {
        if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be replaced", errno);
    } else {
        // A link, unlike a renaming, fails where the name is taken. The temporary name goes with this object.
        if (link(temporary_.c_str(), path_.c_str()) == 0) return;
        if (errno != EPERM && errno != EOPNOTSUPP) fail(path_, "cannot be made", errno);
        if (access(path_.c_str(), F_OK) == 0) fail(path_, "cannot be made", EEXIST);
        if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be made", errno);
    }
    armed = 0;
    temporary_.clear();
}

void OutputFile::copy_to_standard_output() {
    std::rewind(stream_);
    std::vector<char> buffer(1 << 16);
    std::size_t count = 0;
    while ((count = std::fread(buffer.data(), 1, buffer.size(), stream_)) > 0) {
        if (std::fwrite(buffer.data(), 1, count, stdout) != count)
            fail("standard output", "cannot be written", errno);
    }
    if (std::ferror(stream_) || std::fflush(stdout) != 0) fail("standard output", "cannot be written", errno);
}

}  // namespace upsample
