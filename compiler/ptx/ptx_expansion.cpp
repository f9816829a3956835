// Placeholder calls are expanded one kernel (.entry) at a time, because register names repeat between kernels.
#include "compiler/ptx/ptx_expansion.h"

#include <algorithm>

#include "compiler/ptx/kernel_expansion.h"

namespace conv_transpose {

namespace {

/// The least version that has the instructions: what it is in the text, or more.
std::string version(const std::string &line, const std::string &ptx, const Architecture &architecture) {
    if (architecture.has_wgmma()) return ".version 8.0";
    return contains(ptx, std::string(placeholder_prefix) + "mbarrier") ? ".version 7.1" : line;
}

/// From ".entry" at lines[at] to the closing brace, to which `at` moves.
std::vector<std::string> read_kernel(const std::vector<std::string> &lines, std::size_t &at) {
    std::vector<std::string> kernel;
    for (; at < lines.size() && lines[at] != "}"; at++) kernel.push_back(lines[at]);
    kernel.push_back("}");
    return kernel;
}

void write_kernel(const std::vector<std::string> &kernel, const Architecture &architecture, PtxWriter &out) {
    const auto has_call = [](const std::string &line) { return contains(line, placeholder_prefix); };
    if (std::any_of(kernel.begin(), kernel.end(), has_call)) {
        out.line(KernelExpansion(kernel, architecture).expanded());
        return;
    }
    for (const std::string &line : kernel) out.line(line);
}

}  // namespace

std::string expand_tensor_core_calls(const std::string &ptx, const Architecture &architecture) {
    if (!contains(ptx, placeholder_prefix)) return ptx;
    if (architecture.number() < 80)
        throw PtxExpansionError("PTX expansion: " + architecture.name() +
                                " has no TF32 tensor cores; the rule is sm_80 or later");
    const std::vector<std::string> lines = split_lines(ptx);
    PtxWriter out;
    for (std::size_t i = 0; i < lines.size(); i++) {
        const std::string &line = lines[i];
        if (line.starts_with(".version")) {
            out.line(version(line, ptx, architecture));
        } else if (line.starts_with(".target")) {
            out.line(".target ", architecture.has_wgmma() ? "sm_90a" : "sm_80");
        } else if (line.starts_with(".extern .func") && contains(line, placeholder_prefix)) {
            while (!lines[i].ends_with(";")) i++;
        } else if (contains(line, ".entry")) {
            write_kernel(read_kernel(lines, i), architecture, out);
        } else {
            out.line(line);
        }
    }
    return out.str();
}

}  // namespace conv_transpose
