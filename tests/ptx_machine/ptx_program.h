// A kernel's PTX text, decoded so that ptx_machine can run it. Registers become places in a warp's register
// file, 32 lanes side by side; constants become places in a file of their own, so that every operand is an
// array of lanes.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_PTX_PROGRAM_H
#define CONV_TRANSPOSE_PTX_MACHINE_PTX_PROGRAM_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx_machine {

constexpr int lanes = 32;
constexpr uint64_t local_space = uint64_t{0x7fff} << 48;      ///< addresses of local memory begin here
constexpr uint64_t parameter_space = uint64_t{0x7ffe} << 48;  ///< and here those of parameters

/// tid, ntid and ctaid, x y z of each, laneid, and where the block's shared memory begins among that of a cluster.
constexpr int special_registers = 11, block_x = 6, shared_base = 10;

class PtxError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Warp;
struct Instruction;
using Execute = void (*)(Warp &, const Instruction &, uint32_t mask);

enum class Kind : uint8_t {
    simple,  ///< each lane by itself
    branch,
    exit,
    // From here on all lanes of a warp together:
    barrier,         ///< of the block, to wait at
    barrier_arrive,  ///< of the block, without waiting
    warp_barrier,
    whole_warp,
    mbarrier_wait,
    cluster_wait,  ///< for the warps of all blocks of a cluster
    wgmma,  ///< this and what follows: a warpgroup together
    wgmma_fence,
    wgmma_commit,
    wgmma_wait,
};

/// What has happened at an instruction, ever.
enum Reached : uint8_t {
    executed = 1,  ///< by any lane
    taken = 2,     ///< a branch, by all lanes that came
    passed = 4,    ///< a branch, by one of them
    repeated = 8,  ///< a branch back, more than once by a warp of a block
    equal = 16,    ///< a comparison, of equal values
};

/// What a tensor core multiplies.
enum class Factors : uint8_t { tf32, f16, bf16 };

/// Places in a register file count 32-bit words; below 0, ~place counts in the file of constants. What every instruction needs is
/// one line of a cache.
struct alignas(64) Instruction {
    Execute execute = nullptr;
    int64_t offset = 0;  ///< of an address
    int guard = 0;       ///< place of the predicate
    int d = 0, a = 0, b = 0, c = 0;
    int loop = -1;   ///< the number of a branch back
    int number = 0;  ///< target of a branch, columns of a product, groups to wait for, bytes, bits
    Kind kind = Kind::simple;
    bool guarded = false, guard_negated = false;
    bool compares = false;                ///< registers or constants of 32 bits
    mutable uint8_t reached = 0;          ///< bits of Reached
    bool uses_product_registers = false;  ///< whether there are any
    bool wide_address = false;            ///< in shared memory, too, it may be in a 64-bit register
    bool is_signed = false;               ///< what is loaded is extended by its sign
    bool has_count = false;               ///< a barrier is for some threads of the block, or expects bytes
    Factors factors = Factors::tf32;      ///< of a product
    std::array<bool, 2> transposed{};     ///< operands of a product; the first, of what ldmatrix loads and stmatrix stores
    bool registers_of_a = false;          ///< a product's first operand are the last four of the vector
    std::vector<int> vector;              ///< registers in braces
    std::vector<int> product_registers;   ///< among them and a to d, those of wgmma, by their numbers
    std::string text;
};

struct Parameter {
    std::string name;
    int offset, bytes;
};

struct Kernel {
    std::string name;
    std::vector<Instruction> code;
    std::vector<Parameter> parameters;
    int parameter_bytes = 0;
    int register_words = 0;
    std::vector<uint32_t> constants;
    int local_bytes = 0;
    int special[special_registers] = {};  ///< their places
    std::string shared_name;              ///< of all shared memory, where a program takes its address
    /// Where its shared memory begins, as on GPUs, behind what they keep for themselves. Programs that take no address count from
    /// 0.
    uint32_t shared_begins_at() const { return shared_name.empty() ? 0 : 1024; }
    int product_registers = 0;            ///< how many
    int loops = 0;
    int target = 0;            ///< of its text, as 90 for sm_90a
    bool waits_first = false;  ///< for the kernel before it
};

using Module = std::map<std::string, std::unique_ptr<Kernel>>;

/// Throws PtxError for text that it does not understand.
Module decode(std::string_view ptx);

}  // namespace ptx_machine

#endif
