// Expressions of a tile's store taken apart: what depends on a row alone, or on a piece of its columns alone, is worked out
// once for all elements that share it.
#ifndef CONV_TRANSPOSE_COMPILER_TILE_PARTS_H
#define CONV_TRANSPOSE_COMPILER_TILE_PARTS_H

#include <string>
#include <utility>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

inline const std::string row_name = "tile_row", piece_name = "tile_piece", sum_name = "tile_sum";

inline Halide::Expr integer(const std::string &name) { return Halide::Internal::Variable::make(Halide::Int(32), name); }

/// Takes expressions of a row, a piece of its columns and a sum apart: what depends on the row alone becomes a variable
/// named after `of_rows`, what depends on the piece alone one named after `of_pieces`.
class RowsAndPieces : public Halide::Internal::IRMutator {
  public:
    /// `distributes`: products of a sum and what depends on neither are sums of products.
    explicit RowsAndPieces(std::string name, bool distributes = false) : name_(std::move(name)), distributes_(distributes) {}
    using Parts = std::vector<std::pair<std::string, Halide::Expr>>;
    Parts of_rows, of_pieces;

    Halide::Expr mutate(const Halide::Expr &e) override {
        const bool row = uses(e, row_name), piece = uses(e, piece_name);
        if (uses(e, sum_name) || (row && piece && !is_sum(e) && !factor_of(e).defined()))
            return Halide::Internal::IRMutator::mutate(e);
        return row && piece ? sum(e) : part(e);
    }
    using Halide::Internal::IRMutator::mutate;

  private:
    const std::string name_;
    const bool distributes_;

    static bool uses(const Halide::Expr &e, const std::string &name) { return Halide::Internal::expr_uses_var(e, name); }
    static bool is_sum(const Halide::Expr &e) {
        return e.type() == Halide::Int(32) &&
               (e.as<Halide::Internal::Add>() || e.as<Halide::Internal::Sub>());
    }

    /// It takes what depends on one of them, or on nothing. Where 4 bytes do not hold it, its parts are taken.
    Halide::Expr part(const Halide::Expr &e) {
        const bool row = uses(e, row_name);
        if (e.as<Halide::Internal::Variable>() || (!row && !uses(e, piece_name))) return e;
        if (e.type().is_bool()) return part(select(e, 1, 0)) != 0;
        if (!e.type().is_scalar() || e.type().bits() != 32) return Halide::Internal::IRMutator::mutate(e);
        Parts &parts = row ? of_rows : of_pieces;
        for (const auto &[name, value] : parts)
            if (Halide::Internal::equal(value, e)) return Halide::Internal::Variable::make(e.type(), name);
        parts.emplace_back(name_ + (row ? ".of_row." : ".of_piece.") + std::to_string(parts.size()), e);
        return Halide::Internal::Variable::make(e.type(), parts.back().first);
    }

    /// The factor of a product that depends on neither, where the other depends on both.
    Halide::Expr factor_of(const Halide::Expr &e) const {
        const Halide::Internal::Mul *product = e.as<Halide::Internal::Mul>();
        if (!distributes_ || !product || e.type() != Halide::Int(32)) return {};
        const auto of_both = [](const Halide::Expr &f) { return uses(f, row_name) && uses(f, piece_name); };
        const auto of_none = [](const Halide::Expr &f) { return !uses(f, row_name) && !uses(f, piece_name); };
        return of_both(product->a) && of_none(product->b)   ? product->b
               : of_both(product->b) && of_none(product->a) ? product->a
                                                            : Halide::Expr();
    }

    void add_terms(const Halide::Expr &e, bool negative, const Halide::Expr &factor,
                   std::vector<std::pair<Halide::Expr, bool>> &terms) const {
        const Halide::Internal::Add *add = e.as<Halide::Internal::Add>();
        const Halide::Internal::Sub *sub = e.as<Halide::Internal::Sub>();
        if (const Halide::Expr more = factor_of(e); more.defined()) {
            const Halide::Internal::Mul *product = e.as<Halide::Internal::Mul>();
            return add_terms(more.same_as(product->b) ? product->a : product->b, negative, factor * more, terms);
        }
        if (!is_sum(e)) return terms.emplace_back(Halide::Internal::is_const_one(factor) ? e : e * factor, negative), void();
        add_terms(add ? add->a : sub->a, negative, factor, terms);
        add_terms(add ? add->b : sub->b, add ? negative : !negative, factor, terms);
    }

    /// Terms that depend on the row alone, or on nothing, are one part.
    Halide::Expr sum(const Halide::Expr &e) {
        std::vector<std::pair<Halide::Expr, bool>> terms;
        add_terms(e, false, 1, terms);
        Halide::Expr of_row = 0, of_piece = 0, of_both = 0;
        for (const auto &[term, negative] : terms) {
            const bool row = uses(term, row_name), piece = uses(term, piece_name);
            const Halide::Expr value = row && piece ? Halide::Internal::IRMutator::mutate(term) : term;
            Halide::Expr &all = row && piece ? of_both : piece ? of_piece : of_row;
            all = negative ? all - value : all + value;
        }
        return Halide::Internal::simplify(of_both + part(Halide::Internal::simplify(of_row)) +
                                          part(Halide::Internal::simplify(of_piece)));
    }
};

}  // namespace conv_transpose

#endif
