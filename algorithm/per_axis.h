// Numbers of several axes, and how one number counts through all of them.
#ifndef CONV_TRANSPOSE_ALGORITHM_PER_AXIS_H
#define CONV_TRANSPOSE_ALGORITHM_PER_AXIS_H

#include <vector>

#include "Halide.h"
#include "algorithm/fast_division.h"

namespace conv_transpose {

using Halide::Expr;
/// One value for each axis, x first.
using PerAxis = std::vector<Expr>;

inline Expr product(const PerAxis &factors) {
    Expr all = 1;
    for (const Expr &factor : factors) all = all * factor;
    return all;
}
inline Expr rounded_up(const Expr &a, const Expr &b) { return (a + b - 1) / b; }

/// As few shares of at most so many as there may be, of one size but for the last.
inline Expr share_of(const Expr &all, const Expr &most) { return rounded_up(all, rounded_up(all, most)); }

/// Takes a number apart that counts through `extents`, the first fastest; the last entry is what is left.
inline PerAxis digits(const Expr &number, const PerAxis &extents, Division (*divided)(const Expr &, const Expr &) = divide) {
    PerAxis all;
    Expr rest = number;
    for (const Expr &extent : extents) {
        if (Halide::Internal::is_const_one(extent)) {
            all.push_back(0);
            continue;
        }
        const Division d = divided(rest, extent);
        all.push_back(d.rest);
        rest = d.quotient;
    }
    all.push_back(rest);
    return all;
}

/// The same of a phase, which does not change in a block's loop: Halide takes plain divisions out of that.
/// They are counted from `firsts` on, if there are any, and behind the last comes 0.
inline PerAxis phase_digits(const Expr &phase, const PerAxis &phases, const PerAxis &firsts = {}) {
    using Halide::cast;
    PerAxis all;
    Expr rest = cast<uint32_t>(phase);
    for (std::size_t d = 0; d < phases.size(); d++) {
        const Expr extent = cast<uint32_t>(phases[d]);
        Expr at = cast<int>(d + 1 < phases.size() ? rest % extent : rest);
        if (d < firsts.size()) {
            const Expr counted = at + firsts[d];
            at = counted - select(counted >= phases[d], phases[d], 0);
        }
        all.push_back(at);
        rest = rest / extent;
    }
    return all;
}

}  // namespace conv_transpose

#endif
