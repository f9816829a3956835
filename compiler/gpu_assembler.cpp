// From PTX to a fat binary: see gpu_assembler.h.
#include "compiler/gpu_assembler.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace conv_transpose {

namespace fs = std::filesystem;

namespace {

std::string quoted(const fs::path &path) { return "'" + path.string() + "'"; }

// Runs a command; returns what it printed. Throws when it fails.
std::string run(const std::string &command) {
    std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
    if (!pipe) throw std::runtime_error("cannot start: " + command);
    std::string output;
    std::array<char, 4096> chunk;
    while (const size_t n = fread(chunk.data(), 1, chunk.size(), pipe.get())) output.append(chunk.data(), n);
    if (const int status = pclose(pipe.release()); status != 0)
        throw std::runtime_error("failed: " + command + "\n" + output);
    return output;
}

// Spilled bytes, stores and loads together, over all kernels in ptxas -v's report.
int spilled_bytes(const std::string &report) {
    static const std::regex spill("([0-9]+) bytes spill (stores|loads)");
    int total = 0;
    for (std::sregex_iterator i(report.begin(), report.end(), spill), end; i != end; ++i) total += std::stoi((*i)[1]);
    return total;
}

std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return text.str();
}

// A file that is deleted when it goes out of scope.
struct TemporaryFile {
    fs::path path;
    explicit TemporaryFile(fs::path p) : path(std::move(p)) {}
    TemporaryFile(TemporaryFile &&other) noexcept : path(std::exchange(other.path, {})) {}
    ~TemporaryFile() {
        std::error_code ignored;
        if (!path.empty()) fs::remove(path, ignored);
    }
};

}  // namespace

std::string GpuAssembler::assemble(const std::string &ptx, const fs::path &stem) const {
    const TemporaryFile text(stem.string() + ".tmp.ptx"), fat(stem.string() + ".tmp.fatbin");
    std::ofstream(text.path) << ptx;

    std::vector<TemporaryFile> cubins;
    std::string images;
    for (const std::string &architecture : architectures) {
        cubins.emplace_back(stem.string() + "." + architecture + ".tmp.cubin");
        const std::string limit = registers ? " --maxrregcount=" + std::to_string(registers) : "";
        const std::string report = run(quoted(ptxas) + " -v" + limit + " --gpu-name " + architecture + " " + quoted(text.path) +
                                       " -o " + quoted(cubins.back().path));
        if (!allow_spills && spilled_bytes(report) > 0)
            throw std::runtime_error("registers spill in " + stem.filename().string() + " on " + architecture +
                                     " (allow it with ALLOW_SPILLS in kernels.cmake, or use smaller tiles):\n" + report);
        images += " --image3=kind=elf,sm=" + architecture.substr(3) + ",file=" + quoted(cubins.back().path);
    }
    std::smatch target;
    if (!std::regex_search(ptx, target, std::regex("\\.target sm_([0-9]+a?)")))
        throw std::runtime_error("the device code has no .target line");
    images += " --image3=kind=ptx,sm=" + target[1].str() + ",file=" + quoted(text.path);
    run(quoted(fatbinary) + " --64 --create=" + quoted(fat.path) + images);
    return read(fat.path);
}

}  // namespace conv_transpose
