// Loading kernel packs: see kernel_pack.h.
#include "choice/kernel_pack.h"

#include <dlfcn.h>
#include <elf.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "HalideRuntime.h"
#include "choice/registry.h"
#include "device/run_context.h"

namespace conv_transpose {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void reject(const fs::path &path, const std::string &reason) {
    throw Unsupported("kernel pack '" + path.string() + "' cannot be used: " + reason);
}

std::string hexadecimal(std::uint64_t number) {
    char text[2 * sizeof number + 1];
    std::snprintf(text, sizeof text, "%016" PRIx64, number);
    return text;
}

// dlopen() would map pages that a file lacks which was cut off, and their use ends the program; for a pipe it would wait.
bool is_cut_off(const fs::path &path) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr head;
    const bool is_object =
        file.read(reinterpret_cast<char *>(&head), sizeof head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    if (error || !is_object || head.e_ident[EI_CLASS] != ELFCLASS64) return false;  // dlopen() tells
    file.seekg(static_cast<std::streamoff>(head.e_phoff));
    Elf64_Phdr segment;
    for (int i = 0; i < head.e_phnum; i++)
        if (!file.read(reinterpret_cast<char *>(&segment), sizeof segment) ||
            segment.p_offset + segment.p_filesz > bytes)
            return true;
    return false;
}

// Never unloaded: plans hold on to its rows.
const KernelPack &open_pack(const fs::path &path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) reject(path, "it is no file");
    if (is_cut_off(path)) reject(path, "its end is missing");
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        reject(path, reason ? reason : "it is no shared object");
    }
    const auto *pack = static_cast<const KernelPack *>(dlsym(library, "conv_transpose_kernel_pack"));
    if (!pack) reject(path, "it has no symbol conv_transpose_kernel_pack");
    if (pack->signatures != signatures_hash)
        reject(path, "its kernels take other arguments than this build's: their signatures' hash is " +
                         hexadecimal(pack->signatures) + ", here it is " + hexadecimal(signatures_hash) +
                         "; make it again");
    if (pack->traits_bytes != sizeof(KernelTraits) || pack->context_bytes != sizeof(RunContext) ||
        pack->library_version != version())
        reject(path, std::string("it was made for version ") + pack->library_version + ", but this is version " +
                         std::string(version()) + " of another build; make it again");
    return *pack;
}

bool is_loaded(const KernelPack &pack) {
    return any_kernel([&](const KernelTraits &k) { return &k == pack.rows; });
}

}  // namespace

void load_kernels(const std::string &directory) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::error_code error;
    std::vector<fs::path> paths;
    for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error))
        if (i->path().extension() == ".so") paths.push_back(i->path());
    if (error) throw Unsupported("kernel packs in '" + directory + "' cannot be read: " + error.message());
    std::sort(paths.begin(), paths.end());
    for (const fs::path &path : paths) {
        const KernelPack &pack = open_pack(path);
        if (is_loaded(pack)) continue;
        pack.use_threads(halide_do_par_for);
        add_to_registry({pack.rows, pack.count});
    }
}

void load_kernels_from_environment() {
    static std::mutex mutex;
    static std::atomic<bool> loaded{false};
    if (loaded.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex);
    if (const char *directory = std::getenv("CONV_TRANSPOSE_KERNEL_PATH"); directory && *directory)
        load_kernels(directory);
    loaded.store(true, std::memory_order_release);
}

}  // namespace conv_transpose
