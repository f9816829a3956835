// The registry: every compiled kernel, and those among them that prepare operands for others.
#ifndef CONV_TRANSPOSE_RUNTIME_REGISTRY_H
#define CONV_TRANSPOSE_RUNTIME_REGISTRY_H

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>

#include "choice/kernel_traits.h"

namespace conv_transpose {

/// The rows of this build or of a kernel pack; tables are linked and never go away.
struct KernelTable {
    std::span<const KernelTraits> rows;
    std::span<const KernelTraits *const> helpers;  ///< those of another role than `compute`, which every choice asks for
    const KernelTable *next;
};

/// All rows, in order of preference: those of packs, the last one first, then this build's in the order of
/// generators/kernels.cmake.
class Registry {
  public:
    class Iterator {
      public:
        using difference_type = std::ptrdiff_t;
        using value_type = KernelTraits;
        using pointer = const KernelTraits *;
        using reference = const KernelTraits &;
        using iterator_category = std::forward_iterator_tag;

        Iterator() = default;
        explicit Iterator(const KernelTable *table) : table_(table) { skip_finished_tables(); }
        const KernelTraits &operator*() const { return table_->rows[row_]; }
        const KernelTraits *operator->() const { return &**this; }
        Iterator &operator++() {
            row_++;
            skip_finished_tables();
            return *this;
        }
        Iterator operator++(int) {
            const Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator &) const = default;

      private:
        const KernelTable *table_ = nullptr;
        std::size_t row_ = 0;

        void skip_finished_tables() {
            while (table_ && row_ == table_->rows.size()) table_ = table_->next, row_ = 0;
        }
    };

    explicit Registry(const KernelTable *first) : first_(first) {}
    Iterator begin() const { return Iterator(first_); }
    Iterator end() const { return {}; }

    /// Whether is(row) is true for a helper.
    template <class Is>
    bool any_helper(Is is) const {
        for (const KernelTable *table = first_; table; table = table->next)
            for (const KernelTraits *k : table->helpers)
                if (is(*k)) return true;
        return false;
    }

  private:
    const KernelTable *first_;
};

/// Reading it cannot fail, and may go on while a pack is loaded.
Registry registry();

/// Whether is(row) is true for one of them.
template <class Is>
bool any_kernel(Is is) {
    const Registry all = registry();
    return std::any_of(all.begin(), all.end(), is);
}

/// Puts rows in front. They must stay where they are for good.
void add_to_registry(std::span<const KernelTraits> rows);

/// The first kernel of a role other than `compute` that fits. Throws Unsupported where this build has none.
const KernelTraits &helper_kernel(KernelRole role, Device device,
                                  const std::function<bool(const KernelTraits &)> &fits = {});

/// The elements of the packed weights that a kernel reads: for tensor cores as it stores its output, for others float32.
ElementType packed_weight_type(const KernelTraits &kernel);

/// Whether a helper packs weights of the given elements as a kernel reads them.
bool packs_weights(const KernelTraits &helper, const KernelTraits &kernel, ElementType given);

/// Whether weights in float32 are rounded to the 16 bits of its pictures before it, or what packs for it, reads them.
bool converts_weights(const KernelTraits &kernel, ElementType given);

/// Whether a helper rounds float32 to elements of that type.
bool rounds_to(const KernelTraits &helper, ElementType made);

}  // namespace conv_transpose

#endif
