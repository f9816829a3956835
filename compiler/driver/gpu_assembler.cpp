// From PTX to a fat binary: see gpu_assembler.h.
#include "compiler/driver/gpu_assembler.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "algorithm/machine_facts.h"
#include "compiler/ptx/early_launch.h"
#include "compiler/ptx/ptx_expansion.h"

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
    for (std::sregex_iterator i(report.begin(), report.end(), spill), end; i != end; ++i)
        total += std::stoi((*i)[1]);
    return total;
}

std::string read(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return text.str();
}

// A file that is deleted when it goes out of scope, unless it is wanted.
struct IntermediateFile {
    fs::path path;
    bool keep;
    IntermediateFile(fs::path p, bool k) : path(std::move(p)), keep(k) {}
    IntermediateFile(IntermediateFile &&other) noexcept : path(std::exchange(other.path, {})), keep(other.keep) {}
    ~IntermediateFile() {
        std::error_code ignored;
        if (!path.empty() && !keep) fs::remove(path, ignored);
    }
};

}  // namespace

std::string GpuAssembler::assemble(const std::string &ptx, const fs::path &stem) const {
    if (architectures.empty()) throw std::runtime_error("--gpu is missing; the rule is names of GPUs, such as sm_80,sm_90");
    std::vector<IntermediateFile> files;  // until fatbinary has read them
    std::string images;
    for (const std::string &name : architectures) {
        const Architecture architecture = Architecture(name).best_for(ptx);
        if (!architecture.has_instructions_of(ptx)) continue;
        files.emplace_back(stem.string() + "." + architecture.name() + ".ptx", keep_files);
        const fs::path text = files.back().path;
        std::ofstream(text) << launched_early(expand_tensor_core_calls(ptx, architecture), architecture);
        files.emplace_back(stem.string() + "." + architecture.name() + ".cubin", false);
        const fs::path cubin = files.back().path;
        const std::string limit = registers ? " --maxrregcount=" + std::to_string(registers) : "";
        const std::string report = run(quoted(ptxas) + " -v" + limit + " --gpu-name " + architecture.name() +
                                       " " + quoted(text) + " -o " + quoted(cubin));
        if (!allow_spills && spilled_bytes(report) > 0)
            throw std::runtime_error(
                "registers spill in " + stem.filename().string() + " on " + architecture.name() +
                " (allow it with ALLOW_SPILLS in generators/kernels/, or use smaller tiles):\n" + report);
        images += " --image3=kind=elf,sm=" + architecture.name().substr(3) + ",file=" + quoted(cubin);
    }
    const IntermediateFile text(stem.string() + ".portable.ptx", false), fat(stem.string() + ".fatbin", keep_files);
    if (const Architecture least("sm_" + std::to_string(machines::least_compute_capability)); least.has_instructions_of(ptx)) {
        const std::string portable = expand_tensor_core_calls(ptx, least);
        std::smatch target;
        if (!std::regex_search(portable, target, std::regex("\\.target sm_([0-9]+a?)")))
            throw std::runtime_error("the device code has no .target line");
        std::ofstream(text.path) << portable;
        images += " --image3=kind=ptx,sm=" + target[1].str() + ",file=" + quoted(text.path);
    }
    if (images.empty()) throw std::runtime_error("no GPU in --gpu has the kernel's instructions; the rule is sm_" +
                                                std::to_string(machines::hopper_compute_capability));
    const std::string compress = compression.empty() ? "" : " --compress-all --compress-mode=" + compression;
    run(quoted(fatbinary) + " --64" + compress + " --create=" + quoted(fat.path) + images);
    return read(fat.path);
}

}  // namespace conv_transpose
