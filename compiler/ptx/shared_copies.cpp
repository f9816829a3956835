#include "compiler/ptx/shared_copies.h"

#include <algorithm>

#include "compiler/ptx/tile_turns.h"

namespace conv_transpose {

namespace {

void publish_boxes(PtxWriter &out) {
    out.line("\tfence.proxy.async.shared::cta;");
    wait_for_warpgroup(out);
}

void wait_for_boxes(PtxWriter &out) {
    out.line("\tcp.async.bulk.wait_group.read 0;");
    wait_for_warpgroup(out);
}

}  // namespace

bool SharedCopies::expand(const CallSite &site, Labels &labels, PtxWriter &out) {
    const std::string &kind = site.call.kind;
    if (kind == "copy") copy(site, out);
    else if (kind == "copy_commit") out.line("\tcp.async.commit_group;");
    else if (kind == "copy_wait") out.line("\tcp.async.wait_group ", site.call.field("pending"), ";");
    else if (kind == "bulk_copy" && has_copy_engine_) bulk_copy(site, out);
    else if (kind == "bulk_copy") copy_by_one_thread(site, labels.next(), out);
    else if (kind == "tensor_copy") tensor_copy(site, out);
    else return expand_boxes(site, out);
    return true;
}

/// Stores by the copy engine, which one lane of a warpgroup starts, and waits for.
bool SharedCopies::expand_boxes(const CallSite &site, PtxWriter &out) {
    const std::string &kind = site.call.kind;
    if (kind == "box_store") box_store(site, out);
    else if (kind == "found_here") out.line("\tmov.b32 ", site.result, ", ", site.arguments.at(0), ";");
    else if (kind == "box_publish") publish_boxes(out);
    else if (kind == "box_commit") out.line("\tcp.async.bulk.commit_group;");
    else if (kind == "box_wait") wait_for_boxes(out);
    else return false;
    return true;
}

void SharedCopies::declare_tensor_maps(PtxWriter &out) const {
    if (maps_ > 0) out.line(", .param .align 64 .b8 ", tensor_maps_, "[", bytes_of_map * maps_, "]");
}

void SharedCopies::copy(const CallSite &site, PtxWriter &out) const {
    // Only copies of 16 bytes may pass by the first-level cache.
    const int bytes = site.call.field("bytes");
    const bool passes_by = bytes == 16 && site.call.field_or("cached", 0) == 0;
    const SharedAddress to(site);
    out.line("\t", to.begin, "cp.async.", passes_by ? "cg" : "ca", ".shared.global [", to.at, "], [", addresses_.of(site), "], ",
             bytes, ", ", site.arguments.at(2), ";", to.end);
}

void SharedCopies::bulk_copy(const CallSite &site, PtxWriter &out) const {
    out.line("{ .reg .b32 to, barrier; mov.b32 to, ", site.arguments.at(0), "; mov.b32 barrier, ", site.arguments.at(2), ";",
             of_cluster());
    out.line("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [", addresses_.of(site), "], ",
             site.call.field("bytes"), ", [barrier]; }");
}

/// Where there is no copy engine: right, and slow.
void SharedCopies::copy_by_one_thread(const CallSite &site, const std::string &loop, PtxWriter &out) const {
    out.line("{ .reg .b32 to, end, v<4>; .reg .b64 from; .reg .pred more; mov.b32 to, ", site.arguments.at(0),
             "; add.s32 end, to, ", site.call.field("bytes"), "; mov.b64 from, ", addresses_.of(site), ";");
    out.line(loop, ":");
    out.line("ld.global.v4.b32 {v0, v1, v2, v3}, [from]; st.shared.v4.b32 [to], {v0, v1, v2, v3};");
    out.line("add.s32 to, to, 16; add.s64 from, from, 16; setp.lt.u32 more, to, end; @more bra ", loop, "; }");
}

/// The statement that sets `map`.
std::string SharedCopies::address_of_map(const CallSite &site) {
    if (!has_copy_engine_) throw PtxExpansionError("PTX expansion: only sm_90a reads tensor maps");
    const int map = site.call.field("map");
    maps_ = std::max(maps_, map + 1);
    return "mov.b64 map, " + tensor_maps_ + "; cvta.param.u64 map, map;" +
           (map ? " add.s64 map, map, " + std::to_string(bytes_of_map * map) + ";" : "");
}

/// From; then the coordinates.
void SharedCopies::box_store(const CallSite &site, PtxWriter &out) {
    std::string coordinates;
    for (std::size_t i = 1; i < site.arguments.size(); i++) coordinates += (i > 1 ? ", " : "") + site.arguments[i];
    out.line("{ .reg .b32 from; .reg .b64 map; mov.b32 from, ", site.arguments.at(0), "; ", address_of_map(site));
    out.line("cp.async.bulk.tensor.", site.arguments.size() - 1, "d.global.shared::cta.tile.bulk_group [map, {", coordinates,
             "}], [from]; }");
}

/// To, barrier; then the coordinates and, where positions count through the images, the offsets.
void SharedCopies::tensor_copy(const CallSite &site, PtxWriter &out) {
    const std::size_t dimensions = site.call.field("coordinates"), axes = site.call.field("offsets"), first = 2,
                      offsets = first + dimensions;
    std::string coordinates, halves;
    out.line("{ .reg .b32 to, barrier, wide; .reg .b16 offset<3>; .reg .b64 map; mov.b32 to, ", site.arguments.at(0),
             "; mov.b32 barrier, ", site.arguments.at(1), "; ", address_of_map(site));
    if (in_cluster_) out.line(of_cluster());
    for (std::size_t i = 0; i < dimensions; i++) coordinates += (i ? ", " : "") + site.arguments.at(first + i);
    for (std::size_t i = 0; i < axes; i++) {
        out.line("mov.b32 wide, ", site.arguments.at(offsets + i), "; cvt.u16.u32 offset", i, ", wide;");
        halves += (i ? ", offset" : "offset") + std::to_string(i);
    }
    out.line("cp.async.bulk.tensor.", dimensions, "d.shared::cluster.global.", axes ? "im2col" : "tile",
             ".mbarrier::complete_tx::bytes [to], [map, {", coordinates, "}], [barrier]", axes ? ", {" + halves + "}" : "", "; }");
}

}  // namespace conv_transpose
