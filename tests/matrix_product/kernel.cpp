// Compiles the kernels of matrix_product_test.cpp ahead of time: matrix_product_KIND.o and .h, and what
// tests/ptx_machine runs. The products by wgmma are for Hopper, the one by mma.sync for GPUs before it, with PTX
// for later ones. A narrow product fits into the first of two tiles.
//
//   matrix_product_kernel KIND[_f16|_bf16] DIRECTORY PTXAS FATBINARY
// KIND is wgmma, mma_sync, narrow, gathers, bulk, bulk_producer, bulk_tiles, bulk_rounds, bulk_mma_sync or pack.
#include <iostream>

#include "compiler/driver/device_code.h"
#include "compiler/driver/gpu_assembler.h"
#include "matrix_product.h"

namespace {

using namespace conv_transpose;

Halide::Type type_of(const std::string &kind) {
    return kind.ends_with("_bf16") ? Halide::BFloat(16) : kind.ends_with("_f16") ? Halide::Float(16) : Halide::Float(32);
}

Halide::Module lower(std::string kind, const std::string &name, GpuAssembler &assembler) {
    assembler.architectures = {"sm_80", "sm_90"};
    MatrixProduct product;
    product.type = type_of(kind);
    product.chunk = 128 / product.type.bytes();
    if (product.type.bits() == 16) kind.resize(kind.rfind('_'));
    if (kind == "pack") return PackedOperand(product.type).lower(name);
    if (kind.ends_with("mma_sync")) product.columns = 128, product.stages = 3, product.blocks = 2;
    if (kind == "narrow") product.columns = 64, product.repeats = 2, product.width = 40;
    if (kind == "gathers") product.columns = 64, product.stages = 3, product.gathers = product.producer = true;
    if (kind.starts_with("bulk")) product.bulk_copies = true;
    const bool rounds = kind == "bulk_rounds", tiles = kind == "bulk_tiles" || rounds;
    if (kind == "bulk_producer" || tiles) product.producer = true, product.producer_registers = 40;
    if (tiles) product.stages = 2, product.resident_blocks = rounds ? 2 : 1, product.tiles_in_rounds = rounds;
    assembler.architectures = {kind.ends_with("mma_sync") ? "sm_80" : "sm_90"};
    return product.lower(name);
}

}  // namespace

int main(int, char **argv) {
    const std::string kind = argv[1], name = "matrix_product_" + kind, stem = argv[2] + ("/" + name);
    try {
        GpuAssembler assembler;
        assembler.ptxas = argv[3], assembler.fatbinary = argv[4], assembler.keep_files = true;
        Halide::Module module = lower(kind, name, assembler);
        replace_device_code(module, assembler.assemble(device_ptx(module), stem));
        module.compile({{Halide::OutputFileType::object, stem + ".o"},
                        {Halide::OutputFileType::c_header, stem + ".h"}});
        return 0;
    } catch (const std::exception &error) {
        std::cerr << "matrix_product_kernel: " << error.what() << "\n";
        return 1;
    }
}
