// See coverage.h.
#include "coverage.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

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
        std::string missing;
        for (const auto &[entry, kernel] : module)
            for (const Instruction &i : kernel->code) {
                for_each_goal(i, [&](Reached what, const char *goal) {
                    if (i.reached & what) return;
                    std::string text = i.text.substr(0, 100);
                    std::replace(text.begin(), text.end(), '\n', ' ');
                    missing += "\t" + std::to_string(all) + " " + goal + " " + text + "\n";
                });
                all++;
            }
        file << name << " " << all << "\n" << missing << std::flush;
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
