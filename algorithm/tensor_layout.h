// Where the elements of a tensor lie: an order of named dimensions, some of them in blocks. Kernels' index arithmetic
// (Halide::Expr) and the runtime's (int64_t) are the same templates.
//
// A tensor (channel, x, y) in tiles of 64 channels is {channel/64, x, y, channel}: the channel of a tile runs fastest,
// then the pixels, then the tiles. The last piece of a dimension counts what the pieces before it leave.
#ifndef CONV_TRANSPOSE_ALGORITHM_TENSOR_LAYOUT_H
#define CONV_TRANSPOSE_ALGORITHM_TENSOR_LAYOUT_H

#include <array>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>

namespace conv_transpose {

/// These are dimensions of pictures and weights. In a weight, `channel` is what a kernel computes and `summed` what it
/// sums over, x, y and z are kernel positions, and `piece` is one of a split value (ElementFormat::pieces()).
enum class Dimension { channel, summed, x, y, z, group, image, piece };
inline constexpr std::size_t dimension_count = static_cast<std::size_t>(Dimension::piece) + 1;

/// One value for each dimension: extents, or coordinates.
template <class Int>
class PerDimension {
  public:
    struct Entry {
        Dimension dimension;
        Int value;
    };
    /// Those that are not named are `others`.
    PerDimension(Int others, std::initializer_list<Entry> entries) {
        values_.fill(others);
        for (const Entry &e : entries) (*this)[e.dimension] = e.value;
    }
    Int &operator[](Dimension d) { return values_[static_cast<std::size_t>(d)]; }
    const Int &operator[](Dimension d) const { return values_[static_cast<std::size_t>(d)]; }

  private:
    std::array<Int, dimension_count> values_;
};

class TensorLayout {
  public:
    /// A dimension, or `block` neighbours of it; 0 is all that pieces further inside leave.
    struct Piece {
        Dimension dimension;
        int block = 0;
    };

    /// Innermost first.
    constexpr TensorLayout(std::initializer_list<Piece> pieces) {
        if (pieces.size() > pieces_.size()) throw std::logic_error("a layout of too many pieces");
        for (const Piece &p : pieces) pieces_[count_++] = p;
    }

    /// Neighbours of a dimension in all of its blocks: its extent is filled up to a multiple of that.
    constexpr int block(Dimension d) const {
        int block = 1;
        for (std::size_t i = 0; i < count_; i++)
            if (pieces_[i].dimension == d && pieces_[i].block != 0) block *= pieces_[i].block;
        return block;
    }

    /// This counts the whole tensor, filled up to whole blocks.
    template <class Int>
    Int elements(const PerDimension<Int> &extents) const {
        return walk<Int>(extents, [](const Step<Int> &) {});
    }

    /// An element lies so far from the first.
    template <class Int>
    Int offset(const PerDimension<Int> &at, const PerDimension<Int> &extents) const {
        Int offset(0);
        walk<Int>(extents, [&](const Step<Int> &s) {
            const Int outer = s.inner == 1 ? at[s.dimension] : Int(at[s.dimension] / s.inner);
            offset = offset + (s.is_last ? outer : Int(outer % s.extent)) * s.stride;
        });
        return offset;
    }

    /// The element at an offset. In whole blocks that the extents do not fill, coordinates lie beyond the extents.
    template <class Int>
    PerDimension<Int> coordinates(const Int &offset, const PerDimension<Int> &extents) const {
        PerDimension<Int> at(Int(0), {});
        Int rest = offset;
        walk<Int>(extents, [&](const Step<Int> &s) {
            at[s.dimension] = at[s.dimension] + Int(rest % s.extent) * s.inner;
            rest = rest / s.extent;
        });
        return at;
    }

  private:
    std::array<Piece, 12> pieces_{};
    std::size_t count_ = 0;

    template <class Int>
    struct Step {
        Dimension dimension;
        int inner;   ///< neighbours in pieces further inside
        bool is_last;  ///< piece of the dimension
        Int extent, stride;
    };

    /// Calls f for every piece, innermost first, and returns the number of elements.
    template <class Int, class F>
    Int walk(const PerDimension<Int> &extents, F f) const {
        std::array<int, dimension_count> inner;
        inner.fill(1);
        Int stride(1);
        for (std::size_t i = 0; i < count_; i++) {
            const Piece &p = pieces_[i];
            int &within = inner[static_cast<std::size_t>(p.dimension)];
            const Int left = within == 1 ? extents[p.dimension] : Int((extents[p.dimension] + (within - 1)) / within);
            const Int extent = p.block == 0 ? left : Int(p.block);
            f(Step<Int>{p.dimension, within, p.block == 0, extent, stride});
            stride = stride * extent;
            if (p.block != 0) within *= p.block;
        }
        return stride;
    }
};

namespace layouts {

using enum Dimension;

// Pictures.
inline constexpr TensorLayout channels_first{{x}, {y}, {z}, {channel}, {image}};
inline constexpr TensorLayout channels_last{{channel}, {x}, {y}, {z}, {image}};

// Weights, channels filled up to whole tiles.
inline constexpr TensorLayout channels_innermost{{channel}, {x}, {y}, {z}, {summed}, {group}};
constexpr TensorLayout channel_tiles(int tile) { return {{channel, tile}, {x}, {y}, {z}, {summed}, {channel}, {group}}; }

/// Operands of tensor cores: rows of 16 bytes, of 64 channels one after the other.
constexpr TensorLayout tensor_core_weights(int values_of_16_bytes) {
    return {{summed, values_of_16_bytes}, {channel, 64}, {x}, {y}, {z}, {piece}, {summed}, {channel}, {group}};
}

}  // namespace layouts

}  // namespace conv_transpose

#endif
