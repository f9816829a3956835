#include "linear_light.h"

#include <lcms2.h>

#include <algorithm>

namespace upsample {
namespace {

struct ProfileCloser {
    void operator()(void *profile) const { cmsCloseProfile(profile); }
};
using Profile = std::unique_ptr<void, ProfileCloser>;

struct TransformDeleter {
    void operator()(void *transform) const { cmsDeleteTransform(transform); }
};
using Transform = std::unique_ptr<void, TransformDeleter>;

struct CurveDeleter {
    void operator()(cmsToneCurve *curve) const { cmsFreeToneCurve(curve); }
};
using Curve = std::unique_ptr<cmsToneCurve, CurveDeleter>;

constexpr cmsCIExyY d65 = {0.3127, 0.3290, 1.0};
constexpr cmsCIExyYTRIPLE rec709 = {{0.6400, 0.3300, 1.0}, {0.3000, 0.6000, 1.0}, {0.1500, 0.0600, 1.0}};

Curve srgb_curve() {
    const double parameters[] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    return Curve(cmsBuildParametricToneCurve(nullptr, 4, parameters));
}

/// gAMA holds the exponent of encoding, a profile's curve that of decoding.
Curve curve_of(const Metadata &metadata) {
    return metadata.gamma > 0 ? Curve(cmsBuildGamma(nullptr, 100000.0 / metadata.gamma)) : srgb_curve();
}

Profile profile_of(const Metadata &metadata, bool gray) {
    const Bytes &embedded = metadata.icc;
    if (!embedded.empty()) {
        Profile profile(
            cmsOpenProfileFromMem(embedded.data(), static_cast<cmsUInt32Number>(embedded.size())));
        if (!profile) throw PictureError("the embedded ICC profile is damaged, so --linear cannot use it");
        if (cmsGetColorSpace(profile.get()) != (gray ? cmsSigGrayData : cmsSigRgbData))
            throw PictureError(std::string("the embedded ICC profile is not one for ") +
                               (gray ? "gray" : "RGB") + " pictures, so --linear cannot use it");
        return profile;
    }
    const Curve curve = curve_of(metadata);
    if (!curve) throw std::bad_alloc();
    if (gray) return Profile(cmsCreateGrayProfile(cmsD50_xyY(), curve.get()));
    cmsToneCurve *curves[] = {curve.get(), curve.get(), curve.get()};
    if (metadata.primaries.empty()) return Profile(cmsCreateRGBProfile(&d65, &rec709, curves));
    double v[8];
    std::transform(metadata.primaries.begin(), metadata.primaries.end(), v, [](int32_t value) { return value / 1e5; });
    const cmsCIExyY white = {v[0], v[1], 1};
    const cmsCIExyYTRIPLE primaries = {{v[2], v[3], 1}, {v[4], v[5], 1}, {v[6], v[7], 1}};
    return Profile(cmsCreateRGBProfile(&white, &primaries, curves));
}

Profile linear_profile(bool gray) {
    if (!gray) return Profile(cmsCreateXYZProfile());
    const Curve line(cmsBuildGamma(nullptr, 1));
    return line ? Profile(cmsCreateGrayProfile(cmsD50_xyY(), line.get())) : nullptr;
}

/// Planar samples through a transform of interleaved pixels, in pieces that stay in the cache.
void transform(cmsHTRANSFORM how, int colors, float *planes, int64_t plane_stride, int64_t count) {
    constexpr int64_t piece = 1024;
    float pixels[piece * 3];
    for (int64_t start = 0; start < count; start += piece) {
        const int64_t n = std::min(piece, count - start);
        for (int c = 0; c < colors; ++c) {
            for (int64_t i = 0; i < n; ++i) pixels[i * colors + c] = planes[c * plane_stride + start + i];
        }
        cmsDoTransform(how, pixels, pixels, static_cast<cmsUInt32Number>(n));
        for (int c = 0; c < colors; ++c) {
            for (int64_t i = 0; i < n; ++i) planes[c * plane_stride + start + i] = pixels[i * colors + c];
        }
    }
}

}  // namespace

struct LinearLight::State {
    int colors = 0;
    Transform to_linear, from_linear;
};

LinearLight::LinearLight(const Header &header, const Metadata &metadata) : state_(std::make_unique<State>()) {
    state_->colors = header.shape.colors();
    const bool gray = state_->colors == 1;
    const Profile encoded = profile_of(metadata, gray);
    const Profile linear = linear_profile(gray);
    if (!encoded || !linear)
        throw PictureError("the colours of the picture make no usable profile for --linear");
    const cmsUInt32Number encoded_format = gray ? TYPE_GRAY_FLT : TYPE_RGB_FLT;
    const cmsUInt32Number linear_format = gray ? TYPE_GRAY_FLT : TYPE_XYZ_FLT;
    constexpr cmsUInt32Number intent = INTENT_RELATIVE_COLORIMETRIC;
    constexpr cmsUInt32Number flags = cmsFLAGS_NOCACHE;  // one transform may then serve several threads
    state_->to_linear.reset(
        cmsCreateTransform(encoded.get(), encoded_format, linear.get(), linear_format, intent, flags));
    state_->from_linear.reset(
        cmsCreateTransform(linear.get(), linear_format, encoded.get(), encoded_format, intent, flags));
    if (!state_->to_linear || !state_->from_linear)
        throw PictureError("the colour profile cannot be taken to linear light and back");
}

LinearLight::~LinearLight() = default;

void LinearLight::decode(float *planes, int64_t plane_stride, int64_t count) const {
    transform(state_->to_linear.get(), state_->colors, planes, plane_stride, count);
}

void LinearLight::encode(float *planes, int64_t plane_stride, int64_t count) const {
    transform(state_->from_linear.get(), state_->colors, planes, plane_stride, count);
}

}  // namespace upsample
