#include "compiler/ptx/global_stores.h"

#include "compiler/passes/operand_format.h"

namespace conv_transpose {

namespace {

std::string type_of(const CallSite &site) { return named(static_cast<OperandFormat>(site.call.field(format_field))).ptx; }

/// Rounds two values to nearest even; the first lies in the lower half of the word.
std::string joined(const CallSite &site, const std::string &word, const std::string &first, const std::string &second) {
    return "cvt.rn." + type_of(site) + "x2.f32 " + word + ", " + second + ", " + first + ";";
}

/// Two neighbouring elements: one store where they lie on 8 bytes.
void store_pair(const CallSite &site, const std::string &at, PtxWriter &out) {
    const std::string &first = site.arguments.at(1), &second = site.arguments.at(2);
    out.line("{ .reg .b32 low; .reg .pred aligned; cvt.u32.u64 low, ", at,
             "; and.b32 low, low, 7; setp.eq.u32 aligned, low, 0;");
    out.line("@aligned st.global.v2.b32 [", at, "], {", first, ",", second, "};");
    out.line("@!aligned st.global.b32 [", at, "], ", first, "; @!aligned st.global.b32 [", at, "+4], ", second, "; }");
}

/// One store where the two lie on 4 bytes.
void store_pair_of_16_bits(const CallSite &site, const std::string &at, PtxWriter &out) {
    out.line("{ .reg .b32 low, both; .reg .b16 first, second; .reg .pred aligned; cvt.u32.u64 low, ", at,
             "; and.b32 low, low, 2; setp.eq.u32 aligned, low, 0;");
    out.line(joined(site, "both", site.arguments.at(1), site.arguments.at(2)), " mov.b32 {first, second}, both;");
    out.line("@aligned st.global.b32 [", at, "], both;");
    out.line("@!aligned st.global.b16 [", at, "], first; @!aligned st.global.b16 [", at, "+2], second; }");
}

void store_single_of_16_bits(const CallSite &site, const std::string &at, PtxWriter &out) {
    out.line("{ .reg .b32 both; .reg .b16 first, zero; ", joined(site, "both", site.arguments.at(1), "0f00000000"),
             " mov.b32 {first, zero}, both; st.global.b16 [", at, "], first; }");
}

/// To, whether at all, values: one element, or neighbours in words of 4 bytes, aligned to the size of all.
void store_run(const CallSite &site, int values, const std::string &at, PtxWriter &out) {
    const int words = values / (is_float(site.call) ? 1 : 2);
    const auto value = [&](int i) { return site.arguments.at(2 + i); };
    out.line("{ .reg .b32 v<4>; .reg .b16 single; .reg .pred inside; setp.ne.s32 inside, ", site.arguments.at(1), ", 0;");
    if (words == 0) {
        out.line("cvt.rn.", type_of(site), ".f32 single, ", value(0), ";");
        out.line("@inside st.global.b16 [", at, "], single; }");
        return;
    }
    for (int i = 0; i < words; i++) {
        const std::string word = "v" + std::to_string(i);
        if (is_float(site.call)) out.line("mov.b32 ", word, ", ", value(i), ";");
        else out.line(joined(site, word, value(2 * i), value(2 * i + 1)));
    }
    if (words == 1) out.line("@inside st.global.b32 [", at, "], v0; }");
    else if (words == 2) out.line("@inside st.global.v2.b32 [", at, "], {v0, v1}; }");
    else out.line("@inside st.global.v4.b32 [", at, "], {v0, v1, v2, v3}; }");
}

/// As one word that is no number.
void join_pair(const CallSite &site, PtxWriter &out) {
    out.line("{ .reg .b32 word; ", joined(site, "word", site.arguments.at(0), site.arguments.at(1)), " mov.b32 ", site.result,
             ", word; }");
}

}  // namespace

bool expand_store(const CallSite &site, const GlobalAddresses &addresses, PtxWriter &out) {
    const std::string &kind = site.call.kind;
    const bool floats = is_float(site.call);
    if (kind == "store_pair" && floats) store_pair(site, addresses.of(site), out);
    else if (kind == "store_pair") store_pair_of_16_bits(site, addresses.of(site), out);
    else if (kind == "store_single") store_single_of_16_bits(site, addresses.of(site), out);
    else if (kind == "store_run") store_run(site, site.call.field("values"), addresses.of(site), out);
    else if (kind == "row_store") store_run(site, floats ? 4 : 8, addresses.of(site), out);  // 16 bytes
    else if (kind == "pair_of_sums") join_pair(site, out);
    else return false;
    return true;
}

}  // namespace conv_transpose
