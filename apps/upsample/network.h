// A network that enlarges pictures: how much, with what border, and the shapes of all that it computes.
#ifndef UPSAMPLE_NETWORK_H
#define UPSAMPLE_NETWORK_H

#include <string>
#include <vector>

#include "layer_convolution.h"
#include "ncnn_model.h"

namespace upsample {

/// A network that takes RGB and gives RGB, enlarged. Immutable.
class Network {
  public:
    /// Throws PictureError when the file cannot be read or its network does not enlarge RGB pictures.
    explicit Network(const std::string &param_file);

    /// How many times wider the output is, once the border is taken off.
    int scale() const { return scale_; }

    /// Pixels that the input needs on every side beyond what is enlarged: those that convolutions without
    /// padding take off, and those near enough to the end for padding to change them. In a very deep network the
    /// latter are cut to deep_border, as ncnn's programs have it.
    int border() const { return border_; }
    static constexpr int deep_border = 10;

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

  private:
    void find_geometry();
    double padded_reach() const;

    NcnnModel model_;
    int scale_ = 0, border_ = 0, alignment_ = 1;
};

}  // namespace upsample

#endif
