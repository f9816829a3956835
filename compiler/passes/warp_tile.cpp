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

/// Factors that are no constants, in order.
using Product = std::vector<Expr>;

struct ProductOrder {
    bool operator()(const Product &a, const Product &b) const {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), IRDeepCompare());
    }
};

/// A sum of integer multiples of products. The simplifier does not multiply out products of sums, and so fails to see that two
/// long indices are equal.
using Polynomial = std::map<Product, int64_t, ProductOrder>;

void add(Polynomial &sum, const Polynomial &more, int64_t factor = 1) {
    for (const auto &[product, multiple] : more) sum[product] += factor * multiple;
}

Polynomial multiplied(const Polynomial &a, const Polynomial &b) {
    Polynomial all;
    for (const auto &[left, of_left] : a) {
        for (const auto &[right, of_right] : b) {
            Product product = left;
            product.insert(product.end(), right.begin(), right.end());
            std::sort(product.begin(), product.end(), IRDeepCompare());
            all[product] += of_left * of_right;
        }
    }
    return all;
}

Polynomial polynomial(const Expr &e) {
    if (const auto constant = as_const_int(e)) return {{{}, *constant}};
    if (const Mul *product = e.as<Mul>()) return multiplied(polynomial(product->a), polynomial(product->b));
    Polynomial all;
    if (const Add *sum = e.as<Add>()) {
        add(all = polynomial(sum->a), polynomial(sum->b));
    } else if (const Sub *difference = e.as<Sub>()) {
        add(all = polynomial(difference->a), polynomial(difference->b), -1);
    } else if (const Mod *rest = e.as<Mod>(); rest && as_const_int(rest->b)) {
        // Beside a multiple of the quotient this may be the whole number.
        add(all = polynomial(rest->a), {{{simplify(rest->a / rest->b)}, *as_const_int(rest->b)}}, -1);
    } else {
        all[{e}] = 1;
    }
    return all;
}

}  // namespace

bool are_equal(const Expr &a, const Expr &b) {
    Polynomial difference = polynomial(simplify(a));
    add(difference, polynomial(simplify(b)), -1);
    return std::all_of(difference.begin(), difference.end(), [](const auto &term) { return term.second == 0; }) ||
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
