// See programs.h.
#include "programs.h"

#include <cstdint>
#include <cstring>
#include <numeric>

namespace ptx_machine {

void run_program(const std::string &body, std::vector<float> &floats, unsigned threads, int shared_bytes, Timing timing,
                 const TensorMap &map, unsigned blocks) {
    const bool takes_address = body.find(" memory") != std::string::npos;
    const Module module = decode(
        std::string(takes_address ? ".extern .shared .align 16 .b8 memory[];\n" : "") +
        ".visible .entry program(.param .u64 floats,\n.param .align 64 .b8 map[128])\n{\n"
        ".reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<99>;\n.reg .f32 %f<99>;\n"
        "ld.param.u64 %rd1, [floats];\n"
        "mov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4;\n"
        "add.s64 %rd3, %rd1, %rd2;\n"  // the address of this thread's float
        "shl.b32 %r2, %r1, 2;\n" +     // the same in shared memory
        body +
        "ret;\n}\n");
    const auto address = reinterpret_cast<uint64_t>(floats.data());
    DeviceMemoryMap memory;
    memory.add(address, floats.size() * sizeof(float));
    std::vector<uint8_t> parameters(64 + 128);
    std::memcpy(parameters.data(), &address, sizeof address);
    std::memcpy(parameters.data() + 64, &map, sizeof map);
    run({*module.at("program"), {1, blocks, 1}, {threads, 1, 1}, shared_bytes, parameters, memory, timing, {1, blocks, 1}});
}

std::string error_of(const std::string &body, unsigned threads, int shared_bytes, Timing timing) {
    std::vector<float> floats(threads, 1.f);
    try {
        run_program(body, floats, threads, shared_bytes, timing);
    } catch (const PtxError &error) {
        return error.what();
    }
    return "none";
}

::testing::AssertionResult tells(const std::string &error, const std::string &words) {
    if (error.find(words) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "'" << words << "' in: " << error;
}

std::string replaced(std::string text, const std::string &part, const std::string &other) {
    const size_t at = text.find(part);
    return at == std::string::npos ? "no " + part : text.replace(at, part.size(), other);
}

std::vector<float> counting(size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.f);
    return values;
}

}  // namespace ptx_machine
