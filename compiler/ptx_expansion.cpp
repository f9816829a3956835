// Expansion of placeholder calls, one kernel (.entry) at a time, because register names repeat between kernels.
//
// OPERANDS lie in shared memory as rows of 16 bytes: four consecutive k of one m (operand A) or one n (operand B). Rows
// follow each other without gaps, so that row i is at base + 16 i, and the next four k are at base + K4:
//
//     byte       0    4    8   12 | 16   20   24   28 | 32 ...
//     k = 0..3   row 0            | row 1             | row 2 ...
//     K4 + byte  0    4    8   12 | 16   20   24   28 | 32 ...
//     k = 4..7   row 0            | row 1             | row 2 ...
//
// This is at once
//   - wgmma's K-major layout without swizzle: core matrices of 8 rows x 16 bytes; "stride offset" (from one group of 8
//     rows to the next) 128 bytes, "leading offset" (from one group of 4 k to the next) K4 bytes. Any row may be the
//     first, so moving a window over a staged picture is only another start address.
//   - what ldmatrix reads: 8 rows of 16 bytes a matrix, all 32 banks once, hence without conflicts.
// Operand B may also be groups of 8 rows at any constant distance (mma_n_group): that is the "stride offset" then.
//
// ACCUMULATORS of a tile are 32-bit registers of kernel scope that LLVM never sees. Warp w of the warpgroup holds rows
// 16w..16w+15 of every 64 rows, for both instructions in the same layout (lane = 4 g + t):
//
//     register   4j       4j+1       4j+2      4j+3
//     row        g        g          g+8       g+8        (+ 16w + 64i)
//     column     8j+2t    8j+2t+1    8j+2t     8j+2t+1
//
// FRAGMENTS of mma.sync.m16n8k8, as ldmatrix delivers them (register: row, k):
//
//     A   a0: g, t    a1: g+8, t    a2: g, t+4    a3: g+8, t+4
//     B   b0: g, t    b1: g, t+4                                    (row of B = column of the tile)
//
// STORES. A warp's fragments are 8 rows x 32 bytes an instruction; written so, global memory sees quarters of lines.
// Each warp therefore turns 8 rows at a time through shared memory that the operands no longer need; the lowering pass
// stores from there, pairs of neighbouring elements, 256 bytes an instruction where rows begin on 8 bytes.
#include "compiler/ptx_expansion.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <vector>

#include "compiler/placeholder_calls.h"

namespace conv_transpose {

namespace {

constexpr int rows_of_instruction = 64, columns_of_fragment = 8, k_of_instruction = 8;
constexpr int bytes_of_row = 16, rows_per_turn = 8;

/// A placeholder call as it stands in the text.
struct CallSite {
    PlaceholderCall call;
    std::vector<std::string> arguments;  // registers or numbers
};

class Text {
  public:
    template <typename... Parts>
    void line(const Parts &...parts) {
        (out_ << ... << parts) << '\n';
    }
    std::string str() const { return out_.str(); }

  private:
    std::ostringstream out_;
};

std::vector<std::string> split_lines(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

bool contains(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Expands the calls of one kernel. Writes go through `out`; launch bounds and register counts are collected.
class KernelExpansion {
  public:
    explicit KernelExpansion(const Architecture &architecture) : architecture_(architecture) {}

    /// `lines` from ".entry" to the closing brace.
    std::string expand(const std::vector<std::string> &lines) {
        find_addresses(lines);
        Text body;
        std::size_t opening = 0;
        while (opening < lines.size() && lines[opening] != "{") {
            opening++;
        }
        for (std::size_t i = opening + 1; i < lines.size(); i++) {
            if (CallSite site; read_call(lines, i, site)) {
                expand_call(site, body);
            } else {
                protect_addresses(lines[i], body);
                body.line(lines[i]);
            }
        }
        Text all;
        for (std::size_t i = 0; i < opening; i++) {
            all.line(lines[i]);
        }
        write_launch_bounds(all);
        all.line("{");
        for (const auto &[tile, count] : accumulators_) {
            all.line("\t.reg .f32 %tc_tile", tile, "_<", count, ">;");
        }
        all.line("\t.reg .b64 %tc_address<", std::max<std::size_t>(addresses_.size(), 1), ">;");
        return all.str() + body.str();
    }

  private:
    /// Reads the call block that begins at lines[at], if it is a placeholder's, and moves `at` to its last line.
    static bool read_call(const std::vector<std::string> &lines, std::size_t &at, CallSite &site) {
        if (!contains(lines[at], "{ // callseq")) {
            return false;
        }
        std::size_t end = at;
        std::string name;
        std::map<int, std::string> arguments;
        for (; end < lines.size() && !contains(lines[end], "} // callseq"); end++) {
            const std::string &line = lines[end];
            if (const std::size_t call = line.find("call.uni"); call != std::string::npos) {
                const std::size_t begin = line.find("), ", call) + 3;
                name = line.substr(begin, line.find(',', begin) - begin);
            } else if (const std::size_t store = line.find("[param"); contains(line, "st.param") &&
                                                                       store != std::string::npos) {
                const std::size_t value = line.find("], ", store) + 3;
                arguments[std::stoi(line.substr(store + 6))] = line.substr(value, line.find(';') - value);
            }
        }
        if (!name.starts_with(placeholder_prefix)) {
            return false;
        }
        site.call = PlaceholderCall::parse(name);
        for (const auto &[index, value] : arguments) {
            site.arguments.push_back(value);
        }
        at = end;
        return true;
    }

    /// Which argument of a call stands for a global address, or -1.
    static int address_argument(const std::string &kind) {
        return kind == "copy" ? 1 : kind == "store_pair" ? 0 : -1;
    }

    void find_addresses(const std::vector<std::string> &lines) {
        for (std::size_t i = 0; i < lines.size(); i++) {
            CallSite site;
            if (read_call(lines, i, site)) {
                const int argument = address_argument(site.call.kind);
                if (argument >= 0) {
                    addresses_.emplace(site.arguments.at(argument), -1);
                }
            }
        }
        // In the text a load may come after the call, though it runs before: number them first.
        for (const std::string &line : lines) {
            for (const auto &[name, place] : loaded_registers(line)) {
                if (const auto wanted = addresses_.find(name); wanted != addresses_.end()) {
                    wanted->second = protected_++;
                }
            }
        }
    }

    /// The registers that a load from global memory fills, each with its element of a vector load.
    static std::vector<std::pair<std::string, int>> loaded_registers(const std::string &line) {
        const std::size_t load = line.find("ld.global");
        if (load == std::string::npos) {
            return {};
        }
        const std::size_t first = line.find('%', load), open = line.find('[', load);
        std::vector<std::pair<std::string, int>> result;
        std::istringstream registers(line.substr(first, open - first));
        for (std::string name; std::getline(registers, name, ',');) {
            name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == '}'; }),
                       name.end());
            if (!name.empty()) {
                result.emplace_back(name, static_cast<int>(result.size()));
            }
        }
        return result;
    }

    /// Before a load that stands for its address, keeps the address: its register may change before the call.
    void protect_addresses(const std::string &line, Text &out) {
        for (const auto &[name, element] : loaded_registers(line)) {
            const auto wanted = addresses_.find(name);
            if (wanted == addresses_.end()) {
                continue;
            }
            const std::size_t open = line.find('['), close = line.find(']', open);
            std::string base = line.substr(open + 1, close - open - 1), offset = "0";
            if (const std::size_t plus = base.find('+'); plus != std::string::npos) {
                offset = base.substr(plus + 1);
                base.resize(plus);
            }
            out.line("\tadd.s64 \t%tc_address", wanted->second, ", ", base, ", ", std::stol(offset) + 4 * element, ";");
        }
    }

    std::string address(const CallSite &site) const {
        const std::string &value = site.arguments.at(address_argument(site.call.kind));
        const int kept = addresses_.at(value);
        if (kept < 0) {
            throw PtxExpansionError("PTX expansion: no load defines " + value + ", the address of " +
                                    site.call.name());
        }
        return "%tc_address" + std::to_string(kept);
    }

    void write_launch_bounds(Text &out) const {
        if (launch_.kind.empty()) {
            return;
        }
        out.line(".maxntid ", launch_.field("x"), ", ", launch_.field("y"), ", ", launch_.field("z"));
        out.line(".minnctapersm ", launch_.field("blocks"));
    }

    void expand_call(const CallSite &site, Text &out) {
        const std::string &kind = site.call.kind;
        const bool wgmma = architecture_.has_wgmma();
        out.line("\t// ", site.call.name());
        if (kind == "launch") {
            launch_ = site.call;
        } else if (kind == "clear") {
            clear(site.call, out);
        } else if (kind == "multiply") {
            wgmma ? multiply_wgmma(site, out) : multiply_mma_sync(site, out);
        } else if (kind == "promote") {
            promote(site.call, out);
        } else if (kind == "turn") {
            turn(site.call, out);
        } else if (kind == "turn_end") {
            out.line("\tbar.warp.sync 0xffffffff;");
        } else if (kind == "store_pair") {
            store_pair(site, out);
        } else if (kind == "copy") {
            // Only copies of 16 bytes may pass by the first-level cache.
            const int bytes = site.call.field("bytes");
            out.line("\tcp.async.", bytes == 16 ? "cg" : "ca", ".shared.global [", site.arguments.at(0), "], [",
                     address(site), "], ", bytes, ", ", site.arguments.at(2), ";");
        } else if (kind == "copy_commit") {
            out.line("\tcp.async.commit_group;");
        } else if (kind == "copy_wait") {
            out.line("\tcp.async.wait_group 0;");
        } else if (kind == "publish") {
            if (wgmma) out.line("\tfence.proxy.async.shared::cta;");
        } else if (kind == "begin") {
            if (wgmma) out.line("\twgmma.fence.sync.aligned;");
        } else if (kind == "commit") {
            if (wgmma) out.line("\twgmma.commit_group.sync.aligned;");
        } else if (kind == "wait") {
            if (wgmma) out.line("\twgmma.wait_group.sync.aligned ", site.call.field("pending"), ";");
        } else {
            throw PtxExpansionError("PTX expansion: unknown placeholder " + site.call.name());
        }
    }

    /// Register names of a tile. Tiles of 64 rows and repeats each have columns / 2 registers, in this order.
    struct Tile {
        explicit Tile(const PlaceholderCall &call)
            : id(call.field("tile")), row_tiles(call.field("m") / rows_of_instruction), columns(call.field("n")),
              repeats(call.field("r")) {}
        int size() const { return row_tiles * repeats * columns / 2; }
        int first(int row_tile, int repeat) const { return (row_tile * repeats + repeat) * columns / 2; }
        std::string at(int index) const { return "%tc_tile" + std::to_string(id) + "_" + std::to_string(index); }
        std::string list(int begin, int count) const {
            std::string text = "{";
            for (int i = 0; i < count; i++) {
                text += (i ? "," : "") + at(begin + i);
            }
            return text + "}";
        }
        int id, row_tiles, columns, repeats;
    };

    void clear(const PlaceholderCall &call, Text &out) {
        const Tile tile(call);
        accumulators_[tile.id] = tile.size();
        for (int i = 0; i < tile.size(); i++) {
            out.line("\tmov.f32 ", tile.at(i), ", 0f00000000;");
        }
    }

    void promote(const PlaceholderCall &call, Text &out) {
        const Tile to(call);
        Tile from(call);
        from.id = call.field("from");
        for (int i = 0; i < to.size(); i++) {
            out.line("\tadd.rn.f32 ", to.at(i), ", ", to.at(i), ", ", from.at(i), ";");
        }
    }

    void multiply_wgmma(const CallSite &site, Text &out) {
        const PlaceholderCall &call = site.call;
        const Tile tile(call);
        const int a_k4 = call.field("ak"), b_k4 = call.field("bk"), b_repeat = call.field("br");
        const int first = call.field("row");
        // Descriptor, in units of 16 bytes: start address at bit 0, leading offset at bit 16, stride offset at bit 32.
        const auto descriptor = [&](const char *name, const std::string &start, int k4, int offset) {
            out.line("add.u32 low, ", start, ", ", (k4 / bytes_of_row << 16) + offset / bytes_of_row, "; mov.b64 ", name,
                     ", {low, high_", name, "};");
        };
        out.line("{ .reg .b32 low, high_a, high_b; .reg .b64 a, b; .reg .pred accumulate;");
        out.line("setp.eq.u32 accumulate, 0, 0; mov.b32 high_a, ", columns_of_fragment, "; mov.b32 high_b, ",
                 call.field("bs") / bytes_of_row, ";");
        for (int k = 0; k < call.field("k") / k_of_instruction; k++) {
            for (int r = 0; r < tile.repeats; r++) {
                descriptor("b", site.arguments.at(1), b_k4, 2 * k * b_k4 + r * b_repeat);
                for (int i = 0; i < tile.row_tiles; i++) {
                    descriptor("a", site.arguments.at(0), a_k4, 2 * k * a_k4 + i * rows_of_instruction * bytes_of_row);
                    out.line("wgmma.mma_async.sync.aligned.m64n", tile.columns, "k8.f32.tf32.tf32 ",
                             tile.list(tile.first(first + i, r), tile.columns / 2), ", a, b, accumulate, 1, 1;");
                }
            }
        }
        out.line("}");
    }

    void multiply_mma_sync(const CallSite &site, Text &out) {
        const PlaceholderCall &call = site.call;
        const Tile tile(call);
        const int a_k4 = call.field("ak"), b_k4 = call.field("bk"), b_repeat = call.field("br");
        const int fragments = tile.columns / columns_of_fragment, b_group = call.field("bs"), first = call.field("row");
        out.line("{ .reg .b32 lane, row, part, a_at, b_at, a<", 4 * tile.row_tiles, ">, b<4>;");
        // ldmatrix takes the address of one 16-byte row from every lane: lanes 0..7 for the first matrix, and so on.
        out.line("mov.u32 lane, %tid.x;");
        out.line("and.b32 row, lane, 15; mov.u32 part, %tid.y; mad.lo.u32 row, part, 16, row; shr.u32 part, lane, 4;");
        out.line("add.u32 a_at, row, ", site.arguments.at(0), "; shl.b32 a_at, a_at, 4; mad.lo.u32 a_at, part, ", a_k4, ", a_at;");
        out.line("and.b32 row, lane, 7; add.u32 b_at, row, ", site.arguments.at(1), "; shl.b32 b_at, b_at, 4;");
        out.line("mad.lo.u32 b_at, part, ", b_group, ", b_at; shr.u32 part, lane, 3; and.b32 part, part, 1;");
        out.line("mad.lo.u32 b_at, part, ", b_k4, ", b_at;");
        for (int k = 0; k < call.field("k") / k_of_instruction; k++) {
            for (int i = 0; i < tile.row_tiles; i++) {
                out.line("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {a", 4 * i, ",a", 4 * i + 1, ",a", 4 * i + 2, ",a",
                         4 * i + 3, "}, [a_at+", 2 * k * a_k4 + i * rows_of_instruction * bytes_of_row, "];");
            }
            for (int r = 0; r < tile.repeats; r++) {
                for (int j = 0; j < fragments; j += 2) {
                    const bool pair = j + 1 < fragments;
                    out.line("ldmatrix.sync.aligned.m8n8.", pair ? "x4" : "x2", ".shared.b16 ",
                             pair ? "{b0,b1,b2,b3}" : "{b0,b1}", ", [b_at+",
                             2 * k * b_k4 + r * b_repeat + j * b_group, "];");
                    for (int half = 0; half < (pair ? 2 : 1); half++) {
                        for (int i = 0; i < tile.row_tiles; i++) {
                            const std::string sums = tile.list(tile.first(first + i, r) + 4 * (j + half), 4);
                            out.line("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ", sums, ", {a", 4 * i, ",a",
                                     4 * i + 1, ",a", 4 * i + 2, ",a", 4 * i + 3, "}, {b", 2 * half, ",b",
                                     2 * half + 1, "}, ", sums, ";");
                        }
                    }
                }
            }
        }
        out.line("}");
    }

    /// Writes 8 rows of a warp from the accumulators to the warp's part of shared memory; of two tiles of 64 rows, their
    /// elements in turns.
    void turn(const PlaceholderCall &call, Text &out) {
        const Tile tile(call);
        const int pitch = 4 * call.field("pitch"), tiles = call.field("tiles");
        out.line("{ .reg .b32 lane, group, mine;");
        out.line("mov.u32 mine, %tid.z; mov.u32 lane, %tid.y; mad.lo.u32 mine, mine, 4, lane; mov.u32 lane, %tid.x;");
        out.line("shr.u32 group, lane, 2; and.b32 lane, lane, 3; mad.lo.u32 group, mine, ", rows_per_turn, ", group;");
        out.line("mul.lo.u32 mine, group, ", pitch, "; mad.lo.u32 mine, lane, ", 8 * tiles, ", mine;");
        const auto pair = [&](int row_tile, int j) {
            return tile.first(row_tile, call.field("rep")) + 2 * call.field("half") + 4 * j;
        };
        for (int j = 0; j < tile.columns / columns_of_fragment; j++) {
            const int first = pair(call.field("row"), j), second = tiles == 2 ? pair(1, j) : 0;
            if (tiles == 2) {
                out.line("st.shared.v4.f32 [mine+", 64 * j, "], {", tile.at(first), ",", tile.at(second), ",",
                         tile.at(first + 1), ",", tile.at(second + 1), "};");
            } else {
                out.line("st.shared.v2.f32 [mine+", 32 * j, "], {", tile.at(first), ",", tile.at(first + 1), "};");
            }
        }
        out.line("bar.warp.sync 0xffffffff; }");
    }

    /// Two neighbouring elements: one store where they lie on 8 bytes.
    void store_pair(const CallSite &site, Text &out) {
        const std::string at = address(site), first = site.arguments.at(1), second = site.arguments.at(2);
        out.line("{ .reg .b32 low; .reg .pred aligned; cvt.u32.u64 low, ", at,
                 "; and.b32 low, low, 7; setp.eq.u32 aligned, low, 0;");
        out.line("@aligned st.global.v2.b32 [", at, "], {", first, ",", second, "};");
        out.line("@!aligned st.global.b32 [", at, "], ", first, "; @!aligned st.global.b32 [", at, "+4], ", second,
                 "; }");
    }

    const Architecture &architecture_;
    PlaceholderCall launch_;
    std::map<int, int> accumulators_;        // tile -> registers
    std::map<std::string, int> addresses_;   // register of a load that stands for its address -> where that is kept
    int protected_ = 0;
};

}  // namespace

Architecture::Architecture(std::string_view name) : name_(name) {
    std::size_t end = 3;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) {
        number_ = number_ * 10 + (name[end++] - '0');
    }
    if (!name.starts_with("sm_") || end == 3 || name.size() - end > 1) {
        throw PtxExpansionError("architecture is '" + name_ + "'; the rule is a name such as sm_80 or sm_90a");
    }
}

Architecture Architecture::best_for(const std::string &ptx) const {
    return name_ == "sm_90" && contains(ptx, placeholder_prefix) ? Architecture("sm_90a") : *this;
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
    Text out;
    for (std::size_t i = 0; i < lines.size(); i++) {
        const std::string &line = lines[i];
        if (line.starts_with(".version") && architecture.has_wgmma()) {
            out.line(".version 8.0");
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
                out.line(KernelExpansion(architecture).expand(kernel));
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
