#include "compiler/ptx/tensor_core_instructions.h"

#include "compiler/ptx/products.h"
#include "compiler/ptx/tile_registers.h"
#include "compiler/ptx/tile_turns.h"

namespace conv_transpose {

namespace {

/// Values of 32 bits, or words of two (compiler/passes/pair_products.h).
bool has_words(const PlaceholderCall &multiply) {
    return is_float(multiply) || multiply.field_or("pairs", 0);
}

}  // namespace

void TensorCoreInstructions::clear(const PlaceholderCall &call, PtxWriter &out) {
    const TileRegisters tile(call);
    accumulators_[tile.id] = tile.size();
    for (int i = 0; i < tile.size(); i++) out.line("\tmov.f32 ", tile.at(i), ", 0f00000000;");
}

void TensorCoreInstructions::promote(const PlaceholderCall &call, PtxWriter &out) const {
    const TileRegisters to(call), from(call, call.field("from"));
    for (int i = 0; i < to.size(); i++) out.line("\tadd.rn.f32 ", to.at(i), ", ", to.at(i), ", ", from.at(i), ";");
}

void TensorCoreInstructions::announce(const PlaceholderCall &multiply) {
    const bool columns = has_words(multiply) && multiply.field_or("bt", 0),
               rows = has_words(multiply) && multiply.field_or("at", 0);
    asynchronous_ = asynchronous_ || (wgmma_ && !rows);
    in_lines_ = in_lines_ || multiply.field_or("bl", 0) > 0;
    turned_ = turned_ || (wgmma_ && columns && !rows) || in_lines_;
}

void TensorCoreInstructions::multiply(const CallSite &site, PtxWriter &out) const {
    const bool of_halves = site.call.field_or("halves", 0);
    if ((in_lines_ || of_halves) && (!wgmma_ || at_base_))
        throw PtxExpansionError("PTX expansion: lines of columns and halves of words are multiplied by wgmma, without clusters");
    if (in_lines_) multiply_lines(site, out);
    else if (turned_) multiply_turned(site, at_base_, out);
    else if (of_halves) multiply_halves(site, out);
    else if (has_words(site.call) && site.call.field_or("at", 0)) multiply_fragments(site, out);
    else if (wgmma_) multiply_wgmma(site, at_base_, out);
    else multiply_mma_sync(site, out);
}

void TensorCoreInstructions::read_sum(const CallSite &site, PtxWriter &out) const {
    if (!in_lines_) throw PtxExpansionError("PTX expansion: lanes have sums that they store of tiles of lines of columns");
    const PlaceholderCall &call = site.call;
    const RegistersOfLines tile(call);
    out.line("\tmov.f32 ", site.result, ", ", tile.sum(call.field("column"), 0, call.field("eight"), call.field("second")), ";");
}

void TensorCoreInstructions::read_register(const CallSite &site, PtxWriter &out) const {
    if (!wgmma_ || turned_) throw PtxExpansionError("PTX expansion: lanes have pairs of columns of tiles of wgmma, in their order");
    const std::string sum = "%tc_tile" + std::to_string(site.call.field("tile")) + "_" + std::to_string(site.call.field("sum"));
    out.line("\tmov.f32 ", site.result, ", ", sum, ";");
}

void TensorCoreInstructions::add_shifted_taps(const CallSite &site, const std::string &label, PtxWriter &out) const {
    if (!in_lines_) throw PtxExpansionError("PTX expansion: taps that are rows are added in tiles of lines of columns");
    add_shifted(site, label, out);
}

void TensorCoreInstructions::turn(const PlaceholderCall &call, PtxWriter &out) const {
    if (in_lines_) turn_lines(call, out);
    else if (turned_) turn_columns(call, out);
    else turn_rows(call, out);
}

void TensorCoreInstructions::end_turn(PtxWriter &out) const { turned_ ? wait_for_warpgroup(out) : wait_for_warp(out); }

void TensorCoreInstructions::add_parts_of_cluster(const CallSite &site, PtxWriter &out) const {
    if (!wgmma_ || in_lines_) throw PtxExpansionError("PTX expansion: only sm_90a has clusters, which add what is no taps' sums");
    add_of_cluster(site, out);
}

void TensorCoreInstructions::declare_accumulators(PtxWriter &out) const {
    for (const auto &[tile, count] : accumulators_) out.line("\t.reg .f32 %tc_tile", tile, "_<", count, ">;");
}

}  // namespace conv_transpose
