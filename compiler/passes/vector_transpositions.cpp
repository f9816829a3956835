// Vectors turned in registers: see vector_transpositions.h.
#include "compiler/passes/vector_transpositions.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace conv_transpose {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Lets = std::vector<std::pair<std::string, Expr>>;

/// Vectors of float32 as variables, so that each is computed once, and the statements that set them.
class Registers {
  public:
    void add(const Lets &lets) { lets_.insert(lets_.end(), lets.begin(), lets.end()); }
    Expr keep(const Expr &value) {
        lets_.emplace_back(unique_name("turned"), value);
        return Variable::make(value.type(), lets_.back().first);
    }
    Stmt around(Stmt body) const {
        for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) body = LetStmt::make(let->first, let->second, body);
        return body;
    }

  private:
    Lets lets_;
};

/// Takes blocks of `width` elements from two vectors in turn, within pieces of `piece` elements: from the first half of each piece,
/// or from the second.
Expr unpacked(const Expr &a, const Expr &b, int width, int piece, bool second) {
    const int lanes = a.type().lanes();
    std::vector<int> indices(lanes);
    for (int i = 0; i < lanes; i++) {
        const int within = i % piece, block = within / width, begin = i - within + (second ? piece / 2 : 0);
        indices[i] = (block % 2 ? lanes : 0) + begin + block / 2 * width + within % width;
    }
    return Shuffle::make({a, b}, indices);
}

/// n vectors of n elements: the i-th elements of all become the i-th vector. The first two steps stay within 16 bytes, which is
/// one instruction each on processors without AVX-512, too; then blocks of 16 bytes change places.
std::vector<Expr> transposed(std::vector<Expr> rows, Registers &registers) {
    const int n = static_cast<int>(rows.size());
    const auto step = [&](int a, int b, int width, int piece) {
        const Expr first = unpacked(rows[a], rows[b], width, piece, false), second = unpacked(rows[a], rows[b], width, piece, true);
        rows[a] = registers.keep(first), rows[b] = registers.keep(second);
    };
    for (int width : {1, 2})
        for (int i = 0; i < n; i++)
            if (!(i & width)) step(i, i | width, width, 4);
    // Now block b of rows[4 * g + k] has the element 4 * b + reversed(k) of the rows 4 * g to 4 * g + 3.
    for (int width = 4; width < n; width *= 2)
        for (int i = 0; i < n; i++)
            if (!(i & width)) step(i, i | width, width, 2 * width);
    for (int i = 0; i < n; i += 4) std::swap(rows[i + 1], rows[i + 2]);
    return rows;
}

/// m vectors of n elements: their first elements, then the second ones ..., in m vectors.
std::vector<Expr> interleaved(const std::vector<Expr> &rows) {
    const int m = static_cast<int>(rows.size()), n = rows[0].type().lanes();
    std::vector<Expr> results;
    for (int k = 0; k < m; k++) {
        std::vector<int> indices;
        for (int i = k * n; i < (k + 1) * n; i++) indices.push_back(i % m * n + i / m);
        results.push_back(Shuffle::make(rows, indices));
    }
    return results;
}

/// A store, and what is set for it alone.
struct LetStore {
    Lets lets;
    const Store *op = nullptr;

    explicit LetStore(Stmt stmt) {
        for (; const LetStmt *let = stmt.as<LetStmt>(); stmt = let->body) lets.emplace_back(let->name, let->value);
        op = stmt.as<Store>();
    }
    Expr base() const {
        Expr result = op->index.as<Ramp>()->base;
        for (auto let = lets.rbegin(); let != lets.rend(); ++let) result = substitute(let->first, let->second, result);
        return result;
    }
    /// The elements between two of float32; 0: they lie side by side, or it is no such store.
    int distance() const {
        if (!op || op->value.type().element_of() != Float(32) || !is_const_one(op->predicate)) return 0;
        const Ramp *ramp = op->index.as<Ramp>();
        const auto stride = ramp ? as_const_int(ramp->stride) : std::nullopt;
        return stride && *stride > 1 && *stride <= ramp->lanes ? static_cast<int>(*stride) : 0;
    }
};

/// Finds a load of this buffer, or of any.
class FindsLoad : public IRVisitor {
  public:
    explicit FindsLoad(const std::string &buffer = "") : buffer_(buffer) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        found |= buffer_.empty() || op->name == buffer_;
        IRVisitor::visit(op);
    }
    const std::string buffer_;
};

bool loads_anything(const Expr &value) {
    FindsLoad load;
    value.accept(&load);
    return load.found;
}

bool loads(const LetStore &store, const std::string &buffer) {
    FindsLoad load(buffer);
    store.op->value.accept(&load);
    for (const auto &[name, value] : store.lets) value.accept(&load);
    return load.found;
}

/// Stores that fill a dense piece together, in its order, which begin at `first` in `stmts`; none, if they do not.
std::vector<LetStore> dense_stores(const std::vector<Stmt> &stmts, size_t first) {
    const LetStore one(stmts[first]);
    const size_t count = one.distance();
    if (count == 0 || first + count > stmts.size()) return {};
    std::vector<LetStore> stores;
    for (size_t i = 0; i < count; i++) {
        stores.emplace_back(stmts[first + i]);
        const LetStore &store = stores.back();
        const bool alike = store.op && store.op->name == one.op->name && store.op->value.type() == one.op->value.type() &&
                           store.distance() == one.distance() && !loads(store, one.op->name);
        if (!alike || !is_const(simplify(store.base() - one.base()), static_cast<int>(i))) return {};
    }
    return stores;
}

Stmt whole_vectors(const std::vector<LetStore> &stores) {
    const Store *first = stores[0].op;
    const int lanes = first->value.type().lanes();
    Registers registers;
    std::vector<Expr> rows;
    for (const LetStore &store : stores) registers.add(store.lets), rows.push_back(registers.keep(store.op->value));
    const bool square = stores.size() == size_t(lanes) && lanes >= 4 && std::has_single_bit(unsigned(lanes));
    rows = square ? transposed(rows, registers) : interleaved(rows);
    std::vector<Stmt> whole;
    for (size_t i = 0; i < rows.size(); i++) {
        const Expr at = first->index.as<Ramp>()->base + int(i) * lanes;
        whole.push_back(Store::make(first->name, rows[i], Ramp::make(at, 1, lanes), first->param, const_true(lanes),
                                    ModulusRemainder()));
    }
    return registers.around(Block::make(whole));
}

/// What is set for all that follows is set for each, unless it is read from memory, which may change meanwhile.
void flatten(const Stmt &stmt, std::vector<Stmt> &stmts) {
    const LetStmt *let = stmt.as<LetStmt>();
    if (const Block *op = stmt.as<Block>()) {
        flatten(op->first, stmts), flatten(op->rest, stmts);
    } else if (let && (let->body.as<Block>() || let->body.as<LetStmt>()) && !loads_anything(let->value)) {
        std::vector<Stmt> within;
        flatten(let->body, within);
        for (const Stmt &one : within)
            stmts.push_back(stmt_uses_var(one, let->name) ? LetStmt::make(let->name, let->value, one) : one);
    } else {
        stmts.push_back(stmt);
    }
}

}  // namespace

Stmt VectorTranspositions::visit(const Block *op) {
    std::vector<Stmt> stmts, results;
    flatten(op, stmts);
    for (size_t i = 0; i < stmts.size();) {
        const auto stores = dense_stores(stmts, i);
        results.push_back(stores.empty() ? mutate(stmts[i]) : whole_vectors(stores));
        i += std::max<size_t>(1, stores.size());
    }
    return Block::make(results);
}

}  // namespace conv_transpose
