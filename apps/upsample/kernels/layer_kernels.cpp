// The layers of networks that are no convolutions, as CUDA kernels: what is computed of an element, and how elements are
// shared out. Every stride is a run-time value, so one kernel serves both layouts, and a stride of 0 repeats a value along
// a dimension.
//
// Where `pairs` is said, tensors of 16 bits come as words of two elements, of which four are moved at a time: Halide does not
// join loads of single ones. The innermost dimension is then dense, its extent a multiple of four words, and every row
// begins at a multiple of 16 bytes.
#include "Halide.h"
#include "algorithm/element_operations.h"
#include "compiler/passes/device_assertions.h"

namespace upsample {

using namespace Halide;
using conv_transpose::halide_type;
using conv_transpose::load;
using conv_transpose::Storage;
using conv_transpose::store;

namespace {

const std::map<std::string, Storage> element_types = {{"f32", Storage::f32}, {"f16", Storage::f16}};

constexpr int words = 4;  // that are moved at a time

/// Begins at 0, its strides are the caller's; in vectors of words where those are asked for.
template <class Tensor>
void declare_tensor(Tensor &tensor, bool in_words) {
    for (int d = 0; d < tensor.dimensions(); ++d) tensor.dim(d).set_min(0);
    if (!in_words) {
        tensor.dim(0).set_stride(Expr());
        return;
    }
    tensor.set_host_alignment(16);
    tensor.dim(0).set_extent(tensor.dim(0).extent() / words * words);
    for (int d = 1; d < tensor.dimensions(); ++d) tensor.dim(d).set_stride(tensor.dim(d).stride() / words * words);
}

/// Threads take what lies beside one another in the innermost dimensions, joined: all but the last of three, three of five.
void share_out(Pipeline pipeline, Func output, const std::vector<Var> &dimensions, bool in_words) {
    pipeline.add_custom_lowering_pass(new conv_transpose::RemoveDeviceAssertions);
    Var lane{"lane"}, block{"block"}, thread{"thread"}, joined = dimensions[0];
    if (in_words) output.split(joined, joined, lane, words, TailStrategy::RoundUp).vectorize(lane);
    output.fuse(joined, dimensions[1], joined);
    if (dimensions.size() == 5) output.fuse(joined, dimensions[2], joined);
    output.split(joined, block, thread, 128, TailStrategy::GuardWithIf).gpu_threads(thread).never_partition_all();
    if (dimensions.size() == 5) {
        output.gpu_blocks(block, dimensions[3], dimensions[4]);
    } else {
        output.gpu_blocks(block, dimensions[2]);
    }
}

Expr half_of(const Expr &word, int which) {
    const Expr bits = which == 0 ? word : word >> 16;
    return load(reinterpret(Float(16), cast<uint16_t>(bits)));
}

/// A word of two results, or the one result of a tensor without pairs: f(element of the innermost dimension, which half).
template <class Function>
Expr stored(bool pairs, const Var &innermost, Storage type, Function f) {
    if (!pairs) return store(f(Expr(innermost), 0), type);
    const auto bits = [&](int which) {
        return cast<uint32_t>(reinterpret<uint16_t>(store(f(2 * innermost + which, which), Storage::f16)));
    };
    return bits(0) | bits(1) << 16;
}

/// What a tensor holds, or half of a word of it.
Expr loaded(const Expr &element, bool pairs, int which) { return pairs ? half_of(element, which) : load(element); }

Type type_of(Storage storage, bool pairs) { return pairs ? UInt(32) : halide_type(storage); }

std::vector<Var> variables(int count) {
    std::vector<Var> all;
    for (int d = 0; d < count; ++d) all.emplace_back("d" + std::to_string(d));
    return all;
}

}  // namespace

/// to = from * factor, and 0 beyond the ends of `from`: copies between formats, crops, joined channels, shuffled pixels.
class LayerCopy : public Generator<LayerCopy> {
  public:
    GeneratorParam<Storage> from_type{"from_type", Storage::f32, element_types},
        to_type{"to_type", Storage::f32, element_types};
    GeneratorParam<bool> pairs{"pairs", false};  // which no factor multiplies
    Input<Buffer<>> from{"from"};
    Input<float> factor{"factor"};

    void configure() {
        from.set_type(type_of(from_type, pairs)), from.set_dimensions(5);
        to_ = add_output<Buffer<>>("to", type_of(to_type, pairs), 5);
    }
    void generate() {
        std::vector<Expr> places;
        Expr inside = cast<bool>(true);
        for (int i = 0; i < 5; ++i) {
            const bool is_whole = pairs && i == 0;
            places.push_back(is_whole ? Expr(d_[i]) : min(d_[i], from.dim(i).extent() - 1));
            if (!is_whole) inside = inside && d_[i] < from.dim(i).extent();
        }
        const Expr given = from(places);
        (*to_)(d_) = pairs ? select(inside, given, cast<uint32_t>(0))
                           : store(select(inside, load(given) * factor, 0.f), to_type);
    }
    void schedule() {
        declare_tensor(from, pairs), declare_tensor(*to_, pairs);
        share_out(get_pipeline(), *to_, d_, pairs);
    }

  private:
    std::vector<Var> d_ = variables(5);
    GeneratorOutput<Buffer<>> *to_ = nullptr;
};

/// to = from where that is positive, else from * slope.
class LayerRectify : public Generator<LayerRectify> {
  public:
    GeneratorParam<Storage> type{"type", Storage::f32, element_types};
    GeneratorParam<bool> pairs{"pairs", false};
    Input<Buffer<>> from{"from"};
    Input<Buffer<float>> slope{"slope", 3};

    void configure() {
        from.set_type(type_of(type, pairs)), from.set_dimensions(3);
        to_ = add_output<Buffer<>>("to", type_of(type, pairs), 3);
    }
    void generate() {
        (*to_)(d_) = stored(pairs, d_[0], type, [&](const Expr &innermost, int which) {
            const Expr value = loaded(from(d_), pairs, which);
            return select(value > 0.f, value, value * slope(innermost, d_[1], d_[2]));
        });
    }
    void schedule() {
        declare_tensor(from, pairs), declare_tensor(*to_, pairs), declare_tensor(slope, false);
        share_out(get_pipeline(), *to_, d_, pairs);
    }

  private:
    std::vector<Var> d_ = variables(3);
    GeneratorOutput<Buffer<>> *to_ = nullptr;
};

/// to = a * factor_of_a + b * factor_of_b, their product, or the larger or smaller of both: by `operation`, 0 to 3.
class LayerCombine : public Generator<LayerCombine> {
  public:
    GeneratorParam<Storage> type{"type", Storage::f32, element_types};
    GeneratorParam<bool> pairs{"pairs", false};
    Input<Buffer<>> a{"a"}, b{"b"};
    Input<int> operation{"operation"};
    Input<float> factor_of_a{"factor_of_a"}, factor_of_b{"factor_of_b"};

    void configure() {
        for (Input<Buffer<>> *input : {&a, &b}) input->set_type(type_of(type, pairs)), input->set_dimensions(3);
        to_ = add_output<Buffer<>>("to", type_of(type, pairs), 3);
    }
    void generate() {
        (*to_)(d_) = stored(pairs, d_[0], type, [&](const Expr &, int which) {
            const Expr first = loaded(a(d_), pairs, which), second = loaded(b(d_), pairs, which);
            const Expr sum = first * factor_of_a + second * factor_of_b;
            return select(operation == 0, sum, operation == 1, first * second, operation == 2, max(first, second),
                          min(first, second));
        });
    }
    void schedule() {
        for (Input<Buffer<>> *input : {&a, &b}) declare_tensor(*input, pairs);
        declare_tensor(*to_, pairs);
        share_out(get_pipeline(), *to_, d_, pairs);
    }

  private:
    std::vector<Var> d_ = variables(3);
    GeneratorOutput<Buffer<>> *to_ = nullptr;
};

/// Four rows and four columns of `from` with their weights: bicubic interpolation. Columns, rows, channels.
class LayerInterpolate : public Generator<LayerInterpolate> {
  public:
    GeneratorParam<Storage> type{"type", Storage::f32, element_types};
    Input<Buffer<>> from{"from"};
    Input<Buffer<int32_t>> columns{"columns", 2}, rows{"rows", 2};
    Input<Buffer<float>> column_weights{"column_weights", 2}, row_weights{"row_weights", 2};

    void configure() {
        from.set_type(halide_type(type)), from.set_dimensions(3);
        to_ = add_output<Buffer<>>("to", halide_type(type), 3);
    }
    void generate() {
        const auto place = [](const Expr &given, const Expr &extent) { return clamp(given, 0, extent - 1); };
        Expr result = 0.f;
        for (int i = 0; i < 4; ++i) {
            Expr column = 0.f;
            for (int j = 0; j < 4; ++j)
                column += row_weights(j, d_[1]) * load(from(place(columns(i, d_[0]), from.dim(0).extent()),
                                                            place(rows(j, d_[1]), from.dim(1).extent()), d_[2]));
            result += column * column_weights(i, d_[0]);
        }
        (*to_)(d_) = store(result, type);
    }
    void schedule() {
        declare_tensor(from, false), declare_tensor(*to_, false);
        for (Input<Buffer<int32_t>> *table : {&columns, &rows}) declare_table(*table);
        for (Input<Buffer<float>> *table : {&column_weights, &row_weights}) declare_table(*table);
        share_out(get_pipeline(), *to_, d_, false);
    }

  private:
    template <class Table>
    static void declare_table(Table &table) {
        table.dim(0).set_bounds(0, 4);
        table.dim(1).set_min(0).set_stride(4);
    }
    std::vector<Var> d_ = variables(3);
    GeneratorOutput<Buffer<>> *to_ = nullptr;
};

}  // namespace upsample

HALIDE_REGISTER_GENERATOR(upsample::LayerCopy, layer_copy)
HALIDE_REGISTER_GENERATOR(upsample::LayerRectify, layer_rectify)
HALIDE_REGISTER_GENERATOR(upsample::LayerCombine, layer_combine)
HALIDE_REGISTER_GENERATOR(upsample::LayerInterpolate, layer_interpolate)
