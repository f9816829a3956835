#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "picture.h"

namespace upsample {
namespace {

namespace fs = std::filesystem;

// Names that a signal's handler removes. A name is `armed` after it is complete and until before it changes, so
// that the handler never sees half of one.
struct Unfinished {
    char name[4096];
    std::atomic<bool> taken, armed;
};
Unfinished unfinished[64];
static_assert(std::atomic<bool>::is_always_lock_free);  // or a handler might wait for what it interrupts

extern "C" void remove_and_end(int signal) {
    for (Unfinished &file : unfinished)
        if (file.armed) unlink(file.name);
    std::signal(signal, SIG_DFL);
    raise(signal);
}

[[noreturn]] void fail(const std::string &path, const char *what, int error) {
    throw PictureError(path + ": " + what + ": " + std::strerror(error));
}

/// The mask can only be read by changing it, which is done once.
mode_t default_mode() {
    static const mode_t mask = [] {
        const mode_t current = umask(0);
        umask(current);
        return current;
    }();
    return 0666 & ~mask;
}

int reserve_slot(const std::string &name) {
    int slot = 0;
    for (Unfinished &file : unfinished) {
        if (name.size() < sizeof file.name && !file.taken.exchange(true)) return slot;
        ++slot;
    }
    fail(name, "cannot be written", name.size() < sizeof unfinished[0].name ? EMFILE : ENAMETOOLONG);
}

void release_slot(Unfinished &file) {
    file.armed = false;
    file.taken = false;
}

/// What the path means after symbolic links, of which the last may lead to nothing yet.
std::string followed(const std::string &path) {
    fs::path at = path;
    constexpr int most_links = 40;
    for (int i = 0; i < most_links; ++i) {
        std::error_code error;
        const fs::path link = fs::read_symlink(at, error);
        if (error) return at.string();
        at = link.is_absolute() ? link : at.parent_path() / link;
    }
    fail(path, "cannot be written", ELOOP);
}

/// The number of a descriptor of this process that the path names; -1 for other paths.
int own_descriptor(const std::string &path) {
    if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
    for (const std::string prefix : {"/dev/fd/", "/proc/self/fd/"}) {
        if (path.compare(0, prefix.size(), prefix) != 0) continue;
        int number = -1;
        const char *end = path.data() + path.size();
        const auto [after, error] = std::from_chars(path.data() + prefix.size(), end, number);
        if (error == std::errc() && after == end) return number;
    }
    return -1;
}

}  // namespace

void remove_unfinished_output_on_signals() {
    default_mode();  // before there are threads
    for (int signal = 1; signal <= SIGRTMAX; ++signal) {
        switch (signal) {
            case SIGKILL:
            case SIGSTOP:  // cannot be caught
            case SIGCHLD:
            case SIGCONT:
            case SIGTSTP:
            case SIGTTIN:
            case SIGTTOU:
            case SIGURG:
            case SIGWINCH:  // do not end a program
            case SIGTRAP:   // is the debugger's
                continue;
            default:
                break;
        }
        struct sigaction action {};
        action.sa_handler = remove_and_end;
        struct sigaction previous {};
        if (sigaction(signal, nullptr, &previous) != 0) continue;                        // the C library's own
        if (previous.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);  // nohup stays in force
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

bool is_existing_file(const std::string &path) {
    struct stat status {};
    return own_descriptor(path) < 0 && stat(path.c_str(), &status) == 0 && !S_ISCHR(status.st_mode) &&
           !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && !S_ISBLK(status.st_mode);
}

OutputFile::OutputFile(const std::string &path) : path_(path == "-" ? "standard output" : path) {
    descriptor_ = own_descriptor(path);
    if (descriptor_ >= 0) {
        open_spool();
        return;
    }
    target_ = followed(path);
    struct stat status {};
    const bool exists = stat(path.c_str(), &status) == 0;
    if (exists && S_ISDIR(status.st_mode)) fail(path_, "cannot be written", EISDIR);
    if (!exists || S_ISREG(status.st_mode)) {
        open_beside(target_);
        return;
    }
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(path_, "cannot be written", errno);
    own_descriptor_ = true;
    open_spool();
}

/// A file without a name, where $TMPDIR says.
void OutputFile::open_spool() {
    const char *variable = std::getenv("TMPDIR");
    std::string name = std::string(variable && *variable ? variable : "/tmp") + "/upsample.XXXXXX";
    const int file = mkstemp(name.data());
    if (file >= 0) unlink(name.c_str());
    if (file >= 0) stream_ = fdopen(file, "w+b");
    if (stream_) return;
    const int error = errno;
    if (file >= 0) close(file);
    if (own_descriptor_) close(descriptor_);
    fail(path_, "no temporary file can be made for it", error);
}

void OutputFile::open_beside(const std::string &target) {
    // A short name of its own: the target's may be as long as names can be.
    const fs::path folder = fs::path(target).parent_path();
    std::string name = (folder / ".upsample.XXXXXX").string();
    slot_ = reserve_slot(name);
    Unfinished &entry = unfinished[slot_];
    const int file = mkstemp(name.data());
    if (file < 0) {
        const int error = errno;
        entry.taken = false;
        fail(path_, "cannot be written", error);
    }
    temporary_ = name;
    std::memcpy(entry.name, name.c_str(), name.size() + 1);
    entry.armed = true;
    struct stat previous {};
    const bool replaces = stat(target.c_str(), &previous) == 0;
    // Who may read a picture may read it enlarged; its owner stays as far as we may say so.
    if (replaces && fchown(file, previous.st_uid, previous.st_gid) != 0) errno = 0;
    fchmod(file, replaces ? previous.st_mode & 0777 : default_mode());
    stream_ = fdopen(file, "w+b");
    if (stream_) return;
    const int error = errno;
    close(file);
    unlink(name.c_str());
    release_slot(entry);
    fail(path_, "cannot be written", error);
}

OutputFile::~OutputFile() {
    if (stream_) std::fclose(stream_);
    if (own_descriptor_) close(descriptor_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
    if (slot_ >= 0) release_slot(unfinished[slot_]);
}

void OutputFile::commit(bool overwrite) {
    if (std::fflush(stream_) != 0) fail(path_, "cannot be written", errno);
    if (descriptor_ >= 0) return copy_out();
    if (fsync(fileno(stream_)) != 0 && errno != EINVAL) fail(path_, "cannot be written", errno);
    const int closed = std::fclose(stream_);
    stream_ = nullptr;
    if (closed != 0) fail(path_, "cannot be written", errno);
    if (!overwrite) rename_new();
    else if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(path_, "cannot be replaced", errno);
    unfinished[slot_].armed = false;
    temporary_.clear();
}

/// Renames where the name is not taken.
void OutputFile::rename_new() {
    if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) return;
    if (errno != EINVAL && errno != ENOSYS && errno != EPERM) fail(path_, "cannot be made", errno);
    // Not every file system knows that. Then the name is taken first, and what took it replaced.
    const int claim = open(target_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (claim < 0) fail(path_, "cannot be made", errno);
    close(claim);
    if (std::rename(temporary_.c_str(), target_.c_str()) == 0) return;
    const int error = errno;
    unlink(target_.c_str());
    fail(path_, "cannot be made", error);
}

void OutputFile::copy_out() {
    std::rewind(stream_);
    std::vector<char> buffer(1 << 16);
    std::size_t count = 0;
    while ((count = std::fread(buffer.data(), 1, buffer.size(), stream_)) > 0) {
        for (std::size_t at = 0; at < count;) {
            const ssize_t written = write(descriptor_, buffer.data() + at, count - at);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail(path_, "cannot be written", errno);
            at += written;
        }
    }
    if (std::ferror(stream_)) fail(path_, "cannot be written", errno);
}

}  // namespace upsample
