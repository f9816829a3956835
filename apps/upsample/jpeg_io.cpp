#include <cstdio>

#include <jpeglib.h>
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "picture_codecs.h"

namespace upsample {
namespace {

constexpr int app1 = JPEG_APP0 + 1, app2 = JPEG_APP0 + 2;
constexpr unsigned int longest_marker = 65533;
constexpr char exif_mark[] = "Exif\0", xmp_mark[] = "http://ns.adobe.com/xap/1.0/";  // and their last zero
constexpr int most_scans = 500;  // each goes over the whole picture, whatever it adds

/// What libjpeg reports through; its own struct must be the first member.
struct JpegErrors {
    jpeg_error_mgr manager{};
    std::jmp_buf leave;
    char message[JMSG_LENGTH_MAX] = "";
    std::vector<std::string> *warnings = nullptr;
};

JpegErrors &errors_of(j_common_ptr jpeg) {
    return *reinterpret_cast<JpegErrors *>(jpeg->err);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
    JpegErrors &errors = errors_of(jpeg);
    jpeg->err->format_message(jpeg, errors.message);
    std::longjmp(errors.leave, 1);
}

void on_message(j_common_ptr jpeg, int level) {
    if (level >= 0) return;  // not a warning
    if (jpeg->err->msg_code == JWRN_JPEG_EOF) {
        std::strcpy(errors_of(jpeg).message, "the file ends too early");
        std::longjmp(errors_of(jpeg).leave, 1);
    }
    char message[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, message);
    auto *warnings = errors_of(jpeg).warnings;
    if (warnings && warnings->size() < 100) warnings->emplace_back(message);
}

void on_progress(j_common_ptr jpeg) {
    if (jpeg->is_decompressor && reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > most_scans) {
        std::strcpy(errors_of(jpeg).message, "the picture has more scans than anybody needs");
        std::longjmp(errors_of(jpeg).leave, 1);
    }
}

void set_up(JpegErrors &errors, jpeg_error_mgr *&place) {
    place = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = on_error;
    errors.manager.emit_message = on_message;
}

/// Runs calls into libjpeg and turns its errors into PictureErrors. The body may hold nothing with a
/// destructor: libjpeg leaves it by longjmp.
template <typename Body>
void guarded(JpegErrors &errors, const Body &body) {
    if (setjmp(errors.leave)) {
        if (errors.manager.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
        throw PictureError(errors.message);
    }
    body();
}

template <std::size_t count>
bool begins(const jpeg_marker_struct &marker, const char (&mark)[count]) {
    return marker.data_length >= count && std::memcmp(marker.data, mark, count) == 0;
}

struct JpegDecoder {
    JpegErrors errors;
    jpeg_decompress_struct jpeg{};
    jpeg_progress_mgr progress{};
    Header header;
    bool made = false;
    ~JpegDecoder() {
        if (made) jpeg_destroy_decompress(&jpeg);
    }
};

class JpegReader : public PictureReader {
  public:
    JpegReader(std::FILE *stream, const Limits &limits);
    const Header &header() const override { return state_.header; }
    const char *format() const override { return "JPEG"; }
    std::size_t bytes_needed() const override { return bytes_needed_; }
    void read(uint8_t *data, int64_t rows) override;
    void finish() override {
        guarded(state_.errors, [&] { jpeg_finish_decompress(&state_.jpeg); });
    }

  private:
    JpegDecoder state_;
    std::size_t bytes_needed_ = 0;
};

JpegReader::JpegReader(std::FILE *stream, const Limits &limits) {
    set_up(state_.errors, state_.jpeg.err);
    state_.errors.warnings = &warnings_;
    guarded(state_.errors, [&] {
        jpeg_create_decompress(&state_.jpeg);
        state_.made = true;
        state_.progress.progress_monitor = on_progress;
        state_.jpeg.progress = &state_.progress;
        jpeg_stdio_src(&state_.jpeg, stream);
        jpeg_save_markers(&state_.jpeg, app1, 0xFFFF);
        jpeg_save_markers(&state_.jpeg, app2, 0xFFFF);
        jpeg_read_header(&state_.jpeg, TRUE);
    });
    Shape &shape = state_.header.shape;
    shape = {state_.jpeg.image_width, state_.jpeg.image_height, state_.jpeg.num_components == 1 ? 1 : 3};
    if (shape.width * shape.height > limits.pixels)
        throw PictureError("the picture has " + std::to_string(shape.width) + " x " + std::to_string(shape.height) +
                           " pixels, over the limit of " + std::to_string(limits.pixels) + " (--max-pixels raises it)");
    if (state_.jpeg.num_components != 1 && state_.jpeg.num_components != 3)
        throw PictureError("the JPEG has " + std::to_string(state_.jpeg.num_components) +
                           " components (CMYK?); gray and RGB are supported");
    state_.jpeg.out_color_space = shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    // Several scans mean that all coefficients are held.
    if (jpeg_has_multiple_scans(&state_.jpeg))
        bytes_needed_ = static_cast<std::size_t>((shape.width + 32) * (shape.height + 32)) *
                        state_.jpeg.num_components * sizeof(JCOEF);

    uint64_t kept = 0;
    for (jpeg_saved_marker_ptr marker = state_.jpeg.marker_list; marker; marker = marker->next) {
        kept += marker->data_length;
        if (marker->marker != app1) continue;
        if (begins(*marker, exif_mark) && metadata_.exif.empty())
            metadata_.exif.assign(marker->data + sizeof exif_mark, marker->data + marker->data_length);
        if (begins(*marker, xmp_mark) && metadata_.xmp.empty())
            metadata_.xmp.assign(marker->data + sizeof xmp_mark, marker->data + marker->data_length);
    }
    if (kept > limits.text_bytes)
        throw PictureError("its profile and text are longer than --max-text-bytes allows");
    JOCTET *profile = nullptr;
    unsigned int profile_bytes = 0;
    guarded(state_.errors, [&] { jpeg_read_icc_profile(&state_.jpeg, &profile, &profile_bytes); });
    const std::unique_ptr<JOCTET, decltype(&std::free)> profile_owner(profile, std::free);
    if (profile) metadata_.icc.assign(profile, profile + profile_bytes);
    if (state_.jpeg.saw_JFIF_marker && state_.jpeg.X_density > 0 && state_.jpeg.Y_density > 0) {
        const double per_metre = state_.jpeg.density_unit == 1 ? 1 / 0.0254 : state_.jpeg.density_unit == 2 ? 100 : 1;
        metadata_.density_is_per_metre = state_.jpeg.density_unit != 0;
        metadata_.x_density = static_cast<uint32_t>(state_.jpeg.X_density * per_metre + 0.5);
        metadata_.y_density = static_cast<uint32_t>(state_.jpeg.Y_density * per_metre + 0.5);
    }
}

void JpegReader::read(uint8_t *data, int64_t rows) {
    guarded(state_.errors, [&] {
        if (state_.jpeg.output_scanline == 0 && state_.jpeg.output_height == 0) jpeg_start_decompress(&state_.jpeg);
        for (int64_t y = 0; y < rows; ++y) {
            JSAMPROW row = data + y * state_.header.row_bytes();
            jpeg_read_scanlines(&state_.jpeg, &row, 1);
        }
    });
}

struct JpegEncoder {
    JpegErrors errors;
    jpeg_compress_struct jpeg{};
    Header header;
    bool made = false;
    ~JpegEncoder() {
        if (made) jpeg_destroy_compress(&jpeg);
    }
};

template <std::size_t count>
void write_note(jpeg_compress_struct &jpeg, const char (&mark)[count], const Bytes &data, Bytes &marker) {
    if (data.empty() || data.size() > longest_marker - count) return;
    marker.assign(mark, mark + count);
    marker.insert(marker.end(), data.begin(), data.end());
    jpeg_write_marker(&jpeg, app1, marker.data(), static_cast<unsigned int>(marker.size()));
}

class JpegWriter : public PictureWriter {
  public:
    JpegWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options);
    void write(Bytes rows, int64_t count) override;
    void finish() override {
        guarded(state_.errors, [&] { jpeg_finish_compress(&state_.jpeg); });
    }

  private:
    JpegEncoder state_;
};

JpegWriter::JpegWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options) {
    state_.header = header;
    if (header.shape.width > JPEG_MAX_DIMENSION || header.shape.height > JPEG_MAX_DIMENSION)
        throw PictureError("the enlarged picture has a side over JPEG's limit of " +
                           std::to_string(JPEG_MAX_DIMENSION) + " pixels");
    set_up(state_.errors, state_.jpeg.err);
    Bytes marker;
    guarded(state_.errors, [&] {
        jpeg_create_compress(&state_.jpeg);
        state_.made = true;
        jpeg_stdio_dest(&state_.jpeg, stream);
        state_.jpeg.image_width = static_cast<JDIMENSION>(header.shape.width);
        state_.jpeg.image_height = static_cast<JDIMENSION>(header.shape.height);
        state_.jpeg.input_components = header.shape.channels;
        state_.jpeg.in_color_space = header.shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&state_.jpeg);
        jpeg_set_quality(&state_.jpeg, options.quality, TRUE);
        if (options.quality >= 90) {  // who asks for that quality wants colours as sharp as light
            for (int c = 0; c < state_.jpeg.num_components; ++c)
                state_.jpeg.comp_info[c].h_samp_factor = state_.jpeg.comp_info[c].v_samp_factor = 1;
        }
        const double per_inch_x = metadata.x_density * 0.0254, per_inch_y = metadata.y_density * 0.0254;
        if (options.keep_metadata && metadata.density_is_per_metre && per_inch_x < 65535 && per_inch_y < 65535) {
            state_.jpeg.density_unit = 1;
            state_.jpeg.X_density = static_cast<UINT16>(per_inch_x + 0.5);
            state_.jpeg.Y_density = static_cast<UINT16>(per_inch_y + 0.5);
        }
        jpeg_start_compress(&state_.jpeg, TRUE);
        if (!options.keep_metadata) return;
        write_note(state_.jpeg, exif_mark, metadata.exif, marker);
        write_note(state_.jpeg, xmp_mark, metadata.xmp, marker);
        if (!metadata.icc.empty())
            jpeg_write_icc_profile(&state_.jpeg, metadata.icc.data(), static_cast<unsigned int>(metadata.icc.size()));
    });
}

void JpegWriter::write(Bytes rows, int64_t count) {
    guarded(state_.errors, [&] {
        for (int64_t y = 0; y < count; ++y) {
            JSAMPROW row = rows.data() + y * state_.header.row_bytes();
            jpeg_write_scanlines(&state_.jpeg, &row, 1);
        }
    });
}

}  // namespace

std::unique_ptr<PictureReader> read_jpeg(std::FILE *stream, const Limits &limits) {
    return std::make_unique<JpegReader>(stream, limits);
}
std::unique_ptr<PictureWriter> write_jpeg(std::FILE *stream, const Header &header, const Metadata &metadata,
                                          const WritingOptions &options) {
    return std::make_unique<JpegWriter>(stream, header, metadata, options);
}

}  // namespace upsample
