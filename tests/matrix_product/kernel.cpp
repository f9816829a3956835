// Compiles the matrix product of ../compiler_test_pipelines.h ahead of time, with tiles as large as 48 KB of shared
// memory allow, for matrix_product_test.cpp: NAME.o with machine code of Hopper (wgmma), or with PTX alone (mma.sync).
//
//   matrix_product_kernel NAME wgmma|mma_sync DIRECTORY PTXAS FATBINARY
#include <iostream>

#include "../compiler_test_pipelines.h"
#include "compiler/gpu_assembler.h"

int main(int, char **argv) {
    using namespace conv_transpose;
    testing::MatrixProduct product;
    product.columns = 128, product.warpgroups = 2, product.k_at_once = 16, product.terms = 4096;
    product.columns_of_b = true, product.stages = 3, product.blocks = 2;
    try {
        Halide::Module module = product.lower(argv[1]);
        GpuAssembler assembler;
        assembler.architectures.clear();
        if (argv[2] == std::string("wgmma")) assembler.architectures.push_back("sm_90");
        assembler.ptxas = argv[4], assembler.fatbinary = argv[5];
        const std::string stem = std::string(argv[3]) + "/" + argv[1];
        replace_device_code(module, assembler.assemble(device_ptx(module), stem));
        module.compile({{Halide::OutputFileType::object, stem + ".o"}, {Halide::OutputFileType::c_header, stem + ".h"}});
        return 0;
    } catch (const std::exception &error) {
        std::cerr << "matrix_product_kernel: " << error.what() << "\n";
        return 1;
    }
}
