// Chooses the problems of shapes.txt: for each kernel, of many that it accepts, the few that reach most goals
// (coverage.h) in the least time of ptx_machine. Prints lines for shapes.txt.
//     find_shapes SECONDS SHAPES [KERNEL...]      SECONDS: for each kernel; SHAPES: lines to begin with, or
//     /dev/null
// With the word `fault` before these: for a kernel into which a fault was put (mutants.py), the first problem by which it
// shows.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "drawn_runs.h"
#include "kernel_run.h"

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

Candidate run(const KernelRun &run) {
    take_reached(run.kernel);
    const std::clock_t begin = std::clock();
    const std::string error = run.error();
    if (!error.empty()) throw std::runtime_error(run.str() + ": " + error);
    return {run, take_reached(run.kernel), double(std::clock() - begin) / CLOCKS_PER_SEC};
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
    std::erase_if(bases, [](const Candidate &c) { return c.run.operation() != Operation::forward; });
    bases.resize(std::min<size_t>(bases.size(), 6));
    for (int version = 0; version < 15; version++)
        for (const Candidate &base : bases) {
            KernelRun one = base.run;
            one.epilogue.activation = static_cast<Activation>(version % 5);
            one.offset = version >= 5, one.shifted = version >= 10 ? "output" : "";
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
