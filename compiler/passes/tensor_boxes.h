// Boxes of tensors, which Hopper's copy engine brings to shared memory by a tensor map: how an algorithm says that what it
// stages is one.
//
// A Func in shared memory that a schedule stages in bulk (bulk_copies.h) is defined as element_of_box(): the element, as
// any program computes it, and beside it where the copy engine finds the box. That counts positions through the images
// of a picture, channels innermost, x fastest (an "im2col" map): the first position of a box has `coordinates`, and all of
// them are read `offsets` further on. Zeros lie outside of the tensor. Maps are a parameter of the kernel behind those that
// Halide knows, one after the other (compiler/ptx/shared_copies.h); the runtime makes them.
//
// Without offsets a box is a block of the tensor, of any order of dimensions ("tile"): `coordinates` are where it begins, the
// innermost first, of which the first is a multiple of 16 bytes, and its rows run along it. So positions of a channel,
// channels_first, come as they lie.
//
// In shared memory a position's channels are a row of 32, 64 or 128 bytes, whose groups of 16 bytes the copy engine
// permutes ("swizzles") so that eight rows lie in all banks: tensor cores read it so (tensor_core_instructions.h).
// Whoever reads such a Func otherwise is refused. Longer rows lie as they do in memory, of a block.
//
// What tensor cores have summed may be stored so, too: a Func whose elements are stored_in_box() is stored from shared memory by
// blocks of a tensor, where a condition of the whole launch holds (tile_boxes.cpp).
#ifndef CONV_TRANSPOSE_COMPILER_TENSOR_BOXES_H
#define CONV_TRANSPOSE_COMPILER_TENSOR_BOXES_H

#include <optional>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

struct TensorBox {
    Halide::Expr element;
    std::vector<Halide::Expr> coordinates;  ///< of the first position: channel, x, y, (z,) image; or of a block
    std::vector<Halide::Expr> offsets;      ///< x, y, (z); from 0 on; none of a block
    int map = 0;                            ///< which of the kernel's
};

Halide::Expr element_of_box(const TensorBox &box);

/// It is nothing where a value is no element of a box. The coordinates of a vector of elements are those of all.
std::optional<TensorBox> box_of_element(const Halide::Expr &value);

/// Whether a statement holds an element of a box.
bool has_element_of_box(const Halide::Internal::Stmt &statement);

/// An element that is stored, and where in the output the copy engine finds it, as (channel of a run, run, place in its row, row).
/// So many rows of a tile, 64, 32, 16 or 8, from multiples on, are neighbours in a row, a box. Coordinates are not negative: a
/// store to a box that begins before its tensor is an illegal instruction (a probe, H200, 2026-11-29), where a copy from one brings
/// zeros.
struct StoredBox {
    Halide::Expr element;
    std::vector<Halide::Expr> coordinates;
    Halide::Expr positions;  ///< of a box
    Halide::Expr stored_if;  ///< and where not, elements are stored in another way; both are the same for all elements
    int map = 0;
};

/// How a warpgroup's tile is cut into boxes of 64 rows and 64 or 128 bytes of columns, and of how many it has shared memory.
struct StoredBoxes {
    static constexpr int rows = 64;
    int columns, count, at_once;

    StoredBoxes(int rows_of_tile, int columns_of_tile, int bytes_of_element)
        : columns((columns_of_tile * bytes_of_element % 128 == 0 ? 128 : 64) / bytes_of_element),
          count(rows_of_tile / rows * (columns_of_tile / columns)), at_once(count % 3 == 0 ? 3 : count % 2 == 0 ? 2 : 1) {}

    int elements() const { return at_once * rows * columns; }
};

Halide::Expr stored_in_box(const StoredBox &box);

/// It is nothing where a value is not stored so.
std::optional<StoredBox> stored_box_of(const Halide::Expr &value);

/// A lowering pass that leaves the elements: for a program that no other pass rewrites.
class ElementsOfBoxes : public Halide::Internal::IRMutator {
    using IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Call *call) override;
};

}  // namespace conv_transpose

#endif
