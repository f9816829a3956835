// One step of a recipe: a launch of a kernel, with everything but addresses. Arguments are bound by the names that the
// kernel's signature declares (algorithm/signature.h).
#ifndef CONV_TRANSPOSE_RUNTIME_STEP_H
#define CONV_TRANSPOSE_RUNTIME_STEP_H

#include <array>
#include <vector>

#include "algorithm/signature.h"
#include "choice/kernel_traits.h"
#include "device/run_context.h"
#include "device/tensor_map.h"
#include "plan/view.h"

namespace conv_transpose {

/// Where the tensors of a run lie, by Operand: those of the caller, and the regions of the workspace.
using Addresses = std::array<void *, 16>;

struct PlacedView;  // step.cpp

/// A scalar of loops that several threads share, and of one thread alone.
struct ScalarOfThreads {
    int64_t shared, alone;
};

class Step {
  public:
    /// Throws std::logic_error where the kernel is of another family.
    Step(const KernelTraits &kernel, Family family);

    /// `position` is one that the signature tells. Throws std::logic_error where the argument is of another kind.
    void set(int position, const View &view);
    void set(int position, int64_t scalar);
    void set(int position, float scalar);
    void set(int position, const ScalarOfThreads &scalar);
    /// The kernel reads the tensor at `position`, which is set, by a map of it; of several in its order.
    void add_map(int position, const PictureMap &map);
    /// A kernel of the same arguments, which runs in this one's place where all tensors lie at multiples of 16 bytes.
    void set_where_aligned(const KernelTraits &kernel) { where_aligned_ = &kernel; }
    /// Throws std::logic_error that names an argument that was not set.
    void require_complete() const;

    const KernelTraits &kernel() const { return *kernel_; }
    /// Its tensors have these, in the kernel's order.
    const std::vector<View> &views() const { return views_; }

    /// How many elements further each tensor of a later step lies that differs in nothing else.
    using Moves = std::array<int64_t, 4>;
    Moves moves_to(const Step &later) const;

    /// Calls the kernel with its tensors moved; its error becomes the Status.
    Status run(const Addresses &addresses, const Moves &moves, RunContext &context) const noexcept;

  private:
    struct Value {
        bool set = false;
        int view = -1;  ///< else the scalar, whose bits these are
        int32_t shared = 0, alone = 0;
    };
    const KernelTraits *kernel_, *where_aligned_ = nullptr;
    Family family_;
    std::vector<Value> values_;
    std::vector<View> views_;
    /// In the order that the kernel has them in.
    struct Mapped {
        int view;
        PictureMap map;
    };
    std::vector<Mapped> maps_;
    /// Bits of the views that are read 16 bytes at a time, or written by vectors: pictures, and weights as they are given.
    unsigned read_in_rows_ = 0;

    void set_bits(int position, ArgumentKind kind, int32_t shared, int32_t alone);
    const Argument &argument(int position) const;
    Value &value(int position, ArgumentKind kind);
    /// The rule that an address breaks, or null.
    const char *broken_alignment(const PlacedView *placed, bool rehearsal) const noexcept;
    bool encode_maps(const PlacedView *placed, bool rehearsal, TensorMap *maps) const noexcept;
};

/// Makes a step, by names. A name that the family lacks does not compile.
template <Family family>
class Launch {
  public:
    explicit Launch(const KernelTraits &kernel) : step_(kernel, family) {}

    /// A tensor or a scalar.
    template <class Value>
    Launch &set(ArgumentName<family> name, const Value &value) {
        step_.set(name.position(0, step_.kernel().rank), value);
        return *this;
    }

    /// The map is of a tensor that was set.
    Launch &add_map(ArgumentName<family> name, const PictureMap &map) {
        step_.add_map(name.position(0, step_.kernel().rank), map);
        return *this;
    }

    Launch &set_where_aligned(const KernelTraits &kernel) {
        step_.set_where_aligned(kernel);
        return *this;
    }

    /// A scalar of each axis.
    template <class OfAxis>
    Launch &set_axes(ArgumentName<family> name, const Problem &p, OfAxis of_axis) {
        for (int i = 0; i < step_.kernel().rank; i++)
            step_.set(name.position(i, step_.kernel().rank), int64_t{of_axis(p.axes[2 - i])});
        return *this;
    }

    Launch &set_axes(ArgumentName<family> name, const Extents &innermost_first) {
        for (int i = 0; i < step_.kernel().rank; i++) step_.set(name.position(i, step_.kernel().rank), innermost_first[i]);
        return *this;
    }

    Step step() const {
        step_.require_complete();
        return step_;
    }

  private:
    Step step_;
};

}  // namespace conv_transpose

#endif
