// Linear light through a picture's own colour profile, by Little CMS.
#ifndef UPSAMPLE_LINEAR_LIGHT_H
#define UPSAMPLE_LINEAR_LIGHT_H

#include <cstdint>
#include <memory>

#include "picture_file.h"

namespace upsample {

/// Encoded samples to linear light and back. The profile is the embedded one, else one made of gAMA and cHRM,
/// else sRGB. Colours become CIE XYZ, which is linear for every profile, and gray becomes luminance;
/// filtering a linear form of the colours is the same in every such form.
class LinearLight {
  public:
    /// Throws PictureError when the profile is damaged or not for this kind of picture.
    LinearLight(const Header &header, const Metadata &metadata);
    ~LinearLight();

    /// In place; the first `colors` of planes, each of `count` samples, `plane_stride` apart.
    void decode(float *planes, int64_t plane_stride, int64_t count) const;
    void encode(float *planes, int64_t plane_stride, int64_t count) const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace upsample

#endif
