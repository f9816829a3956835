#include "compiler/ptx/kernel_expansion.h"

#include <algorithm>
#include <iterator>

#include "compiler/ptx/cluster_addresses.h"
#include "compiler/ptx/global_stores.h"
#include "compiler/ptx/mbarriers.h"

namespace conv_transpose {

namespace {

/// ".visible .entry name("
std::string name_of_kernel(const std::vector<std::string> &lines) {
    const std::string &line = lines.front(), entry = ".entry ";
    const std::size_t begin = line.find(entry) + entry.size();
    return line.substr(begin, line.find('(') - begin);
}

std::vector<CallSite> calls_of(const std::vector<std::string> &lines, const std::string &kind) {
    std::vector<CallSite> calls;
    for (std::size_t i = 0; i < lines.size(); i++)
        if (const auto site = read_call(lines, i); site && site->call.kind == kind) calls.push_back(*site);
    return calls;
}

}  // namespace

KernelExpansion::KernelExpansion(const std::vector<std::string> &lines, const Architecture &architecture)
    : lines_(lines), name_(name_of_kernel(lines)), wgmma_(architecture.has_wgmma()),
      in_cluster_(!calls_of(lines, "cluster_sum").empty()), addresses_(lines), tiles_(wgmma_),
      copies_(name_, addresses_, wgmma_, in_cluster_) {
    for (const CallSite &site : calls_of(lines, "multiply")) tiles_.announce(site.call);
    if (in_cluster_) tiles_.begin_at_base();
}

std::string KernelExpansion::expanded() {
    PtxWriter body;
    const std::size_t opening = std::distance(lines_.begin(), std::find(lines_.begin(), lines_.end(), "{"));
    for (std::size_t i = opening + 1; i < lines_.size(); i++) {
        if (const auto site = read_call(lines_, i)) {
            expand_call(*site, body);
        } else {
            addresses_.keep(lines_[i], body);
            body.line(has_roles() ? in_role(lines_[i]) : lines_[i]);
        }
    }
    // Launch bounds and registers are known now.
    return head(opening) + (in_cluster_ ? counted_from_base(name_, body.str()) : body.str());
}

std::string KernelExpansion::head(std::size_t opening) const {
    PtxWriter out;
    if (in_cluster_) out.line(".extern .shared .align 1024 .b8 ", name_, "_shared[];");
    for (std::size_t i = 0; i < opening; i++) {
        if (lines_[i] == ")") copies_.declare_tensor_maps(out);
        out.line(lines_[i]);
    }
    write_launch_bounds(out);
    out.line("{");
    tiles_.declare_accumulators(out);
    addresses_.declare(out);
    return out.str();
}

void KernelExpansion::write_launch_bounds(PtxWriter &out) const {
    if (launch_.kind.empty()) return;
    out.line(".maxntid ", launch_.field("x"), ", ", launch_.field("y"), ", ", launch_.field("z"));
    out.line(".minnctapersm ", launch_.field("blocks"));
}

/// Whether some of the block's threads stage for the others (producer_warpgroup.h).
bool KernelExpansion::has_roles() const { return launch_.fields.contains("consumers"); }

/// A barrier of the block is one of the consumers. A load without .nc stays where it is among barriers: ptxas would bring the other
/// close to its use, behind the barrier that it is to be ahead of.
std::string KernelExpansion::in_role(std::string line) const {
    const std::string barrier = "bar.sync \t0", load = "ld.global.nc";
    if (const auto at = line.find(barrier); at != std::string::npos) {
        line.insert(at + barrier.size(), ", " + std::to_string(launch_.field("consumers")));
    } else if (const auto nc = line.find(load); nc != std::string::npos) {
        line.erase(nc + load.size() - 3, 3);
    }
    return line;
}

void KernelExpansion::expand_call(const CallSite &site, PtxWriter &out) {
    out.line("\t// ", site.call.name());
    if (site.call.kind == "launch") {
        launch_ = site.call;
        return;
    }
    const bool known = expand_tile(site, out) || expand_group_of_products(site, out) || expand_cluster(site, out) ||
                       expand_store(site, addresses_, out) || copies_.expand(site, labels_, out) || expand_barrier(site, out) ||
                       expand_mbarrier(site, wgmma_, labels_, out);
    if (!known) throw PtxExpansionError("PTX expansion: unknown placeholder " + site.call.name());
}

// Each of these expands the calls of one kind of work, and says whether this is one of them.

bool KernelExpansion::expand_tile(const CallSite &site, PtxWriter &out) {
    const std::string &kind = site.call.kind;
    if (kind == "clear") tiles_.clear(site.call, out);
    else if (kind == "multiply") tiles_.multiply(site, out);
    else if (kind == "promote") tiles_.promote(site.call, out);
    else if (kind == "add_shifted") tiles_.add_shifted_taps(site, labels_.next(), out);
    else if (kind == "sum") tiles_.read_sum(site, out);
    else if (kind == "sum_of_register") tiles_.read_register(site, out);
    else if (kind == "turn") tiles_.turn(site.call, out);
    else if (kind == "turn_end") tiles_.end_turn(out);
    else if (kind == "cluster_sum") tiles_.add_parts_of_cluster(site, out);
    else return false;
    return true;
}

/// wgmma's products run on their own, until they are waited for.
bool KernelExpansion::expand_group_of_products(const CallSite &site, PtxWriter &out) const {
    const std::string &kind = site.call.kind;
    const bool is_publish = kind == "publish", is_begin = kind == "begin", is_commit = kind == "commit", is_wait = kind == "wait";
    if (is_publish && wgmma_) out.line("\tfence.proxy.async.shared::cta;");
    if (is_begin && tiles_.are_asynchronous()) out.line("\twgmma.fence.sync.aligned;");
    if (is_commit && tiles_.are_asynchronous()) out.line("\twgmma.commit_group.sync.aligned;");
    if (is_wait && tiles_.are_asynchronous()) out.line("\twgmma.wait_group.sync.aligned ", site.call.field("pending"), ";");
    return is_publish || is_begin || is_commit || is_wait;
}

bool KernelExpansion::expand_cluster(const CallSite &site, PtxWriter &out) const {
    const std::string &kind = site.call.kind;
    if (kind == "cluster_arrive") out.line("\tbarrier.cluster.arrive.release;");
    else if (kind == "cluster_wait") out.line("\tbarrier.cluster.wait.acquire;");
    else return false;
    return true;
}

/// Warps of a block wait for each other, or give each other registers.
bool KernelExpansion::expand_barrier(const CallSite &site, PtxWriter &out) const {
    const std::string &kind = site.call.kind;
    const bool takes = kind == "more_registers", gives = kind == "fewer_registers";
    if (kind == "barrier_sync") out.line("\tbar.sync ", site.arguments.at(0), ", ", site.call.field("threads"), ";");
    else if (kind == "barrier_arrive") out.line("\tbar.arrive ", site.arguments.at(0), ", ", site.call.field("threads"), ";");
    else if (!takes && !gives) return false;
    else if (wgmma_) out.line("\tsetmaxnreg.", takes ? "inc" : "dec", ".sync.aligned.u32 ", site.call.field("count"), ";");
    return true;
}

}  // namespace conv_transpose
