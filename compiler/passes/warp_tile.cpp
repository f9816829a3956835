// Reads loop nests over a warpgroup's tile: see warp_tile.h.
#include "compiler/passes/warp_tile.h"

#include <algorithm>
#include <sstream>

#include "compiler/passes/tensor_core_options.h"

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

void refuse_tile(const std::string &loop, const std::string &reason) {
    throw TensorCoreRefusal("tensor cores: loop " + loop + ": " + reason);
}

std::string text(const Expr &e) {
    std::ostringstream out;
    out << e;
    return out.str();
}

namespace {

/// Adds factor * e to a sum of integer multiples of terms. The simplifier does not multiply out products of
/// sums, and so fails to see that two long indices are equal.
void add_terms(const Expr &e, int64_t factor, std::map<Expr, int64_t, IRDeepCompare> &terms) {
    if (const auto constant = as_const_int(e)) {
        terms[Expr(1)] += factor * *constant;
    } else if (const Add *sum = e.as<Add>()) {
        add_terms(sum->a, factor, terms);
        add_terms(sum->b, factor, terms);
    } else if (const Sub *difference = e.as<Sub>()) {
        add_terms(difference->a, factor, terms);
        add_terms(difference->b, -factor, terms);
    } else if (const Mul *product = e.as<Mul>(); product && as_const_int(product->b)) {
        add_terms(product->a, factor * *as_const_int(product->b), terms);
    } else if (const Mod *rest = e.as<Mod>(); rest && as_const_int(rest->b)) {
        // Beside a multiple of the quotient this may be the whole number.
        add_terms(rest->a, factor, terms);
        terms[simplify(rest->a / rest->b)] -= factor * *as_const_int(rest->b);
    } else {
        terms[e] += factor;
    }
}

}  // namespace

bool are_equal(const Expr &a, const Expr &b) {
    std::map<Expr, int64_t, IRDeepCompare> terms;
    add_terms(simplify(a), 1, terms);
    add_terms(simplify(b), -1, terms);
    return std::all_of(terms.begin(), terms.end(), [](const auto &term) { return term.second == 0; }) ||
           can_prove(a == b);
}

Expr at_lane_zero(const Expr &e) {
    return substitute({{".thread_id_x", Expr(0)}, {".thread_id_y", Expr(0)}}, e);
}

const TileLoop *Nest::find(const std::string &role) const {
    for (const TileLoop &loop : loops) {
        if (loop.role == role) return &loop;
    }
    return nullptr;
}

int Nest::constant_extent(const std::string &role) const {
    const TileLoop *loop = find(role);
    if (!loop) return 1;
    const auto extent = as_const_int(simplify(loop->extent));
    if (!extent) refuse_tile(loop->name, "its extent " + text(loop->extent) + " is not a constant");
    return static_cast<int>(*extent);
}

Nest Nest::read(const For *outermost, const NamedExprs &lets) {
    Nest nest;
    nest.name = outermost->name;
    nest.lets = lets;
    for (Stmt at = outermost; !nest.store;) {
        if (const For *loop = at.as<For>()) {
            const std::string role = last_name(loop->name);
            if (!starts_with(role, "mma_") || loop->for_type != ForType::Serial ||
                !is_const_zero(loop->min))
                refuse_tile(loop->name,
                            "inside a warp tile there may only be serial mma_ loops that begin at 0");
            if (nest.find(role)) refuse_tile(loop->name, "a second loop of this name in one nest");
            nest.loops.push_back({role, loop->name, at_lane_zero(resolve(loop->extent, nest.lets))});
            at = loop->body;
        } else if (const LetStmt *let = at.as<LetStmt>()) {
            nest.lets.emplace_back(let->name, let->value);
            at = let->body;
        } else if (const IfThenElse *branch = at.as<IfThenElse>(); branch && !branch->else_case.defined()) {
            nest.guards.push_back(at_lane_zero(resolve(branch->condition, nest.lets)));
            at = branch->then_case;
        } else if (const Store *store = at.as<Store>()) {
            nest.store = store;
        } else {
            std::ostringstream found;
            found << at;
            refuse_tile(nest.name,
                        "a warp tile holds one store; found instead: " + found.str().substr(0, 200));
        }
    }
    return nest;
}

Expr Affine::stride(const std::string &role) const {
    const auto found = strides.find(role);
    return found == strides.end() ? Expr(0) : found->second;
}

Affine affine_index(const Nest &nest, const Expr &index) {
    std::map<std::string, Expr> zero;
    Scope<Interval> bounds;
    for (const TileLoop &loop : nest.loops) {
        zero[loop.name] = 0;
        if (const Expr most = find_constant_bound(loop.extent, Direction::Upper); most.defined())
            bounds.push(loop.name, Interval(0, simplify(most - 1)));
    }
    const Expr e = simplify(at_lane_zero(resolve(index, nest.lets)), true, bounds);
    Affine result;
    result.base = simplify(substitute(zero, e));
    Expr rebuilt = result.base;
    for (const TileLoop &loop : nest.loops) {
        auto one = zero;
        one[loop.name] = 1;
        const Expr stride = simplify(substitute(one, e) - result.base);
        result.strides[loop.role] = stride;
        rebuilt = rebuilt + Variable::make(Int(32), loop.name) * stride;
    }
    if (!are_equal(e, rebuilt))
        refuse_tile(nest.name, "the index " + text(simplify(e)) + " is not affine in the loops of the tile");
    return result;
}

int constant_stride(const Nest &nest, const Affine &index, const std::string &role, const std::string &what) {
    const Expr stride = index.stride(role);
    const auto value = as_const_int(stride);
    if (!value)
        refuse_tile(nest.name,
                    "the stride of " + what + " along " + role + " is " + text(stride) + ", not a constant");
    return static_cast<int>(*value);
}

WarpTile WarpTile::read(const Nest &nest, const Expr &index) {
    const Affine place = affine_index(nest, index);
    const auto stride = [&](const char *role) {
        return constant_stride(nest, place, role, "the accumulator");
    };
    WarpTile tile;
    const int run = nest.constant_extent("mma_m");
    tile.rows = run * nest.constant_extent("mma_m_group");
    tile.groups = nest.constant_extent("mma_n_group");
    tile.columns = nest.constant_extent("mma_n") * tile.groups;
    tile.repeats = nest.constant_extent("mma_n_outer");
    tile.row_stride = stride("mma_m");
    tile.column_stride = stride("mma_n");
    tile.group_stride = stride("mma_n_group");
    tile.repeat_stride = stride("mma_n_outer");
    tile.base = place.base;
    if (nest.find("mma_m_group") && stride("mma_m_group") != run * tile.row_stride)
        refuse_tile(nest.name, "the rows of mma_m_group do not follow each other");
    return tile;
}

bool WarpTile::same_columns(const WarpTile &other) const {
    return columns == other.columns && groups == other.groups && repeats == other.repeats &&
           row_stride == other.row_stride && column_stride == other.column_stride &&
           group_stride == other.group_stride && repeat_stride == other.repeat_stride;
}

}  // namespace conv_transpose
