// A pipeline (software_pipeline.h) in which one warpgroup of the block stages, and the others compute.
//
// Where all threads do both, a chunk's staging ends with a barrier of the block: tensor cores wait at every
// chunk. Here the block gets another warpgroup, the last along thread z, and the kernel two roles:
//
//     a consumer:                                         the producer:
//         for chunk i:                                        for chunk i:
//             wait until its stage is full                        load it into registers
//             compute on it                                       wait until its stage is empty
//             wait for the products of chunk i-1                  start copying; store what is in registers
//             tell that the stage of i-1 is empty                 wait for the copies
//         the rest of the kernel                                  tell that the stage is full
//
// A stage is full or empty by named barriers: who tells arrives there and goes on. So the products of one
// chunk follow those of the one before, and consumers keep nothing in registers but sums and addresses. What
// the producer does not need of the block's registers they get (setmaxnreg).
#ifndef CONV_TRANSPOSE_COMPILER_PRODUCER_WARPGROUP_H
#define CONV_TRANSPOSE_COMPILER_PRODUCER_WARPGROUP_H

#include "Halide.h"
#include "compiler/passes/pipeline_body.h"

namespace conv_transpose {

/// `statement` is that inside the shared allocation: threads, and in them the pipeline loop. What the loop
/// stages must be shared out among the threads of one warpgroup. `blocks` is the loop along x around it.
Halide::Internal::Stmt with_producer_warpgroup(const Halide::Internal::Stmt &statement,
                                               const StagedMemory &memory,
                                               const SoftwarePipelineOptions &options,
                                               const Halide::Internal::For *blocks);

}  // namespace conv_transpose

#endif
