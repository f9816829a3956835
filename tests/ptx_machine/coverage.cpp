// See coverage.h.
#include "coverage.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace ptx_machine {

namespace {

/// Calls function(Reached, name) for each goal of an instruction.
template <class Function>
void for_each_goal(const Instruction &i, Function function) {
    function(executed, "executed");
    if (i.kind == Kind::branch && i.guarded) {
        function(taken, "taken");
        function(passed, "passed");
    }
    if (i.loop >= 0) function(repeated, "repeated");
    if (i.compares) function(equal, "equal");
}

/// The blocks of a kernel, and which follow which.
struct ControlFlow {
    /// Each instruction's block and, where it has a condition, which of the block's conditions.
    std::vector<std::string> place;
    std::string text;

    explicit ControlFlow(const Kernel &kernel) {
        const std::vector<Instruction> &code = kernel.code;
        const auto ends = [](const Instruction &i) { return i.kind == Kind::branch || i.kind == Kind::exit; };
        std::set<int> begins{0};
        for (size_t at = 0; at < code.size(); at++) {
            if (code[at].kind == Kind::branch) begins.insert(code[at].number);
            if (ends(code[at])) begins.insert(static_cast<int>(at) + 1);
        }
        const auto block_of = [&](int at) {
            return std::to_string(std::distance(begins.begin(), begins.upper_bound(at)) - 1);
        };
        std::string block;
        int conditions = 0;
        for (size_t at = 0; at < code.size(); at++) {
            const Instruction &i = code[at];
            if (begins.count(static_cast<int>(at))) {
                text += ' ' + std::to_string(conditions) + ';';
                block = block_of(static_cast<int>(at)), conditions = 0;
            }
            place.push_back(block + '.' + std::to_string(i.guarded && !ends(i) ? ++conditions : 0));
            if (ends(i)) text += (i.guarded ? '?' : '!') + (i.kind == Kind::branch ? block_of(i.number) : "");
        }
    }
};

class Coverage {
  public:
    ~Coverage() {
        const char *const path = std::getenv("PTX_MACHINE_COVERAGE");
        if (!path) return;
        std::ofstream file(path, std::ios::app);
        for (const auto &[name, module] : modules) report(file, name, *module);
    }

    std::mutex mutex;
    std::map<std::string, const Module *> modules;

  private:
    static void report(std::ofstream &file, const std::string &name, const Module &module) {
        size_t all = 0;
        int entries = 0;  // of the module, each with blocks of its own
        std::string missing, flows;
        for (const auto &[entry, kernel] : module) {
            const ControlFlow flow(*kernel);
            const std::string of_entry = std::to_string(entries++) + ":";
            for (size_t at = 0; at < kernel->code.size(); at++, all++) {
                const Instruction &i = kernel->code[at];
                for_each_goal(i, [&](Reached what, const char *goal) {
                    if (i.reached & what) return;
                    std::string text = i.text.substr(0, 100);
                    std::replace(text.begin(), text.end(), '\n', ' ');
                    missing += "\t" + std::to_string(all) + " " + goal + " " + of_entry + flow.place[at] + " " + text + "\n";
                });
            }
            flows += flow.text;
        }
        file << name << " " << all << " " << std::hash<std::string>()(flows) << "\n" << missing << std::flush;
    }
};

Coverage &coverage() {
    static Coverage all;
    return all;
}

}  // namespace

void watch(const std::string &name, const Module *module) {
    const std::lock_guard lock(coverage().mutex);
    coverage().modules[name] = module;
}

}  // namespace ptx_machine

size_t ptx_machine_take_goals(const char *name, unsigned char *reached, size_t capacity) {
    using namespace ptx_machine;
    const std::lock_guard lock(coverage().mutex);
    size_t all = 0;
    for (const auto &[module_name, module] : coverage().modules) {
        if (module_name.substr(0, module_name.find('.')) != name) continue;
        for (const auto &[entry, kernel] : *module)
            for (const Instruction &i : kernel->code) {
                for_each_goal(i, [&](Reached what, const char *) {
                    if (all < capacity) reached[all] = (i.reached & what) != 0;
                    all++;
                });
                if (capacity) i.reached = 0;
            }
    }
    return all;
}
