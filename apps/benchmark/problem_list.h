// The problems to measure: from the command line, from shapes files, and series in which one size grows.
#ifndef CONV_TRANSPOSE_BENCHMARK_PROBLEM_LIST_H
#define CONV_TRANSPOSE_BENCHMARK_PROBLEM_LIST_H

#include <string>
#include <vector>

#include "conv_transpose/conv_transpose.h"

namespace conv_transpose::benchmark {

struct NamedProblem {
    std::string name;
    Problem problem;
};

/// A problem string, validated.
NamedProblem parse_problem(const std::string &text);

/// A shapes file has a problem string a line, then the problem's name; '#' begins a comment.
std::vector<NamedProblem> read_shapes(const std::string &path);

/// The problem with batch 1, 2, 4 ... 64.
std::vector<NamedProblem> batch_series(const NamedProblem &base);

/// The problem with square inputs from 128x128 to 4096x4096.
std::vector<NamedProblem> size_series(const NamedProblem &base);

}  // namespace conv_transpose::benchmark

#endif
