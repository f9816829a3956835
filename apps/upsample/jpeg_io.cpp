#include "jpeg_io.h"

#include <jpeglib.h>
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

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

}  // namespace

struct JpegReader::State {
    JpegErrors errors;
    jpeg_decompress_struct jpeg{};
    jpeg_progress_mgr progress{};
    Header header;
    bool made = false;
    ~State() {
        if (made) jpeg_destroy_decompress(&jpeg);
    }
};

JpegReader::JpegReader(std::FILE *stream, const Limits &limits) : state_(std::make_unique<State>()) {
    State &s = *state_;
    set_up(s.errors, s.jpeg.err);
    s.errors.warnings = &warnings_;
    guarded(s.errors, [&] {
        jpeg_create_decompress(&s.jpeg);
        s.made = true;
        s.progress.progress_monitor = on_progress;
        s.jpeg.progress = &s.progress;
        jpeg_stdio_src(&s.jpeg, stream);
        jpeg_save_markers(&s.jpeg, app1, 0xFFFF);
        jpeg_save_markers(&s.jpeg, app2, 0xFFFF);
        jpeg_read_header(&s.jpeg, TRUE);
    });
    Shape &shape = s.header.shape;
    shape = {s.jpeg.image_width, s.jpeg.image_height, s.jpeg.num_components == 1 ? 1 : 3};
    if (shape.width * shape.height > limits.pixels) {
        throw PictureError("the picture has " + std::to_string(shape.width) + " x " + std::to_string(shape.height) +
                           " pixels, over the limit of " + std::to_string(limits.pixels) + " (--max-pixels raises it)");
    }
    if (s.jpeg.num_components != 1 && s.jpeg.num_components != 3)
        throw PictureError("the JPEG has " + std::to_string(s.jpeg.num_components) +
                           " components (CMYK?); gray and RGB are supported");
    s.jpeg.out_color_space = shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;

    uint64_t kept = 0;
    for (jpeg_saved_marker_ptr marker = s.jpeg.marker_list; marker; marker = marker->next) {
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
    guarded(s.errors, [&] { jpeg_read_icc_profile(&s.jpeg, &profile, &profile_bytes); });
    const std::unique_ptr<JOCTET, decltype(&std::free)> profile_owner(profile, std::free);
    if (profile) metadata_.icc.assign(profile, profile + profile_bytes);
    if (s.jpeg.saw_JFIF_marker && s.jpeg.X_density > 0 && s.jpeg.Y_density > 0) {
        const double per_metre = s.jpeg.density_unit == 1 ? 1 / 0.0254 : s.jpeg.density_unit == 2 ? 100 : 1;
        metadata_.density_is_per_metre = s.jpeg.density_unit != 0;
        metadata_.x_density = static_cast<uint32_t>(s.jpeg.X_density * per_metre + 0.5);
        metadata_.y_density = static_cast<uint32_t>(s.jpeg.Y_density * per_metre + 0.5);
    }
}

JpegReader::~JpegReader() = default;

const Header &JpegReader::header() const {
    return state_->header;
}

/// Several scans mean that all coefficients are held.
std::size_t JpegReader::bytes_needed() const {
    auto &jpeg = state_->jpeg;
    if (!jpeg_has_multiple_scans(&jpeg)) return 0;
    const Shape &shape = state_->header.shape;
    return static_cast<std::size_t>((shape.width + 32) * (shape.height + 32)) * jpeg.num_components * sizeof(JCOEF);
}

void JpegReader::read(uint8_t *data, int64_t rows) {
    State &s = *state_;
    guarded(s.errors, [&] {
        if (s.jpeg.output_scanline == 0 && s.jpeg.output_height == 0) jpeg_start_decompress(&s.jpeg);
        for (int64_t y = 0; y < rows; ++y) {
            JSAMPROW row = data + y * s.header.row_bytes();
            jpeg_read_scanlines(&s.jpeg, &row, 1);
        }
    });
}

void JpegReader::finish() {
    guarded(state_->errors, [&] { jpeg_finish_decompress(&state_->jpeg); });
}

struct JpegWriter::State {
    JpegErrors errors;
    jpeg_compress_struct jpeg{};
    Header header;
    bool made = false;
    ~State() {
        if (made) jpeg_destroy_compress(&jpeg);
    }
};

namespace {

template <std::size_t count>
void write_note(jpeg_compress_struct &jpeg, const char (&mark)[count], const Bytes &data, Bytes &marker) {
    if (data.empty() || data.size() > longest_marker - count) return;
    marker.assign(mark, mark + count);
    marker.insert(marker.end(), data.begin(), data.end());
    jpeg_write_marker(&jpeg, app1, marker.data(), static_cast<unsigned int>(marker.size()));
}

}  // namespace

JpegWriter::JpegWriter(std::FILE *stream, const Header &header, const Metadata &metadata,
                       const WritingOptions &options)
    : state_(std::make_unique<State>()) {
    State &s = *state_;
    s.header = header;
    if (header.shape.width > JPEG_MAX_DIMENSION || header.shape.height > JPEG_MAX_DIMENSION) {
        throw PictureError("the enlarged picture has a side over JPEG's limit of " +
                           std::to_string(JPEG_MAX_DIMENSION) + " pixels");
    }
    set_up(s.errors, s.jpeg.err);
    Bytes marker;
    guarded(s.errors, [&] {
        jpeg_create_compress(&s.jpeg);
        s.made = true;
        jpeg_stdio_dest(&s.jpeg, stream);
        s.jpeg.image_width = static_cast<JDIMENSION>(header.shape.width);
        s.jpeg.image_height = static_cast<JDIMENSION>(header.shape.height);
        s.jpeg.input_components = header.shape.channels;
        s.jpeg.in_color_space = header.shape.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&s.jpeg);
        jpeg_set_quality(&s.jpeg, options.quality, TRUE);
        if (options.quality >= 90) {  // who asks for that quality wants colours as sharp as light
            for (int c = 0; c < s.jpeg.num_components; ++c)
                s.jpeg.comp_info[c].h_samp_factor = s.jpeg.comp_info[c].v_samp_factor = 1;
        }
        const double per_inch_x = metadata.x_density * 0.0254, per_inch_y = metadata.y_density * 0.0254;
        if (options.keep_metadata && metadata.density_is_per_metre && per_inch_x < 65535 && per_inch_y < 65535) {
            s.jpeg.density_unit = 1;
            s.jpeg.X_density = static_cast<UINT16>(per_inch_x + 0.5);
            s.jpeg.Y_density = static_cast<UINT16>(per_inch_y + 0.5);
        }
        jpeg_start_compress(&s.jpeg, TRUE);
        if (!options.keep_metadata) return;
        write_note(s.jpeg, exif_mark, metadata.exif, marker);
        write_note(s.jpeg, xmp_mark, metadata.xmp, marker);
        if (!metadata.icc.empty())
            jpeg_write_icc_profile(&s.jpeg, metadata.icc.data(), static_cast<unsigned int>(metadata.icc.size()));
    });
}

JpegWriter::~JpegWriter() = default;

void JpegWriter::write(Bytes rows, int64_t count) {
    State &s = *state_;
    guarded(s.errors, [&] {
        for (int64_t y = 0; y < count; ++y) {
            JSAMPROW row = rows.data() + y * s.header.row_bytes();
            jpeg_write_scanlines(&s.jpeg, &row, 1);
        }
    });
}

void JpegWriter::finish() {
    guarded(state_->errors, [&] { jpeg_finish_compress(&state_->jpeg); });
}

}  // namespace upsample
