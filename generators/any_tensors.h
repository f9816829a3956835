// What generators share whose kernels take tensors of any rank, element type and layout. A tensor has three axes, of which
// some may have one position, and every stride is a run-time value: one kernel serves channels_first and channels_last.
#ifndef CONV_TRANSPOSE_GENERATORS_ANY_TENSORS_H
#define CONV_TRANSPOSE_GENERATORS_ANY_TENSORS_H

#include <string>

#include "Halide.h"
#include "algorithm/element_operations.h"
#include "algorithm/gather_funcs.h"
#include "algorithm/tap_walk.h"
#include "generators/format_text.h"
#include "generators/problem_params.h"
#include "schedules/kernel_description.h"

namespace conv_transpose {

/// Of one in float32. Halide 21 cannot convert a single bfloat16 in CUDA code; its bits are the upper half of those of a
/// float32. Its conversion from float16 without instructions for it loses NaN; a product with 2^112 is exact.
inline Halide::Expr loaded(const Halide::Expr &element, const Halide::Target &target) {
    using namespace Halide;
    const auto bits = [&] { return cast<uint32_t>(reinterpret<uint16_t>(element)); };
    if (element.type() == BFloat(16)) return reinterpret<float>(bits() << 16);
    const bool converts = target.has_gpu_feature() || target.has_feature(Target::F16C);
    if (element.type() != Float(16) || converts) return load(element);
    const Expr magnitude = (bits() & 0x7fffu) << 13, sign = (bits() & 0x8000u) << 16;
    const Expr number = reinterpret<uint32_t>(strict_float(reinterpret<float>(magnitude) * 0x1p112f));
    return reinterpret<float>(sign | select(magnitude >= Expr(0x0f800000u), magnitude | 0x7f800000u, number));
}

/// Rounded once to an element; NaN stays NaN, which Halide's conversion to float16 without instructions for it loses.
inline Halide::Expr stored(const Halide::Expr &value, Storage storage, const Halide::Target &target) {
    using namespace Halide;
    const bool converts = target.has_gpu_feature() || target.has_feature(Target::F16C);
    if (storage != Storage::f16 || converts) return store(value, storage);
    const Expr is_nan = (reinterpret<uint32_t>(value) & 0x7fffffffu) > Expr(0x7f800000u);
    return reinterpret(Float(16), select(is_nan, cast<uint16_t>(0x7e00), reinterpret<uint16_t>(store(value, storage))));
}

/// A base of generators.
struct AnyTensors : DescribedGenerator {
    template <typename T>
    using GeneratorParam = Halide::GeneratorParam<T>;
    static constexpr int rank = 3, dimensions = rank + 3;  // x, y, z, channel in group, group, image

    ProblemParams problem;
    /// Of pictures, and of weights that are read as they are given.
    GeneratorParam<Storage> storage{"storage", Storage::f32,
                                    {{"f32", Storage::f32}, {"f16", Storage::f16}, {"bf16", Storage::bf16}}};

  protected:
    /// Where an element of a tile lies in the tensor that is computed.
    struct Place {
        std::vector<Halide::Expr> axes;  ///< x, y, z; they may lie beyond the last where `exists` is false
        Halide::Expr channel, group, image, exists;

        std::vector<Halide::Expr> coordinates() const {
            std::vector<Halide::Expr> all = axes;
            all.insert(all.end(), {channel, group, image});
            return all;
        }
    };

    /// How many tiles there are, and where their elements lie.
    template <class Tensor>
    struct Tiles {
        const Tensor &tensor;
        GatherTile tile;
        bool on_gpu;

        Halide::Expr extent(int d) const { return tensor.dim(d).extent(); }
        bool of_rows() const { return tile.threads == 0; }
        Halide::Expr threads() const { return of_rows() ? extent(0) : Halide::Expr(tile.threads); }
        // Of one tile of channels.
        Halide::Expr position_blocks() const {
            return of_rows() ? extent(1) * extent(2) : up(extent(0) * extent(1) * extent(2), tile.threads);
        }
        Halide::Expr blocks() const { return position_blocks() * up(extent(3), tile.channels); }
        Halide::Expr images() const { return up(extent(4), tile.groups) * extent(5); }
        static Halide::Expr up(const Halide::Expr &number, int divisor) { return (number + divisor - 1) / divisor; }

        Place place(const Halide::Expr &channel, const Halide::Expr &group, const Halide::Expr &thread,
                    const Halide::Expr &block, const Halide::Expr &image) const {
            const auto by = [&](const Halide::Expr &a, const Halide::Expr &b) { return divide(a, b, on_gpu); };
            const Division of_channels = by(block, position_blocks()), of_groups = by(image, up(extent(4), tile.groups));
            const Halide::Expr number = of_channels.rest * tile.threads + thread;
            const Division row = of_rows() ? Division{of_channels.rest, thread} : by(number, extent(0));
            const Division plane = by(row.quotient, extent(1));
            Place p{{row.rest, plane.rest, plane.quotient}, of_channels.quotient * tile.channels + channel,
                    of_groups.rest * tile.groups + group, of_groups.quotient, {}};
            p.exists = p.axes[2] < extent(2) && p.channel < extent(3) && p.group < extent(4);
            return p;
        }
    };

    /// Lets Func `written` store value(place) at every element.
    template <class Tensor, class Value>
    void store_tiles(AnyGatherFuncs &f, Tensor &tensor, const GatherTile &tile, const Halide::Target &target, Value value) const {
        using namespace Halide;
        const bool on_gpu = target.has_gpu_feature();
        const Tiles<Tensor> tiles{tensor, tile, on_gpu};
        f.elements = RDom({{0, tile.channels}, {0, tile.groups}, {0, tiles.threads()}, {0, tiles.blocks()}, {0, tiles.images()}},
                          "elements");
        const RDom &r = f.elements;
        const Place p = tiles.place(r[0], r[1], r[2], r[3], r[4]);
        f.elements.where(p.exists);
        std::vector<Expr> to = p.coordinates();
        for (int d = 0; d < dimensions; d++) to[d] = known(to[d], tensor.dim(d).extent());
        tensor(std::vector<Var>(dimensions)) = undef(halide_type(storage));
        if (on_gpu) Func(tensor).gpu_single_thread();  // nothing, but on the host it would ask for host memory
        tensor(to) = stored(value(f.sum(r[0], r[1], r[2], r[3], r[4])), storage, target);
        f.output = tensor;
    }

    template <class Tensor>
    void set_format(Tensor &tensor) const {
        tensor.set_type(halide_type(storage));
        tensor.set_dimensions(dimensions);
    }

    template <class Tensor>
    static void declare_strides(Tensor &tensor, bool axes_begin_at_0) {
        for (int d = axes_begin_at_0 ? 0 : rank; d < dimensions; d++) tensor.dim(d).set_min(0);
        tensor.dim(0).set_stride(Halide::Expr());
    }

    /// A condition as a whole, which goes out of the loops that it does not depend on; of its parts Halide leaves some in
    /// each of the unrolled channels, so that no two loads are under way at once.
    static void only_where(Halide::RDom &domain, const std::vector<Halide::Expr> &conditions) {
        Halide::Expr all = 1;
        for (const Halide::Expr &condition : conditions) all = all & Halide::cast<int>(condition);
        domain.where(all != 0);
    }

    /// Whether a position lies in a picture, and the position for those of which that is known.
    static Halide::Expr inside(const Halide::Expr &i, const Halide::Internal::Dimension &d) {
        return Halide::cast<uint32_t>(i - d.min()) < Halide::cast<uint32_t>(d.extent());
    }
    static Halide::Expr known(const Halide::Expr &i, const Halide::Internal::Dimension &d) {
        return Halide::unsafe_promise_clamped(i, d.min(), d.max());
    }
    static Halide::Expr known(const Halide::Expr &i, const Halide::Expr &extent) {
        return Halide::unsafe_promise_clamped(i, 0, extent - 1);
    }

    /// `pictures` are the names of the tensors in the registry.
    void describe_tensors(std::initializer_list<const char *> pictures, KernelDescription &description) const {
        description.set("rank", rank);
        description.set("any_layout", "true");
        for (const char *picture : pictures) description.set(picture, format_text(storage));
    }
};

}  // namespace conv_transpose

#endif
