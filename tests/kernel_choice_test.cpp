// The kernels that accept a problem: the preferred one first, then by the estimate, each once.
#include "choice/kernel_choice.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

#include "choice/estimated_time.h"

namespace conv_transpose::testing {
namespace {

TEST(AcceptingKernels, BeginWithThePreferredOneAndNameEachOnce) {
    for (const char *text : {"n2ic64oc32ih20iw20kh4kw4sh2sw2ph1pw1", "n1g8ic8oc8ih20iw20kh3kw3", "n1ic64oc2iw400kw16sw8pw4"}) {
        const Problem problem = Problem::parse(text);
        PlanOptions options;
        options.device = Device::cpu;
        const auto names = kernels_for(problem, options);
        EXPECT_EQ(names.at(0), Plan(problem, options).kernel()) << text;
        EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size()) << text;
    }
}

TEST(AcceptingKernels, BeginWithThePreferredOneAndGoOnByTheEstimate) {
    for (const char *text : {"n2ic64oc32ih20iw20kh4kw4sh2sw2ph1pw1", "n1g8ic8oc8ih20iw20kh3kw3", "n1ic64oc2iw400kw16sw8pw4"})
        for (const Precision precision : {Precision::float32, Precision::tf32}) {
            const Problem problem = Problem::parse(text);
            PlanOptions options;
            options.device = Device::cuda, options.precision = precision;
            const std::vector<Candidate> all = accepting_candidates(problem, options, Device::cuda);
            if (all.empty()) continue;  // in a build without CUDA
            EXPECT_EQ(all[0].kernel.name, chosen_candidate(problem, options, Device::cuda).kernel.name) << text;
            std::set<std::string_view> names;
            for (const Candidate &c : all) names.insert(c.kernel.name);
            EXPECT_EQ(names.size(), all.size()) << text;
            const auto estimated = [](const Candidate &c) { return has_estimate(c.kernel); };
            for (size_t i = 2; i < all.size(); i++) {
                if (!estimated(all[i]) || !estimated(all[i - 1])) continue;
                EXPECT_GE(all[i].seconds, all[i - 1].seconds) << text << ", " << i;
            }
        }
}

}  // namespace
}  // namespace conv_transpose::testing
