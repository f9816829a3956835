#include "compiler/ptx/cluster_addresses.h"

#include <algorithm>

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

namespace {

/// Whether a statement loads, stores or waits at an address of the block's own shared memory.
bool reaches_own_memory(const std::string &statement) {
    const auto has = [&](const char *part) { return contains(statement, part); };
    return has("ld.shared.") || has("st.shared.") || (has("mbarrier.") && has(".shared") && !has("cp.async."));
}

std::string statement_from_base(std::string statement) {
    const std::size_t open = statement.find('['), end = statement.find_first_of("+]", open);
    if (!reaches_own_memory(statement) || open == std::string::npos) return statement;
    const std::string at = statement.substr(open + 1, end - open - 1);
    const std::size_t line = statement.rfind('\n', open), first = line == std::string::npos ? 0 : line + 1;
    const bool wide = at.starts_with("%rd");
    statement.replace(open + 1, at.size(), wide ? "%tc_wide_at" : "%tc_at");
    statement.insert(first, wide ? "add.s64 %tc_wide_at, " + at + ", %tc_wide_base; "
                                 : "add.u32 %tc_at, " + at + ", %tc_base; ");
    return statement;
}

}  // namespace

std::string counted_from_base(const std::string &kernel, const std::string &body) {
    std::string text =
        "\t.reg .b32 %tc_base, %tc_begin, %tc_at; .reg .b64 %tc_wide_base, %tc_wide_at; mov.u32 %tc_base, " + kernel +
        "_shared; cvt.u64.u32 %tc_wide_base, %tc_base; bfe.u32 %tc_begin, %tc_base, 4, 14;\n";
    for (std::size_t begin = 0; begin < body.size();) {
        const std::size_t end = std::min(body.find(';', begin), body.size() - 1) + 1;
        text += statement_from_base(body.substr(begin, end - begin));
        begin = end;
    }
    return text;
}

}  // namespace conv_transpose
