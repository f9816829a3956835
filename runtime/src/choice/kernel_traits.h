// A row of the registry: a compiled kernel and the problems that it accepts.
#ifndef CONV_TRANSPOSE_RUNTIME_KERNEL_TRAITS_H
#define CONV_TRANSPOSE_RUNTIME_KERNEL_TRAITS_H

#include <string_view>

#include "algorithm/kernel_interface.h"
#include "algorithm/signature.h"
#include "algorithm/staged_tile.h"
#include "conv_transpose/conv_transpose.h"
#include "device/machine.h"
#include "problem/size2.h"

namespace conv_transpose {

/// Most kernels compute an operation; some prepare operands for those that do.
enum class KernelRole {
    compute,
    weight_packing,
    channel_packing,
    phase_packing,
    tap_packing,
    picture_packing,
    channels_last_packing,
    channels_first_packing,
    picture_turning,
    sum_of_parts,
    sum_of_output_parts,
    sum_of_taps,
    weight_gradient_sum,
    winograd_tiles,
    winograd_taps,
    winograd_outputs,
};

/// Halide's uniform entry point: pointers to the arguments in order.
using KernelFunction = int (*)(void **);

/// Which problems a kernel accepts. A size of 0 stands for "any".
struct Accepts {
    Operation operation = Operation::forward;
    Precision precision = Precision::float32;
    /// The most axes that it computes.
    int rank = 2;

    /// 0 where the attribute is a run-time value.
    Size2 kernel{}, stride{}, dilation{}, padding_phase{};
    /// A tile of the passes of Winograd's algorithm has so many points.
    Size2 winograd_points{};
    /// A CPU's flat kernels by Winograd's algorithm have tiles of so many cells.
    Size2 winograd_cells{};
    /// Channels of one group.
    int64_t in_channels = 0, out_channels = 0;
    int64_t max_in_channels = 0, max_out_channels = 0;
    int64_t in_channel_multiple = 1, out_channel_multiple = 1;
    /// Fewer channels of a group would leave most of a tile unused.
    int64_t min_in_channels = 1, min_out_channels = 1;
    /// Pictures of fewer inputs leave most of a tile of positions unused.
    int64_t min_input_positions = 1;
    /// A flat weight gradient's sum is one tile, in which each place of all images has at least so many input channels.
    int64_t min_channels_of_place = 0;
    /// So many lanes has each sum of a flat weight gradient, which are added up at its end.
    int64_t sum_lanes = 1;
    /// Neighbouring groups are a vector, in channels_last.
    int64_t group_multiple = 1;
    /// Fewer groups are no vector.
    int64_t min_groups = 1;
    int64_t output_width_multiple = 1, stride_width_multiple = 1;
    Size2 min_output{};
    /// Where groups fill a vector, kernels whose vectors are groups compute shorter rows faster.
    int64_t min_output_width_of_groups = 0;
    /// Products of input and weight elements.
    int64_t max_products = 0;
    /// It is not worth its while for fewer steps of its loop.
    int64_t min_steps = 0;
    /// Sizes of the one problem that it was tuned for.
    Size2 exact_input{}, exact_output{};
    /// Indices are 64-bit: one launch may span more than 2^31 elements.
    bool large_buffers = false;
    /// An Inf or NaN in a picture reaches the results that it is a factor of, and no others. Not where a kernel
    /// multiplies the zeros around pictures, or adds up neighbours.
    bool strict_propagation = true;
    /// There are so many kernel positions at least.
    int64_t min_taps = 0;
    /// Kernels have one position, and strides are 1.
    bool one_position = false;
};

/// What a kernel is called with: the family names its arguments (algorithm/signature.h), the rest is how tensors lie.
struct CalledWith {
    Family family = Family::forward;
    /// Formats of the operation's tensors; a gradient has that of its tensor.
    TensorFormat input{}, weight{}, output{};

    /// Pictures, and weights that are read as they are given, may have any layout: strides are run-time values.
    bool any_layout = false;
    /// A flat matrix product of any layout has places in vectors, not channels.
    bool places_of_any_layout = false;
    /// One of channels_last has channels in vectors, and stores sums from registers.
    bool stores_sums = false;
    /// A flat matrix product's channels are all taps of all channels; what they give is added up afterwards.
    bool computes_taps = false;
    /// A flat matrix product computes all phases at once, by register tiles of so many lanes, each a phase of a channel.
    int64_t phase_lanes = 0;
    /// A flat matrix product's channels, which lie apart, are turned into vectors, and back.
    bool turns_channels = false;
    /// It reads and writes vectors of neighbouring channels, from multiples of 16 bytes.
    bool vectors_of_channels = false;
    /// A gradient of parameters, whose parts are float32, may have any format: the sum of parts converts it.
    bool any_result = false;

    WeightLayout weight_layout = WeightLayout::as_given;
    int64_t weight_channel_multiple = 1, weight_in_channel_multiple = 1;
    /// Groups, of one channel each, are packed as if they were the channels of one.
    bool packs_groups = false;
    /// In panels of channels, kernel positions lie inside of the channels that are summed.
    bool taps_innermost = false;
    /// In panels of channels, of the type of its pictures, two channels that are summed lie side by side, and are multiplied as
    /// one; also of kernels that pack weights.
    bool sums_pairs = false;
    /// Channels that are summed are filled up with zeros to a multiple; any number of them makes pairs so.
    int64_t filled_multiple = 1;
    /// In layouts for tensor cores: packed values of a tile of channels for every summed channel; for any kernel
    /// size, at every kernel position.
    int64_t weight_tile = 0;
    /// The output begins with a whole cell of `stride` positions: padding % stride elements early, which are
    /// not stored.
    bool whole_cells = false;
    /// Phases are channels of its product (algorithm/implicit_gemm.h), or of the width alone.
    bool phases_as_channels = false, phases_along_width = false;
    /// Channels run faster than the phases that are channels; also of kernels that pack weights.
    bool phases_outermost = false;
    /// A kernel that packs weights: summed channels may be those of neighbouring inputs (input_cells.h).
    bool packs_cells = false;
    /// Kernel positions are channels that it sums over, in the order of a weight in channels_first.
    bool taps_as_channels = false;
    /// It reads words of two neighbours along the width, of output gradients in channels_first as they lie: kernels are as large
    /// as their strides, two along the width. It sums over both, or is a weight gradient, whose positions see them.
    bool reads_pairs = false;
    /// It is for split sums alone: it stores float32, in the layout of what it computes, whose elements have another type.
    bool makes_parts = false;
    /// The picture is read with four channels side by side, as many as weight_in_channel_multiple demands
    /// (forward.cpp in plan/).
    bool packed_channels = false;
    /// Positions of a box, where the picture is read by a tensor map (picture_frame.h); else 0. Channels of the weights', as
    /// they are given, where they are no step of a sum over channels.
    int64_t box_positions = 0, box_channels = 0;
    /// Channels of a box that it stores by a tensor map of its output, the last of its maps; 0: it has none.
    int64_t stored_box_channels = 0;
    /// Slopes of channels may stand behind their biases (BiasKind).
    bool channel_slopes = false;
    /// It stores single channels in channels_last, not 16 bytes of them at a time.
    bool stores_single_channels = false;
    /// Taps along the width that a step of the sum has; of a weight gradient, all of a line, which share a box.
    int64_t window = 1;
    /// So many taps along the width, all that there are, are rows of its product. Positions come in runs of so many that are
    /// computed, of which so many are stored; a box may have more.
    int64_t row_taps = 1, run_positions = 0, stored_positions = 0;
    /// It multiplies packed pictures (packed_pictures.h).
    bool packed_pictures = false;
    /// It packs pictures where all tensors lie at multiples of 16 bytes and channels have a multiple of so many positions.
    int64_t aligned_positions = 0;
    /// It packs pictures, and neighbouring lanes read neighbouring channels.
    bool packs_along_channels = false;
    /// It packs taps, and the positions of a row lie side by side.
    bool positions_innermost = false;
    /// It adds the parts of a weight gradient, and each thread adds all of some weights.
    bool sums_in_order = false;
};

/// How a kernel cuts its work, and how fast it is.
struct Tile {
    /// What a block computes of the output, or of the input gradient: positions and channels. Where they
    /// count through images, any positions of one phase, otherwise rows and columns of one picture.
    Size2 block_positions{};
    int64_t block_channels = 0, blocks_per_multiprocessor = 1;
    bool counts_through_images = false;
    /// So many blocks go through all of that, and copies of the next come while one is stored; 0: each has its own.
    int64_t resident_blocks = 0;
    /// Each of them keeps its weights, of so many steps at most, for all its tiles; 0: they come with every tile.
    int64_t kept_steps = 0;
    /// An axis (0: the width, 1: the height) has so many, at each of which a thread computes a position by itself;
    /// 0 where threads share more. They are far from each other, or neighbours that see what their taps share once.
    int64_t parts = 0;
    int part_axis = 0;
    bool parts_are_neighbours = false;
    /// So many taps along that axis, a step apart, whose weights a thread has at the same time.
    int64_t taps_at_once = 1;
    /// TFLOP/s of full blocks on an H200 (machine_facts.h), measured; 0 where it is not known, and the order in the
    /// registry decides.
    int h200_tflops = 0;
    /// The sum may be cut into parts of so many blocks together, where there are fewer (partial_sums.h);
    /// 0: it may not. They occupy an H200 and are as many on every GPU: how a sum is cut decides its last bits.
    int64_t split_target_blocks = 0;
    /// Its steps are cut, whatever the channels are: the output has a group for each part, its operands have not.
    bool splits_steps = false;

    /// Weights that one block or task of a weight gradient computes.
    int64_t tile_in_channels = 1, tile_out_channels = 1, tile_taps = 1, tile_groups = 1;
    /// As many blocks or tasks occupy a large machine; the sum is cut into so many parts.
    int64_t wanted_blocks = 1;
    /// A weight gradient's bands are a multiple of this high, and rows are filled up to a multiple of this.
    int64_t chunk_rows = 1, chunk_columns = 1;
    /// The axes through which its bands count, the outermost first: 1, rows of a plane; 2, rows of a volume; 3, positions.
    int band_axes = 1;
    /// So many rows, a dilation apart, count as a position: a lane goes through all of them.
    int64_t run_rows = 1;
    /// Its bands are of the output's rows that taps reach, not of the input's.
    bool bands_of_output_rows = false;
    /// Its sum has one part, and it writes the weights themselves.
    bool writes_result = false;
    /// Or as many as a cluster has blocks: the blocks along y are one, and add their parts before they write.
    bool adds_in_clusters = false;
    /// A flat matrix product's register tile has so many neighbouring places (flat_tiles.h), one of CpuTiles so many cells of a
    /// row, and full tiles reach so many percent of the FMA units' rate, measured.
    int64_t tile_places = 1, fma_percent = 0;
    /// Tiles of places have no gaps between rows; channels and taps are summed as one.
    bool only_cells = false, joined_terms = false;
    /// Neighbouring taps of a row of the kernel are one run of the picture, which dilated ones are not: a weight gradient's
    /// columns, or what an input gradient sums as channels.
    bool joins_row_taps = false;
    /// Positions of packed pictures that it multiplies at once.
    int64_t chunk_positions = 1;
    /// Its blocks stage what they see (staged_columns.h); without threads they do not.
    StagedShape staged_shape{};
};

/// What a kernel needs of the machine.
struct MachineNeeds {
    Device device = Device::cpu;
    CpuLevel cpu_level = CpuLevel::baseline;
    /// 80 is sm_80.
    int min_compute_capability = 0, max_compute_capability = 1 << 30;
    /// Shared memory of a block, where it may be more than a GPU has.
    int64_t shared_bytes = 0;
};

/// The fields are filled in by the rows that generators write (schedules/shared/kernel_description.h).
struct KernelTraits : Accepts, CalledWith, Tile, MachineNeeds {
    std::string_view name;
    KernelFunction function = nullptr;
    KernelRole role = KernelRole::compute;
};

}  // namespace conv_transpose

#endif
