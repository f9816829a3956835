// Text of strangers on a terminal.
#ifndef UPSAMPLE_PRINTABLE_H
#define UPSAMPLE_PRINTABLE_H

#include <cstdio>
#include <string>

namespace upsample {

/// With control characters written out: a name may hold any, and a terminal obeys them.
inline std::string printable(const std::string &text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const unsigned char c = static_cast<unsigned char>(text[i]);
        const bool c1 = c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (c >= 32 && c != 127 && !c1) {
            result += text[i];
            continue;
        }
        char code[8];
        for (int left = c1 ? 2 : 1; left > 0; --left) {
            std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(text[left == 1 && c1 ? ++i : i]));
            result += code;
        }
    }
    return result;
}

}  // namespace upsample

#endif
