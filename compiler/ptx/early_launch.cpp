#include "compiler/ptx/early_launch.h"

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

std::string launched_early(const std::string &ptx, const Architecture &architecture) {
    constexpr int first_with_early_launches = 90;
    if (architecture.number() < first_with_early_launches) return ptx;
    PtxWriter out;
    bool body_follows = false;
    for (const std::string &line : split_lines(ptx)) {
        // The least that have the instructions; what the text asks for already may be more.
        if (line.starts_with(".version 7.")) out.line(".version 7.8");
        else if (line.starts_with(".target sm_80")) out.line(".target sm_90");
        else out.line(line);
        body_follows |= contains(line, ".entry");
        if (body_follows && line == "{") {
            out.line("\tgriddepcontrol.wait;");
            body_follows = false;
        }
    }
    return out.str();
}

}  // namespace conv_transpose
