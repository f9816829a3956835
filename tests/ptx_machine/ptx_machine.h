// Runs decoded kernels, block after block, and looks for what a GPU punishes, or forgives by luck:
//   - accesses outside of device memory, of the parameters or of the block's shared memory, or not aligned;
//   - races in shared memory: two threads, one of them writing, without a barrier in between;
//   - tensor cores reading what was written without a proxy fence;
//   - barriers that not all threads reach, mbarriers that expect other bytes than come;
//   - kernels that are launched early and do not wait for the one before them.
// What is asynchronous (cp.async, bulk copies, wgmma) happens as early or as late as the rules allow: Timing says which.
// Blocks, whose order must not matter, run one after the other; nothing is said about speed.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_H
#define CONV_TRANSPOSE_PTX_MACHINE_H

#include <cstdint>
#include <map>
#include <vector>

#include "ptx_program.h"

namespace ptx_machine {

struct Dimensions {
    unsigned x, y, z;
};

/// When copies and products that nobody has waited for yet happen. With both late, a product may hide that
/// nobody waits for the copies it reads: late_copies shows it, and late_products a copy over what is still to
/// be read.
enum class Timing { early, late, late_copies, late_products };

/// The device's allocations.
class DeviceMemoryMap {
  public:
    void add(uint64_t address, uint64_t bytes);
    void remove(uint64_t address);
    bool holds(uint64_t address, int bytes) const {
        return (address >= last_begin_ && address + bytes <= last_end_) || find(address, bytes);
    }

  private:
    bool find(uint64_t address, int bytes) const;

    std::map<uint64_t, uint64_t> blocks_;             ///< by address, the bytes
    mutable uint64_t last_begin_ = 1, last_end_ = 0;  ///< most accesses are to the block of the one before
};

struct Launch {
    const Kernel &kernel;
    Dimensions grid, block;
    int shared_bytes;
    std::vector<uint8_t> parameters;
    const DeviceMemoryMap &memory;
    Timing timing;
    Dimensions cluster{1, 1, 1};  ///< blocks that run at the same time
    bool early = false;           ///< while the kernel before may still run
};

/// Throws PtxError that names the instruction.
void run(const Launch &launch);

}  // namespace ptx_machine

#endif
