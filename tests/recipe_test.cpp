// Recipes and their steps: arguments are bound by name and checked, regions are aligned, what is missing is named.
#include "plan/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "HalideRuntime.h"

namespace conv_transpose::testing {
namespace {

// What the last call of the kernel below was given, as launches of sum_of_parts take it.
struct Seen {
    int calls = 0;
    void *context = nullptr;
} seen;

int count_calls(void **args) {
    seen.calls++;
    seen.context = *static_cast<void **>(args[0]);
    return 0;
}

int fail(void **) { return -1; }

KernelTraits kernel(KernelFunction function, Family family = Family::sum_of_parts) {
    KernelTraits traits;
    traits.name = "f32_abacus_sum";
    traits.function = function;
    traits.family = family;
    traits.role = KernelRole::sum_of_parts;
    return traits;
}

Step sum_step(const KernelTraits &k, Operand from, Operand to) {
    return Launch<Family::sum_of_parts>(k).set("partial", View(from, 0, {4, 2})).set("sum", View(to, 0, {4})).step();
}

/// The message of what make() throws.
template <class Make>
std::string error_of(Make make) {
    try {
        make();
    } catch (const std::logic_error &error) {
        return error.what();
    }
    return "";
}

TEST(Step, AnArgumentThatIsNotSetIsNamed) {
    const KernelTraits k = kernel(count_calls);
    const std::string error =
        error_of([&] { Launch<Family::sum_of_parts>(k).set("partial", View(Operand::weight, 0, {4, 2})).step(); });
    EXPECT_NE(error.find("f32_abacus_sum takes an argument 'sum', which was not set"), std::string::npos) << error;
}

TEST(Step, AnArgumentOfAnotherKindOrDimensionIsNamed) {
    const KernelTraits k = kernel(count_calls);
    Launch<Family::sum_of_parts> launch(k);
    EXPECT_NE(error_of([&] { launch.set("partial", int64_t{3}); }).find("kind of argument 'partial'"), std::string::npos);
    EXPECT_NE(error_of([&] { launch.set("sum", View(Operand::weight, 0, {4, 2})); }).find("dimensions of 'sum'"),
              std::string::npos);
    const KernelTraits other_kernel = kernel(count_calls, Family::sum_of_output_parts);
    Launch<Family::sum_of_output_parts> other(other_kernel);
    EXPECT_NE(error_of([&] { other.set("slope", int64_t{1}); }).find("kind of argument 'slope'"), std::string::npos);
}

TEST(Step, AKernelOfAnotherFamilyIsRefused) {
    const KernelTraits k = kernel(count_calls);
    EXPECT_NE(error_of([&] { Launch<Family::forward> launch(k); }).find("no arguments of family forward"), std::string::npos);
}

// The scalars of an axis go to that axis, whatever their order in the source is.
TEST(Step, ScalarsOfAnAxisFindTheirPlaces) {
    const Problem p = Problem::parse("ic1oc1ih1iw1kh2kw3sh4sw5dh6dw7");
    static std::vector<int32_t> scalars;
    KernelTraits k = kernel([](void **args) {
        for (int i = 3; i < 9; i++) scalars.push_back(*static_cast<int32_t *>(args[i]));
        return 0;
    }, Family::input_gradient);
    const View tensor(Operand::weight, 0, {1, 1, 1, 1, 1});
    const Step step = Launch<Family::input_gradient>(k)
                          .set_axes("dilation", p, [](const Axis &a) { return a.dilation; })
                          .set_axes("kernel", p, [](const Axis &a) { return a.kernel; })
                          .set("input_gradient", tensor)
                          .set_axes("stride", p, [](const Axis &a) { return a.stride; })
                          .set("weight", tensor)
                          .set("output_gradient", tensor)
                          .step();
    RunContext context;
    scalars.clear();
    EXPECT_TRUE(step.run({}, {}, context).ok());
    EXPECT_EQ(scalars, (std::vector<int32_t>{3, 5, 7, 2, 4, 6}));
}

TEST(View, IsDenseUntilToldOtherwise) {
    View view(Operand::output, 100, {7, 5, 3});
    EXPECT_EQ(view.dimensions()[2].stride, 35);
    view.set_stride(2, 70).set_min(0, -2).begin_early(1, 2);
    EXPECT_EQ(view.offset(), 100 - 2 * 7);
    EXPECT_EQ(view.dimensions()[1].extent, 7);
    EXPECT_EQ(view.dimensions()[2].stride, 70);
    EXPECT_EQ(view.dimensions()[0].min, -2);
}

TEST(Recipe, RegionsAreAlignedAndThePackedWeightComesLast) {
    for (const auto &[device, alignment] : {std::pair{Device::cpu, 64}, {Device::cuda, 256}}) {
        const KernelTraits k = kernel(count_calls);
        Recipe recipe(device);
        EXPECT_EQ(recipe.workspace_bytes(false), 0u);
        recipe.add_region("odd", 4);
        recipe.add_region("other", 12);
        recipe.add_weight_packing({sum_step(k, Operand::weight, Operand::packed_weight)}, 20);
        EXPECT_EQ(recipe.regions()[0].offset, 0);
        EXPECT_EQ(recipe.regions()[1].offset, alignment);
        EXPECT_EQ(recipe.workspace_bytes(true), alignment + 12u);
        EXPECT_EQ(recipe.workspace_bytes(false), 2 * alignment + 20u);
        EXPECT_EQ(recipe.packed_weight_bytes(), 20u);
    }
}

TEST(Recipe, NamesWhatIsMissing) {
    const KernelTraits k = kernel(count_calls);
    Recipe recipe(Device::cpu);
    recipe.add_weight_packing({sum_step(k, Operand::weight, Operand::packed_weight)}, 20);
    recipe.add(sum_step(k, Operand::packed_weight, Operand::output));
    float data;
    Arguments arguments;
    EXPECT_STREQ(recipe.missing_argument(arguments), "weight");
    arguments.weight = &data;
    EXPECT_STREQ(recipe.missing_argument(arguments), "output");
    arguments.output = &data;
    EXPECT_EQ(recipe.missing_argument(arguments), nullptr);
    arguments.weight = nullptr, arguments.packed_weight = &data;
    EXPECT_EQ(recipe.missing_argument(arguments), nullptr);
}

TEST(Recipe, RunsEveryStepAndRehearsesThoseThatDiffer) {
    const KernelTraits k = kernel(count_calls);
    Recipe recipe(Device::cpu);
    recipe.add_weight_packing({sum_step(k, Operand::weight, Operand::packed_weight)}, 20);
    recipe.add(sum_step(k, Operand::packed_weight, Operand::output));
    recipe.add(sum_step(k, Operand::packed_weight, Operand::output), true);
    float data[100];
    Arguments arguments;
    arguments.weight = arguments.output = data;
    const auto calls = [&](bool rehearsal) {
        RunContext context;
        context.rehearsal = rehearsal;
        seen = {};
        EXPECT_TRUE(recipe.run(arguments, data, context).ok());
        EXPECT_EQ(seen.context, &context);
        return seen.calls;
    };
    EXPECT_EQ(calls(false), 3);
    EXPECT_EQ(calls(true), 2);
    arguments.packed_weight = data;
    EXPECT_EQ(calls(false), 2);
}

// Four kinds of launch, for full and last ranges of either kind; addresses tell which range it was.
TEST(Recipe, LaunchesEveryRangeOnce) {
    static std::vector<std::pair<int64_t, int64_t>> launches;  // begin and elements
    static float data[10 * 7];
    const KernelTraits k = kernel([](void **args) {
        const auto *buffer = static_cast<const halide_buffer_t *>(args[2]);
        launches.emplace_back(reinterpret_cast<const float *>(buffer->host) - data, buffer->dim[0].extent);
        return 0;
    });
    for (const auto &[outer, inner] : {std::pair{Cut{10, 4}, Cut{7, 3}}, {{8, 4}, {6, 3}}, {{3, 4}, {7, 7}}, {{5, 1}, {2, 3}}}) {
        Recipe recipe(Device::cpu);
        recipe.add_launches(outer, inner, [&](const LaunchRange &range) {
            return std::vector{Launch<Family::sum_of_parts>(k)
                                   .set("partial", View(Operand::weight, 0, {4, 2}))
                                   .set("sum", View(Operand::output, range.first_image * 7 + range.first_group,
                                                    {range.images * range.groups}))
                                   .step()};
        });
        Arguments arguments;
        arguments.weight = arguments.output = data;
        RunContext context;
        launches.clear();
        EXPECT_TRUE(recipe.run(arguments, nullptr, context).ok());
        std::vector<std::pair<int64_t, int64_t>> expected;
        for (int64_t n = 0; n < outer.total; n += outer.most)
            for (int64_t g = 0; g < inner.total; g += inner.most)
                expected.emplace_back(n * 7 + g,
                                      std::min(outer.most, outer.total - n) * std::min(inner.most, inner.total - g));
        std::sort(launches.begin(), launches.end());
        EXPECT_EQ(launches, expected);
        launches.clear();
        context.rehearsal = true;
        EXPECT_TRUE(recipe.run(arguments, nullptr, context).ok());
        EXPECT_EQ(launches.size(), 1u);
    }
}

// However many launches there are, a plan is made at once, and small.
TEST(Recipe, OfManyLaunchesIsMadeAtOnce) {
    PlanOptions options;
    options.device = Device::cpu;
    for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::bias_gradient}) {
        options.operation = operation;
        EXPECT_NO_THROW(Plan(Problem::parse("n17592186044416ic1oc1ih1iw1kh1kw1"), options));
    }
}

TEST(Recipe, EndsWithTheFirstError) {
    const KernelTraits failing = kernel(fail), k = kernel(count_calls);
    Recipe recipe(Device::cpu);
    recipe.add(sum_step(failing, Operand::weight, Operand::output));
    recipe.add(sum_step(k, Operand::weight, Operand::output));
    float data[8];
    Arguments arguments;
    arguments.weight = arguments.output = data;
    RunContext context;
    seen = {};
    const Status status = recipe.run(arguments, nullptr, context);
    EXPECT_EQ(status.code(), Status::Code::kernel_error);
    EXPECT_STREQ(status.message(), "f32_abacus_sum: the kernel failed");
    EXPECT_EQ(seen.calls, 0);
}

}  // namespace
}  // namespace conv_transpose::testing
