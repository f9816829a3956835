// Packing of pictures for implicit matrix products of gradients whose taps are channels (Computation::by_taps): a row
// for every position of the result, of what its taps see, so that what is left is a product of kernels of one position.
// Where an output gradient has few channels, taps fill the rows; where weights are large, they are read as they are given.
#include <array>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/per_axis.h"
#include "generators/axis_inputs.h"
#include "generators/format_text.h"
#include "generators/lowering_passes.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (x, y, (z), channel, group, image), whose coordinates begin at the padding, becomes (position, row, group). Positions
/// count through cells and images, x fastest; rows are taps of channels, x fastest, or channels of taps. What is outside of the
/// picture is zero, and so are rows that fill up the last 16 bytes.
class PackTaps : public Halide::Generator<PackTaps>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> given{"given", Storage::f16, storage_names()};
    GeneratorParam<int> rank{"rank", 2};
    /// It is for rows of at most so many values, which one lane writes.
    GeneratorParam<int> most_rows{"most_rows", 0};
    /// The positions of a row lie side by side, not the rows of a position.
    GeneratorParam<bool> positions_innermost{"positions_innermost", false};

    Input<Halide::Buffer<>> picture{"picture"};

    void configure() {
        picture.set_type(halide_type(given)), picture.set_dimensions(rank + 3);
        attributes_ = add_axis_inputs(*this, rank, packed_attributes);
        channels_fastest_ = add_input<int>("channels_fastest");
        packed_ = add_output<Halide::Buffer<>>("packed", halide_type(given), 3);
    }

    void generate() {
        using namespace Halide;
        const auto attribute = [&](int axis, int i) -> Expr { return *attributes_[4 * axis + i]; };
        const Expr channels = picture.dim(rank).extent(), fastest = *channels_fastest_ != 0;
        PerAxis cells, kernel, counted;
        Expr rows = channels;
        for (int d = 0; d < rank; d++) {
            kernel.push_back(attribute(d, 0)), cells.push_back(attribute(d, 3));
            rows = rows * kernel[d];
        }
        for (int d = 0; d < rank; d++) counted.push_back(select(fastest, d == 0 ? channels : kernel[d - 1], kernel[d]));
        const PerAxis cell = digits(position, cells), digit = digits(row, counted);
        Expr inside = row < rows;
        std::vector<Expr> index;
        for (int d = 0; d < rank; d++) {
            const Expr tap = select(fastest, digit[d + 1], digit[d]);
            const Expr at = cell[d] * attribute(d, 1) + tap * attribute(d, 2);
            const Expr min = picture.dim(d).min(), extent = picture.dim(d).extent();
            inside = inside && is_inside(at, min, extent);
            index.push_back(clamp(at, min, min + extent - 1));
        }
        const Expr images = picture.dim(rank + 2).extent();
        index.insert(index.end(), {clamp(select(fastest, digit[0], digit[rank]), 0, channels - 1), group,
                                   unsafe_promise_clamped(cell[rank], 0, images - 1)});
        const Expr value = picture(index);
        (*packed_)(position, row, group) = select(inside, value, Internal::make_zero(value.type()));
    }

    // A thread has the same 16 bytes of some positions: which taps those are is more to find out than to move. Four lanes
    // write 64 bytes of a position, of short rows one writes all; their neighbours read neighbouring positions.
    void schedule() {
        using namespace Halide;
        add_passes_of_any_kernel(get_pipeline());
        const int values = 16 / halide_type(given).bytes();
        const auto multiple = [values](const Expr &e) { return e / values * values; };
        picture.dim(0).set_stride(Expr());
        for (int d = rank; d < rank + 3; d++) picture.dim(d).set_min(0);
        for (int d = 0; d < 3; d++) packed_->dim(d).set_min(0);
        if (positions_innermost) return schedule_along_positions();
        packed_->dim(1).set_stride(1).set_extent(multiple(packed_->dim(1).extent()));
        for (const int d : {0, 2}) packed_->dim(d).set_stride(multiple(packed_->dim(d).stride()));
        packed_->set_host_alignment(16);
        constexpr auto guard = TailStrategy::GuardWithIf;
        constexpr int threads = 256, own_positions = 4;
        const int lanes_of_row = most_rows > 0 ? 1 : 4;
        Var value{"value"}, eight{"eight"}, eight_block{"eight_block"}, block{"block"}, lane{"lane"}, own{"own"};
        Func rows(*packed_);
        rows.reorder_storage(row, position, group).split(row, eight, value, values).vectorize(value)
            .split(eight, eight_block, eight, lanes_of_row, guard)
            .split(position, block, position, threads / lanes_of_row * own_positions, guard)
            .split(position, own, position, threads / lanes_of_row).fuse(eight, position, lane);
        if (most_rows > 0) rows.reorder(value, own, eight_block, lane, block, group);
        else rows.fuse(eight_block, block, block).reorder(value, own, lane, block, group);
        rows.unroll(own).gpu_blocks(block, group).gpu_threads(lane).never_partition_all();
    }

    // Neighbouring lanes read and write neighbours.
    void schedule_along_positions() {
        using namespace Halide;
        constexpr auto guard = TailStrategy::GuardWithIf;
        constexpr int threads = 256, own_rows = 4;
        Var block{"block"}, lane{"lane"}, own{"own"};
        Func(*packed_).split(position, block, lane, threads, guard).split(row, row, own, own_rows, guard)
            .reorder(own, lane, block, row, group).unroll(own)
            .gpu_blocks(block, row, group).gpu_threads(lane).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::tap_packing, get_target());
        if (given != Storage::f32) description.set("input", format_text(given)), description.set("output", format_text(given));
        description.set("rank", rank);
        if (most_rows > 0) description.set("max_out_channels", most_rows);
        if (positions_innermost) description.set("positions_innermost", "true");
    }

  private:
    static constexpr std::array packed_attributes{"kernel_", "stride_", "dilation_", "cells_"};

    AxisInputs attributes_;
    Halide::GeneratorInput<int> *channels_fastest_ = nullptr;
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;
    Halide::Var position{"position"}, row{"row"}, group{"group"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackTaps, pack_taps)
