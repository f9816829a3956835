// Schedule: products of matrices on a GPU's CUDA cores, one for each point of Winograd's algorithm (algorithm/winograd.h).
//
// H200, 2026-11-23: full rounds of blocks compute at 48 TFLOP/s of 67, of weight gradients at 43 (fitted to 97 layers); 87 % of a
// step's instructions multiply. What is missing are rounds that are not full, and at 64 terms the stores.
//
// Order: a block computes a tile of rows of the left x rows of the right matrix at one point, threads 8x8 of them; rows of
// the right are innermost among blocks, so that the larger left matrix is read once. Operands are staged in steps of `chunk`
// terms, the next on its way meanwhile (compiler/passes/software_pipeline.h). All sizes fill whole tiles, so nothing is asked
// for, and sums are stored from the registers that have them, four at a time. Where terms are innermost in memory, lanes copy
// eight of them of four rows: those lie in whole sectors there, and in different banks here.
#ifndef CONV_TRANSPOSE_SCHEDULES_CUDA_WINOGRAD_PRODUCT_H
#define CONV_TRANSPOSE_SCHEDULES_CUDA_WINOGRAD_PRODUCT_H

#include "schedules/shared/block_threads.h"
#include "schedules/shared/kernel_description.h"
#include "schedules/shared/schedule_defaults.h"

namespace conv_transpose {

struct WinogradProductFuncs {
    Halide::Func left, right, sum, product;
    Halide::Var i{"i"}, j{"j"}, k{"k"}, point{"point"};  ///< rows of the left, of the right, term
    Halide::RDom terms;
    bool terms_innermost = false;
};

struct CudaWinogradProduct : CudaSchedule {
    /// Threads of a block along rows of the left and of the right.
    static constexpr int lanes_left = 16, lanes_right = 8;
    GeneratorParam<int> chunk{"chunk", 16}, unrolled{"unrolled", 16};
    GeneratorParam<int> stages{"stages", 2};
    /// On a multiprocessor, as registers allow: for the estimate of times.
    GeneratorParam<int> blocks{"blocks", 4};

    static constexpr bool guarded_pipeline = false;

    int left_rows() const { return lanes_left * 2 * vector; }
    int right_rows() const { return lanes_right * 2 * vector; }

    void describe(KernelDescription &description) const {
        describe_gpus(description);
        description.set("block_positions", 1, left_rows());
        description.set("block_channels", right_rows());
        description.set("weight_in_channel_multiple", chunk);
        description.set("blocks_per_multiprocessor", blocks);
    }

    void apply(WinogradProductFuncs &f) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        const auto distribute = [&](Stage s) {
            s.split(f.i, f.i, vec, vector).split(f.i, part, threads.x, lanes_left)
                .split(f.j, f.j, element, vector).split(f.j, piece, threads.channel, lanes_right)
                .unroll(part).unroll(element).unroll(piece)
                .gpu_threads(threads.x, threads.channel).never_partition_all();
        };
        Var left_block{"left_block"}, right_block{"right_block"};
        f.product.split(f.i, left_block, f.i, left_rows(), TailStrategy::RoundUp)
            .split(f.j, right_block, f.j, right_rows(), TailStrategy::RoundUp);
        distribute(f.product);
        f.product.reorder(vec, part, element, piece, threads.x, threads.channel, right_block, left_block, f.point)
            .vectorize(vec).gpu_blocks(right_block, left_block, f.point);

        f.sum.compute_at(f.product, right_block).store_in(MemoryType::Register)
            .bound_extent(f.i, left_rows()).bound_extent(f.j, right_rows()).bound_extent(f.point, 1);
        Stage init = f.sum, update = f.sum.update();
        distribute(init);
        init.unroll(vec).reorder(vec, part, element, piece, threads.x, threads.channel);
        distribute(update);
        RVar pipeline{"pipeline"}, term{"term"}, unrolled_term{"unrolled_term"};
        update.split(f.terms.x, pipeline, term, chunk).split(term, term, unrolled_term, unrolled)
            .unroll(vec).unroll(unrolled_term)
            .reorder({vec, part, element, piece, unrolled_term, term, threads.x, threads.channel, pipeline});
        stage(f, f.left, f.i, left_rows(), pipeline);
        stage(f, f.right, f.j, right_rows(), pipeline);
    }

  private:
    static constexpr int vector = 4;
    BlockThreads threads() const { return {lanes_left, lanes_right, 1}; }
    Halide::Var vec{"vec"}, part{"part"}, element{"element"}, piece{"piece"};

    void stage(const WinogradProductFuncs &f, Halide::Func rows, const Halide::Var &row, int count,
               const Halide::RVar &pipeline) const {
        using namespace Halide;
        const BlockThreads threads = this->threads();
        rows.compute_at(f.sum, pipeline).store_in(MemoryType::GPUShared)
            .bound_extent(row, count).bound_extent(f.k, chunk).bound_extent(f.point, 1);
        Var some_terms{"some_terms"};
        if (f.terms_innermost) {
            constexpr int neighbours = 8;
            rows.align_storage(row, count + vector)
                .split(f.k, some_terms, f.k, neighbours).fuse(f.k, row, element).fuse(element, some_terms, element);
            threads.share_out(rows, element, {threads.round}, {f.point});
        } else {
            rows.split(row, row, vec, vector).vectorize(vec).fuse(row, f.k, element);
            threads.share_out(rows, element, {vec, threads.round}, {f.point});
        }
        rows.unroll(threads.round);
    }
};

}  // namespace conv_transpose

#endif
