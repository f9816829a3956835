// What wgmma demands of the registers that it adds to, and of the order of its own instructions: a
// wgmma.fence between other uses of a register and a product, no use of it until the product has been waited
// for, and no product left under way at the end.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_PRODUCT_RULES_H
#define CONV_TRANSPOSE_PTX_MACHINE_PRODUCT_RULES_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace ptx_machine {

struct Block;
struct Instruction;
struct Kernel;
class Warp;

/// Numbers the registers of products and lists them with every instruction that uses them.
/// Where 16 bytes of an operand lie in shared memory, whatever the type: those of a row, the first or second of a product's
/// two; transposed, those of eight rows, 8 (row / 8) and so on, that have k number row % 8 of the first or second eight.
uint32_t bytes_of_operand(const Instruction &, uint64_t descriptor, bool transposed, int row, int half);

void list_product_registers(Kernel &);

/// The registers of products, of one warp.
struct ProductRegisters {
    std::vector<uint16_t> under_way;  ///< by how many products
    std::vector<uint8_t> used;        ///< otherwise, since the last wgmma.fence
    bool fenced = false;              ///< ever

    void restart(size_t count);
    /// By an instruction that is no product.
    void use(const Instruction &);
};

/// The products of one warpgroup.
class ProductRules {
  public:
    /// `warps` is the first of four.
    ProductRules(Block &block, Warp *warps) : block_(block), warps_(warps) {}

    void fence();
    void start(const Instruction &);
    void commit();
    void wait(size_t groups);
    void end() const;

  private:
    struct Product {
        const Instruction *instruction;
        int number;
    };
    std::vector<uint32_t> rows(const Instruction &, int descriptor, bool transposed, int count) const;

    Block &block_;
    Warp *warps_;
    std::vector<Product> open_;
    std::deque<std::vector<Product>> groups_;
};

}  // namespace ptx_machine

#endif
