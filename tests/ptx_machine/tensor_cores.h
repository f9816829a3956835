// Instructions of tensor cores.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_TENSOR_CORES_H
#define CONV_TRANSPOSE_PTX_MACHINE_TENSOR_CORES_H

#include <cstddef>
#include <deque>
#include <vector>

#include "warp.h"

namespace ptx_machine {

void execute_ldmatrix(Warp &, const Instruction &, uint32_t mask);
void execute_stmatrix(Warp &, const Instruction &, uint32_t mask);
void execute_movmatrix(Warp &, const Instruction &, uint32_t mask);
void execute_shuffle(Warp &, const Instruction &, uint32_t mask);
void execute_mma_sync(Warp &, const Instruction &, uint32_t mask);

/// The wgmma products that a warpgroup has under way.
class Products {
  public:
    /// `warps` is the first of four.
    Products(Block &block, Warp *warps) : block_(block), warps_(warps) {}

    void start(const Instruction &instruction);
    void commit();
    /// Until no more than `groups` committed groups are under way.
    void wait(size_t groups);

  private:
    struct Product {
        const Instruction *instruction;
        uint64_t a, b;  ///< descriptors of matrices in shared memory; no a where registers hold it
    };
    /// Calls put(row, k, factor) for all of an operand in shared memory.
    template <Factors factors, class Put>
    void for_each_factor(const Instruction &instruction, uint64_t descriptor, bool transposed, int rows, Put put);
    float element_of_registers(const Instruction &instruction, int row, int k) const;
    void multiply(const Product &product);
    template <Factors factors>
    void multiply(const Product &product);

    Block &block_;
    Warp *warps_;
    std::vector<Product> open_;
    std::deque<std::vector<Product>> groups_;
};

}  // namespace ptx_machine

#endif
