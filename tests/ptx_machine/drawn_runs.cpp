// Problems that find_shapes tries: see drawn_runs.h.
#include "drawn_runs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>

namespace conv_transpose::testing {
namespace {

const char *const attributes[] = {"kh3kw3",
                                  "kh3kw5",
                                  "kh3kw7",
                                  "kh2kw2sh2sw2",
                                  "kh3kw3sh2sw2ph1pw1",
                                  "kh4kw4sh2sw2ph1pw1",
                                  "kh9kw9sh2sw2ph4pw4",
                                  "kh9kw9sh3sw3ph4pw4",
                                  "kh9kw9sh4sw4ph4pw4",
                                  "kh3kw5sh2sw3ph1pw2dh2",
                                  "kh3kw3sh5sw5ph1pw1dh2dw2",
                                  "kh4kw4sh4sw4ph1pw2",
                                  "kh1kw4sh1sw2pw1",
                                  "kh5kw5sh2sw2ph2pw2",
                                  "kh1kw8sh1sw4pw2",
                                  "kh1kw10sh1sw5pw3",
                                  "kh1kw16sh1sw8pw4",
                                  "kh16kw16sh8sw8ph4pw7",
                                  "kh1kw8sh1sw2pw3",
                                  "kh18kw1sh3sw1ph7",
                                  "kh1kw24sh1sw4pw10",
                                  "kh30kw1sh5sw1ph12",
                                  "kh1kw36sh1sw6pw15",
                                  "kh42kw1sh7sw1ph17",
                                  "kh1kw48sh1sw8pw20",
                                  "kh1kw1",
                                  "kh3kw4sh4sw6ph1pw2dh2dw4",  // phases that no tap reaches
                                  "kh2kw3sh3sw2dh2dw3",
                                  "kh16kw1sh2sw1ph3",
                                  "kh1kw12sh1sw3pw3",
                                  "kh16kw1sh4sw1",
                                  "kh1kw20sh1sw5",
                                  "kh24kw1sh6sw1",
                                  "kh1kw14sh1sw7",
                                  "kh16kw1sh8sw1"};
const char *const channels[] = {"ic64oc64", "ic64oc128",  "ic32oc32",  "ic16oc32g2", "ic32oc64",  "ic64oc3",
                                "ic56oc1",  "ic512oc256", "ic128oc64", "ic64oc32",   "ic128oc96", "ic64oc96"};

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

double products(const Problem &p) {
    double all = double(p.batch) * p.in_channels * (p.out_channels / std::max<int64_t>(p.groups, 1));
    for (const Axis &axis : p.axes) all *= double(axis.input) * axis.kernel;
    return all;
}

/// Attributes that kernels were made for, channels on either side of tiles, sizes from one pixel to a few
/// tiles.
Problem draw(RandomProblems &random) {
    for (;;) {
        Problem p = random.one_in(6)
                        ? random.next()
                        : Problem::parse(attributes[random.between(0, std::size(attributes) - 1)]);
        p.batch = random.one_in(3) ? random.between(2, 5) : 1;
        if (random.one_in(3)) {
            const Problem exact = Problem::parse(channels[random.between(0, std::size(channels) - 1)]);
            p.groups = exact.groups, p.in_channels = exact.in_channels * exact.groups,
            p.out_channels = exact.out_channels * exact.groups;
        } else {
            const auto some = [&]() -> int64_t {
                if (random.one_in(3)) return random.between(1, 9);
                if (random.one_in(3)) return random.between(10, 40);
                if (random.one_in(2)) return 32 * random.between(1, 4);
                return random.between(41, 150);
            };
            p.groups = random.one_in(4) ? random.between(2, 4) : 1;
            const bool depthwise = random.one_in(5);
            if (depthwise) p.groups = random.between(1, 9);
            p.in_channels = p.groups * (depthwise ? 1 : some());
            p.out_channels = p.groups * (depthwise ? 1 : some());
        }
        const auto size = [&]() -> int64_t {
            if (random.one_in(3)) return random.between(1, 4);
            return random.one_in(2) ? random.between(5, 20) : random.between(20, 140);
        };
        p.height().input = std::min(size(), size()), p.width().input = size();
        // Rows of whole tiles, of up to 256 positions.
        if (random.one_in(5)) p.height().input = random.between(1, 5), p.width().input = random.between(120, 330);
        if (random.one_in(4)) {
            p.rank = 3, p.depth() = p.height();
            p.depth().input = random.between(1, 4);
            p.depth().kernel = std::min<int64_t>(p.depth().kernel, random.between(1, 5));
        }
        for (int i = 3 - p.rank; i < 3; i++) {
            Axis &axis = p.axes[i];
            axis.padding += axis.stride * random.between(0, 1);
            axis.output_padding = random.one_in(2) ? 0 : random.between(0, axis.stride - 1);
        }
        if (products(p) > 3e7) continue;
        try {
            p.validate();
            if (p.output_elements() < 400000) return p;
        } catch (const InvalidProblem &) {
        }
    }
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
    Problem p = draw(random);
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
    if (has("_to_n")) run.input.layout = Layout::channels_first;
    if (random.one_in(4)) run.weight.layout = Layout::channels_first;
    if (random.one_in(6)) run.weight.type = ElementType::float32;
    if (kernel_named(kernel).operation == Operation::forward) {
        run.epilogue.bias = random.one_in(2);
        if (random.one_in(3)) run.epilogue.activation = static_cast<Activation>(random.between(1, 4));
    }
    return run;
}

}  // namespace

bool is_small_and_valid(const Problem &p) {
    try {
        p.validate();
    } catch (const InvalidProblem &) {
        return false;
    }
    return p.output_elements() < 400000 && products(p) < 2e7;
}

void sort_by_cost(std::vector<KernelRun> &runs) {
    const auto cost = [](const KernelRun &r) {
        const Problem &p = r.problem;
        return products(p) + 100. * (p.output_elements() + p.input_elements());
    };
    std::stable_sort(runs.begin(), runs.end(), [&](const KernelRun &a, const KernelRun &b) { return cost(a) < cost(b); });
}

std::map<std::string, std::vector<KernelRun>> draw_for_every_kernel(int problems) {
    std::map<std::string, std::vector<KernelRun>> all;
    RandomProblems random(5);
    for (int n = 0; n < problems; n++) {
        const Problem problem = draw(random);
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
                    if (info.operation != operation || info.precision != precision) continue;
                    KernelRun run = formats;
                    run.kernel = kernel;
                    run.problem = problem;
                    if (operation == Operation::forward) {
                        run.epilogue.bias = random.one_in(2);
                        if (random.one_in(3))
                            run.epilogue.activation = static_cast<Activation>(random.between(1, 4));
                    }
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
        const KernelRun run = draw_like(kernel, random);
        if (!is_small_and_valid(run.problem)) continue;
        PlanOptions options;
        options.device = Device::cuda, options.operation = info.operation, options.precision = info.precision;
        options.input = run.input, options.weight = run.weight, options.output = run.output;
        const std::vector<std::string_view> accepting = kernels_for(run.problem, options);
        if (std::count(accepting.begin(), accepting.end(), kernel)) runs.push_back(run);
    }
    sort_by_cost(runs);
    return runs;
}

KernelRun varied(KernelRun run, RandomProblems &random) {
    Problem &p = run.problem;
    const auto channels = [&](int64_t &count) {
        if (random.one_in(3))
            count = p.groups * 32 * random.between(1, 4);
        else
            count = random.one_in(3) ? p.groups * random.between(1, 330)
                                     : std::max<int64_t>(p.groups, count + p.groups * random.between(-8, 8));
    };
    const auto attribute = [&](Axis &axis) {
        int64_t &any = axis.*std::array{&Axis::kernel, &Axis::stride, &Axis::dilation, &Axis::padding}[random.between(0, 3)];
        any = std::max<int64_t>(&any == &axis.padding ? 0 : 1, any + random.between(-1, 2));
    };
    const auto size = [&](int64_t &length) {
        if (random.one_in(2))
            length = std::max<int64_t>(1, length + random.between(-3, 3));
        else
            length = random.one_in(2) ? 8 << random.between(0, 5) : random.between(1, random.one_in(2) ? 140 : 330);
    };
    for (int change = random.between(1, 3); change > 0; change--) switch (random.between(0, 15)) {
            case 0:
            case 1:
                run.offset = static_cast<int>(random.between(0, 3));
                break;
            case 2:
                run.epilogue.bias = !run.epilogue.bias;
                break;
            case 3:
            case 10:
                run.epilogue.activation =
                    static_cast<Activation>(random.one_in(2) ? 0 : random.between(1, 4));
                break;
            case 4:
                channels(p.in_channels);
                break;
            case 5:
                channels(p.out_channels);
                break;
            case 6:
                size(p.height().input);
                break;
            case 7:
                size(p.width().input);
                break;
            case 11:
                p.batch = random.between(1, 7);
                break;
            case 12:
                attribute(p.height());
                break;
            case 13:
                attribute(p.width());
                break;
            case 14:
                run.grid = random.one_in(3) ? 0 : static_cast<int>(random.between(1, 4));
                break;
            case 8:
                p.width().padding += p.width().stride * random.between(-1, 1);
                break;
            default:
                p.width().output_padding = random.between(0, p.width().stride - 1);
                break;
        }
    const Operation operation = kernel_named(run.kernel).operation;
    if (operation != Operation::forward) run.epilogue = {};
    if (operation != Operation::weight_gradient) run.grid = 0;
    return run;
}

}  // namespace conv_transpose::testing
