// Transposed convolutions, forward and gradients, on CPU and CUDA: the whole public interface.
//
//   conv_transpose::Problem problem;
//   problem.in_channels = 3;  problem.out_channels = 8;
//   problem.height() = problem.width() = {128, 4, 2, 1};  // input, kernel, stride, padding
//   conv_transpose::Plan plan(problem);               // throws InvalidProblem; may be kept and shared
//   std::vector<std::byte> workspace(plan.workspace_bytes());
//   conv_transpose::Arguments arguments;
//   arguments.input = ...;  arguments.weight = ...;  arguments.output = ...;
//   conv_transpose::Status status = plan.run(arguments, {workspace.data(), workspace.size()});
//   if (!status.ok()) std::puts(status.message());
//
// Tensors are dense: input (N, Cin, H, W), weight (Cin, Cout/groups, kh, kw), bias (Cout), output (N, Cout, Ho, Wo),
// as in PyTorch's ConvTranspose2d, with one axis less in ConvTranspose1d and one more in ConvTranspose3d. They hold
// float32 with channels first, unless PlanOptions tells another format.
//
// Errors: planning throws, running returns a Status. Nothing here prints, exits or aborts.
// Threads: every function may be called from any thread; one Plan may be run from many at once, each with
// its own workspace.
#ifndef CONV_TRANSPOSE_CONV_TRANSPOSE_H
#define CONV_TRANSPOSE_CONV_TRANSPOSE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conv_transpose/activations.h"

namespace conv_transpose {

/// A rejected argument. what() names the field, its value, the rule and what would be valid.
class InvalidProblem : public std::invalid_argument {
  public:
    InvalidProblem(std::string field, const std::string &message)
        : std::invalid_argument(message), field_(std::move(field)) {}
    const std::string &field() const noexcept { return field_; }

  private:
    std::string field_;
};

/// The request is valid, but this machine or this build cannot serve it (no GPU, say).
class Unsupported : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// One axis of a problem: its sizes in elements, and its attributes.
struct Axis {
    int64_t input = 1, kernel = 1, stride = 1, padding = 0, output_padding = 0, dilation = 1;

    int64_t output() const {
        return (input - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1;
    }

    friend bool operator==(const Axis &a, const Axis &b) {
        return a.input == b.input && a.kernel == b.kernel && a.stride == b.stride && a.padding == b.padding &&
               a.output_padding == b.output_padding && a.dilation == b.dilation;
    }
    friend bool operator!=(const Axis &a, const Axis &b) { return !(a == b); }
};

/// Sizes and attributes of one transposed convolution, with the meaning of PyTorch's ConvTranspose1d, 2d and 3d: on
/// each axis output[o] = bias + sum over k of input[(o + padding - k * dilation) / stride] * weight[k], where that
/// divides.
struct Problem {
    int64_t batch = 1, in_channels = 0, out_channels = 0, groups = 1;

    /// How many axes the pictures have, 1 to 3: width; height and width; depth, height and width.
    int rank = 2;

    /// Depth, height and width. Those that the rank leaves out must be left as they are: of one position.
    std::array<Axis, 3> axes{};
    Axis &depth() { return axes[0]; }
    Axis &height() { return axes[1]; }
    Axis &width() { return axes[2]; }
    const Axis &depth() const { return axes[0]; }
    const Axis &height() const { return axes[1]; }
    const Axis &width() const { return axes[2]; }

    /// Throws InvalidProblem, for the conditions under which PyTorch's conv_transpose1d, 2d or 3d raises. The field
    /// is named with its axis: "stride.width".
    void validate() const;

    /// Reads a problem string such as "n8g1ic64oc64ih32iw32kh3kw3sh2sw2ph1pw1dh1dw1oph1opw1". Input and
    /// kernel sizes that are left out are 0, which validate() rejects; other fields keep their defaults. The rank is 3 if there
    /// is a field of the depth (id, kd, ...), 1 if there are only those of the width, else 2. Throws InvalidProblem when the
    /// text is malformed; does not validate().
    static Problem parse(std::string_view text);

    /// The problem string, with every field of the axes that the rank has.
    std::string str() const;

    /// Elements of each tensor.
    int64_t input_elements() const;
    int64_t weight_elements() const;
    int64_t output_elements() const;
};

enum class Operation { forward, input_gradient, weight_gradient, bias_gradient };
enum class Device { automatic, cpu, cuda };

/// float32: IEEE products. tf32: tensor cores, operands rounded to 10 bits of mantissa, as PyTorch does by default on
/// NVIDIA GPUs. tf32x3: tensor cores with split operands, about as exact as float32. A precision is a permission:
/// where no tensor-core kernel fits, a float32 kernel runs.
enum class Precision { float32, tf32, tf32x3 };

/// What a tensor's elements are. Sums are float32 whatever they are.
enum class ElementType { float32, float16, bfloat16 };

/// Where a tensor's channels lie. channels_first is PyTorch's contiguous order: (N, C, H, W), weight (Cin, Cout/groups,
/// kh, kw). channels_last has them innermost: (N, H, W, C), weight (Cin, kh, kw, Cout/groups).
enum class Layout { channels_first, channels_last };

/// How a tensor lies in memory.
struct TensorFormat {
    ElementType type = ElementType::float32;
    Layout layout = Layout::channels_first;
    friend bool operator==(const TensorFormat &a, const TensorFormat &b) {
        return a.type == b.type && a.layout == b.layout;
    }
    friend bool operator!=(const TensorFormat &a, const TensorFormat &b) { return !(a == b); }
};

/// Activation::none, relu and the others of activations.h, which says where prelu's slopes stand.
enum class Activation {
#define CONV_TRANSPOSE_ENUMERATOR(name, c_name, is_smooth) name,
    CONV_TRANSPOSE_ACTIVATIONS(CONV_TRANSPOSE_ENUMERATOR)
#undef CONV_TRANSPOSE_ENUMERATOR
};

/// What is applied to the sums before they are stored, in the same pass.
struct Epilogue {
    bool bias = false;
    Activation activation = Activation::none;
    float negative_slope = 0.01f;  ///< of leaky_relu
};

struct PlanOptions {
    Operation operation = Operation::forward;
    /// automatic: CUDA where a GPU is usable, else CPU. cuda: throws Unsupported without one.
    Device device = Device::automatic;
    Precision precision = Precision::float32;
    Epilogue epilogue{};
    /// Each tensor may have a format of its own; a gradient has that of its tensor. The bias and its gradient have the
    /// weight's element type. Throws Unsupported where this build has no kernel for them.
    TensorFormat input{}, weight{}, output{};
    /// An Inf or NaN in the input or the output gradient reaches the results that it is a factor of, and no others: only
    /// kernels of which that is true are taken. They may be slow for weight gradients (docs/reliability.md).
    bool strict_propagation = false;
    /// Name of the one kernel to use, for tests and measurements; empty lets the registry choose.
    std::string kernel{};
    /// Elements from a pixel to the next, of the forward operation in channels_last, where pixels are wider than the
    /// channels that count; 0: they are not. So a run reads or writes some channels of a picture, and may write others of
    /// the one that it reads. A multiple of 16 bytes. Throws Unsupported where no kernel takes it: those that do read
    /// pictures by tensor maps.
    int64_t input_pixel_stride = 0, output_pixel_stride = 0;
};

/// The outcome of running. message() is a C string that lives as long as the Status.
class Status {
  public:
    enum class Code { ok, invalid_argument, workspace_too_small, out_of_memory, device_error, kernel_error };
    Status() noexcept = default;
    Status(Code code, const char *message) noexcept;
    bool ok() const noexcept { return code_ == Code::ok; }
    Code code() const noexcept { return code_; }
    const char *message() const noexcept { return message_; }

  private:
    Code code_ = Code::ok;
    char message_[256] = "";
};

/// The tensors of one run: host pointers for a CPU plan, device pointers for a CUDA plan, to elements of the types
/// that PlanOptions tells. Which ones are needed depends on the operation:
///   forward          input, weight (or packed_weight), bias if the epilogue has one -> output
///   input_gradient   output_gradient, weight -> input_gradient
///   weight_gradient  input, output_gradient -> weight_gradient
///   bias_gradient    output_gradient -> bias_gradient
/// A tensor may lie at any multiple of its elements, but that some CUDA kernels want what they read, of 16 bits, with channels
/// last, or of input gradients in TF32, and weight gradients of 16 bits with channels last, at multiples of 16 bytes, which
/// run() tells. A packed weight lies at such a multiple.
struct Arguments {
    const void *input = nullptr;
    const void *weight = nullptr;
    const void *bias = nullptr;
    void *output = nullptr;
    const void *output_gradient = nullptr;
    void *input_gradient = nullptr;
    void *weight_gradient = nullptr;
    void *bias_gradient = nullptr;
    /// What Plan::pack_weight() wrote, for a caller who runs the same weights often; replaces `weight`.
    const void *packed_weight = nullptr;
};

/// Scratch memory on the plan's device, used from the call until the work on the stream has finished.
/// Aligned to 256 bytes for CUDA, 64 for CPU; where it begins at no multiple of 16, run() refuses it.
struct Workspace {
    void *data = nullptr;
    std::size_t bytes = 0;
};

/// A cudaStream_t or CUstream; null is the default stream of the current context. Ignored by CPU plans.
struct Stream {
    void *handle = nullptr;
};

/// A problem bound to the kernel chosen for it. Immutable and cheap to copy; moving copies, so that a Plan is always one.
class Plan {
  public:
    /// Throws InvalidProblem naming the field, or Unsupported, of tensors as well that no machine can hold.
    explicit Plan(const Problem &problem, const PlanOptions &options = {});
    Plan(const Plan &) = default;
    Plan &operator=(const Plan &) = default;

    const Problem &problem() const noexcept;
    const PlanOptions &options() const noexcept;

    /// cpu or cuda, never automatic.
    Device device() const noexcept;

    /// Name of the kernel that was chosen.
    std::string_view kernel() const noexcept;

    /// Whether that kernel is one for any tensors, which is slow: where there is much to compute, copies of the tensors in
    /// another layout or element type may be worth their time.
    bool is_last_resort() const noexcept;

    /// Bytes that run() needs; 0 for many kernels. Smaller when packed_weight is given: see the argument.
    std::size_t workspace_bytes(bool with_packed_weight = false) const noexcept;

    /// Bytes of a packed weight; 0 if this kernel reads weights as they are, and then packing is not needed.
    std::size_t packed_weight_bytes() const noexcept;

    /// Brings weights into the kernel's own order once, for many runs.
    Status pack_weight(const void *weight, void *packed, Stream stream = {}) const noexcept;

    /// Computes. On CUDA it only enqueues on the stream: it never synchronises, allocates device memory or copies to
    /// the host. On CPU the result is there on return. What is written, workspace included, must overlap neither
    /// what is read nor each other; that is refused.
    Status run(const Arguments &arguments, Workspace workspace = {}, Stream stream = {}) const noexcept;

    struct Impl;

  private:
    std::shared_ptr<const Impl> impl_;
};

/// One row of the registry.
struct KernelInfo {
    std::string_view name;
    Operation operation;
    Device device;
    Precision precision;
};

/// Every kernel in this build, in order of preference.
std::vector<KernelInfo> kernels();

/// Adds the kernels of all kernel packs (*.so, made by autotune) in a directory, in front of this build's. The
/// environment variable CONV_TRANSPOSE_KERNEL_PATH names a directory that is loaded without a call. Throws Unsupported
/// where a pack is broken or was made for another version of this library. Packs stay until the program ends.
void load_kernels(const std::string &directory);

/// Names of the kernels that accept this problem with these options: the one that a plan takes, the others by how long the estimate
/// says that they take, and those that it knows nothing of; options.kernel is ignored.
std::vector<std::string_view> kernels_for(const Problem &problem, const PlanOptions &options = {});

/// Whether a CUDA plan can run here: a driver, a device, and CUDA kernels in this build.
bool cuda_available() noexcept;

/// "major.minor.patch"
std::string_view version() noexcept;

/// Threads that CPU kernels use together, at most 256; 0 restores the default, one a core. In a program that has loaded OpenMP they
/// are OpenMP's, which it starts for each thread that calls run(), by default as many as it says; else those of a pool, which keeps
/// what it had, but with 1 the caller's thread computes alone. A plan takes the kernel that should be the fastest with what is set
/// when it is made, one thread or several.
void set_cpu_threads(int threads) noexcept;

/// Each of them, and each that calls run(), keeps at most so much of its kernels' scratch memory for its next ones: Winograd's of
/// 128 channels take 6 MiB.
inline constexpr std::size_t kept_scratch_bytes = 8 << 20;

}  // namespace conv_transpose

#endif
