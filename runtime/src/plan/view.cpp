// Tensor maps of views: see view.h.
#include "plan/view.h"

#include <algorithm>
#include <numeric>

#include "choice/kernel_properties.h"
#include "choice/picture_frame.h"
#include "problem/counting.h"

namespace conv_transpose {

namespace {

// All but channels, images and the box: the frame is the whole picture. `x` is the view's dimension of columns.
PictureMap map_of(const View &view, int x, int axes) {
    const auto &d = view.dimensions();
    const int64_t bytes = bytes_of(view.type());
    PictureMap map;
    map.element = view.type();
    map.axes = axes;
    for (int i = 0; i < axes; i++)
        map.extents[1 + i] = d[x + i].extent, map.strides[i] = d[x + i].stride * bytes, map.traversal[i] = 1;
    return map;
}

// Channels of all groups, side by side.
void set_channels_and_images(PictureMap &map, const View &view, int channel, int group, int image) {
    const auto &d = view.dimensions();
    map.extents[0] = d[channel].extent * d[group].extent;
    map.extents[1 + map.axes] = d[image].extent, map.strides[map.axes] = d[image].stride * bytes_of(view.type());
}

void set_frame(PictureMap &map, const KernelTraits &kernel, const Problem &p) {
    for (int i = 0; i < map.axes; i++) {
        const FrameAxis frame(kernel, p.axes[2 - i], i == 0);
        map.lower[i] = static_cast<int>(frame.first),
        map.upper[i] = static_cast<int>(frame.behind(int64_t(map.extents[1 + i])));
        map.traversal[i] = static_cast<uint32_t>(frame.step);
    }
}

// Channels of a weight gradient's tile that a box has: 128 bytes of them at most.
int64_t channels_of_box(const View &picture, int64_t channels) { return std::min(channels, 128 / bytes_of(picture.type())); }

void set_box(PictureMap &map, int64_t channels, int64_t positions) {
    map.channels = static_cast<uint32_t>(channels), map.positions = static_cast<uint32_t>(positions);
}

// As it lies, of a picture in channels_first: columns, channels of all groups, rows, (planes,) images.
PictureMap map_as_it_lies(const KernelTraits &kernel, const View &picture) {
    const int axes = kernel.rank;
    const auto &d = picture.dimensions();
    PictureMap map = map_of(picture, 0, axes);
    map.block = {static_cast<uint32_t>(kernel.box_positions), static_cast<uint32_t>(kernel.weight_in_channel_multiple), 1, 1, 1};
    const auto set = [&](int dimension, int64_t extent, int64_t stride) {
        const int64_t bytes = std::max<int64_t>(stride, 8) * bytes_of(picture.type());  // of what has one place, any
        map.extents[dimension] = extent, map.strides[dimension - 1] = bytes;
    };
    map.extents[0] = d[0].extent;
    set(1, d[axes].extent * d[axes + 1].extent, d[axes].stride);
    for (int i = 1; i < axes; i++) set(1 + i, d[i].extent, d[i].stride);
    set(1 + axes, d[axes + 2].extent, d[axes + 2].stride);
    return map;
}

// As it lies, too: columns, rows, (planes,) channels of all groups, images. `x` and `channel` are dimensions of the view, the last
// two groups and images. A box has a run of positions of a row, of so many channels.
PictureMap map_of_blocks(const KernelTraits &kernel, const View &picture, int x, int channel, int64_t channels) {
    const auto &d = picture.dimensions();
    const int axes = static_cast<int>(d.size()) - 3, group = axes + 1, image = axes + 2;
    PictureMap map = map_of(picture, x, axes);
    map.block = {static_cast<uint32_t>(kernel.box_positions), 1, 1, 1, 1};
    map.block[axes] = static_cast<uint32_t>(channels);
    const auto set = [&](int dimension, int64_t extent, int64_t stride) {
        map.extents[dimension] = extent, map.strides[dimension - 1] = stride * bytes_of(picture.type());
    };
    map.extents[0] = d[x].extent;
    for (int i = 1; i < axes; i++) set(i, d[x + i].extent, d[x + i].stride);
    set(axes, d[channel].extent * d[group].extent, d[channel].stride);
    set(1 + axes, d[image].extent, d[image].stride);
    return map;
}

// What such positions see, of so many rows, where kernels are as large as their strides, two along the width.
PictureMap map_of_pairs(const KernelTraits &kernel, const Problem &p, const View &picture, int x, int channel, int64_t rows) {
    PictureMap map = map_of_blocks(kernel, picture, x, channel, rows * p.width().kernel / taps(p));
    for (int i = 0; i < map.axes; i++) map.block[i] *= static_cast<uint32_t>(p.axes[2 - i].kernel);
    return map;
}

// Runs of positions, one for each channel of a tile; pictures are single rows.
PictureMap map_of_runs(const KernelTraits &kernel, const View &picture, int64_t channels) {
    const auto &d = picture.dimensions();
    PictureMap map;
    map.element = picture.type();
    map.axes = 1, map.traversal[0] = 1;
    map.block = {static_cast<uint32_t>(kernel.box_positions), static_cast<uint32_t>(channels), 1, 1, 1};
    map.extents = {uint64_t(d[1].extent), uint64_t(d[0].extent * d[4].extent), uint64_t(d[5].extent)};
    map.strides = {uint64_t(d[0].stride * bytes_of(picture.type())), uint64_t(d[5].stride * bytes_of(picture.type()))};
    return map;
}

}  // namespace

View pictures(Operand operand, const Extents &axes, int64_t of_group, int64_t pixel, const LaunchRange &range,
              TensorFormat format) {
    const int64_t plane = product(axes), group = of_group * LayoutStrides(format.layout, pixel, plane).channel;
    const int rank = static_cast<int>(axes.size());
    Extents extents = axes;
    extents.insert(extents.end(), {of_group, range.groups, range.images});
    View view(operand, range.first_image * pixel * plane + range.first_group * group, extents, format.type);
    // Pixels may be wider than the channels of all groups.
    return view.set_layout(format.layout, pixel, rank).set_stride(rank + 1, group).set_stride(rank + 2, pixel * plane);
}

PictureMap picture_map(const KernelTraits &kernel, const Problem &p, const View &picture) {
    if (kernel.reads_pairs) return map_of_pairs(kernel, p, picture, 0, kernel.rank, kernel.weight_in_channel_multiple / 2);
    if (reads_as_it_lies(kernel)) return map_as_it_lies(kernel, picture);
    const int axes = kernel.rank;
    PictureMap map = map_of(picture, 0, axes);
    set_channels_and_images(map, picture, axes, axes + 1, axes + 2);
    set_frame(map, kernel, p);
    set_box(map, kernel.weight_in_channel_multiple, kernel.box_positions);
    return map;
}

PictureMap stored_map(const KernelTraits &kernel, const Problem &p, const View &picture) {
    const auto &d = picture.dimensions();
    const int channel = kernel.rank, group = channel + 1, image = channel + 2;
    const bool is_gradient = kernel.operation == Operation::input_gradient;
    const bool one_phase = is_gradient || std::all_of(p.axes.begin(), p.axes.end(), [](const Axis &a) { return a.stride == 1; });
    const int64_t bytes = bytes_of(picture.type()), phases = is_gradient ? 1 : p.width().stride;
    int64_t lines = d[image].extent;
    for (int i = 1; i < kernel.rank; i++) lines *= d[i].extent;
    const int64_t of_run = kernel.phases_as_channels ? phases : 1, row = d[0].extent * d[0].stride;
    PictureMap map;
    map.element = picture.type();
    map.axes = 2, map.traversal = {1, 1, 1};
    constexpr int64_t fewest = 8, most = 64;  // as multiples of them fill a row
    const int64_t positions = one_phase ? most : std::clamp(std::gcd(d[0].extent / phases, most), fewest, most);
    map.block = {static_cast<uint32_t>(kernel.stored_box_channels), 1, static_cast<uint32_t>(positions), 1, 1};
    const auto set = [&](int dimension, int64_t extent, int64_t stride) {
        map.extents[dimension] = static_cast<uint64_t>(std::max<int64_t>(extent, 1));
        if (dimension > 0) map.strides[dimension - 1] = static_cast<uint64_t>(stride * bytes);
    };
    set(0, d[channel].extent * of_run, 1);
    set(1, d[group].extent * phases / of_run, d[channel].extent);
    set(2, one_phase ? d[0].extent * lines : d[0].extent / phases, d[0].stride * phases);
    set(3, one_phase ? 1 : lines, row);
    return map;
}

PictureMap input_map(const KernelTraits &kernel, const View &input) {
    if (sums_runs(kernel)) return map_of_runs(kernel, input, kernel.tile_in_channels);
    if (kernel.reads_pairs) return map_of_blocks(kernel, input, 1, 0, kernel.tile_in_channels);
    PictureMap map = map_of(input, 1, max_rank);
    set_channels_and_images(map, input, 0, 4, 5);
    map.upper[0] = static_cast<int>(kernel.window - 1);  // of a window's frame (picture_frame.cpp)
    set_box(map, channels_of_box(input, kernel.tile_in_channels), kernel.box_positions);
    return map;
}

PictureMap output_gradient_map(const KernelTraits &kernel, const Problem &p, const View &output_gradient) {
    if (sums_runs(kernel)) return map_of_runs(kernel, output_gradient, kernel.tile_out_channels);
    if (kernel.reads_pairs) return map_of_pairs(kernel, p, output_gradient, 1, 0, kernel.tile_out_channels);
    PictureMap map = map_of(output_gradient, 1, max_rank);
    set_channels_and_images(map, output_gradient, 0, 4, 5);
    set_frame(map, kernel, p);
    // A window's boxes reach beyond the input's, in whole eights of positions.
    set_box(map, channels_of_box(output_gradient, kernel.tile_out_channels),
            round_up(kernel.box_positions + kernel.window - 1, 8));
    return map;
}

// The frame is one position, the kernel's first, of the picture that each input channel has.
PictureMap weight_map(const KernelTraits &kernel, const View &weight) {
    const auto &d = weight.dimensions();
    const int axes = kernel.rank;
    PictureMap map = map_of(weight, 0, axes);
    const bool parts = d[axes + 2].stride == d[axes].extent;  // of a sum, inside of the channels that they share
    map.extents[0] = d[axes].extent * (parts ? d[axes + 2].extent : 1);
    for (int i = 0; i < axes; i++) map.upper[i] = static_cast<int>(1 - d[i].extent);
    map.extents[1 + axes] = d[axes + 1].extent * (parts ? 1 : d[axes + 2].extent);
    map.strides[axes] = d[axes + 1].stride * bytes_of(weight.type());
    if (kernel.box_channels > 0) set_box(map, kernel.box_channels, kernel.weight_in_channel_multiple);
    else set_box(map, kernel.weight_in_channel_multiple, kernel.block_channels);
    return map;
}

}  // namespace conv_transpose
