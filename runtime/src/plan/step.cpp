// Steps: see step.h.
#include "plan/step.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

#include "HalideRuntime.h"
#include "HalideRuntimeCuda.h"
#include "choice/kernel_properties.h"
#include "choice/picture_frame.h"
#include "device/cpu_threads.h"
#include "device/element_types.h"

namespace conv_transpose {

namespace {

constexpr size_t max_dimensions = 8, max_tensors = std::tuple_size_v<Step::Moves>, max_maps = 3;

halide_type_t halide_type(ElementType type) { return {device_type(type).code, device_type(type).bits, 1}; }

}  // namespace

// A view at its address. Not copyable: the buffer points into the object.
struct PlacedView {
    halide_dimension_t dimensions[max_dimensions];
    halide_buffer_t buffer;

    PlacedView() = default;
    PlacedView(const PlacedView &) = delete;
    PlacedView &operator=(const PlacedView &) = delete;

    void place(const View &view, int64_t move, void *operand, Device device) noexcept {
        const auto &dims = view.dimensions();
        for (size_t d = 0; d < dims.size(); d++) {
            // The stride of a dimension of one element is never used, but Halide checks that it is in range.
            constexpr int64_t most = std::numeric_limits<int32_t>::max();
            const bool in_range = dims[d].stride >= -most && dims[d].stride <= most;
            dimensions[d] = {static_cast<int32_t>(dims[d].min), static_cast<int32_t>(dims[d].extent),
                             in_range ? static_cast<int32_t>(dims[d].stride) : 0, 0};
        }
        buffer = {};
        buffer.dimensions = static_cast<int32_t>(dims.size());
        buffer.dim = dimensions;
        buffer.type = halide_type(view.type());
        uint8_t *const address = static_cast<uint8_t *>(operand) + (view.offset() + move) * bytes_of(view.type());
        if (device == Device::cuda) {
            buffer.device = reinterpret_cast<uint64_t>(address);
            buffer.device_interface = halide_cuda_device_interface();
        } else {
            buffer.host = address;
        }
    }
};

namespace {

Status failed(const KernelTraits &kernel, Status::Code code, const char *why) noexcept {
    char message[400];
    std::snprintf(message, sizeof message, "%.*s: %s", static_cast<int>(kernel.name.size()), kernel.name.data(), why);
    return {code, message};
}

Status call(const KernelTraits &kernel, void **args, const RunContext &context) noexcept {
    const int error = kernel.function(args);
    if (error == 0) return {};
    Status::Code code = Status::Code::kernel_error;
    if (error == halide_error_code_out_of_memory) code = Status::Code::out_of_memory;
    if (error == halide_error_code_gpu_device_error) code = Status::Code::device_error;
    return failed(kernel, code, context.message[0] ? context.message : "the kernel failed");
}

}  // namespace

Step::Step(const KernelTraits &kernel, Family family)
    : kernel_(&kernel), family_(family), values_(signature(family).count(kernel.rank)) {
    if (kernel.family != family)
        throw std::logic_error(std::string(kernel.name) + " takes no arguments of family " +
                               std::string(signature(family).family));
}

const Argument &Step::argument(int position) const {
    const Argument *found = nullptr;
    int at = 0;
    signature(family_).for_each(kernel_->rank, [&](const Argument &a, int) {
        if (at++ == position) found = &a;
    });
    if (!found) throw std::logic_error(std::string(kernel_->name) + " takes no such argument");
    return *found;
}

Step::Value &Step::value(int position, ArgumentKind kind) {
    const Argument &a = argument(position);
    if (values_[position].view >= 0)
        throw std::logic_error(std::string(kernel_->name) + " takes one tensor '" + std::string(a.name) + "'");
    if (a.kind != kind)
        throw std::logic_error(std::string(kernel_->name) + " takes another kind of argument '" + std::string(a.name) + "'");
    values_[position].set = true;
    return values_[position];
}

void Step::set(int position, const View &view) {
    value(position, ArgumentKind::tensor).view = static_cast<int>(views_.size());
    const size_t dimensions = view.dimensions().size();
    if (static_cast<int>(dimensions) != argument(position).dimensions(kernel_->rank) || dimensions > max_dimensions ||
        views_.size() == max_tensors)
        throw std::logic_error(std::string(kernel_->name) + " takes other dimensions of '" +
                               std::string(argument(position).name) + "', or fewer tensors");
    const Argument &a = argument(position);
    const bool is_picture = a.role == TensorRole::input || a.role == TensorRole::output || a.role == TensorRole::picture;
    const bool is_copied = a.role == TensorRole::weight && reads_weights_as_given(*kernel_);
    if (is_copied || (is_picture && (!a.written || kernel_->vectors_of_channels))) read_in_rows_ |= 1u << views_.size();
    views_.push_back(view);
    if (moves_elements(*kernel_)) views_.back().set_type(kernel_->output.type);
}

void Step::set(int position, int64_t scalar) { set(position, ScalarOfThreads{scalar, scalar}); }

void Step::set(int position, const ScalarOfThreads &scalar) {
    set_bits(position, ArgumentKind::int32, static_cast<int32_t>(scalar.shared), static_cast<int32_t>(scalar.alone));
}

void Step::set(int position, float scalar) {
    const auto bits = std::bit_cast<int32_t>(scalar);
    set_bits(position, ArgumentKind::float32, bits, bits);
}

void Step::set_bits(int position, ArgumentKind kind, int32_t shared, int32_t alone) {
    Value &v = value(position, kind);
    v.shared = shared, v.alone = alone;
}

void Step::add_map(int position, const PictureMap &map) {
    if (values_[position].view < 0)
        throw std::logic_error(std::string(kernel_->name) + " has a map of '" + std::string(argument(position).name) +
                               "', which was not set");
    maps_.push_back({values_[position].view, map});
}

void Step::require_complete() const {
    if (maps_.size() != tensor_maps(*kernel_) || maps_.size() > max_maps)
        throw std::logic_error(std::string(kernel_->name) + " reads other tensor maps than were set");
    for (size_t i = 0; i < values_.size(); i++)
        if (!values_[i].set)
            throw std::logic_error(std::string(kernel_->name) + " takes an argument '" +
                                   std::string(argument(static_cast<int>(i)).name) + "', which was not set");
}

Step::Moves Step::moves_to(const Step &later) const {
    Moves moves{};
    for (size_t i = 0; i < views_.size(); i++) moves[i] = later.views_[i].offset() - views_[i].offset();
    return moves;
}

const char *Step::broken_alignment(const PlacedView *placed, bool rehearsal) const noexcept {
    const auto misplaced = [&](size_t view) { return placed[view].buffer.device % 16 != 0; };
    if (copies_16_bytes(*kernel_) && !rehearsal)
        for (size_t i = 0; i < views_.size(); i++)
            if (read_in_rows_ >> i & 1 && misplaced(i))
                return "a tensor lies at no multiple of 16 bytes, which is the kernel's rule";
    // Rows of channels are stored 16 bytes at a time as a rule; weights are where a cluster adds their parts, and by tiles of whole
    // rows.
    const TensorFormat written = kernel_->operation == Operation::forward ? kernel_->output : kernel_->input;
    const bool in_rows = kernel_->operation != Operation::weight_gradient && channels_innermost(written);
    const bool in_rows_of_weights = kernel_->writes_result && kernel_->out_channel_multiple > 1;
    const bool stores_16_bytes = (in_rows && !kernel_->stores_single_channels) || stores_runs_of_positions(*kernel_) ||
                                 kernel_->adds_in_clusters || in_rows_of_weights;
    if (!maps_.empty() && stores_16_bytes && misplaced(views_.size() - 1))
        return "its output lies at no multiple of 16 bytes, which is the kernel's rule";
    return nullptr;
}

bool Step::encode_maps(const PlacedView *placed, bool rehearsal, TensorMap *maps) const noexcept {
    for (size_t i = 0; i < maps_.size(); i++) {
        // A rehearsal has no addresses: any that is aligned tells whether there is such a map.
        const void *const address = rehearsal ? reinterpret_cast<void *>(sizeof maps[i])
                                              : reinterpret_cast<void *>(placed[maps_[i].view].buffer.device);
        if (encode(maps_[i].map, address, maps[i]) != CUDA_SUCCESS) return false;
    }
    return true;
}

Status Step::run(const Addresses &addresses, const Moves &moves, RunContext &context) const noexcept {
    PlacedView placed[max_tensors];
    void *args[max_arguments + 1];
    void *user_context = &context;
    args[0] = &user_context;
    const bool alone = kernel_->device == Device::cpu && (context.serial || is_only_thread());
    for (size_t i = 0; i < values_.size(); i++) {
        const Value &value = values_[i];
        if (value.view < 0) {
            args[i + 1] = const_cast<int32_t *>(alone ? &value.alone : &value.shared);
            continue;
        }
        const View &view = views_[value.view];
        placed[value.view].place(view, moves[value.view], addresses[static_cast<size_t>(view.operand())], kernel_->device);
        args[i + 1] = &placed[value.view].buffer;
    }
    if (const char *const rule = broken_alignment(placed, context.rehearsal))
        return failed(*kernel_, Status::Code::invalid_argument, rule);
    TensorMap maps[max_maps];
    if (!encode_maps(placed, context.rehearsal, maps))
        return failed(*kernel_, Status::Code::invalid_argument,
                      "there is no tensor map of what it reads or stores; the rule is an address that is a multiple of 16 bytes");
    context.tensor_maps = maps_.empty() ? nullptr : maps;
    context.in_clusters = kernel_->adds_in_clusters;
    const bool aligned = std::all_of(placed, placed + views_.size(), [](const PlacedView &view) {
        return (view.buffer.device | uint64_t(view.buffer.host)) % 16 == 0;
    });
    // A rehearsal is of all that may run.
    if (where_aligned_ && context.rehearsal)
        if (const Status status = call(*where_aligned_, args, context); !status.ok()) return status;
    const Status status = call(where_aligned_ && aligned && !context.rehearsal ? *where_aligned_ : *kernel_, args, context);
    context.tensor_maps = nullptr;
    return status;
}

}  // namespace conv_transpose
