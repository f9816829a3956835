// The documents' table of how far an Inf or NaN reaches (docs/reliability.md), beside what the registry says of each kernel.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "choice/registry.h"

namespace conv_transpose::testing {
namespace {

/// A row of the documents' table: patterns of kernels' names, and how far one reaches.
struct DocumentedReach {
    std::vector<std::string> patterns;
    std::string reach;

    bool has(std::string_view kernel) const {
        return std::any_of(patterns.begin(), patterns.end(), [&](const std::string &pattern) {
            return fnmatch(pattern.c_str(), std::string(kernel).c_str(), 0) == 0;
        });
    }
    bool is_strict() const { return reach.rfind("no", 0) == 0; }
    bool is_of_some() const { return reach.rfind("of some", 0) == 0; }
};

std::vector<DocumentedReach> documented_reaches() {
    std::vector<DocumentedReach> rows;
    std::ifstream file(CONV_TRANSPOSE_DOCUMENTS "/reliability.md");
    bool in_section = false;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("## ", 0) == 0) in_section = line == "## How far an Inf or NaN reaches";
        if (!in_section || line.rfind("| `", 0) != 0) continue;
        DocumentedReach row;
        const size_t end = line.find('|', 2), reach = line.find('|', end + 1) + 2;
        row.reach = line.substr(reach);
        for (size_t begin = line.find('`'); begin < end; begin = line.find('`', begin)) {
            const size_t behind = line.find('`', begin + 1);
            row.patterns.push_back(line.substr(begin + 1, behind - begin - 1));
            begin = behind + 1;
        }
        rows.push_back(row);
    }
    return rows;
}

// The first row that has a kernel's name tells of it what the registry does.
TEST(PropagationTable, IsThatOfTheRegistry) {
    const std::vector<DocumentedReach> rows = documented_reaches();
    if (rows.empty()) GTEST_SKIP() << "the documents are not on this machine";
    for (const KernelTraits &kernel : registry()) {
        if (kernel.role != KernelRole::compute) continue;
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const DocumentedReach &r) { return r.has(kernel.name); });
        ASSERT_NE(row, rows.end()) << "no row has " << kernel.name;
        if (row->is_of_some()) continue;
        EXPECT_EQ(kernel.strict_propagation, row->is_strict()) << kernel.name << ": " << row->reach;
    }
}

}  // namespace
}  // namespace conv_transpose::testing
