// Enlarging by a network, tile by tile. Tiles overlap by the network's border, so they join without seams:
// every output pixel is computed from the same inputs as it would be in one piece.
#ifndef UPSAMPLE_NETWORK_PICTURE_H
#define UPSAMPLE_NETWORK_PICTURE_H

#include <optional>
#include <vector>

#include "network_run.h"
#include "picture.h"
#include "resample.h"
#include "row_window.h"

namespace upsample {

/// Fills the colours of invisible pixels with those of visible ones nearby, so that the network does not mix
/// in what nobody can see.
class BledPicture : public RowSource {
  public:
    BledPicture(RowSource &source, int64_t band_rows);
    const Shape &shape() const override { return source_.shape(); }
    Rows next() override;

  private:
    RowSource &source_;
    RowWindow window_;
    int64_t band_rows_;
    int64_t row_ = 0;
    std::vector<float> planes_;
};

struct TileSize {
    int64_t height = 0, width = 0;
};

/// Splits a picture into tiles of equal size, at most `side` each way, larger by less than one a row or
/// column of tiles than the picture. A network that sees the whole picture gets it in one tile.
TileSize choose_tiles(const Shape &shape, int64_t side, const Network &network);

class NetworkPicture : public RowSource {
  public:
    /// The network must outlive this.
    NetworkPicture(RowSource &source, const Network &network, TileSize tile, conv_transpose::Device device,
                   conv_transpose::Precision precision);
    const Shape &shape() const override { return shape_; }
    Rows next() override;

  private:
    void gather_tile(const float *window, int64_t begin, int64_t end, int64_t top, int64_t left);
    void copy_tile(int64_t rows, int64_t left);
    void copy_mean_color(int64_t rows, int64_t columns, float *to);
    void enlarge_alpha(const float *window, int64_t begin, int64_t end, int64_t first, int64_t last);

    RowSource &source_;
    const Network &network_;
    Shape shape_;
    TileSize tile_;
    RowWindow window_;
    NetworkRun run_;
    std::optional<Resampler> alpha_;
    int64_t row_ = 0;
    int64_t input_height_, input_width_;  // of a tile with its border
    conv_transpose::HostMemory tile_input_, band_, colors_;

    int64_t band_plane() const { return tile_.height * network_.scale() * shape_.width; }
};

}  // namespace upsample

#endif
