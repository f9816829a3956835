#include "compiler/ptx/architecture.h"

#include <cctype>

#include "compiler/ptx/ptx_text.h"

namespace conv_transpose {

Architecture::Architecture(std::string_view name) : name_(name) {
    std::size_t end = 3;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) number_ = number_ * 10 + (name[end++] - '0');
    if (!name.starts_with("sm_") || end == 3 || name.size() - end > 1)
        throw PtxExpansionError("architecture is '" + name_ +
                                "'; the rule is a name such as sm_80 or sm_90a");
}

Architecture Architecture::best_for(const std::string &ptx) const {
    return name_ == "sm_90" && contains(ptx, placeholder_prefix) ? Architecture("sm_90a") : *this;
}

bool Architecture::has_instructions_of(const std::string &ptx) const {
    return has_wgmma() || !contains(ptx, std::string(placeholder_prefix) + "tensor_copy");
}

}  // namespace conv_transpose
