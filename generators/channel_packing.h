// What kernels declare that turn channels of pictures, channels_last_packing.cpp and channels_first_packing.cpp: a base of
// generators. On the way elements are words of shared memory, each of which one thread writes.
#ifndef CONV_TRANSPOSE_GENERATORS_CHANNEL_PACKING_H
#define CONV_TRANSPOSE_GENERATORS_CHANNEL_PACKING_H

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "generators/format_text.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

struct ChannelPacking : DescribedGenerator {
    Halide::GeneratorParam<Storage> given{"given", Storage::f16, storage_names()};
    Halide::GeneratorInput<Halide::Buffer<>> picture{"picture"};
    Halide::GeneratorOutput<Halide::Buffer<>> packed{"packed", 4};

  protected:
    void declare_types() {
        picture.set_type(halide_type(given)), picture.set_dimensions(4);
        packed.set_type(halide_type(given));
    }
    void declare_beginnings() {
        for (int d = 0; d < 4; d++) picture.dim(d).set_min(0), packed.dim(d).set_min(0);
    }
    void describe_packing(const char *role, const Halide::Target &target, KernelDescription &description) const {
        describe_helper(description, Family::channel_packing, target, role);
        if (given != Storage::f32) description.set("input", format_text(given)), description.set("output", format_text(given));
    }

    Halide::Type bits() const { return halide_type(given).with_code(Halide::Type::UInt); }
    Halide::Expr word_of(const Halide::Expr &element) const { return Halide::cast<uint32_t>(Halide::reinterpret(bits(), element)); }
    Halide::Expr element_of(const Halide::Expr &word) const {
        return Halide::reinterpret(halide_type(given), Halide::cast(bits(), word));
    }
};

}  // namespace conv_transpose

#endif
