// Numbers that follow from a kernel's arguments and are computed on the host, each once. As expressions each would have copies of
// all those before it, and lowering a kernel would take minutes.
#ifndef CONV_TRANSPOSE_COMPILER_HOST_NUMBERS_H
#define CONV_TRANSPOSE_COMPILER_HOST_NUMBERS_H

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"

namespace conv_transpose {

/// The numbers of a kernel in the order in which they are computed.
class HostNumbers {
  public:
    /// A name for what was computed: until the pass a call without arguments, which lowering leaves as it is.
    Halide::Expr named(const Halide::Expr &value);
    /// For add_custom_lowering_pass(): binds the names.
    Halide::Internal::IRMutator *pass() const;

  private:
    std::vector<std::pair<std::string, Halide::Expr>> numbers_;
};

class HostNumber;
template <class A, class B>
concept AreHostNumbers = (std::same_as<A, HostNumber> && (std::same_as<B, HostNumber> || std::same_as<B, int>)) ||
                         (std::same_as<A, int> && std::same_as<B, HostNumber>);

/// Arithmetic of templates (algorithm/staged_tile.h).
class HostNumber {
  public:
    HostNumber() = default;
    HostNumber(int constant) : value_(constant) {}
    HostNumber(HostNumbers &numbers, const Halide::Expr &value) : numbers_(&numbers), value_(numbers.named(value)) {}

    operator Halide::Expr() const { return value_; }

  private:
    template <class A, class B>
    static HostNumber of(const A &first, const B &second, Halide::Expr (*operation)(Halide::Expr, Halide::Expr)) {
        const HostNumber a = first, b = second;
        HostNumber result;
        result.numbers_ = a.numbers_ ? a.numbers_ : b.numbers_;
        result.value_ = operation(a.value_, b.value_);
        if (result.numbers_) result.value_ = result.numbers_->named(result.value_);
        return result;
    }

    HostNumbers *numbers_ = nullptr;
    Halide::Expr value_ = 0;

#define CONV_TRANSPOSE_HOST_OPERATION(name, value)                                                             \
    template <class A, class B>                                                                                \
        requires AreHostNumbers<A, B>                                                                          \
    friend HostNumber name(const A &first, const B &second) {                                                  \
        return HostNumber::of(first, second, [](Halide::Expr a, Halide::Expr b) -> Halide::Expr { return value; }); \
    }
    CONV_TRANSPOSE_HOST_OPERATION(operator+, a + b)
    CONV_TRANSPOSE_HOST_OPERATION(operator-, a - b)
    CONV_TRANSPOSE_HOST_OPERATION(operator*, a *b)
    CONV_TRANSPOSE_HOST_OPERATION(operator/, a / b)
    CONV_TRANSPOSE_HOST_OPERATION(operator%, a % b)
#undef CONV_TRANSPOSE_HOST_OPERATION
    // No templates: std::min is one, too.
    friend HostNumber min(const HostNumber &first, const HostNumber &second) {
        return of(first, second, [](Halide::Expr a, Halide::Expr b) { return Halide::min(a, b); });
    }
    friend HostNumber max(const HostNumber &first, const HostNumber &second) {
        return of(first, second, [](Halide::Expr a, Halide::Expr b) { return Halide::max(a, b); });
    }
};

}  // namespace conv_transpose

#endif
