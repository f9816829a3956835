// Enlarging by a network, tile by tile. Tiles overlap by the network's border, so they join without seams:
// every output pixel is computed from the same inputs as it would be in one piece.
#ifndef UPSAMPLE_NETWORK_PICTURE_H
#define UPSAMPLE_NETWORK_PICTURE_H

#include <memory>
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

class NetworkPicture : public PieceSource {
  public:
    /// The network and the runs must outlive this. With `tta` the network runs on each tile turned and
    /// mirrored in all eight ways, and the mean is taken. Where memory runs out, smaller tiles are tried.
    NetworkPicture(RowSource &source, const Network &network, NetworkRuns &runs, TileSize tile,
                   const RunOptions &options, bool tta = false);
    ~NetworkPicture() override;
    const Shape &shape() const override { return shape_; }

    /// The next tile; as many as the run has lanes are begun before the first is waited for. Where float16
    /// does not hold what a network computes, the rest is computed in float32.
    Piece next() override;

  private:
    /// A tile under way, enlarged; its samples are in the memory of its lane.
    struct Tile {
        int64_t left = 0, rows = 0, columns = 0;
    };

    void prepare();
    void allocate();
    void begin_tile();
    void run_tile(int lane);
    void wait_for_tile(int lane);
    void start_again_in_float32();
    void wait_for_all() noexcept;
    void gather_tile(float *input, const float *window, const Span &rows, int64_t left) const;
    void run_turned(int lane);
    void mean_color(int lane);
    void enlarge_alpha(int lane, const float *window, const Span &given, int64_t left, int64_t right);
    OutputPart part_of(int lane);
    int lane_of(int64_t tile) const { return static_cast<int>(tile % static_cast<int64_t>(tiles_.size())); }

    RowSource &source_;
    const Network &network_;
    NetworkRuns &runs_;
    RunOptions options_;
    bool tta_;
    Shape shape_;
    TileSize tile_;
    RowWindow window_;
    std::vector<Tile> tiles_;  // one a lane, in turns
    std::unique_ptr<NetworkRun> run_, turned_run_;
    std::optional<Resampler> alpha_;
    int64_t row_ = 0, left_ = 0;                  // of the tile that is begun next
    int64_t begun_ = 0, given_ = 0;               // tiles
    int64_t input_height_ = 0, input_width_ = 0;  // of a tile with its border
    Buffer<float> alpha_rectangle_, turned_, turned_output_;

    int64_t piece_width() const { return tile_.width * network_.scale(); }
    int64_t piece_plane() const { return tile_.height * network_.scale() * piece_width(); }
};

}  // namespace upsample

#endif
