// Weight packing for matrix products on the CPU, of any rank: see WeightLayout::channel_panels.
#include "Halide.h"
#include "algorithm/weight_layouts.h"
#include "generators/any_tensors.h"
#include "generators/format_text.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

/// (kx, ky, kz, channel, summed channel, group) -> (lane, summed channel, kx, ky, kz, panel + panels * group), float32.
/// Channels beyond the last are zero.
class PackChannelPanels : public Halide::Generator<PackChannelPanels>, public DescribedGenerator {
  public:
    GeneratorParam<int> rank{"rank", 2};
    /// What the weights are given in.
    GeneratorParam<Storage> given{"given", Storage::f32, storage_names()};

    Input<Halide::Buffer<>> weight{"weight"};

    void configure() {
        weight.set_type(halide_type(given)), weight.set_dimensions(rank + 3);
        packed_ = add_output<Halide::Buffer<>>("packed", Float(32), rank + 3);
    }

    void generate() {
        using namespace Halide;
        for (int d = 0; d < rank; d++) kernel_.emplace_back("k" + std::to_string(d));
        const Expr channels = weight.dim(rank).extent(), groups = weight.dim(rank + 2).extent();
        const Expr panels = packed_->dim(rank + 2).extent() / groups;
        const Expr channel = panel_ % panels * packed_->dim(0).extent() + lane_;
        std::vector<Expr> from(kernel_.begin(), kernel_.end());
        // The clamp tells bounds inference what the quotient cannot.
        from.insert(from.end(), {min(channel, channels - 1), summed_, clamp(panel_ / panels, 0, groups - 1)});
        (*packed_)(to()) = select(channel < channels, loaded(weight(from), get_target()), 0.f);
    }

    /// A panel's channels of a summed channel are one stream in PyTorch's order, all kernel positions of each.
    void schedule() {
        using namespace Halide;
        weight.dim(0).set_stride(Expr());
        for (int d = 0; d < rank + 3; d++) weight.dim(d).set_min(0), packed_->dim(d).set_min(0);
        Var work{"work"}, some{"some"};
        std::vector<VarOrRVar> order{lane_};
        order.insert(order.end(), kernel_.begin(), kernel_.end());
        order.insert(order.end(), {some, summed_, panel_});
        Func(*packed_).split(summed_, summed_, some, 16, TailStrategy::GuardWithIf).reorder(order)
            .fuse(summed_, panel_, work).parallel(work, 4, TailStrategy::GuardWithIf);
    }

    void describe(KernelDescription &description) override {
        describe_helper(description, Family::weight_packing, get_target());
        description.set("weight_layout", enumerator(WeightLayout::channel_panels));
        description.set("weight", format_text(given));
        description.set("rank", rank);
    }

  private:
    std::vector<Var> kernel_;
    Var lane_{"lane"}, summed_{"summed"}, panel_{"panel"};
    Halide::GeneratorOutput<Halide::Buffer<>> *packed_ = nullptr;

    std::vector<Var> to() const {
        std::vector<Var> all{lane_, summed_};
        all.insert(all.end(), kernel_.begin(), kernel_.end());
        all.push_back(panel_);
        return all;
    }
};

}  // namespace conv_transpose

HALIDE_REGISTER_GENERATOR(conv_transpose::PackChannelPanels, pack_channel_panels)
