// Problems that find_shapes tries: see drawn_runs.h.
#include "drawn_runs.h"

#include <algorithm>
#include <array>
#include <regex>

namespace conv_transpose::testing {
namespace {

/// Pictures of one type in any layouts, half of them plain; weights of that type or of float32.
void draw_formats(KernelRun &run, RandomProblems &random) {
    if (random.one_in(2)) return;
    const auto type = static_cast<ElementType>(random.between(0, 2));
    const bool mixed = random.one_in(3);
    const auto common = static_cast<Layout>(random.between(0, 1));
    const auto layout = [&] { return mixed ? static_cast<Layout>(random.between(0, 1)) : common; };
    run.input = {type, layout()}, run.output = {type, layout()};
    run.weight = {random.one_in(4) ? ElementType::float32 : type, layout()};
}

void draw_epilogue(KernelRun &run, RandomProblems &random) {
    run.epilogue.bias = random.one_in(2);
    if (random.one_in(3)) run.epilogue.activation = static_cast<Activation>(random.between(1, 4));
}

/// The numbers that follow a mark in a kernel's name, such as 3 and 5 after "_k" in ..._k3x5_s1x1_...
std::vector<int64_t> numbers_after(const std::string &name, const std::string &mark) {
    std::smatch found;
    if (!std::regex_search(name, found, std::regex(mark + "(\\d+)(?:x(\\d+))?(?=_|$)"))) return {};
    std::vector<int64_t> numbers{std::stoll(found[1])};
    if (found[2].matched) numbers.push_back(std::stoll(found[2]));
    return numbers;
}

/// The attributes, channels and formats that a kernel's name tells.
KernelRun draw_like(const std::string &kernel, RandomProblems &random) {
    const auto has = [&](const char *text) { return kernel.find(text) != std::string::npos; };
    KernelRun run;
    run.kernel = kernel;
    Problem p = random.next_layer(2, 3e7);
    if (has("dhw") != (p.rank == 3)) p.rank = has("dhw") ? 3 : 2, p.depth() = has("dhw") ? p.height() : Axis();
    if (p.rank == 3) p.depth().input = random.between(1, 3), p.depth().kernel = std::min<int64_t>(p.depth().kernel, 3);
    const auto of_plane = [&](const char *mark, int64_t Axis::*attribute, int64_t otherwise) {
        const std::vector<int64_t> told = numbers_after(kernel, mark);
        if (has("_any_")) return;
        p.height().*attribute = told.empty() ? otherwise : told.front();
        p.width().*attribute = told.empty() ? otherwise : told.back();
    };
    of_plane("_k", &Axis::kernel, 1), of_plane("_s", &Axis::stride, 1), of_plane("_d", &Axis::dilation, 1);
    of_plane("_p", &Axis::padding, 0), of_plane("_op", &Axis::output_padding, 0);
    if (!has("_any_"))
        for (Axis *axis : {&p.height(), &p.width()}) {
            if (has("gradient")) axis->padding = random.between(0, axis->kernel - 1);
            axis->padding += axis->stride * random.between(0, 1);
            axis->output_padding = random.one_in(2) ? 0 : random.between(0, axis->stride - 1);
        }
    if (const auto window = numbers_after(kernel, "_w"); !window.empty())
        p.width().kernel = window.front(), p.width().stride = p.width().dilation = 1;
    const auto channels = [&](int64_t least) { return least * random.between(1, 3); };
    if (const auto told = numbers_after(kernel, "_c"); told.size() == 2 && told.front() == 1) {
        p.groups = p.in_channels = p.out_channels = random.between(1, 9);
    } else if (!random.one_in(4)) {
        p.groups = 1, p.in_channels = channels(32), p.out_channels = channels(32);
        if (told.size() == 2) p.in_channels = channels(told.front()), p.out_channels = channels(told.back());
        if (told.size() == 1) p.in_channels = channels(told.front());
        if (has("parts")) p.in_channels = 128 * random.between(2, 6);
    }
    if (const auto few = numbers_after(kernel, "_oc"); !few.empty()) p.groups = 1, p.out_channels = few.front();
    if (const auto few = numbers_after(kernel, "_ic"); !few.empty()) p.groups = 1, p.in_channels = few.front();
    run.problem = p;
    const ElementType type = has("_bf16_")  ? ElementType::bfloat16
                             : has("_f16_") ? ElementType::float16
                                            : ElementType::float32;
    const Layout layout = has("hwc") ? Layout::channels_last : Layout::channels_first;
    run.input = run.weight = run.output = {type, layout};
    const Operation operation = kernel_named(kernel).operation;
    const bool reads_input = operation != Operation::input_gradient;
    if (has("nchw_to_nhwc")) (reads_input ? run.input : run.output).layout = Layout::channels_first;
    if (has("nhwc_to_nchw")) (reads_input ? run.output : run.input).layout = Layout::channels_first;
    if (random.one_in(4)) run.weight.layout = Layout::channels_first;
    if (random.one_in(6)) run.weight.type = ElementType::float32;
    if (operation == Operation::forward) draw_epilogue(run, random);
    return run;
}

void vary_channels(int64_t &count, int64_t groups, RandomProblems &random) {
    if (random.one_in(3))
        count = groups * 32 * random.between(1, 4);
    else
        count = random.one_in(3) ? groups * random.between(1, 330)
                                 : std::max<int64_t>(groups, count + groups * random.between(-8, 8));
}

void vary_size(int64_t &length, RandomProblems &random) {
    if (random.one_in(2))
        length = std::max<int64_t>(1, length + random.between(-3, 3));
    else
        length = random.one_in(2) ? 8 << random.between(0, 5) : random.between(1, random.one_in(2) ? 140 : 330);
}

void vary_attribute(Axis &axis, RandomProblems &random) {
    int64_t &any = axis.*std::array{&Axis::kernel, &Axis::stride, &Axis::dilation, &Axis::padding}[random.between(0, 3)];
    any = std::max<int64_t>(&any == &axis.padding ? 0 : 1, any + random.between(-1, 2));
}

/// Changes one thing.
void vary(KernelRun &run, RandomProblems &random) {
    Problem &p = run.problem;
    switch (random.between(0, 15)) {
        case 0:
        case 1:
            run.offset = static_cast<int>(random.between(0, 3));
            run.shifted = std::array{"", "input", "weight", "output", "output"}[random.between(0, 4)];
            break;
        case 2: run.epilogue.bias = !run.epilogue.bias; break;
        case 3:
        case 4: run.epilogue.activation = static_cast<Activation>(random.one_in(2) ? 0 : random.between(1, 4)); break;
        case 5: vary_channels(p.in_channels, p.groups, random); break;
        case 6: vary_channels(p.out_channels, p.groups, random); break;
        case 7: vary_size(p.height().input, random); break;
        case 8: vary_size(p.width().input, random); break;
        case 9: p.batch = random.between(1, 7); break;
        case 10: vary_attribute(p.height(), random); break;
        case 11: vary_attribute(p.width(), random); break;
        case 12: run.grid = random.one_in(3) ? 0 : static_cast<int>(random.between(1, 4)); break;
        case 13: p.width().padding += p.width().stride * random.between(-1, 1); break;
        default: p.width().output_padding = random.between(0, p.width().stride - 1); break;
    }
}

}  // namespace

bool is_small_and_valid(const Problem &p) {
    try {
        p.validate();
    } catch (const InvalidProblem &) {
        return false;
    }
    return p.output_elements() < 400000 && RandomProblems::products(p) < 2e7;
}

void sort_by_cost(std::vector<KernelRun> &runs) {
    const auto cost = [](const KernelRun &r) {
        const Problem &p = r.problem;
        return RandomProblems::products(p) + 100. * (p.output_elements() + p.input_elements());
    };
    std::stable_sort(runs.begin(), runs.end(), [&](const KernelRun &a, const KernelRun &b) { return cost(a) < cost(b); });
}

std::map<std::string, std::vector<KernelRun>> draw_for_every_kernel(int problems) {
    std::map<std::string, std::vector<KernelRun>> all;
    RandomProblems random(5);
    for (int n = 0; n < problems; n++) {
        const Problem problem = random.next_layer(random.one_in(4) ? 3 : 2, 3e7);
        KernelRun formats;
        draw_formats(formats, random);
        for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                    Operation::bias_gradient})
            for (Precision precision : {Precision::float32, Precision::tf32, Precision::tf32x3}) {
                PlanOptions options;
                options.device = Device::cuda;
                options.operation = operation;
                options.precision = precision;
                options.input = formats.input, options.weight = formats.weight, options.output = formats.output;
                for (const std::string_view kernel : kernels_for(problem, options)) {
                    const KernelInfo info = kernel_named(std::string(kernel));
                    if (info.precision != precision) continue;
                    KernelRun run = formats;
                    run.kernel = kernel;
                    if (info.operation != operation) run.computes = operation;
                    run.problem = problem;
                    if (operation == Operation::forward) draw_epilogue(run, random);
                    run.offset = random.one_in(4) ? static_cast<int>(random.between(1, 2)) : 0;
                    all[run.kernel].push_back(run);
                }
            }
    }
    for (auto &[kernel, runs] : all) sort_by_cost(runs);
    return all;
}

std::vector<KernelRun> draw_for(const std::string &kernel, int problems) {
    std::vector<KernelRun> runs;
    RandomProblems random(7);
    const KernelInfo info = kernel_named(kernel);
    for (int n = 0; n < problems; n++) {
        KernelRun run = draw_like(kernel, random);
        if (!is_small_and_valid(run.problem)) continue;
        PlanOptions options;
        options.device = Device::cuda, options.precision = info.precision;
        options.input = run.input, options.weight = run.weight, options.output = run.output;
        const auto accepts = [&](Operation operation) {
            options.operation = operation;
            const std::vector<std::string_view> accepting = kernels_for(run.problem, options);
            return std::count(accepting.begin(), accepting.end(), kernel) > 0;
        };
        if (accepts(info.operation)) {
            runs.push_back(run);
        } else if (info.operation == Operation::forward && accepts(Operation::input_gradient)) {
            run.computes = Operation::input_gradient, run.epilogue = {};
            runs.push_back(run);
        }
    }
    sort_by_cost(runs);
    return runs;
}

KernelRun varied(KernelRun run, RandomProblems &random) {
    for (int change = random.between(1, 3); change > 0; change--) vary(run, random);
    const Operation operation = run.operation();
    if (operation != Operation::forward) run.epilogue = {};
    if (run.epilogue.activation == Activation::prelu) run.epilogue.bias = true;  // its slopes stand behind biases
    if (operation != Operation::weight_gradient) run.grid = 0;
    return run;
}

}  // namespace conv_transpose::testing
