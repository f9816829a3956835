// Conversion of elements: to float32 of what kernels of 16 bits add in float32, the bias; from float32 of weights that they read as
// they are given.
#include "Halide.h"
#include "algorithm/element_operations.h"
#include "generators/any_tensors.h"
#include "generators/lowering_passes.h"

namespace conv_transpose {

/// The same (position, channel, group, image), rounded to nearest even. Arguments are those of the family that packs channels.
class Convert : public Halide::Generator<Convert>, public DescribedGenerator {
  public:
    GeneratorParam<Storage> given{"given", Storage::f32, storage_names()};
    GeneratorParam<Storage> made{"made", Storage::f32, storage_names()};

    Input<Halide::Buffer<>> picture{"picture"};
    Output<Halide::Buffer<>> packed{"packed", 4};

    void configure() {
        picture.set_type(halide_type(given)), picture.set_dimensions(4);
        packed.set_type(halide_type(made));
    }

    void generate() {
        const Halide::Expr value = loaded(picture(position, channel, group, image), get_target());
        packed(position, channel, group, image) = stored(value, made, get_target());
    }

    void schedule() {
        for (int d = 0; d < 4; d++) picture.dim(d).set_min(0), packed.dim(d).set_min(0);
        if (!get_target().has_gpu_feature()) {
            Halide::Func(packed).vectorize(position, 8, Halide::TailStrategy::GuardWithIf);
            return;
        }
        add_passes_of_any_kernel(get_pipeline());
        Halide::Var block{"block"}, thread{"thread"};
        Halide::Func(packed).fuse(position, channel, position)
            .split(position, block, thread, 64, Halide::TailStrategy::GuardWithIf)
            .gpu_blocks(block, group, image).gpu_threads(thread).never_partition_all();
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::channel_packing, get_target());
        description.set("input", format_text(given));
        description.set("output", format_text(made));
    }

  private:
    Halide::Var position{"position"}, channel{"channel"}, group{"group"}, image{"image"};
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::Convert, convert)
