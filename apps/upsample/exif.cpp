// Reading and changing TIFF's directories in place: see exif.h.
#include "exif.h"

#include <cstring>

namespace upsample {
namespace {

constexpr int image_width = 0x0100, image_height = 0x0101, exif_directory = 0x8769;
constexpr int pixel_width = 0xA002, pixel_height = 0xA003;
constexpr int type_short = 3, type_long = 4;

class Tiff {
  public:
    explicit Tiff(Bytes &bytes) : bytes_(bytes), little_(bytes[0] == 'I') {}

    bool has(std::size_t at, std::size_t count) const {
        return at <= bytes_.size() && count <= bytes_.size() - at;
    }
    uint32_t get(std::size_t at, int bytes) const {
        uint32_t value = 0;
        for (int i = 0; i < bytes; ++i) value |= uint32_t{bytes_[at + i]} << 8 * (little_ ? i : bytes - 1 - i);
        return value;
    }
    void set(std::size_t at, int bytes, uint32_t value) {
        for (int i = 0; i < bytes; ++i)
            bytes_[at + i] = static_cast<uint8_t>(value >> 8 * (little_ ? i : bytes - 1 - i));
    }

    /// Changes the sizes in a directory; returns where the directory of Exif's own tags begins, or 0.
    std::size_t set_sizes(std::size_t directory, uint32_t width, uint32_t height) {
        std::size_t exif = 0;
        if (!has(directory, 2)) return 0;
        const std::size_t entries = get(directory, 2);
        for (std::size_t i = 0; i < entries; ++i) {
            const std::size_t entry = directory + 2 + 12 * i;
            if (!has(entry, 12)) return exif;
            const int tag = get(entry, 2), type = get(entry + 2, 2);
            if (tag == exif_directory && type == type_long) exif = get(entry + 8, 4);
            const bool is_width = tag == image_width || tag == pixel_width;
            if (!is_width && tag != image_height && tag != pixel_height) continue;
            if ((type != type_short && type != type_long) || get(entry + 4, 4) != 1) continue;
            set(entry + 2, 2, type_long);  // which a short has room for
            set(entry + 8, 4, is_width ? width : height);
        }
        return exif;
    }

  private:
    Bytes &bytes_;
    bool little_;
};

}  // namespace

bool is_exif(const Bytes &exif) {
    return exif.size() >= 8 && (std::memcmp(exif.data(), "II*\0", 4) == 0 || std::memcmp(exif.data(), "MM\0*", 4) == 0);
}

void set_exif_size(Bytes &exif, int64_t width, int64_t height) {
    if (!is_exif(exif)) return;
    Tiff tiff(exif);
    const std::size_t own = tiff.set_sizes(tiff.get(4, 4), static_cast<uint32_t>(width), static_cast<uint32_t>(height));
    if (own > 0) tiff.set_sizes(own, static_cast<uint32_t>(width), static_cast<uint32_t>(height));
}

}  // namespace upsample
