// Layouts: offsets and coordinates are each other's inverse, and say where the packing generators put every weight.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "Halide.h"
#include "algorithm/element_format.h"
#include "algorithm/tensor_layout.h"

namespace conv_transpose {
namespace {

using enum Dimension;
using Extents = PerDimension<int64_t>;

TEST(TensorLayout, CountsNeighboursOfADimensionInItsBlocks) {
    constexpr TensorLayout layout = layouts::tensor_core_weights(8);
    EXPECT_EQ(layout.block(summed), 8);
    EXPECT_EQ(layout.block(channel), 64);
    EXPECT_EQ(layout.block(x), 1);
}

TEST(TensorLayout, FillsDimensionsUpToWholeBlocks) {
    const Extents extents(1, {{summed, 9}, {channel, 65}, {x, 3}, {y, 2}, {piece, 2}, {group, 5}});
    EXPECT_EQ(layouts::tensor_core_weights(8).elements(extents), 16 * 128 * 3 * 2 * 2 * 5);
    EXPECT_EQ(layouts::channels_last.elements(Extents(1, {{channel, 7}, {x, 3}, {image, 2}})), 42);
}

TEST(TensorLayout, PutsChannelsWhereItSays) {
    const Extents extents(1, {{channel, 5}, {x, 4}, {y, 3}, {image, 2}});
    const Extents at(0, {{channel, 3}, {x, 2}, {y, 1}, {image, 1}});
    EXPECT_EQ(layouts::channels_first.offset(at, extents), 2 + 4 * (1 + 3 * (3 + 5 * 1)));
    EXPECT_EQ(layouts::channels_last.offset(at, extents), 3 + 5 * (2 + 4 * (1 + 3 * 1)));
}

TEST(TensorLayout, TellsCoordinatesOfEveryOffset) {
    const Extents extents(1, {{summed, 9}, {channel, 65}, {x, 3}, {y, 2}, {z, 2}, {piece, 2}, {group, 3}});
    for (const TensorLayout &layout : {layouts::tensor_core_weights(4), layouts::channel_tiles(16),
                                       layouts::channels_innermost}) {
        const int64_t elements = layout.elements(extents);
        for (int64_t i = 0; i < elements; i++) ASSERT_EQ(layout.offset(layout.coordinates(i, extents), extents), i);
    }
}

TEST(TensorLayout, IsTheSameArithmeticInHalide) {
    using Halide::Expr;
    const auto number = [](const Expr &e) {
        return *Halide::Internal::as_const_int(Halide::Internal::simplify(e));
    };
    const TensorLayout layout = layouts::tensor_core_weights(4);
    const Extents extents(1, {{summed, 9}, {channel, 65}, {x, 3}, {group, 2}});
    const PerDimension<Expr> same(1, {{summed, 9}, {channel, 65}, {x, 3}, {group, 2}});
    EXPECT_EQ(number(layout.elements(same)), layout.elements(extents));
    for (const int64_t i : {0, 1, 255, 256, 1000, 4607}) {
        const Extents at = layout.coordinates(i, extents);
        const PerDimension<Expr> found = layout.coordinates(Expr(static_cast<int>(i)), same);
        for (const Dimension d : {summed, channel, x, group}) EXPECT_EQ(number(found[d]), at[d]);
        EXPECT_EQ(number(layout.offset(found, same)), i);
    }
}

/// Weights (kx, ky, kz, channel, summed, group), of the rank that a packing generator takes.
struct Weights {
    int rank;
    Extents extents;
    Halide::Buffer<> buffer;

    Weights(int rank, const Halide::Type &type, const Extents &extents) : rank(rank), extents(extents) {
        std::vector<int> sizes;
        for (const Dimension d : dimensions()) sizes.push_back(static_cast<int>(extents[d]));
        buffer = Halide::Buffer<>(type, sizes);
        for (int64_t i = 0; i < static_cast<int64_t>(buffer.number_of_elements()); i++) set(i, 1 + i * 37 % 251);
    }

    std::vector<Dimension> dimensions() const {
        return rank == 2 ? std::vector{x, y, channel, summed, group} : std::vector{x, y, z, channel, summed, group};
    }
    /// 0 outside.
    double at(const Extents &place) const {
        int64_t index = 0, stride = 1;
        for (const Dimension d : dimensions()) {
            if (place[d] >= extents[d]) return 0;
            index += place[d] * stride;
            stride *= extents[d];
        }
        return 1 + index * 37 % 251;
    }

  private:
    void set(int64_t i, double value) {
        if (buffer.type() == Halide::Float(32)) static_cast<float *>(buffer.data())[i] = static_cast<float>(value);
        else if (buffer.type() == Halide::Float(16)) static_cast<Halide::float16_t *>(buffer.data())[i] = Halide::float16_t(value);
        else static_cast<Halide::bfloat16_t *>(buffer.data())[i] = Halide::bfloat16_t(value);
    }
};

double element(const Halide::Buffer<> &buffer, int64_t i) {
    if (buffer.type() == Halide::Float(32)) return static_cast<const float *>(buffer.data())[i];
    if (buffer.type() == Halide::Float(16)) return double(static_cast<const Halide::float16_t *>(buffer.data())[i]);
    return double(static_cast<const Halide::bfloat16_t *>(buffer.data())[i]);
}

using Parameters = std::map<std::string, std::string>;

Halide::Callable packing(const std::string &generator, const Parameters &parameters) {
    const Halide::GeneratorContext context(Halide::get_host_target());
    const auto packing = Halide::Internal::GeneratorRegistry::create(generator, context);
    for (const auto &[name, value] : parameters) packing->set_generatorparam_value(name, value);
    return packing->compile_to_callable();
}

/// Every element of what was packed is the weight that the layout has there.
void expect_packed(const Halide::Buffer<> &packed, const TensorLayout &layout, const Weights &weights, Extents extents,
                   const std::string &what) {
    const int64_t elements = layout.elements(extents);
    ASSERT_EQ(static_cast<int64_t>(packed.number_of_elements()), elements) << what;
    for (int64_t i = 0; i < elements; i++) {
        const Extents at = layout.coordinates(i, extents);
        // Small whole numbers have no second piece.
        ASSERT_EQ(element(packed, i), at[piece] == 0 ? weights.at(at) : 0) << what << ", element " << i;
    }
}

TEST(TensorLayout, IsThatOfWeightsPackedForTensorCores) {
    for (const int rank : {2, 3}) {
        for (const char *name : {"tf32", "tf32x3", "f16", "bf16"}) {
            const ElementFormat format = *format_named(name);
            const Halide::Type given = format.operand() == Storage::f16    ? Halide::Float(16)
                                       : format.operand() == Storage::bf16 ? Halide::BFloat(16)
                                                                           : Halide::Float(32);
            const std::string given_name = given == Halide::Float(32) ? "f32" : name;
            Extents extents(1, {{x, 3}, {y, 2}, {channel, 66}, {summed, 9}, {group, 2}});
            if (rank == 3) extents[z] = 2;
            const Weights weights(rank, given, extents);
            extents[piece] = format.pieces();
            extents[summed] = 32;  // whole chunks of a kernel
            const TensorLayout layout = layouts::tensor_core_weights(format.values_of_16_bytes());
            Halide::Buffer<> packed(given, {static_cast<int>(layout.elements(extents)), 1, 1, 1, 1});
            Halide::Callable pack =
                packing("pack_gemm_weights", {{"rank", std::to_string(rank)}, {"format", name}, {"given", given_name}});
            Halide::Buffer<> from = weights.buffer;
            const int cell = 0, joined_groups = 1;  // no inputs of a cell are packed
            if (rank == 2) ASSERT_EQ(pack(from, 1, 1, 1, 1, cell, cell, cell, cell, cell, joined_groups, packed), 0);
            else ASSERT_EQ(pack(from, 1, 1, 1, 1, 1, 1, cell, cell, cell, cell, cell, joined_groups, packed), 0);
            expect_packed(packed, layout, weights, extents, std::string(name) + " rank " + std::to_string(rank));
        }
    }
}

TEST(TensorLayout, IsThatOfPackedChannels) {
    const Extents extents(1, {{x, 4}, {y, 2}, {channel, 21}, {summed, 5}, {group, 2}});
    const Weights weights(2, Halide::Float(32), extents);
    Halide::Buffer<float> from = weights.buffer, innermost(32, 4, 2, 5, 2);
    Extents filled = extents;
    filled[channel] = 32;
    try {
        ASSERT_EQ(packing("pack_channels_innermost", {})(from, innermost), 0);
        expect_packed(innermost, layouts::channels_innermost, weights, filled, "channels innermost");
    } catch (const Halide::Error &error) {
        FAIL() << error.what();
    }
}

}  // namespace
}  // namespace conv_transpose
