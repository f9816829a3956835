// The second pass of the gradients that are reduced in parts: adds the parts of every element, first to last.
#include "Halide.h"
#include "generators/any_tensors.h"

namespace conv_transpose {

/// sum(element) = sum over `parts` of partial(element, part).
class SumOfParts : public Halide::Generator<SumOfParts>, public DescribedGenerator {
  public:
    Input<Halide::Buffer<float>> partial{"partial", 2};
    /// The sum is stored so, and is rounded once.
    GeneratorParam<Storage> result{"result", Storage::f32, storage_names()};

    void configure() { sum_ = add_output<Halide::Buffer<>>("sum", halide_type(result), 1); }

    void generate() {
        Output<Halide::Buffer<>> &sum = *sum_;
        part = Halide::RDom(0, partial.dim(1).extent(), "part");
        // Blocks that reach beyond the last element compute sums that nobody stores.
        total(element) += partial(min(element, partial.dim(0).extent() - 1), part);
        sum(element) = stored(total(element), result, get_target());
    }

    // Each thread adds every `slices`-th part of one element, so that many loads are under way however few
    // elements there are.
    void schedule() {
        using namespace Halide;
        Output<Halide::Buffer<>> &sum = *sum_;
        for (int d = 0; d < 2; d++) partial.dim(d).set_min(0);
        sum.dim(0).set_min(0);
        Var block{"block"}, slice{"slice"};
        if (get_target().has_gpu_feature()) {
            constexpr int slices = 8;
            RVar outer{"outer"}, inner{"inner"};
            total.update().split(part, outer, inner, slices, TailStrategy::GuardWithIf);
            Func slice_total = total.update().rfactor(inner, slice);
            Func slice_totals = slice_total.in(total);
            Func(sum).split(element, block, element, 32, TailStrategy::GuardWithIf).gpu_blocks(block).gpu_threads(element);
            total.compute_at(sum, element);
            slice_totals.compute_at(sum, block).store_in(MemoryType::GPUShared).bound_extent(element, 32)
                .gpu_threads(element, slice);
            slice_total.compute_at(slice_totals, element);
        } else {
            const int width = natural_vector_size<float>();
            Func(sum).split(element, block, element, 16 * width, TailStrategy::GuardWithIf).parallel(block)
                .vectorize(element, width, TailStrategy::GuardWithIf);
            total.compute_at(sum, block).vectorize(element, width, TailStrategy::RoundUp)
                .update().reorder(element, part).vectorize(element, width, TailStrategy::GuardWithIf);
        }
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::sum_of_parts, get_target());
        description.set("output", format_text(result));
    }

  private:
    Output<Halide::Buffer<>> *sum_ = nullptr;
    Halide::Var element{"element"};
    Halide::RDom part;
    Halide::Func total{"total"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::SumOfParts, sum_of_parts)
