// Chooses the problems of shapes.txt: for each kernel, of many that it accepts, the few that reach most goals
// (coverage.h) in the least time of ptx_machine. Prints lines for shapes.txt.
//     find_shapes SECONDS SHAPES [KERNEL...]      SECONDS: for each kernel; SHAPES: lines to begin with, or
//     /dev/null
// With the word `fault` before these: for a kernel into which a fault was put (mutants.py), the first problem by which it
// shows.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "kernel_run.h"
#include "random_problems.h"

namespace conv_transpose::testing {
namespace {

using Flags = std::vector<unsigned char>;

/// Which goals in the kernel's text (coverage.h) have been reached since the last call.
Flags take_reached(const std::string &kernel) {
    using Take = size_t (*)(const char *, unsigned char *, size_t);
    static const auto take =
        reinterpret_cast<Take>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "ptx_machine_take_goals"));
    if (!take) throw std::runtime_error("libcuda.so.1 is not ptx_machine's");
    Flags flags(take(kernel.c_str(), nullptr, 0));
    take(kernel.c_str(), flags.data(), flags.size());
    return flags;
}

size_t count(const Flags &flags) {
    return std::count(flags.begin(), flags.end(), 1);
}

Flags either(const Flags &a, const Flags &b) {
    if (a.empty()) return b;
    Flags all = a;
    for (size_t i = 0; i < b.size(); i++) all[i] |= b[i];
    return all;
}

/// A problem that was run.
struct Candidate {
    KernelRun run;
    Flags reached;
    double seconds;
};

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

/// Those of many draws that the kernel accepts.
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

Candidate run(const KernelRun &run) {
    take_reached(run.kernel);
    const std::clock_t begin = std::clock();
    const std::string error = run.error();
    if (!error.empty()) throw std::runtime_error(run.str() + ": " + error);
    return {run, take_reached(run.kernel), double(std::clock() - begin) / CLOCKS_PER_SEC};
}

/// Another problem like this one: other parts of tiles, other addresses. The kernel may not accept it.
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
    for (int change = random.between(1, 3); change > 0; change--) switch (random.between(0, 14)) {
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
            case 8:
                p.width().padding += p.width().stride * random.between(-1, 1);
                break;
            default:
                p.width().output_padding = random.between(0, p.width().stride - 1);
                break;
        }
    if (kernel_named(run.kernel).operation != Operation::forward) run.epilogue = {};
    return run;
}

/// The cheapest first, then ever dearer ones, then variations of those that reached something, for some time.
std::vector<Candidate> try_out(const std::vector<KernelRun> &given, const std::vector<KernelRun> &drawn,
                               double seconds) {
    std::vector<Candidate> tried;
    Flags all;
    double spent = 0;
    const auto attempt = [&](const KernelRun &one) {
        try {
            tried.push_back(run(one));
        } catch (const Unsupported &) {
            return;
        } catch (const std::exception &error) {
            std::fprintf(stderr, "ERROR %s\n", error.what());
            return;
        }
        spent += tried.back().seconds;
        const size_t before = count(all);
        all = either(all, tried.back().reached);
        if (count(all) == before) tried.pop_back();
    };
    const auto complete = [&] { return !all.empty() && count(all) == all.size(); };
    for (const KernelRun &one : given) attempt(one);
    const size_t steps = std::min<size_t>(drawn.size(), 40);
    for (size_t n = 0; n < steps && spent < seconds && !complete(); n++)
        attempt(drawn[n * drawn.size() / steps]);
    // What follows the sums has versions for each activation, for whole and partial tiles, and for addresses.
    std::vector<Candidate> bases = tried;
    std::stable_sort(bases.begin(), bases.end(), [](const Candidate &a, const Candidate &b) {
        return count(a.reached) > count(b.reached);
    });
    bases.resize(std::min<size_t>(bases.size(), 4));
    if (!bases.empty() && kernel_named(bases.front().run.kernel).operation == Operation::forward)
        for (int version = 0; version < 10; version++)
            for (const Candidate &base : bases) {
                KernelRun one = base.run;
                one.epilogue.activation = static_cast<Activation>(version % 5);
                one.offset = version / 5;
                if (spent < seconds && !complete()) attempt(one);
            }
    RandomProblems random(6);
    for (int n = 0; n < 2000 && !tried.empty() && spent < seconds && !complete(); n++) {
        const Candidate &a = tried[random.between(0, tried.size() - 1)],
                        &b = tried[random.between(0, tried.size() - 1)];
        const KernelRun one = varied((a.seconds < b.seconds ? a : b).run, random);
        if (is_small_and_valid(one.problem)) attempt(one);
    }
    return tried;
}

/// Most new instructions a second first.
std::vector<Candidate> choose(std::vector<Candidate> tried) {
    std::vector<Candidate> chosen;
    Flags all(tried.empty() ? 0 : tried.front().reached.size());
    for (;;) {
        Candidate *best = nullptr;
        double best_rate = 0;
        for (Candidate &c : tried) {
            const double rate = (count(either(all, c.reached)) - count(all)) / (c.seconds + 0.01);
            if (rate > best_rate) best = &c, best_rate = rate;
        }
        if (!best) return chosen;
        all = either(all, best->reached);
        chosen.push_back(*best);
    }
}

void search(const std::string &kernel, const std::vector<KernelRun> &given,
            const std::vector<KernelRun> &drawn, double seconds) {
    const std::vector<Candidate> chosen = choose(try_out(given, drawn, seconds));
    Flags all;
    double spent = 0;
    for (const Candidate &c : chosen) {
        std::printf("%s\n", c.run.str().c_str());
        all = either(all, c.reached);
        spent += c.seconds;
    }
    std::fflush(stdout);
    std::fprintf(stderr, "%6.2f %% of %6zu, %2zu problems, %5.2f s, %4zu drawn: %s\n",
                 all.empty() ? 0. : 100. * count(all) / all.size(), all.size(), chosen.size(), spent,
                 drawn.size(), kernel.c_str());
}

/// Prints the first problem on which the kernel goes wrong: of those there are, of those drawn, and of variations of both,
/// for some time.
void seek_fault(std::vector<KernelRun> known, const std::vector<KernelRun> &drawn, double seconds) {
    const size_t steps = std::min<size_t>(drawn.size(), 30);
    for (size_t n = 0; n < steps; n++) known.push_back(drawn[n * drawn.size() / steps]);
    const std::clock_t begin = std::clock();
    const auto spent = [&] { return double(std::clock() - begin) / CLOCKS_PER_SEC; };
    const auto goes_wrong = [&](const KernelRun &one) {
        if (!is_small_and_valid(one.problem)) return false;
        try {
            const double before = spent();
            const bool wrong = !one.error().empty();
            if (wrong) std::printf("%s\n", one.str().c_str());
            if (spent() - before < 0.5) known.push_back(one);  // to be varied again
            return wrong;
        } catch (const Unsupported &) {
            return false;
        }
    };
    if (known.empty()) return;
    for (const KernelRun &one : std::vector<KernelRun>(known))
        if (goes_wrong(one) || spent() > seconds) return;
    RandomProblems random(8);
    while (spent() < seconds)
        if (goes_wrong(varied(known[random.between(0, static_cast<int64_t>(known.size()) - 1)], random))) return;
}

}  // namespace
}  // namespace conv_transpose::testing

int main(int argc, char **argv) {
    using namespace conv_transpose::testing;
    const bool of_fault = argc > 1 && std::string(argv[1]) == "fault";
    if (of_fault) argc--, argv++;
    if (argc < 3) return std::fprintf(stderr, "find_shapes [fault] SECONDS SHAPES [KERNEL...]\n"), 2;
    std::map<std::string, std::vector<KernelRun>> given;
    std::ifstream file(argv[2]);
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line[0] != '#') {
            const KernelRun run = KernelRun::parse(line);
            given[run.kernel].push_back(run);
        }
    std::vector<std::string> wanted(argv + 3, argv + argc);
    if (of_fault) {
        for (const std::string &kernel : wanted) seek_fault(given[kernel], draw_for(kernel, 1500), std::atof(argv[1]));
        return 0;
    }
    const auto drawn = draw_for_every_kernel(2500);
    if (wanted.empty())
        for (const conv_transpose::KernelInfo &kernel : conv_transpose::kernels())
            if (kernel.device == conv_transpose::Device::cuda) wanted.emplace_back(kernel.name);
    for (const std::string &kernel : wanted) {
        const auto found = drawn.find(kernel);
        std::vector<KernelRun> of_kernel = found == drawn.end() ? std::vector<KernelRun>() : found->second;
        if (of_kernel.size() < 60) {
            const std::vector<KernelRun> more = draw_for(kernel, 1500);
            of_kernel.insert(of_kernel.end(), more.begin(), more.end());
            sort_by_cost(of_kernel);
        }
        search(kernel, given[kernel], of_kernel, std::atof(argv[1]));
    }
}
