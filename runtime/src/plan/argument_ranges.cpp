// Where the tensors of a run lie: see argument_ranges.h.
#include "plan/argument_ranges.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "choice/tensor_formats.h"
#include "plan/epilogue_arguments.h"

namespace conv_transpose {

namespace {

/// Addresses are compared as numbers, which those of a device are to us. Some bytes of every pixel of a picture may
/// count, which begin `pixel` bytes apart.
struct Range {
    const char *name;
    uintptr_t begin, end;
    int64_t alignment;
    bool written;
    uintptr_t counted = 0, pixel = 0;

    bool overlaps(const Range &other) const { return begin < other.end && other.begin < end && !has_other_channels(other); }

  private:
    /// Other channels of the same pixels.
    bool has_other_channels(const Range &other) const {
        if (pixel == 0 || pixel != other.pixel) return false;
        const Range &first = begin < other.begin ? *this : other, &second = begin < other.begin ? other : *this;
        const uintptr_t apart = (second.begin - first.begin) % pixel;
        return apart >= first.counted && apart + second.counted <= pixel;
    }
};

/// A picture's bytes, of which some of a pixel may count.
struct PictureBytes {
    int64_t element, all, counted, pixel;

    PictureBytes(int64_t elements, int64_t channels, int64_t pixel_stride, ElementType type)
        : element(bytes_of(type)), all(elements * element), counted(channels * element), pixel(pixel_stride * element) {
        if (pixel > 0) all = (elements / channels - 1) * pixel + counted;
    }
};

/// Kernels read what they have brought into orders of their own by vectors.
constexpr int64_t vector_bytes = 16;

class Ranges {
  public:
    void read(const char *name, const void *at, int64_t bytes, int64_t alignment) { add(name, at, bytes, alignment, false); }
    void written(const char *name, const void *at, int64_t bytes, int64_t alignment) { add(name, at, bytes, alignment, true); }
    void read(const char *name, const void *at, const PictureBytes &picture) { add(name, at, picture, false); }
    void written(const char *name, const void *at, const PictureBytes &picture) { add(name, at, picture, true); }

    Status placed() const {
        for (int i = 0; i < count_; i++)
            if (ranges_[i].begin % static_cast<uintptr_t>(ranges_[i].alignment) != 0) return misplaced(ranges_[i]);
        for (int i = 0; i < count_; i++)
            for (int j = 0; j < i; j++)
                if ((ranges_[i].written || ranges_[j].written) && ranges_[i].overlaps(ranges_[j]))
                    return overlap(ranges_[i], ranges_[j]);
        return {};
    }

  private:
    std::array<Range, 5> ranges_;
    int count_ = 0;

    void add(const char *name, const void *at, int64_t bytes, int64_t alignment, bool written) {
        const auto begin = reinterpret_cast<uintptr_t>(at);
        if (bytes > 0) ranges_[count_++] = {name, begin, begin + static_cast<uintptr_t>(bytes), alignment, written};
    }

    void add(const char *name, const void *at, const PictureBytes &picture, bool written) {
        const int before = count_;
        add(name, at, picture.all, picture.element, written);
        if (count_ == before) return;
        ranges_[before].counted = static_cast<uintptr_t>(picture.counted);
        ranges_[before].pixel = static_cast<uintptr_t>(picture.pixel);
    }

    static Status misplaced(const Range &range) {
        char message[160];
        std::snprintf(message, sizeof message,
                      "%s begins at address 0x%" PRIxPTR ", but that must be a multiple of %d bytes", range.name,
                      range.begin, static_cast<int>(range.alignment));
        return {Status::Code::invalid_argument, message};
    }

    static Status overlap(const Range &a, const Range &b) {
        char message[160];
        std::snprintf(message, sizeof message, "%s overlaps %s, but %s is written and must lie apart", a.name, b.name,
                      a.written ? a.name : b.name);
        return {Status::Code::invalid_argument, message};
    }
};

}  // namespace

Status require_placed(const Problem &p, const PlanOptions &options, const Arguments &a,
                      std::size_t packed_weight_bytes, Workspace workspace) noexcept {
    const int64_t of_input = bytes_of(options.input.type), input = of_input * p.input_elements();
    const int64_t of_output = bytes_of(options.output.type), output = of_output * p.output_elements();
    const int64_t of_weight = bytes_of(options.weight.type), weight = of_weight * p.weight_elements();
    const int64_t bias = of_weight * EpilogueArguments(options.epilogue).bias_elements(p.out_channels);
    Ranges ranges;
    ranges.written("workspace", workspace.data, static_cast<int64_t>(workspace.bytes), vector_bytes);
    const auto read_weight = [&] {
        if (packed_weight_bytes > 0 && a.packed_weight)
            ranges.read("packed_weight", a.packed_weight, static_cast<int64_t>(packed_weight_bytes), vector_bytes);
        else
            ranges.read("weight", a.weight, weight, of_weight);
    };
    switch (options.operation) {
        case Operation::forward:
            ranges.read("input", a.input,
                        PictureBytes(p.input_elements(), p.in_channels, options.input_pixel_stride,
                                     options.input.type));
            read_weight();
            if (options.epilogue.bias) ranges.read("bias", a.bias, bias, of_weight);
            ranges.written("output", a.output,
                           PictureBytes(p.output_elements(), p.out_channels, options.output_pixel_stride,
                                        options.output.type));
            break;
        case Operation::input_gradient:
            ranges.read("output_gradient", a.output_gradient, output, of_output);
            read_weight();
            ranges.written("input_gradient", a.input_gradient, input, of_input);
            break;
        case Operation::weight_gradient:
            ranges.read("input", a.input, input, of_input);
            ranges.read("output_gradient", a.output_gradient, output, of_output);
            ranges.written("weight_gradient", a.weight_gradient, weight, of_weight);
            break;
        case Operation::bias_gradient:
            ranges.read("output_gradient", a.output_gradient, output, of_output);
            ranges.written("bias_gradient", a.bias_gradient, bias, of_weight);
            break;
    }
    return ranges.placed();
}

Status require_packing_placed(const Problem &p, const PlanOptions &options, const void *weight, const void *packed,
                              std::size_t packed_bytes) noexcept {
    Ranges ranges;
    const int64_t of_weight = bytes_of(options.weight.type);
    ranges.read("weight", weight, of_weight * p.weight_elements(), of_weight);
    ranges.written("packed", packed, static_cast<int64_t>(packed_bytes), vector_bytes);
    return ranges.placed();
}

}  // namespace conv_transpose
