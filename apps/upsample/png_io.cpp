#include "png_io.h"

#include <png.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstring>

namespace upsample {
namespace {

/// What both directions share: libpng reports through these callbacks, which may not throw through its C
/// frames.
struct PngCalls {
    std::FILE *stream = nullptr;
    std::string error;
    std::vector<std::string> warnings;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
    static_cast<PngCalls *>(png_get_error_ptr(png))->error = message;
    png_longjmp(png, 1);
}

void on_warning(png_structp png, png_const_charp message) {
    // libpng goes on to allocate what such a chunk claims to hold: a gigabyte for a file of a hundred bytes.
    if (std::strstr(message, "chunk data is too large")) {
        on_error(png, "a chunk is over the limit of bytes (--max-chunk-bytes raises it)");
    }
    static_cast<PngCalls *>(png_get_error_ptr(png))->warnings.emplace_back(message);
}

void on_read(png_structp png, png_bytep data, std::size_t bytes) {
    auto *calls = static_cast<PngCalls *>(png_get_io_ptr(png));
    if (std::fread(data, 1, bytes, calls->stream) != bytes) {
        png_error(png, std::ferror(calls->stream) ? std::strerror(errno) : "the file ends too early");
    }
}

void on_write(png_structp png, png_bytep data, std::size_t bytes) {
    auto *calls = static_cast<PngCalls *>(png_get_io_ptr(png));
    if (std::fwrite(data, 1, bytes, calls->stream) != bytes) png_error(png, std::strerror(errno));
}

void on_flush(png_structp) {}

/// Runs calls into libpng and turns its errors into PictureErrors. The body may hold nothing with a
/// destructor: libpng leaves it by longjmp.
template <typename Body>
void guarded(png_structp png, const PngCalls &calls, const Body &body) {
    if (setjmp(png_jmpbuf(png))) throw PictureError(calls.error);
    body();
}

}  // namespace

struct PngReader::State : PngCalls {
    png_structp png = nullptr;
    png_infop info = nullptr;
    png_infop end_info = nullptr;
    PngHeader header;
    std::vector<uint8_t> whole;  // of an interlaced picture
    int64_t rows_read = 0;
    bool interlaced = false;

    ~State() { png_destroy_read_struct(&png, &info, &end_info); }
};

PngReader::PngReader(std::FILE *stream, const PngLimits &limits) : state_(std::make_unique<State>()) {
    State &s = *state_;
    s.stream = stream;
    s.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngCalls *>(&s), on_error, on_warning);
    if (!s.png) throw std::bad_alloc();
    s.info = png_create_info_struct(s.png);
    s.end_info = png_create_info_struct(s.png);
    if (!s.info || !s.end_info) throw std::bad_alloc();
    guarded(s.png, s, [&] {
        png_set_read_fn(s.png, static_cast<PngCalls *>(&s), on_read);
        png_set_user_limits(s.png, limits.side, limits.side);
        png_set_option(s.png, PNG_SKIP_sRGB_CHECK_PROFILE,
                       PNG_OPTION_ON);  // profiles are carried, not judged
        png_set_chunk_cache_max(s.png, limits.chunks);
        png_set_chunk_malloc_max(s.png, limits.chunk_bytes);
        png_set_crc_action(s.png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
        png_read_info(s.png, s.info);
    });

    Shape &shape = s.header.shape;
    shape.width = png_get_image_width(s.png, s.info);
    shape.height = png_get_image_height(s.png, s.info);
    if (shape.width * shape.height > limits.pixels) {
        throw PictureError("the picture has " + std::to_string(shape.width) + " x " +
                           std::to_string(shape.height) + " pixels, over the limit of " +
                           std::to_string(limits.pixels) + " (--max-pixels raises it)");
    }
    guarded(s.png, s, [&] {
        png_set_expand(s.png);
        if constexpr (std::endian::native == std::endian::little) png_set_swap(s.png);
        s.interlaced = png_get_interlace_type(s.png, s.info) != PNG_INTERLACE_NONE;
        png_set_interlace_handling(s.png);
        png_read_update_info(s.png, s.info);
    });
    shape.channels = png_get_channels(s.png, s.info);
    s.header.bits = png_get_bit_depth(s.png, s.info);
}

PngReader::~PngReader() = default;

const PngHeader &PngReader::header() const {
    return state_->header;
}

std::size_t PngReader::row_bytes() const {
    return png_get_rowbytes(state_->png, state_->info);
}

void PngReader::read(uint8_t *data, int64_t rows) {
    State &s = *state_;
    const std::size_t bytes = row_bytes();
    if (s.interlaced && s.whole.empty()) {
        // Every pass touches rows all over the picture, so the passes need it whole.
        s.whole.resize(bytes * s.header.shape.height);
        guarded(s.png, s, [&] {
            for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
                for (int64_t y = 0; y < s.header.shape.height; ++y) {
                    png_read_row(s.png, s.whole.data() + y * bytes, nullptr);
                }
            }
        });
    }
    if (s.interlaced) {
        std::memcpy(data, s.whole.data() + s.rows_read * bytes, rows * bytes);
    } else {
        guarded(s.png, s, [&] {
            for (int64_t y = 0; y < rows; ++y) png_read_row(s.png, data + y * bytes, nullptr);
        });
    }
    s.rows_read += rows;
}

void PngReader::finish() {
    State &s = *state_;
    guarded(s.png, s, [&] { png_read_end(s.png, s.end_info); });
}

std::vector<uint8_t> PngReader::icc_profile() const {
    png_charp name = nullptr;
    int compression = 0;
    png_bytep data = nullptr;
    png_uint_32 bytes = 0;
    if (!png_get_iCCP(state_->png, state_->info, &name, &compression, &data, &bytes)) return {};
    return {data, data + bytes};
}

double PngReader::gamma() const {
    double gamma = 0;
    return png_get_gAMA(state_->png, state_->info, &gamma) ? gamma : 0;
}

bool PngReader::chromaticities(double v[8]) const {
    return png_get_cHRM(state_->png, state_->info, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) !=
           0;
}

const std::vector<std::string> &PngReader::warnings() const {
    return state_->warnings;
}

struct PngWriter::State : PngCalls {
    png_structp png = nullptr;
    png_infop info = nullptr;
    png_infop end_info = nullptr;
    PngReader::State *source = nullptr;
    PngWriterOptions options;
    std::size_t row_bytes = 0;

    ~State() {
        if (end_info) png_destroy_info_struct(png, &end_info);
        png_destroy_write_struct(&png, &info);
    }
};

namespace {

void copy_colour_chunks(png_structp from, png_infop from_info, png_structp to, png_infop to_info) {
    png_charp name = nullptr;
    int compression = 0;
    png_bytep profile = nullptr;
    png_uint_32 profile_bytes = 0;
    if (png_get_iCCP(from, from_info, &name, &compression, &profile, &profile_bytes)) {
        png_set_iCCP(to, to_info, name, compression, profile, profile_bytes);
    }
    int intent = 0;
    if (png_get_sRGB(from, from_info, &intent)) png_set_sRGB(to, to_info, intent);
    png_fixed_point gamma = 0;
    if (png_get_gAMA_fixed(from, from_info, &gamma)) png_set_gAMA_fixed(to, to_info, gamma);
    png_fixed_point v[8];
    if (png_get_cHRM_fixed(from, from_info, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7])) {
        png_set_cHRM_fixed(to, to_info, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
    }
}

/// The chunks that may stand before or after the picture.
void copy_notes(png_structp from, png_infop from_info, png_structp to, png_infop to_info) {
    png_textp text = nullptr;
    int texts = 0;
    png_get_text(from, from_info, &text, &texts);
    if (texts > 0) png_set_text(to, to_info, text, texts);
    png_timep time = nullptr;
    if (png_get_tIME(from, from_info, &time)) png_set_tIME(to, to_info, time);
    png_uint_32 exif_bytes = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(from, from_info, &exif_bytes, &exif)) png_set_eXIf_1(to, to_info, exif_bytes, exif);
}

/// Pixels a metre grow with the scale, so that the printed size stays.
void copy_resolution(png_structp from, png_infop from_info, png_structp to, png_infop to_info, int scale) {
    png_uint_32 x = 0, y = 0;
    int unit = 0;
    if (!png_get_pHYs(from, from_info, &x, &y, &unit)) return;
    const png_uint_32 factor = unit == PNG_RESOLUTION_METER ? scale : 1;  // else it is only an aspect ratio
    if (x <= PNG_UINT_31_MAX / factor && y <= PNG_UINT_31_MAX / factor) {
        png_set_pHYs(to, to_info, x * factor, y * factor, unit);
    }
}

int colour_type(int channels) {
    constexpr int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
    return types[channels - 1];
}

}  // namespace

PngWriter::PngWriter(std::FILE *stream, const PngHeader &header, PngReader &source, int scale,
                     const PngWriterOptions &options)
    : state_(std::make_unique<State>()) {
    State &s = *state_;
    s.stream = stream;
    s.source = source.state_.get();
    s.options = options;
    s.row_bytes = header.shape.width * header.shape.channels * (header.bits / 8);
    s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngCalls *>(&s), on_error, on_warning);
    if (!s.png) throw std::bad_alloc();
    s.info = png_create_info_struct(s.png);
    s.end_info = png_create_info_struct(s.png);
    if (!s.info || !s.end_info) throw std::bad_alloc();
    if (header.shape.width > PNG_UINT_31_MAX || header.shape.height > PNG_UINT_31_MAX) {
        throw PictureError("the enlarged picture has a side over PNG's limit of 2147483647 pixels");
    }
    guarded(s.png, s, [&] {
        png_set_write_fn(s.png, static_cast<PngCalls *>(&s), on_write, on_flush);
        // What the input says about itself is passed on even where libpng would not have said it so.
        png_set_benign_errors(s.png, 1);
        png_set_option(s.png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
        // The limits were for strangers' files; what passed them may be enlarged.
        png_set_user_limits(s.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        png_set_compression_level(s.png, options.compression);
        png_set_IHDR(s.png, s.info, header.shape.width, header.shape.height, header.bits,
                     colour_type(header.shape.channels), PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                     PNG_FILTER_TYPE_DEFAULT);
        if (options.keep_metadata) {
            copy_colour_chunks(s.source->png, s.source->info, s.png, s.info);
            copy_resolution(s.source->png, s.source->info, s.png, s.info, scale);
            copy_notes(s.source->png, s.source->info, s.png, s.info);
        }
        png_write_info(s.png, s.info);
        if constexpr (std::endian::native == std::endian::little) png_set_swap(s.png);
    });
}

PngWriter::~PngWriter() = default;

void PngWriter::write(const uint8_t *data, int64_t rows) {
    State &s = *state_;
    guarded(s.png, s, [&] {
        for (int64_t y = 0; y < rows; ++y) png_write_row(s.png, data + y * s.row_bytes);
    });
}

void PngWriter::finish() {
    State &s = *state_;
    guarded(s.png, s, [&] {
        if (s.options.keep_metadata) copy_notes(s.source->png, s.source->end_info, s.png, s.end_info);
        png_write_end(s.png, s.end_info);
    });
}

}  // namespace upsample
