// Expansion of placeholder calls, one kernel (.entry) at a time, because register names repeat between
// kernels.
#include "compiler/ptx/ptx_expansion.h"

#include <algorithm>
#include <cctype>

#include "compiler/passes/operand_format.h"
#include "compiler/passes/placeholder_calls.h"
#include "compiler/ptx/tensor_core_instructions.h"

namespace conv_transpose {

namespace {

/// Expands the calls of one kernel.
class KernelExpansion {
  public:
    /// `lines` from ".entry" to the closing brace.
    KernelExpansion(const std::vector<std::string> &lines, const Architecture &architecture)
        : lines_(lines), wgmma_(architecture.has_wgmma()), addresses_(lines), tiles_(wgmma_) {
        for (std::size_t i = 0; i < lines.size(); i++)
            if (const auto site = read_call(lines, i)) {
                if (site->call.kind == "multiply") tiles_.announce(site->call);
                in_cluster_ = in_cluster_ || site->call.kind == "cluster_sum";
            }
        if (in_cluster_) tiles_.begin_at_base();
    }

    std::string expanded() {
        PtxWriter body;
        std::size_t opening = 0;
        while (opening < lines_.size() && lines_[opening] != "{") {
            opening++;
        }
        name_ = name_of_kernel();
        for (std::size_t i = opening + 1; i < lines_.size(); i++) {
            if (const auto site = read_call(lines_, i)) {
                expand_call(*site, body);
            } else {
                addresses_.keep(lines_[i], body);
                body.line(has_roles() ? in_role(lines_[i]) : lines_[i]);
            }
        }
        // Launch bounds and registers are known now.
        PtxWriter head;
        if (in_cluster_) head.line(".extern .shared .align 1024 .b8 ", name_, "_shared[];");
        for (std::size_t i = 0; i < opening; i++) {
            if (tensor_maps_ > 0 && lines_[i] == ")") {
                head.line(", .param .align 64 .b8 ", tensor_maps(), "[", bytes_of_map * tensor_maps_, "]");
            }
            head.line(lines_[i]);
        }
        write_launch_bounds(head);
        head.line("{");
        tiles_.declare_accumulators(head);
        addresses_.declare(head);
        return head.str() + (in_cluster_ ? from_base(body.str()) : body.str());
    }

  private:
    /// Whether some of the block's threads stage for the others (producer_warpgroup.h).
    bool has_roles() const { return launch_.fields.contains("consumers"); }

    /// A barrier of the block is one of the consumers. A load without .nc stays where it is among barriers:
    /// ptxas would bring the other close to its use, behind the barrier that it is to be ahead of.
    std::string in_role(std::string line) const {
        const std::string barrier = "bar.sync \t0", load = "ld.global.nc";
        if (const auto at = line.find(barrier); at != std::string::npos) {
            line.insert(at + barrier.size(), ", " + std::to_string(launch_.field("consumers")));
        } else if (const auto nc = line.find(load); nc != std::string::npos) {
            line.erase(nc + load.size() - 3, 3);
        }
        return line;
    }

    /// Addresses of shared memory tell the block of a cluster, too: those that count from 0 get what the block's memory begins
    /// with.
    std::string from_base(const std::string &body) const {
        PtxWriter out;
        out.line("\t.reg .b32 %tc_base, %tc_begin, %tc_at; .reg .b64 %tc_wide_base, %tc_wide_at; mov.u32 %tc_base, ", name_,
                 "_shared; cvt.u64.u32 %tc_wide_base, %tc_base; bfe.u32 %tc_begin, %tc_base, 4, 14;");
        std::string text;
        for (std::size_t begin = 0; begin < body.size();) {
            const std::size_t end = std::min(body.find(';', begin), body.size() - 1) + 1;
            text += statement_from_base(body.substr(begin, end - begin));
            begin = end;
        }
        return out.str() + text;
    }

    static std::string statement_from_base(std::string statement) {
        const auto has = [&](const char *part) { return contains(statement, part); };
        const bool reaches_own =
            has("ld.shared.") || has("st.shared.") || (has("mbarrier.") && has(".shared") && !has("cp.async."));
        const std::size_t open = statement.find('['), end = statement.find_first_of("+]", open);
        if (!reaches_own || open == std::string::npos) return statement;
        const std::string at = statement.substr(open + 1, end - open - 1);
        const std::size_t line = statement.rfind('\n', open), first = line == std::string::npos ? 0 : line + 1;
        const bool wide = at.starts_with("%rd");
        statement.replace(open + 1, at.size(), wide ? "%tc_wide_at" : "%tc_at");
        statement.insert(first, wide ? "add.s64 %tc_wide_at, " + at + ", %tc_wide_base; "
                                     : "add.u32 %tc_at, " + at + ", %tc_base; ");
        return statement;
    }

    void write_launch_bounds(PtxWriter &out) const {
        if (launch_.kind.empty()) {
            return;
        }
        out.line(".maxntid ", launch_.field("x"), ", ", launch_.field("y"), ", ", launch_.field("z"));
        out.line(".minnctapersm ", launch_.field("blocks"));
    }

    void expand_call(const CallSite &site, PtxWriter &out) {
        out.line("\t// ", site.call.name());
        if (site.call.kind == "launch") {
            launch_ = site.call;
        } else if (!expand_product(site, out) && !expand_store(site, out) && !expand_copy(site, out) &&
                   !expand_barrier(site, out) && !expand_mbarrier(site, out)) {
            throw PtxExpansionError("PTX expansion: unknown placeholder " + site.call.name());
        }
    }

    // Each of these expands the calls of one kind of work, and says whether this is one of them.

    /// Multiplies tiles of a warp or warpgroup.
    bool expand_product(const CallSite &site, PtxWriter &out) {
        const std::string &kind = site.call.kind;
        if (kind == "clear") {
            tiles_.clear(site.call, out);
        } else if (kind == "multiply") {
            tiles_.multiply(site, out);
        } else if (kind == "promote") {
            tiles_.promote(site.call, out);
        } else if (kind == "add_shifted") {
            tiles_.add_shifted_taps(site, new_label(), out);
        } else if (kind == "sum") {
            tiles_.read_sum(site, out);
        } else if (kind == "turn") {
            tiles_.turn(site.call, out);
        } else if (kind == "turn_end") {
            tiles_.end_turn(out);
        } else if (kind == "cluster_arrive") {
            out.line("\tbarrier.cluster.arrive.release;");
        } else if (kind == "cluster_wait") {
            out.line("\tbarrier.cluster.wait.acquire;");
        } else if (kind == "cluster_sum") {
            tiles_.add_parts_of_cluster(site, out);
        } else if (kind == "publish") {
            if (wgmma_) out.line("\tfence.proxy.async.shared::cta;");
        } else if (kind == "begin") {
            if (tiles_.are_asynchronous()) out.line("\twgmma.fence.sync.aligned;");
        } else if (kind == "commit") {
            if (tiles_.are_asynchronous()) out.line("\twgmma.commit_group.sync.aligned;");
        } else if (kind == "wait") {
            if (tiles_.are_asynchronous()) out.line("\twgmma.wait_group.sync.aligned ", site.call.field("pending"), ";");
        } else {
            return false;
        }
        return true;
    }

    /// Stores a tile's sums.
    bool expand_store(const CallSite &site, PtxWriter &out) {
        const std::string &kind = site.call.kind;
        if (kind == "store_pair") {
            is_float(site) ? store_pair(site, out) : store_pair_of_16_bits(site, out);
        } else if (kind == "store_run") {
            store_run(site, out);
        } else if (kind == "store_single") {
            out.line("{ .reg .b32 both; .reg .b16 first, zero; ", pair_of_16_bits(site, "0f00000000"),
                     " mov.b32 {first, zero}, both; st.global.b16 [", addresses_.of(site), "], first; }");
        } else if (kind == "row_store") {
            row_store(site, out);
        } else {
            return false;
        }
        return true;
    }

    /// Copies from global to shared memory.
    bool expand_copy(const CallSite &site, PtxWriter &out) {
        const std::string &kind = site.call.kind;
        if (kind == "copy") {
            copy(site, out);
        } else if (kind == "copy_commit") {
            out.line("\tcp.async.commit_group;");
        } else if (kind == "copy_wait") {
            out.line("\tcp.async.wait_group ", site.call.field("pending"), ";");
        } else if (kind == "bulk_copy") {
            wgmma_ ? bulk_copy(site, out) : copy_by_one_thread(site, out);
        } else if (kind == "tensor_copy") {
            tensor_copy(site, out);
        } else {
            return false;
        }
        return true;
    }

    /// Warps of a block wait for each other, or give each other registers.
    bool expand_barrier(const CallSite &site, PtxWriter &out) {
        const std::string &kind = site.call.kind;
        if (kind == "barrier_sync") {
            out.line("\tbar.sync ", site.arguments.at(0), ", ", site.call.field("threads"), ";");
        } else if (kind == "barrier_arrive") {
            out.line("\tbar.arrive ", site.arguments.at(0), ", ", site.call.field("threads"), ";");
        } else if (kind == "more_registers") {
            if (wgmma_) out.line("\tsetmaxnreg.inc.sync.aligned.u32 ", site.call.field("count"), ";");
        } else if (kind == "fewer_registers") {
            if (wgmma_) out.line("\tsetmaxnreg.dec.sync.aligned.u32 ", site.call.field("count"), ";");
        } else {
            return false;
        }
        return true;
    }

    /// Threads wait for bytes that the copy engine brings.
    bool expand_mbarrier(const CallSite &site, PtxWriter &out) {
        const std::string &kind = site.call.kind;
        if (kind == "mbarrier_init") {
            const auto [begin, at, end] = shared_address(site);
            out.line("\t", begin, "mbarrier.init.shared.b64 [", at, "], ", site.call.field("count"), ";", end);
        } else if (kind == "mbarrier_fence") {
            if (wgmma_) out.line("\tfence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;");
        } else if (kind == "mbarrier_wait") {
            mbarrier_wait(site, out);
        } else if (kind == "bulk_expect") {
            const auto [begin, at, end] = shared_address(site);
            if (wgmma_)
                out.line("\t", begin, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [", at, "], ",
                         site.call.field("bytes"), ";", end);
        } else if (kind == "bulk_end") {
            const auto [begin, at, end] = shared_address(site);
            if (!wgmma_)
                out.line("\t", begin, "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [", at, "]; }", end);
        } else {
            return false;
        }
        return true;
    }

    struct SharedAddress {
        std::string begin, at, end;
    };

    /// A call's first argument as an address, with what must stand before and after its use.
    static SharedAddress shared_address(const CallSite &site) {
        const std::string &at = site.arguments.at(0);
        if (at.starts_with('%')) {
            return {"", at, ""};
        }
        // A constant is no address.
        return {"{ .reg .b32 constant; mov.b32 constant, " + at + "; ", "constant", " }"};
    }

    void bulk_copy(const CallSite &site, PtxWriter &out) const {
        out.line("{ .reg .b32 to, barrier; mov.b32 to, ", site.arguments.at(0), "; mov.b32 barrier, ",
                 site.arguments.at(2), ";");
        out.line("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [", addresses_.of(site),
                 "], ", site.call.field("bytes"), ", [barrier]; }");
    }

    /// To, barrier; then the coordinates and, where positions count through the images, the offsets.
    void tensor_copy(const CallSite &site, PtxWriter &out) {
        if (!wgmma_) throw PtxExpansionError("PTX expansion: only sm_90a reads tensor maps");
        const int map = site.call.field("map");
        tensor_maps_ = std::max(tensor_maps_, map + 1);
        const std::size_t dimensions = site.call.field("coordinates"), axes = site.call.field("offsets"), first = 2,
                          offsets = first + dimensions;
        std::string coordinates, halves;
        out.line("{ .reg .b32 to, barrier, wide; .reg .b16 offset<3>; .reg .b64 map; mov.b32 to, ", site.arguments.at(0),
                 "; mov.b32 barrier, ", site.arguments.at(1), "; mov.b64 map, ", tensor_maps(), "; cvta.param.u64 map, map;",
                 map ? " add.s64 map, map, " + std::to_string(bytes_of_map * map) + ";" : "");
        if (in_cluster_) out.line("add.u32 to, to, %tc_base; add.u32 barrier, barrier, %tc_base;");
        for (std::size_t i = 0; i < dimensions; i++) coordinates += (i ? ", " : "") + site.arguments.at(first + i);
        for (std::size_t i = 0; i < axes; i++) {
            out.line("mov.b32 wide, ", site.arguments.at(offsets + i), "; cvt.u16.u32 offset", i, ", wide;");
            halves += (i ? ", offset" : "offset") + std::to_string(i);
        }
        out.line("cp.async.bulk.tensor.", dimensions, "d.shared::cluster.global.", axes ? "im2col" : "tile",
                 ".mbarrier::complete_tx::bytes [to], [map, {", coordinates, "}], [barrier]",
                 axes ? ", {" + halves + "}" : "", "; }");
    }

    /// One after the other.
    std::string tensor_maps() const { return name_ + "_tensor_map"; }

    /// ".visible .entry name("
    std::string name_of_kernel() const {
        const std::string &line = lines_.front(), entry = ".entry ";
        const std::size_t begin = line.find(entry) + entry.size();
        return line.substr(begin, line.find('(') - begin);
    }

    /// Where there is no copy engine: right, and slow.
    void copy_by_one_thread(const CallSite &site, PtxWriter &out) {
        const std::string loop = new_label();
        out.line("{ .reg .b32 to, end, v<4>; .reg .b64 from; .reg .pred more; mov.b32 to, ", site.arguments.at(0),
                 "; add.s32 end, to, ", site.call.field("bytes"), "; mov.b64 from, ", addresses_.of(site), ";");
        out.line(loop, ":");
        out.line("ld.global.v4.b32 {v0, v1, v2, v3}, [from]; st.shared.v4.b32 [to], {v0, v1, v2, v3};");
        out.line("add.s32 to, to, 16; add.s64 from, from, 16; setp.lt.u32 more, to, end; @more bra ", loop, "; }");
    }

    void mbarrier_wait(const CallSite &site, PtxWriter &out) {
        const std::string loop = new_label();
        out.line("{ .reg .b32 barrier, parity; .reg .pred done; mov.b32 barrier, ", site.arguments.at(0),
                 "; mov.b32 parity, ", site.arguments.at(1), ";");
        out.line(loop, ":");
        out.line(wgmma_ ? "mbarrier.try_wait" : "mbarrier.test_wait",
                 ".parity.shared.b64 done, [barrier], parity; @!done bra ", loop, "; }");
    }

    std::string new_label() { return "$tc_label" + std::to_string(labels_++); }

    void copy(const CallSite &site, PtxWriter &out) const {
        // Only copies of 16 bytes may pass by the first-level cache.
        const int bytes = site.call.field("bytes");
        const bool passes_by = bytes == 16 && site.call.field_or("cached", 0) == 0;
        const auto [begin, to, end] = shared_address(site);
        out.line("\t", begin, "cp.async.", passes_by ? "cg" : "ca", ".shared.global [", to, "], [",
                 addresses_.of(site), "], ", bytes, ", ", site.arguments.at(2), ";", end);
    }

    static bool is_float(const CallSite &site) { return site.call.field_or(format_field, 0) == 0; }

    /// Rounds to nearest even; the first of two lies in the lower half.
    static std::string pair_of_16_bits(const CallSite &site, const std::string &second) {
        return "cvt.rn." + pair_type(site) + ".f32 both, " + second + ", " +
               site.arguments.at(1) + ";";
    }

    /// One store where the two lie on 4 bytes.
    void store_pair_of_16_bits(const CallSite &site, PtxWriter &out) const {
        const std::string at = addresses_.of(site);
        out.line("{ .reg .b32 low, both; .reg .b16 first, second; .reg .pred aligned; cvt.u32.u64 low, ", at,
                 "; and.b32 low, low, 2; setp.eq.u32 aligned, low, 0;");
        out.line(pair_of_16_bits(site, site.arguments.at(2)), " mov.b32 {first, second}, both;");
        out.line("@aligned st.global.b32 [", at, "], both;");
        out.line("@!aligned st.global.b16 [", at, "], first; @!aligned st.global.b16 [", at, "+2], second; }");
    }

    /// To, whether at all, values: one element, or neighbours in words of 4 bytes, aligned to the size of all.
    void store_run(const CallSite &site, PtxWriter &out) const {
        const int values = site.call.field("values"), of_word = is_float(site) ? 1 : 2, words = values / of_word;
        const auto value = [&](int i) { return site.arguments.at(2 + i); };
        out.line("{ .reg .b32 v<4>; .reg .b16 single; .reg .pred inside; setp.ne.s32 inside, ", site.arguments.at(1), ", 0;");
        if (words == 0) {
            out.line("cvt.rn.", named(static_cast<OperandFormat>(site.call.field(format_field))).ptx, ".f32 single, ",
                     value(0), ";");
            out.line("@inside st.global.b16 [", addresses_.of(site), "], single; }");
            return;
        }
        for (int i = 0; i < words; i++) {
            if (is_float(site)) out.line("mov.b32 v", i, ", ", value(i), ";");
            else out.line("cvt.rn.", pair_type(site), ".f32 v", i, ", ", value(2 * i + 1), ", ", value(2 * i), ";");
        }
        const std::string at = addresses_.of(site);
        if (words == 1) out.line("@inside st.global.b32 [", at, "], v0; }");
        else if (words == 2) out.line("@inside st.global.v2.b32 [", at, "], {v0, v1}; }");
        else out.line("@inside st.global.v4.b32 [", at, "], {v0, v1, v2, v3}; }");
    }

    /// The same of 16 bytes.
    void row_store(const CallSite &site, PtxWriter &out) const {
        CallSite run = site;
        run.call.fields["values"] = is_float(site) ? 4 : 8;
        store_run(run, out);
    }

    static std::string pair_type(const CallSite &site) {
        return named(static_cast<OperandFormat>(site.call.field(format_field))).ptx + std::string("x2");
    }

    /// Two neighbouring elements: one store where they lie on 8 bytes.
    void store_pair(const CallSite &site, PtxWriter &out) const {
        const std::string at = addresses_.of(site);
        const std::string &first = site.arguments.at(1), &second = site.arguments.at(2);
        out.line("{ .reg .b32 low; .reg .pred aligned; cvt.u32.u64 low, ", at,
                 "; and.b32 low, low, 7; setp.eq.u32 aligned, low, 0;");
        out.line("@aligned st.global.v2.b32 [", at, "], {", first, ",", second, "};");
        out.line("@!aligned st.global.b32 [", at, "], ", first, "; @!aligned st.global.b32 [", at, "+4], ",
                 second, "; }");
    }

    const std::vector<std::string> &lines_;
    const bool wgmma_;
    const GlobalAddresses addresses_;
    TensorCoreInstructions tiles_;
    PlaceholderCall launch_;
    bool in_cluster_ = false;  // its blocks may be launched so
    int labels_ = 0;
    std::string name_;
    static constexpr int bytes_of_map = 128;
    int tensor_maps_ = 0;  // that are read
};

}  // namespace

Architecture::Architecture(std::string_view name) : name_(name) {
    std::size_t end = 3;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) {
        number_ = number_ * 10 + (name[end++] - '0');
    }
    if (!name.starts_with("sm_") || end == 3 || name.size() - end > 1) {
        throw PtxExpansionError("architecture is '" + name_ +
                                "'; the rule is a name such as sm_80 or sm_90a");
    }
}

Architecture Architecture::best_for(const std::string &ptx) const {
    return name_ == "sm_90" && contains(ptx, placeholder_prefix) ? Architecture("sm_90a") : *this;
}

bool Architecture::has_instructions_of(const std::string &ptx) const {
    return has_wgmma() || !contains(ptx, std::string(placeholder_prefix) + "tensor_copy");
}

std::string expand_tensor_core_calls(const std::string &ptx, const Architecture &architecture) {
    if (!contains(ptx, placeholder_prefix)) {
        return ptx;
    }
    if (architecture.number() < 80) {
        throw PtxExpansionError("PTX expansion: " + architecture.name() +
                                " has no TF32 tensor cores; the rule is sm_80 or later");
    }
    const std::vector<std::string> lines = split_lines(ptx);
    PtxWriter out;
    for (std::size_t i = 0; i < lines.size(); i++) {
        const std::string &line = lines[i];
        if (line.starts_with(".version") && architecture.has_wgmma()) {
            out.line(".version 8.0");
        } else if (line.starts_with(".version") && contains(ptx, std::string(placeholder_prefix) + "mbarrier")) {
            out.line(".version 7.1");
        } else if (line.starts_with(".target")) {
            out.line(".target ", architecture.has_wgmma() ? "sm_90a" : "sm_80");
        } else if (line.starts_with(".extern .func") && contains(line, placeholder_prefix)) {
            while (!lines[i].ends_with(";")) {
                i++;
            }
        } else if (contains(line, ".entry")) {
            std::vector<std::string> kernel;
            for (; i < lines.size() && lines[i] != "}"; i++) {
                kernel.push_back(lines[i]);
            }
            kernel.push_back("}");
            const bool expand = std::any_of(kernel.begin(), kernel.end(), [](const std::string &text) {
                return contains(text, placeholder_prefix);
            });
            if (expand) {
                out.line(KernelExpansion(kernel, architecture).expanded());
            } else {
                for (const std::string &text : kernel) {
                    out.line(text);
                }
            }
        } else {
            out.line(line);
        }
    }
    return out.str();
}

}  // namespace conv_transpose
