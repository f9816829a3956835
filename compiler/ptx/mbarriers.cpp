#include "compiler/ptx/mbarriers.h"

namespace conv_transpose {

namespace {

void initialize(const CallSite &site, PtxWriter &out) {
    const SharedAddress barrier(site);
    out.line("\t", barrier.begin, "mbarrier.init.shared.b64 [", barrier.at, "], ", site.call.field("count"), ";", barrier.end);
}

void wait(const CallSite &site, const char *instruction, const std::string &loop, PtxWriter &out) {
    out.line("{ .reg .b32 barrier, parity; .reg .pred done; mov.b32 barrier, ", site.arguments.at(0), "; mov.b32 parity, ",
             site.arguments.at(1), ";");
    out.line(loop, ":");
    out.line(instruction, ".parity.shared.b64 done, [barrier], parity; @!done bra ", loop, "; }");
}

void expect_bytes(const CallSite &site, PtxWriter &out) {
    const SharedAddress barrier(site);
    out.line("\t", barrier.begin, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [", barrier.at, "], ",
             site.call.field("bytes"), ";", barrier.end);
}

void arrive(const CallSite &site, PtxWriter &out) {
    const SharedAddress barrier(site);
    out.line("\t", barrier.begin, "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [", barrier.at, "]; }", barrier.end);
}

}  // namespace

bool expand_mbarrier(const CallSite &site, bool has_copy_engine, Labels &labels, PtxWriter &out) {
    const std::string &kind = site.call.kind;
    if (kind == "mbarrier_init") {
        initialize(site, out);
    } else if (kind == "mbarrier_fence") {
        if (has_copy_engine) out.line("\tfence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;");
    } else if (kind == "mbarrier_wait") {
        wait(site, has_copy_engine ? "mbarrier.try_wait" : "mbarrier.test_wait", labels.next(), out);
    } else if (kind == "bulk_expect") {
        if (has_copy_engine) expect_bytes(site, out);
    } else if (kind == "bulk_end") {
        if (!has_copy_engine) arrive(site, out);
    } else {
        return false;
    }
    return true;
}

}  // namespace conv_transpose
