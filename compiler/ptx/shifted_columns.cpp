// Sums of taps that are rows of a tile: what a tap adds to is as many columns further as it is behind the centre. Taps behind it go
// right, from the last on, each to the sums of the one before; those before it left, from the first on. They go to columns of the
// lane's own, of a neighbouring lane's, or of a neighbouring warp's: of those the centre's sums get what they lack at last, by
// shared memory.
#include "compiler/passes/warpgroup.h"
#include "compiler/ptx/tile_registers.h"
#include "compiler/ptx/tile_turns.h"

namespace conv_transpose {

namespace {

void add(const std::string &to, const std::string &sum, const char *where, PtxWriter &out) {
    out.line(where, "add.rn.f32 ", to, ", ", to, ", ", sum, ";");
}

/// The sums of one tile, towards one centre.
class ShiftedColumns {
  public:
    ShiftedColumns(const PlaceholderCall &call, int centre, PtxWriter &out)
        : tile_(call), centre_(centre), begin_(call.field_or("at", 0)), bytes_of_warp_(4 * rows_per_turn * call.field("pitch")),
          last_(tile_.of_lane - 1), eights_(tile_.rows_of_tap / columns_of_group), out_(out) {}

    void add_all() const {
        for (int tap = tile_.taps - 1; tap > centre_; tap--) move_right(tap);
        for (int tap = 0; tap < centre_; tap++) move_left(tap);
        wait_for_warpgroup(out_);
        for (int tap = centre_ + 1; tap < tile_.taps; tap++) add_from_left(tap, tap - centre_ - 1);
        for (int tap = centre_ - 1; tap >= 0; tap--) add_from_right(tap, centre_ - 1 - tap);
        if (centre_ > 0) copy_to_first_tap();
    }

  private:
    int place(int tap, int eight) const { return begin_ + 4 * (tap * tile_.rows_of_tap + columns_of_group * eight); }

    void move_right(int tap) const {
        send(tap, last_, "up", "0", "@is_last");
        for (int eight = 0; eight < eights_; eight++)
            for (int second = 0; second < 2; second++) {
                for (int column = 0; column < last_; column++)
                    add(tile_.sum(column + 1, tap - 1, eight, second), tile_.sum(column, tap, eight, second), "", out_);
                add(tile_.sum(0, tap - 1, eight, second), moved(eight, second), "@!is_first ", out_);
            }
    }

    void move_left(int tap) const {
        send(tap, 0, "down", "31", "@is_first");
        for (int eight = 0; eight < eights_; eight++)
            for (int second = 0; second < 2; second++) {
                for (int column = 0; column < last_; column++)
                    add(tile_.sum(column, tap + 1, eight, second), tile_.sum(column + 1, tap, eight, second), "", out_);
                add(tile_.sum(last_, tap + 1, eight, second), moved(eight, second), "@!is_last ", out_);
            }
    }

    static std::string moved(int eight, int second) { return "moved" + std::to_string(2 * eight + second); }

    /// Gives a lane's column to its neighbour, or where the warp ends to shared memory. All are under way before the first is
    /// added.
    void send(int tap, int column, const char *way, const char *end, const char *where_warp_ends) const {
        for (int eight = 0; eight < eights_; eight++) {
            for (int second = 0; second < 2; second++)
                out_.line("shfl.sync.", way, ".b32 ", moved(eight, second), ", ", tile_.sum(column, tap, eight, second), ", 4, ",
                          end, ", 0xffffffff;");
            out_.line(where_warp_ends, " st.shared.v2.f32 [at+", place(tap, eight), "], {", tile_.sum(column, tap, eight, 0), ",",
                      tile_.sum(column, tap, eight, 1), "};");
        }
    }

    // Nothing comes to the warpgroup's first and last columns, which are not stored.

    void add_from_left(int tap, int column) const {
        find_lane(column / tile_.of_lane, "0");
        add_of_neighbour(tap, column % tile_.of_lane, -1);
    }

    void add_from_right(int tap, int column) const {
        find_lane(columns_of_group - 1 - column / tile_.of_lane, "3");
        add_of_neighbour(tap, last_ - column % tile_.of_lane, 1);
    }

    void find_lane(int lane, const char *not_of_warp) const {
        out_.line("setp.eq.u32 is_mine, lane, ", lane, "; setp.ne.u32 there, warp, ", not_of_warp,
                  "; and.pred is_mine, is_mine, there;");
    }

    void add_of_neighbour(int tap, int column, int warp) const {
        for (int eight = 0; eight < eights_; eight++) {
            out_.line("@is_mine ld.shared.v2.b32 {first, second}, [at+", place(tap, eight) + warp * bytes_of_warp_, "];");
            add(tile_.sum(column, centre_, eight, 0), "first", "@is_mine ", out_);
            add(tile_.sum(column, centre_, eight, 1), "second", "@is_mine ", out_);
        }
    }

    /// Which stores read.
    void copy_to_first_tap() const {
        for (int eight = 0; eight < eights_; eight++)
            for (int second = 0; second < 2; second++)
                for (int column = 0; column < tile_.of_lane; column++)
                    out_.line("mov.f32 ", tile_.sum(column, 0, eight, second), ", ",
                              tile_.sum(column, centre_, eight, second), ";");
    }

    const RegistersOfLines tile_;
    const int centre_, begin_, bytes_of_warp_;
    const int last_;  // column of a lane
    const int eights_;
    PtxWriter &out_;
};

}  // namespace

void add_shifted(const CallSite &site, const std::string &label, PtxWriter &out) {
    const PlaceholderCall &call = site.call;
    const RegistersOfLines tile(call);
    if (tile.taps * tile.rows_of_tap > rows_per_turn * call.field("pitch"))
        throw PtxExpansionError("PTX expansion: taps that are rows are added as far as there is room in shared memory");
    out.line("{ .reg .b32 at, warp, lane, first, second, moved<", tile.rows_of_tap / 4,
             ">; .reg .pred there, is_first, is_last, is_mine;");
    out.line("mov.u32 at, %tid.z; mov.u32 warp, %tid.y; mad.lo.u32 at, at, ", warps_of_warpgroup, ", warp; mov.u32 lane, %tid.x; "
             "and.b32 first, lane, 3; shl.b32 first, first, 3; mad.lo.u32 at, at, ", 4 * rows_per_turn * call.field("pitch"),
             ", first; shr.u32 lane, lane, 2; setp.eq.u32 is_first, lane, 0; setp.eq.u32 is_last, lane, 7;");
    for (int centre = 0; centre < tile.taps; centre++) {
        out.line("setp.ne.s32 there, ", site.arguments.at(0), ", ", centre, "; @there bra.uni ", label, "_", centre, ";");
        ShiftedColumns(call, centre, out).add_all();
        out.line("bra.uni ", label, ";");
        out.line(label, "_", centre, ":");
    }
    out.line(label, ":");
    wait_for_warpgroup(out);
    out.line("}");
}

}  // namespace conv_transpose
