// The signatures of kernels: the arguments that each family of kernels takes, in their order, declared once.
// Generators declare the same inputs and outputs, which `generate` checks (compiler/driver/signature_check.h), the
// runtime binds arguments by their names, and kernel packs carry the hash. No Halide, no runtime types.
#ifndef CONV_TRANSPOSE_ALGORITHM_SIGNATURE_H
#define CONV_TRANSPOSE_ALGORITHM_SIGNATURE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace conv_transpose {

/// Kernels of a family take the same arguments.
enum class Family {
    forward,
    flat_forward,  ///< in tiles of the caller's shape
    input_gradient,
    flat_input_gradient,
    weight_gradient,
    flat_weight_gradient,
    weight_gradient_product,  ///< of packed pictures
    weight_gradient_implicit_gemm,  ///< of pictures with channels innermost
    bias_gradient,
    weight_packing,
    tensor_core_weight_packing,
    gemm_weight_packing,  ///< for implicit matrix products
    channel_packing,
    phase_packing,
    tap_packing,
    picture_packing,
    sum_of_parts,
    sum_of_output_parts,
    sum_of_taps,  ///< of products that lie at the positions of the input
    weight_gradient_sum,
    winograd_tiles,    ///< tiles of pictures or of weights to points (winograd.h)
    winograd_product,  ///< of the same point of all tiles
    winograd_outputs,  ///< points to pictures, or to weights
};
inline constexpr std::size_t family_count = static_cast<std::size_t>(Family::winograd_outputs) + 1;

enum class ArgumentKind { tensor, int32, float32 };

/// What a tensor holds, and so who says in which format: partial sums are float32 whatever the others are.
enum class TensorRole {
    none,           ///< a scalar
    input, output,  ///< pictures or their gradients
    picture,        ///< either of them
    weight, bias,   ///< parameters or their gradients
    parameter,      ///< either of them
    partial,        ///< parts of a sum
};

/// The axes of a problem, innermost first, as argument names end: kernel_width, kernel_height, kernel_depth.
inline constexpr std::array<std::string_view, 3> axis_names{"width", "height", "depth"};
inline constexpr int max_rank = static_cast<int>(axis_names.size());

struct Argument {
    std::string_view name;
    ArgumentKind kind;
    /// A scalar that each axis has one of.
    bool per_axis = false;
    TensorRole role = TensorRole::none;
    bool written = false;
    /// A tensor's dimensions beside those that are axes of the problem.
    int other_dimensions = 0;
    bool has_axes = false;

    constexpr int dimensions(int rank) const { return other_dimensions + (has_axes ? rank : 0); }
    constexpr int count(int rank) const { return per_axis ? rank : 1; }
};

/// The arguments of one family. Tensors that are written come last, as Halide has it.
struct Signature {
    std::string_view family;
    std::span<const Argument> arguments;

    /// Calls f(argument, axis) for everything that a kernel takes, in order. Scalars per axis that stand side by side
    /// come axis by axis: all of the width, then all of the height.
    template <class F>
    constexpr void for_each(int rank, F f) const {
        for (std::size_t i = 0; i < arguments.size();) {
            std::size_t end = i;
            while (end < arguments.size() && arguments[end].per_axis) end++;
            for (int axis = 0; axis < rank && end > i; axis++)
                for (std::size_t j = i; j < end; j++) f(arguments[j], axis);
            if (end == i) f(arguments[end++], 0);
            i = end;
        }
    }

    constexpr int count(int rank) const {
        int n = 0;
        for (const Argument &a : arguments) n += a.count(rank);
        return n;
    }

    /// The place of an argument, counted from 0; -1 if there is none of that name and axis.
    constexpr int position(std::string_view name, int axis, int rank) const {
        int at = 0, found = -1;
        for_each(rank, [&](const Argument &a, int axis_of_a) {
            if (a.name == name && axis_of_a == axis) found = at;
            at++;
        });
        return found;
    }
};

namespace signatures {

constexpr Argument tensor(std::string_view name, TensorRole role, int other_dimensions, bool has_axes) {
    return {.name = name, .kind = ArgumentKind::tensor, .role = role, .other_dimensions = other_dimensions,
            .has_axes = has_axes};
}
/// Tensors of any rank: the axes come first, `other_dimensions` behind them.
constexpr Argument axes_and(int other_dimensions, std::string_view name, TensorRole role) {
    return tensor(name, role, other_dimensions, true);
}
/// Tensors whose dimensions are the same for any rank.
constexpr Argument dense(int dimensions, std::string_view name, TensorRole role) {
    return tensor(name, role, dimensions, false);
}
constexpr Argument written(Argument argument) {
    argument.written = true;
    return argument;
}
constexpr Argument int32(std::string_view name) { return {.name = name, .kind = ArgumentKind::int32}; }
constexpr Argument float32(std::string_view name) { return {.name = name, .kind = ArgumentKind::float32}; }
constexpr Argument per_axis(std::string_view name) {
    return {.name = name, .kind = ArgumentKind::int32, .per_axis = true};
}

template <std::size_t... counts>
constexpr auto joined(const Argument (&...lists)[counts]) {
    std::array<Argument, (counts + ...)> all;
    auto *next = all.data();
    (..., [&] {
        for (const Argument &a : lists) *next++ = a;
    }());
    return all;
}

// What several families have.
inline constexpr Argument epilogue[] = {int32("has_bias"), int32("activation"), float32("slope")};
inline constexpr Argument gather_axes[] = {per_axis("stride"), per_axis("dilation"), per_axis("padding_phase"),
                                           per_axis("gcd"), per_axis("inverse"), per_axis("kernel")};
inline constexpr Argument strided_axes[] = {per_axis("kernel"), per_axis("stride"), per_axis("dilation")};
inline constexpr Argument flat_tile[] = {int32("segment_cells"), int32("tile_rows"), int32("block_panels")};

/// Pictures are (x, y, channel in group, group, batch), and weights (kx, ky, channel, summed channel, group).
inline constexpr Argument forward_operands[] = {
    axes_and(3, "input", TensorRole::input), axes_and(3, "weight", TensorRole::weight),
    dense(2, "bias", TensorRole::bias)};  // channel in group, group
inline constexpr Argument forward_result[] = {written(axes_and(3, "output", TensorRole::output))};
inline constexpr auto forward = joined(forward_operands, epilogue, gather_axes, forward_result);
inline constexpr auto flat_forward = joined(forward_operands, epilogue, gather_axes, flat_tile, forward_result);

inline constexpr Argument input_gradient_operands[] = {axes_and(3, "output_gradient", TensorRole::output),
                                                       axes_and(3, "weight", TensorRole::weight)};
inline constexpr Argument input_gradient_result[] = {written(axes_and(3, "input_gradient", TensorRole::input))};
inline constexpr auto input_gradient = joined(input_gradient_operands, strided_axes, input_gradient_result);
inline constexpr auto flat_input_gradient = joined(input_gradient_operands, strided_axes, flat_tile, input_gradient_result);

inline constexpr Argument weight_gradient[] = {
    axes_and(3, "input", TensorRole::input), axes_and(3, "output_gradient", TensorRole::output),
    int32("batch"), int32("band_rows"), int32("part_images"),
    per_axis("kernel"), per_axis("stride"), per_axis("dilation"),
    // Output channel, input channel, group, band, images; or the weights themselves.
    written(axes_and(5, "partial", TensorRole::parameter)),
};

inline constexpr Argument flat_weight_gradient[] = {
    axes_and(3, "input", TensorRole::input), axes_and(3, "output_gradient", TensorRole::output),
    per_axis("kernel"), per_axis("stride"), per_axis("dilation"),
    int32("segment_cells"), int32("tile_rows"), int32("part_segments"), int32("part_tiles"),
    int32("block_inputs"), int32("block_outputs"),  // of a task: panels of input channels, and output channels
    int32("tap_entries"), int32("channel_entries"),  // from the weight of a tap, or of an output channel, to the next one's
    written(dense(4, "partial", TensorRole::partial)),  // entry (output channel and tap), input channel, group, part
};

inline constexpr Argument weight_gradient_product[] = {
    dense(5, "input", TensorRole::input),             // value, channel, group, step, part
    dense(6, "output_gradient", TensorRole::output),  // value, channel, group, position, four, part
    int32("input_columns"), int32("input_rows"), int32("input_planes"),
    int32("column_step"), int32("row_step"), int32("plane_step"), int32("band_steps"),
    per_axis("kernel"), per_axis("tap_step"),
    written(dense(6, "partial", TensorRole::partial)),  // input, output channel, tap of a tile, tile, group, band
};

/// Pictures are (channel in group, x, y, z, group, batch).
inline constexpr Argument weight_gradient_implicit_gemm[] = {
    dense(6, "input", TensorRole::input), dense(6, "output_gradient", TensorRole::output),
    int32("band_positions"),
    per_axis("kernel"), per_axis("stride"), per_axis("dilation"),
    // Input, output channel, tap of a tile, tile, group, band; or the weights themselves.
    written(dense(6, "partial", TensorRole::parameter)),
};

inline constexpr Argument bias_gradient[] = {
    dense(3, "output_gradient", TensorRole::output),  // position, channel, image
    int32("slice_positions"),
    int32("part_images"),
    written(dense(3, "partial", TensorRole::partial)),  // channel, slice, part of the batch
};

inline constexpr Argument weight_packing[] = {axes_and(3, "weight", TensorRole::weight),
                                              written(axes_and(3, "packed", TensorRole::weight))};

inline constexpr Argument tensor_core_weight_packing[] = {
    axes_and(3, "weight", TensorRole::weight),
    per_axis("stride"), per_axis("padding_phase"),
    written(dense(5, "packed", TensorRole::weight)),
};

inline constexpr Argument gemm_weight_packing[] = {
    axes_and(3, "weight", TensorRole::weight),
    per_axis("channel_phases"), per_axis("summed_phases"),
    int32("summed_channels"), int32("summed_step"), int32("phase_step"), int32("tap_step"),
    int32("dilation"), int32("joined_groups"),
    written(dense(5, "packed", TensorRole::weight)),
};

inline constexpr Argument channel_packing[] = {
    dense(4, "picture", TensorRole::picture),  // position, channel, group, image
    written(dense(4, "packed", TensorRole::picture)),
};

inline constexpr Argument phase_packing[] = {
    axes_and(3, "picture", TensorRole::picture),
    per_axis("stride"),
    written(axes_and(3, "packed", TensorRole::picture)),
};

inline constexpr Argument tap_packing[] = {
    axes_and(3, "picture", TensorRole::picture),
    per_axis("kernel"), per_axis("stride"), per_axis("dilation"), per_axis("cells"),
    int32("channels_fastest"),
    written(dense(3, "packed", TensorRole::picture)),  // position of any image, tap and channel, group
};

inline constexpr Argument picture_packing[] = {
    dense(5, "images", TensorRole::picture),  // x, y, z, channel, image
    int32("positions"), int32("columns"), int32("rows"), int32("first_picture"), int32("strip_bits"), int32("strip_planes"),
    written(dense(4, "packed", TensorRole::picture)),  // value, channel, place, part
};

inline constexpr Argument sum_of_parts[] = {
    dense(2, "partial", TensorRole::partial),  // element, part
    written(dense(1, "sum", TensorRole::parameter)),
};

inline constexpr Argument sum_of_output_parts[] = {
    dense(4, "partial", TensorRole::partial),  // position, channel, image, part
    dense(1, "bias", TensorRole::bias),
    int32("has_bias"), int32("activation"), float32("slope"),
    written(dense(3, "output", TensorRole::picture)),
};

inline constexpr Argument sum_of_taps_operands[] = {
    axes_and(3, "partial", TensorRole::partial),  // position of the input, tap, channel, image
    dense(1, "bias", TensorRole::bias)};
inline constexpr Argument sum_of_taps_result[] = {
    written(axes_and(2, "output", TensorRole::output))};  // position, channel, image
inline constexpr auto sum_of_taps = joined(sum_of_taps_operands, epilogue, gather_axes, sum_of_taps_result);

inline constexpr Argument weight_gradient_sum[] = {
    // Input channel, output channel, tap, group, band; output channel and tap change places where channels are innermost.
    dense(5, "partial", TensorRole::partial),
    written(dense(3, "sum", TensorRole::weight)),
};

inline constexpr Argument winograd_tiles[] = {
    dense(4, "picture", TensorRole::picture),           // x, y, channel, image
    per_axis("tiles"), per_axis("step"),                // of an image; from one to the next
    per_axis("phases"), per_axis("stride"), per_axis("taps"),  // of a channel; of a tile's positions; so many are transformed
    written(dense(3, "points", TensorRole::partial)),   // tile of any image, (channel, phase), point
};

inline constexpr Argument winograd_product[] = {
    dense(3, "left", TensorRole::partial),  // row, term, point; or term, row, point
    dense(3, "right", TensorRole::partial),
    int32("adds"), dense(3, "before", TensorRole::partial),  // not 0: to this, which may be the product itself
    written(dense(3, "product", TensorRole::partial)),  // row of the left, of the right, point
};

inline constexpr Argument winograd_outputs[] = {
    dense(3, "points", TensorRole::partial),  // tile of any image, (channel, phase), point
    dense(1, "bias", TensorRole::bias),
    int32("has_bias"), int32("activation"), float32("slope"),
    per_axis("tiles"), per_axis("step"), per_axis("phases"), per_axis("stride"), per_axis("outputs"),
    written(dense(4, "output", TensorRole::picture)),  // x, y, channel, image
};

/// In the order of Family.
inline constexpr std::array<Signature, family_count> all{{
    {"forward", forward},
    {"flat_forward", flat_forward},
    {"input_gradient", input_gradient},
    {"flat_input_gradient", flat_input_gradient},
    {"weight_gradient", weight_gradient},
    {"flat_weight_gradient", flat_weight_gradient},
    {"weight_gradient_product", weight_gradient_product},
    {"weight_gradient_implicit_gemm", weight_gradient_implicit_gemm},
    {"bias_gradient", bias_gradient},
    {"weight_packing", weight_packing},
    {"tensor_core_weight_packing", tensor_core_weight_packing},
    {"gemm_weight_packing", gemm_weight_packing},
    {"channel_packing", channel_packing},
    {"phase_packing", phase_packing},
    {"tap_packing", tap_packing},
    {"picture_packing", picture_packing},
    {"sum_of_parts", sum_of_parts},
    {"sum_of_output_parts", sum_of_output_parts},
    {"sum_of_taps", sum_of_taps},
    {"weight_gradient_sum", weight_gradient_sum},
    {"winograd_tiles", winograd_tiles},
    {"winograd_product", winograd_product},
    {"winograd_outputs", winograd_outputs},
}};

/// FNV-1a.
struct Hash {
    std::uint64_t value = 14695981039346656037u;

    constexpr void add(std::uint64_t number) {
        for (int byte = 0; byte < 8; byte++) value = (value ^ (number >> 8 * byte & 255)) * 1099511628211u;
    }
    constexpr void add(std::string_view text) {
        add(text.size());
        for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    constexpr void add(const Argument &a) {
        add(a.name);
        for (const int field : {int(a.kind), int(a.per_axis), int(a.role), int(a.written), a.other_dimensions,
                                int(a.has_axes)})
            add(static_cast<std::uint64_t>(field));
    }
};

constexpr std::uint64_t hash_of(std::span<const Signature> signatures) {
    Hash hash;
    hash.add("kernels wait by themselves for the one before them");
    for (const Signature &s : signatures) {
        hash.add(s.family);
        for (const Argument &a : s.arguments) hash.add(a);
    }
    return hash.value;
}

}  // namespace signatures

constexpr const Signature &signature(Family family) { return signatures::all[static_cast<std::size_t>(family)]; }

/// Differs whenever an argument of any family does.
inline constexpr std::uint64_t signatures_hash = signatures::hash_of(signatures::all);

/// The most arguments that a kernel takes.
inline constexpr int max_arguments = [] {
    int most = 0;
    for (const Signature &s : signatures::all) most = s.count(max_rank) > most ? s.count(max_rank) : most;
    return most;
}();

/// The name of an argument of a family. One that the family lacks does not compile.
template <Family family>
class ArgumentName {
  public:
    consteval ArgumentName(const char *name) : name_(name) {
        if (signature(family).position(name, 0, max_rank) < 0) throw "the family has no argument of this name";
    }
    /// As Signature::position().
    constexpr int position(int axis, int rank) const { return signature(family).position(name_, axis, rank); }

  private:
    std::string_view name_;
};

}  // namespace conv_transpose

#endif
