#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <cerrno>
#include <cstring>

#include "buffer.h"
#include "picture_codecs.h"

namespace upsample {
namespace {

/// The whole stream, which must not be longer than `most`.
Bytes read_stream(std::FILE *stream, uint64_t most) {
    Bytes bytes;
    std::size_t count = 0;
    do {
        constexpr std::size_t step = 1 << 16;
        bytes.resize(bytes.size() + step);
        count = std::fread(bytes.data() + bytes.size() - step, 1, step, stream);
        bytes.resize(bytes.size() - step + count);
        if (bytes.size() > most) throw PictureError("the file is over the limit of memory (--memory raises it)");
    } while (count > 0);
    if (std::ferror(stream)) throw PictureError(std::strerror(errno));
    return bytes;
}

Bytes metadata_chunk(const WebPDemuxer *demuxer, const char *name, uint64_t most) {
    WebPChunkIterator chunk;
    Bytes result;
    if (WebPDemuxGetChunk(demuxer, name, 1, &chunk)) {
        const WebPData &data = chunk.chunk;
        if (data.size <= most) result.assign(data.bytes, data.bytes + data.size);
    }
    WebPDemuxReleaseChunkIterator(&chunk);
    return result;
}

class WebpReader : public PictureReader {
  public:
    WebpReader(std::FILE *stream, const Limits &limits);
    const Header &header() const override { return header_; }
    const char *format() const override { return "WebP"; }
    std::size_t bytes_needed() const override;
    void read(uint8_t *data, int64_t rows) override;

  private:
    Bytes file_;
    Header header_;
    Buffer<uint8_t> pixels_;
    int64_t rows_read_ = 0;
};

WebpReader::WebpReader(std::FILE *stream, const Limits &limits) : file_(read_stream(stream, limits.memory)) {
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(file_.data(), file_.size(), &features);
    if (status == VP8_STATUS_NOT_ENOUGH_DATA) throw PictureError("the file ends too early");
    if (status != VP8_STATUS_OK) throw PictureError("the file is neither a PNG, a JPEG nor a WebP picture");
    if (features.has_animation) throw PictureError("the WebP is an animation; only still pictures are supported");
    header_.shape = {features.width, features.height, features.has_alpha ? 4 : 3};
    const Shape &shape = header_.shape;
    if (shape.width * shape.height > limits.pixels)
        throw PictureError("the picture has " + std::to_string(shape.width) + " x " + std::to_string(shape.height) +
                           " pixels, over the limit of " + std::to_string(limits.pixels) + " (--max-pixels raises it)");
    const WebPData data = {file_.data(), file_.size()};
    const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data), WebPDemuxDelete);
    if (!demuxer) throw PictureError("the file ends too early, or is damaged");
    metadata_.icc = metadata_chunk(demuxer.get(), "ICCP", limits.text_bytes);
    metadata_.exif = metadata_chunk(demuxer.get(), "EXIF", limits.text_bytes);
    metadata_.xmp = metadata_chunk(demuxer.get(), "XMP ", limits.text_bytes);
}

std::size_t WebpReader::bytes_needed() const {
    constexpr std::size_t decoder = 4;  // a lossless one has all pixels too
    return file_.size() + static_cast<std::size_t>(header_.shape.width * header_.shape.height) *
                              (header_.shape.channels + decoder);
}

void WebpReader::read(uint8_t *data, int64_t rows) {
    const Shape &shape = header_.shape;
    const std::size_t stride = header_.row_bytes(), bytes = stride * shape.height;
    if (pixels_.size() == 0) {
        pixels_.reserve(bytes);
        const auto decode = shape.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
        if (!decode(file_.data(), file_.size(), pixels_.data(), bytes, static_cast<int>(stride)))
            throw PictureError("the WebP is damaged");
    }
    std::memcpy(data, pixels_.data() + rows_read_ * stride, rows * stride);
    rows_read_ += rows;
}

class WebpWriter : public PictureWriter {
  public:
    WebpWriter(std::FILE *stream, const Header &header, const Metadata &metadata, const WritingOptions &options);
    void write(Bytes rows, int64_t count) override;
    void finish() override;

  private:
    std::FILE *stream_;
    Header header_;
    const Metadata &metadata_;
    WritingOptions options_;
    Bytes pixels_;
};

WebpWriter::WebpWriter(std::FILE *stream, const Header &header, const Metadata &metadata,
                       const WritingOptions &options)
    : stream_(stream), header_(header), metadata_(metadata), options_(options) {
    if (header.shape.width > WEBP_MAX_DIMENSION || header.shape.height > WEBP_MAX_DIMENSION)
        throw PictureError("the enlarged picture has a side over WebP's limit of " +
                           std::to_string(WEBP_MAX_DIMENSION) + " pixels");
}

void WebpWriter::write(Bytes rows, int64_t) {
    pixels_.insert(pixels_.end(), rows.begin(), rows.end());
}

struct EncodedPicture {
    WebPPicture picture{};
    WebPMemoryWriter memory{};
    EncodedPicture() {
        WebPMemoryWriterInit(&memory);
        if (!WebPPictureInit(&picture)) throw PictureError("libwebp is of another version than its header");
        picture.writer = WebPMemoryWrite;
        picture.custom_ptr = &memory;
    }
    ~EncodedPicture() {
        WebPPictureFree(&picture);
        WebPMemoryWriterClear(&memory);
    }
};

void check_encoding(bool done, const WebPPicture &picture) {
    if (done) return;
    if (picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY || picture.error_code == VP8_ENC_OK) throw std::bad_alloc();
    throw PictureError("libwebp cannot encode the picture (error " + std::to_string(picture.error_code) + ")");
}

void add_chunk(WebPMux *mux, const char *name, const Bytes &bytes) {
    if (bytes.empty()) return;
    const WebPData data = {bytes.data(), bytes.size()};
    if (WebPMuxSetChunk(mux, name, &data, 0) != WEBP_MUX_OK) throw std::bad_alloc();
}

void WebpWriter::finish() {
    EncodedPicture encoded;
    WebPConfig config;
    WebPConfigInit(&config);
    config.quality = static_cast<float>(options_.quality);
    config.lossless = options_.lossless;
    config.thread_level = options_.threads > 1;
    encoded.picture.use_argb = options_.lossless;
    encoded.picture.width = static_cast<int>(header_.shape.width);
    encoded.picture.height = static_cast<int>(header_.shape.height);
    const auto import = header_.shape.channels == 4 ? WebPPictureImportRGBA : WebPPictureImportRGB;
    check_encoding(import(&encoded.picture, pixels_.data(), static_cast<int>(header_.row_bytes())), encoded.picture);
    pixels_ = Bytes();
    check_encoding(WebPEncode(&config, &encoded.picture), encoded.picture);

    const WebPData image = {encoded.memory.mem, encoded.memory.size};
    WebPData file = image, assembled{};
    const std::unique_ptr<WebPData, void (*)(WebPData *)> clear(&assembled, WebPDataClear);
    const bool notes = !metadata_.icc.empty() || !metadata_.exif.empty() || !metadata_.xmp.empty();
    if (options_.keep_metadata && notes) {
        const std::unique_ptr<WebPMux, decltype(&WebPMuxDelete)> mux(WebPMuxNew(), WebPMuxDelete);
        if (!mux || WebPMuxSetImage(mux.get(), &image, 0) != WEBP_MUX_OK) throw std::bad_alloc();
        add_chunk(mux.get(), "ICCP", metadata_.icc);
        add_chunk(mux.get(), "EXIF", metadata_.exif);
        add_chunk(mux.get(), "XMP ", metadata_.xmp);
        if (WebPMuxAssemble(mux.get(), &assembled) != WEBP_MUX_OK) throw std::bad_alloc();
        file = assembled;
    }
    if (std::fwrite(file.bytes, 1, file.size, stream_) != file.size) throw PictureError(std::strerror(errno));
}

}  // namespace

std::unique_ptr<PictureReader> read_webp(std::FILE *stream, const Limits &limits) {
    return std::make_unique<WebpReader>(stream, limits);
}
std::unique_ptr<PictureWriter> write_webp(std::FILE *stream, const Header &header, const Metadata &metadata,
                                          const WritingOptions &options) {
    return std::make_unique<WebpWriter>(stream, header, metadata, options);
}

/// The pixels, as they come and as the encoder has them, with what it works in.
std::size_t webp_bytes_needed(const Header &header) {
    constexpr std::size_t encoder = 24;
    return static_cast<std::size_t>(header.shape.width * header.shape.height) * (header.shape.channels + encoder);
}

}  // namespace upsample
