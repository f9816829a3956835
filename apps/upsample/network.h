// Runs an ncnn network on transposed convolutions: a valid convolution of stride 1 is one of them with the
// kernel turned round, a strided convolution is one of stride 1 over the input's phases, and a deconvolution
// is itself.
#ifndef UPSAMPLE_NETWORK_H
#define UPSAMPLE_NETWORK_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"
#include "device.h"
#include "ncnn_model.h"

namespace upsample {

struct TensorShape {
    int64_t channels = 0, height = 0, width = 0;
    int64_t elements() const { return channels * height * width; }
};

/// What a layer with weights is to the library.
struct LayerConvolution {
    conv_transpose::Problem problem;
    conv_transpose::PlanOptions options;
    std::vector<float> weight;  ///< (in, out, kh, kw)
    int64_t phases = 1;         ///< the input is rearranged into this many phases an axis before
};

/// A network that takes RGB and gives RGB, enlarged. Immutable.
class Network {
  public:
    /// Throws PictureError when the file cannot be read or its network does not enlarge RGB pictures.
    explicit Network(const std::string &param_file);

    /// How many times wider the output is, once the border is taken off.
    int scale() const { return scale_; }

    /// Pixels that the input needs on every side beyond what is enlarged.
    int border() const { return border_; }

    /// Inputs, border included, must have sides that are a multiple of this.
    int alignment() const { return alignment_; }

    /// The side of an input out of which `length` pixels are enlarged: with the border, and aligned.
    int64_t input_side(int64_t length) const {
        return (length + 2 * border_ + alignment_ - 1) / alignment_ * alignment_;
    }

    /// Whether a layer averages over all that it is given: then there can be no tiles.
    bool sees_whole_picture() const;

    const NcnnModel &model() const { return model_; }

    /// Shapes of all blobs for an input of this size. Throws PictureError naming the layer that does not fit.
    std::vector<TensorShape> shapes(int64_t height, int64_t width) const;

    /// Bytes that the blobs of a run on an input of this size take at most at a time.
    std::size_t activation_bytes(int64_t height, int64_t width) const;

  private:
    void find_geometry();

    NcnnModel model_;
    int scale_ = 0, border_ = 0, alignment_ = 1;
};

/// What the layer, given an input of this shape, is to the library.
LayerConvolution layer_convolution(const Layer &layer, const TensorShape &input);

/// Plans, weights and memory for inputs of one size. Not for several threads at once.
class NetworkRun {
  public:
    NetworkRun(const Network &network, int64_t height, int64_t width, conv_transpose::Device device,
               conv_transpose::Precision precision);
    ~NetworkRun();

    /// `input` is host memory: (3, height, width). The output, (3, scale * (height - 2 * border), ...), stays where it is.
    void run(const float *input);

    /// Copies the top left of a channel of the output to host memory, to rows that begin `pitch` samples apart.
    void copy_output(int channel, int64_t rows, int64_t columns, float *target, int64_t pitch) const;

  private:
    struct Step;
    void run_step(Step &step);
    void run_on_host(const Step &step);

    const Network &network_;
    conv_transpose::Device device_;
    std::vector<TensorShape> shapes_;
    std::vector<int> slot_of_blob_;
    std::vector<conv_transpose::DeviceMemory> slots_;
    std::vector<Step> steps_;
    conv_transpose::DeviceMemory workspace_, phases_;
    std::vector<std::vector<float>> host_inputs_;
    std::vector<float> host_output_;
};

}  // namespace upsample

#endif
