#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <future>

#include "deflate.h"
#include "exif.h"
#include "picture_codecs.h"

namespace upsample {
namespace {

/// What both directions share: libpng reports through these callbacks, which may not throw through its C
/// frames.
struct PngCalls {
    std::FILE *stream = nullptr;
    std::string error;
    std::vector<std::string> *warnings = nullptr;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
    static_cast<PngCalls *>(png_get_error_ptr(png))->error = message;
    png_longjmp(png, 1);
}

void on_warning(png_structp png, png_const_charp message) {
    // libpng goes on to allocate what such a chunk claims to hold: a gigabyte for a file of a hundred bytes.
    if (std::strstr(message, "chunk data is too large"))
        on_error(png, "a chunk is over the limit of bytes (--max-chunk-bytes raises it)");
    constexpr std::size_t most = 1000;  // a file may give cause for any number
    auto *warnings = static_cast<PngCalls *>(png_get_error_ptr(png))->warnings;
    if (warnings && warnings->size() < most) warnings->emplace_back(message);
}

void on_read(png_structp png, png_bytep data, std::size_t bytes) {
    auto *calls = static_cast<PngCalls *>(png_get_io_ptr(png));
    if (std::fread(data, 1, bytes, calls->stream) != bytes)
        png_error(png, std::ferror(calls->stream) ? std::strerror(errno) : "the file ends too early");
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

/// What is passed on as it stands: text compressed as it is, because a small file may hold gigabytes of it.
/// cICP, mDCV and cLLI tell what colours mean, and must stand before the pixels.
constexpr const char *kept_chunks[] = {"tEXt", "zTXt", "iTXt", "tIME", "eXIf", "cICP", "mDCV", "cLLI"};

bool is_kept(const char *name) {
    return std::any_of(std::begin(kept_chunks), std::end(kept_chunks),
                       [&](const char *kept) { return std::strcmp(kept, name) == 0; });
}

/// Why a chunk cannot be passed on; null where it can.
const char *fault_of(const Chunk &chunk) {
    const std::string name = chunk.name.data();
    if (name == "tIME") return chunk.data.size() == 7 ? nullptr : "its length is wrong";
    if (name == "eXIf") return is_exif(chunk.data) ? nullptr : "it is not Exif";
    if (name.compare(1, 3, "EXt") != 0 && name.compare(1, 3, "TXt") != 0) return nullptr;
    const auto end = std::find(chunk.data.begin(), chunk.data.end(), 0);
    const auto length = end - chunk.data.begin();
    if (end == chunk.data.end() || length == 0 || length > 79) return "its keyword has not 1 to 79 characters";
    const auto is_control = [](uint8_t c) { return c < 32 || (c > 126 && c < 160); };
    if (std::any_of(chunk.data.begin(), end, is_control)) return "its keyword has control characters";
    return nullptr;
}

struct PngDecoder : PngCalls {
    png_structp png = nullptr;
    png_infop info = nullptr;
    png_infop end_info = nullptr;  // without one, libpng passes over what follows the pixels
    Header header;
    Limits limits;
    Metadata *metadata = nullptr;
    std::vector<std::string> *losses = nullptr;
    uint64_t kept_bytes = 0;
    uint32_t kept = 0;
    bool out_of_memory = false;
    // An interlaced picture is read whole. Pages that are not written to cost nothing: a file may end after its header.
    std::unique_ptr<uint8_t, decltype(&std::free)> whole{nullptr, std::free};
    int64_t rows_read = 0;
    bool interlaced = false, late = false;

    ~PngDecoder() { png_destroy_read_struct(&png, &info, &end_info); }

    void keep(const png_unknown_chunk &from) {
        const char *name = reinterpret_cast<const char *>(from.name);
        if (std::strcmp(name, "acTL") == 0)
            losses->emplace_back("the picture is animated: only its first frame is enlarged");
        if (!is_kept(name)) return;
        Chunk chunk;
        std::copy_n(name, 4, chunk.name.begin());
        chunk.data.assign(from.data, from.data + from.size);
        const char *fault = fault_of(chunk);
        if (++kept > limits.chunks) fault = "there are more chunks than --max-chunks allows";
        if (kept_bytes + from.size > limits.text_bytes) fault = "text is longer than --max-text-bytes allows";
        if (fault) {
            if (losses->size() < 20) losses->push_back(std::string("a ") + name + " chunk is left out: " + fault);
            return;
        }
        kept_bytes += from.size;
        if (std::strcmp(name, "eXIf") == 0 && !late && metadata->exif.empty()) {
            metadata->exif = std::move(chunk.data);
        } else {
            (late ? metadata->late_chunks : metadata->chunks).push_back(std::move(chunk));
        }
    }
};

/// Called by libpng for chunks that it does not read itself. It may not throw, and libpng's error may not
/// leave a catch block.
int on_chunk(png_structp png, png_unknown_chunkp chunk) {
    auto *state = static_cast<PngDecoder *>(png_get_user_chunk_ptr(png));
    try {
        state->keep(*chunk);
    } catch (const std::bad_alloc &) {
        state->out_of_memory = true;
    }
    if (state->out_of_memory) png_error(png, "there is not enough memory for its text");
    return 1;
}

void read_colours(png_structp png, png_infop info, Metadata &metadata) {
    png_charp name = nullptr;
    int compression = 0;
    png_bytep profile = nullptr;
    png_uint_32 bytes = 0;
    if (png_get_iCCP(png, info, &name, &compression, &profile, &bytes)) {
        metadata.icc.assign(profile, profile + bytes);
        metadata.icc_name = name;
    }
    png_get_sRGB(png, info, &metadata.srgb_intent);
    png_get_gAMA_fixed(png, info, &metadata.gamma);
    png_fixed_point v[8];
    if (png_get_cHRM_fixed(png, info, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7])) metadata.primaries.assign(v, v + 8);
    int unit = 0;
    if (png_get_pHYs(png, info, &metadata.x_density, &metadata.y_density, &unit))
        metadata.density_is_per_metre = unit == PNG_RESOLUTION_METER;
}

class PngReader : public PictureReader {
  public:
    PngReader(std::FILE *stream, const Limits &limits);
    const Header &header() const override { return state_.header; }
    const char *format() const override { return "PNG"; }
    std::size_t bytes_needed() const override {
        return state_.interlaced ? state_.header.row_bytes() * state_.header.shape.height : 0;
    }
    void read(uint8_t *data, int64_t rows) override;
    void finish() override {
        guarded(state_.png, state_, [&] { png_read_end(state_.png, state_.end_info); });
    }

  private:
    PngDecoder state_;
};

PngReader::PngReader(std::FILE *stream, const Limits &limits) {
    state_.stream = stream;
    state_.limits = limits;
    state_.metadata = &metadata_;
    state_.losses = &losses_;
    state_.warnings = &warnings_;
    state_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngCalls *>(&state_), on_error, on_warning);
    if (!state_.png) throw std::bad_alloc();
    state_.info = png_create_info_struct(state_.png);
    state_.end_info = png_create_info_struct(state_.png);
    if (!state_.info || !state_.end_info) throw std::bad_alloc();
    guarded(state_.png, state_, [&] {
        png_set_read_fn(state_.png, static_cast<PngCalls *>(&state_), on_read);
        png_set_user_limits(state_.png, limits.side, limits.side);
        png_set_option(state_.png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);  // profiles are carried, not judged
        png_set_chunk_cache_max(state_.png, 1);  // what is kept is kept here
        png_set_chunk_malloc_max(state_.png, limits.chunk_bytes);
        png_set_crc_action(state_.png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
        png_set_read_user_chunk_fn(state_.png, &state_, on_chunk);
        for (const char *name : kept_chunks)
            png_set_keep_unknown_chunks(state_.png, PNG_HANDLE_CHUNK_ALWAYS, reinterpret_cast<png_const_bytep>(name), 1);
        png_read_info(state_.png, state_.info);
    });

    Shape &shape = state_.header.shape;
    shape.width = png_get_image_width(state_.png, state_.info);
    shape.height = png_get_image_height(state_.png, state_.info);
    if (shape.width * shape.height > limits.pixels)
        throw PictureError("the picture has " + std::to_string(shape.width) + " x " + std::to_string(shape.height) +
                           " pixels, over the limit of " + std::to_string(limits.pixels) + " (--max-pixels raises it)");
    read_colours(state_.png, state_.info, metadata_);
    guarded(state_.png, state_, [&] {
        png_set_expand(state_.png);
        if constexpr (std::endian::native == std::endian::little) png_set_swap(state_.png);
        state_.interlaced = png_get_interlace_type(state_.png, state_.info) != PNG_INTERLACE_NONE;
        png_set_interlace_handling(state_.png);
        png_read_update_info(state_.png, state_.info);
    });
    shape.channels = png_get_channels(state_.png, state_.info);
    state_.header.bits = png_get_bit_depth(state_.png, state_.info);
    state_.late = true;
}

void PngReader::read(uint8_t *data, int64_t rows) {
    const std::size_t bytes = state_.header.row_bytes();
    if (state_.interlaced && !state_.whole) {
        // Every pass touches rows all over the picture, so the passes need it whole.
        state_.whole.reset(static_cast<uint8_t *>(std::calloc(state_.header.shape.height, bytes)));
        if (!state_.whole) throw std::bad_alloc();
        guarded(state_.png, state_, [&] {
            for (int pass = 0; pass < PNG_INTERLACE_ADAM7_PASSES; ++pass) {
                for (int64_t y = 0; y < state_.header.shape.height; ++y)
                    png_read_row(state_.png, state_.whole.get() + y * bytes, nullptr);
            }
        });
    }
    if (state_.interlaced) {
        std::memcpy(data, state_.whole.get() + state_.rows_read * bytes, rows * bytes);
    } else {
        guarded(state_.png, state_, [&] {
            for (int64_t y = 0; y < rows; ++y) png_read_row(state_.png, data + y * bytes, nullptr);
        });
    }
    state_.rows_read += rows;
}

/// Rows are compressed in blocks of about this size, each by itself.
constexpr std::size_t block_bytes = std::size_t{1} << 20;

struct PngEncoder : PngCalls {
    png_structp png = nullptr;
    png_infop info = nullptr;
    const Metadata *metadata = nullptr;
    WritingOptions options;
    PngRows pending;
    std::deque<std::future<DeflatedBlock>> blocks;  // in order, not yet written
    uint32_t adler = 1;

    ~PngEncoder() { png_destroy_write_struct(&png, &info); }

    void write_chunk(const char *name, const Bytes &data) {
        guarded(png, *this, [&] {
            png_write_chunk(png, reinterpret_cast<png_const_bytep>(name), data.data(), data.size());
        });
    }

    void write_chunks(const std::vector<Chunk> &chunks) {
        if (!options.keep_metadata) return;
        for (const Chunk &chunk : chunks) write_chunk(chunk.name.data(), chunk.data);
    }

    void start_block() {
        PngRows block = pending;
        pending.rows.clear();
        pending.before.assign(block.rows.end() - static_cast<std::ptrdiff_t>(block.row_bytes), block.rows.end());
        blocks.push_back(std::async(options.threads > 1 ? std::launch::async : std::launch::deferred,
                                    [block = std::move(block), level = options.compression] {
                                        return deflate_rows(block, level);
                                    }));
        while (blocks.size() >= static_cast<std::size_t>(std::max(1, options.threads))) write_block();
    }

    void write_block() {
        const DeflatedBlock block = blocks.front().get();
        blocks.pop_front();
        adler = adler32_combine(adler, block.adler, static_cast<z_off_t>(block.plain_bytes));
        write_chunk("IDAT", block.data);
    }
};

void write_colours(const Metadata &metadata, png_structp png, png_infop info) {
    if (!metadata.icc.empty())
        png_set_iCCP(png, info, metadata.icc_name.c_str(), PNG_COMPRESSION_TYPE_BASE, metadata.icc.data(),
                     static_cast<png_uint_32>(metadata.icc.size()));
    if (metadata.srgb_intent >= 0) png_set_sRGB(png, info, metadata.srgb_intent);
    if (metadata.gamma != 0) png_set_gAMA_fixed(png, info, metadata.gamma);
    if (!metadata.primaries.empty()) {
        const int32_t *v = metadata.primaries.data();
        png_set_cHRM_fixed(png, info, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]);
    }
    if (metadata.x_density > 0 && metadata.y_density > 0)
        png_set_pHYs(png, info, metadata.x_density, metadata.y_density,
                     metadata.density_is_per_metre ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN);
}

int colour_type(int channels) {
    constexpr int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
    return types[channels - 1];
}

class PngWriter : public PictureWriter {
  public:
    PngWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options);
    void write(Bytes rows, int64_t count) override;
    void finish() override;

  private:
    PngEncoder state_;
};

PngWriter::PngWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options) {
    state_.stream = stream;
    state_.metadata = &metadata;
    state_.options = options;
    state_.pending.row_bytes = header.row_bytes();
    state_.pending.channels = header.shape.channels;
    state_.pending.bits = header.bits;
    state_.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngCalls *>(&state_), on_error, on_warning);
    if (!state_.png) throw std::bad_alloc();
    state_.info = png_create_info_struct(state_.png);
    if (!state_.info) throw std::bad_alloc();
    if (header.shape.width > PNG_UINT_31_MAX || header.shape.height > PNG_UINT_31_MAX)
        throw PictureError("the enlarged picture has a side over PNG's limit of 2147483647 pixels");
    guarded(state_.png, state_, [&] {
        png_set_write_fn(state_.png, static_cast<PngCalls *>(&state_), on_write, on_flush);
        // What the input says about itself is passed on even where libpng would not have said it so.
        png_set_benign_errors(state_.png, 1);
        png_set_option(state_.png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
        // The limits were for strangers' files; what passed them may be enlarged.
        png_set_user_limits(state_.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        png_set_IHDR(state_.png, state_.info, static_cast<png_uint_32>(header.shape.width),
                     static_cast<png_uint_32>(header.shape.height), header.bits, colour_type(header.shape.channels),
                     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        if (options.keep_metadata) write_colours(metadata, state_.png, state_.info);
        png_write_info(state_.png, state_.info);
    });
    state_.write_chunks(metadata.chunks);
    if (options.keep_metadata && is_exif(metadata.exif)) state_.write_chunk("eXIf", metadata.exif);
    state_.write_chunk("IDAT", deflate_begin());
}

void PngWriter::write(Bytes rows, int64_t) {
    const std::size_t row = state_.pending.row_bytes, most = std::max<std::size_t>(1, block_bytes / row) * row;
    for (std::size_t at = 0; at < rows.size();) {
        const std::size_t taken = std::min(rows.size() - at, most - state_.pending.rows.size());
        state_.pending.rows.insert(state_.pending.rows.end(), rows.begin() + at, rows.begin() + at + taken);
        at += taken;
        if (state_.pending.rows.size() == most) state_.start_block();
    }
}

void PngWriter::finish() {
    if (!state_.pending.rows.empty()) state_.start_block();
    while (!state_.blocks.empty()) state_.write_block();
    state_.write_chunk("IDAT", deflate_end(state_.adler));
    state_.write_chunks(state_.metadata->late_chunks);
    state_.write_chunk("IEND", {});
}

}  // namespace

std::unique_ptr<PictureReader> read_png(std::FILE *stream, const Limits &limits) {
    return std::make_unique<PngReader>(stream, limits);
}
std::unique_ptr<PictureWriter> write_png(std::FILE *stream, const Header &header, const Metadata &metadata,
                                         const WritingOptions &options) {
    return std::make_unique<PngWriter>(stream, header, metadata, options);
}

}  // namespace upsample
