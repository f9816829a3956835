// Signatures: their lists in order, and that a kernel with other arguments is refused with a message that says which.
#include "algorithm/signature.h"

#include <gtest/gtest.h>

#include "compiler/driver/signature_check.h"

namespace conv_transpose {
namespace {

std::vector<std::string> names(Family family, int rank) {
    std::vector<std::string> names;
    signature(family).for_each(rank, [&](const Argument &a, int axis) {
        names.push_back(std::string(a.name) + (a.per_axis ? "_" + std::string(axis_names[axis]) : ""));
    });
    return names;
}

TEST(Signature, ScalarsOfAnAxisStandTogether) {
    EXPECT_EQ(names(Family::input_gradient, 1),
              (std::vector<std::string>{"output_gradient", "weight", "kernel_width", "stride_width", "dilation_width",
                                        "input_gradient"}));
    EXPECT_EQ(names(Family::tensor_core_weight_packing, 3),
              (std::vector<std::string>{"weight", "stride_width", "padding_phase_width", "stride_height",
                                        "padding_phase_height", "stride_depth", "padding_phase_depth", "packed"}));
}

TEST(Signature, PositionsAreThoseOfTheList) {
    for (const Signature &s : signatures::all)
        for (int rank = 1; rank <= max_rank; rank++) {
            int at = 0;
            s.for_each(rank, [&](const Argument &a, int axis) {
                EXPECT_EQ(s.position(a.name, axis, rank), at) << s.family << " " << a.name << " axis " << axis;
                at++;
            });
            EXPECT_EQ(s.count(rank), at) << s.family;
            EXPECT_LE(at, max_arguments) << s.family;
        }
    EXPECT_EQ(signature(Family::forward).position("no_such_argument", 0, 2), -1);
    EXPECT_EQ(signature(Family::forward).position("stride", 2, 2), -1) << "two axes have no depth";
    EXPECT_EQ(ArgumentName<Family::forward>("kernel").position(1, 2), 17);
}

TEST(Signature, FamiliesAreInTheOrderOfTheirEnumerators) {
    EXPECT_EQ(signature(Family::forward).family, "forward");
    EXPECT_EQ(signature(Family::bias_gradient).family, "bias_gradient");
    EXPECT_EQ(signature(Family::picture_packing).family, "picture_packing");
    EXPECT_EQ(signature(Family::weight_gradient_sum).family, "weight_gradient_sum");
}

// Every field of an argument counts, and so does their order.
TEST(Signature, HashTellsSignaturesApart) {
    using namespace signatures;
    const Argument x = axes_and(3, "x", TensorRole::input), y = int32("y");
    const Argument lists[][2] = {{x, y}, {y, x}, {x, int32("z")}, {x, float32("y")}, {x, per_axis("y")},
                                 {written(x), y}, {dense(3, "x", TensorRole::input), y},
                                 {axes_and(2, "x", TensorRole::input), y}, {axes_and(3, "x", TensorRole::output), y}};
    std::vector<std::uint64_t> hashes;
    for (const auto &list : lists) {
        const Signature one{"family", list};
        hashes.push_back(hash_of({&one, 1}));
        EXPECT_EQ(hash_of({&one, 1}), hashes.back());
    }
    std::sort(hashes.begin(), hashes.end());
    EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
    const Signature of_another_family{"another", lists[0]};
    EXPECT_FALSE(std::binary_search(hashes.begin(), hashes.end(), hash_of({&of_another_family, 1})));
}

// A kernel of the family sum_of_output_parts, or nearly.
struct NearlySumOfOutputParts {
    Halide::ImageParam partial{Halide::Float(32), 4, "partial"}, bias{Halide::Float(32), 1, "bias"};
    Halide::Param<int> has_bias{"has_bias"}, activation{"activation"};
    Halide::Param<float> slope{"slope"};
    std::vector<Halide::Argument> arguments{partial, bias, has_bias, activation, slope};
    std::string output = "output";
    int output_dimensions = 3;

    std::string refusal() const {
        Halide::Func f(output);
        const std::vector<Halide::Var> at(output_dimensions);
        f(at) = 0.f;
        const Halide::Target target("x86-64-linux-no_runtime-user_context");
        const Halide::Module module = Halide::Pipeline(f).compile_to_module(arguments, "try_it", target);
        try {
            check_signature(module, signature(Family::sum_of_output_parts), 2);
        } catch (const std::runtime_error &error) {
            return error.what();
        }
        return "";
    }
};

const std::string family = ", the signature of family sum_of_output_parts (algorithm/signature.h) says ";

TEST(SignatureCheck, TakesTheKernelOfTheSignature) { EXPECT_EQ(NearlySumOfOutputParts().refusal(), ""); }

TEST(SignatureCheck, TellsArgumentsInAnotherOrder) {
    NearlySumOfOutputParts k;
    std::swap(k.arguments[2], k.arguments[3]);
    EXPECT_EQ(k.refusal(), "argument 2 of kernel try_it: the generator has 'activation', a scalar int32" + family +
                               "'has_bias', a scalar int32");
}

TEST(SignatureCheck, TellsAnotherKindOfScalar) {
    NearlySumOfOutputParts k;
    const Halide::Param<int> slope("slope");
    k.arguments[4] = slope;
    EXPECT_EQ(k.refusal(),
              "argument 4 of kernel try_it: the generator has 'slope', a scalar int32" + family + "'slope', a scalar float32");
}

TEST(SignatureCheck, TellsOtherDimensions) {
    NearlySumOfOutputParts k;
    const Halide::ImageParam bias(Halide::Float(32), 2, "bias");
    k.arguments[1] = bias;
    EXPECT_EQ(k.refusal(), "argument 1 of kernel try_it: the generator has 'bias', an input tensor of 2 dimensions" +
                               family + "'bias', an input tensor of 1 dimensions");
    NearlySumOfOutputParts of_output;
    of_output.output_dimensions = 4;
    EXPECT_NE(of_output.refusal().find("argument 5 of kernel try_it"), std::string::npos) << of_output.refusal();
}

TEST(SignatureCheck, TellsElementsThatNoTensorOfTheRoleHas) {
    NearlySumOfOutputParts k;
    const Halide::ImageParam partial(Halide::Float(16), 4, "partial"), bias(Halide::Int(32), 1, "bias");
    k.arguments[1] = bias;
    EXPECT_NE(k.refusal().find("of int32" + family + "elements are float32, float16 or bfloat16"), std::string::npos)
        << k.refusal();
    k.arguments[0] = partial;
    EXPECT_NE(k.refusal().find("of float16" + family + "elements are float32"), std::string::npos) << k.refusal();
}

TEST(SignatureCheck, TellsArgumentsTooManyAndTooFew) {
    NearlySumOfOutputParts more, fewer;
    const Halide::Param<int> another("another");
    more.arguments.push_back(another);
    EXPECT_EQ(more.refusal(), "argument 5 of kernel try_it: the generator has 'another', a scalar int32" + family +
                                  "'output', an output tensor of 3 dimensions");
    fewer.arguments.pop_back();
    EXPECT_EQ(fewer.refusal(), "argument 4 of kernel try_it: the generator has 'output', an output tensor of 3 dimensions" +
                                   family + "'slope', a scalar float32");
}

}  // namespace
}  // namespace conv_transpose
