// From PTX to a fat binary: ptxas once for each architecture, then fatbinary.
#ifndef CONV_TRANSPOSE_COMPILER_GPU_ASSEMBLER_H
#define CONV_TRANSPOSE_COMPILER_GPU_ASSEMBLER_H

#include <filesystem>
#include <string>
#include <vector>

namespace conv_transpose {

struct GpuAssembler {
    /// Machine code is made for these; the PTX itself goes in too, for later GPUs.
    std::vector<std::string> architectures;  ///< of which the fat binary has machine code, by their names
    std::filesystem::path ptxas = "ptxas", fatbinary = "fatbinary";
    /// fatbinary's --compress-mode for machine code and PTX; empty: machine code as it is.
    std::string compression;
    bool allow_spills = false;
    /// At most this many registers a thread, so that more blocks fit a multiprocessor; 0 leaves it to ptxas.
    int registers = 0;
    /// Leaves what ptxas was given, STEM.ARCHITECTURE.ptx, and STEM.fatbin: tests/ptx_machine runs the one where it is
    /// asked to load the other.
    bool keep_files = false;

    /// Uses temporary files beside `stem`. Throws std::runtime_error with the tool's own message when a tool
    /// fails, and when a kernel spills registers and may not: a spilling kernel is right but many times
    /// slower, and nobody would notice.
    std::string assemble(const std::string &ptx, const std::filesystem::path &stem) const;
};

}  // namespace conv_transpose

#endif
