// Problems that find_shapes tries: drawn at random, like those that kernels were made for, and variations of others.
#ifndef CONV_TRANSPOSE_TESTS_DRAWN_RUNS_H
#define CONV_TRANSPOSE_TESTS_DRAWN_RUNS_H

#include <map>
#include <string>
#include <vector>

#include "kernel_run.h"
#include "random_problems.h"

namespace conv_transpose::testing {

/// Whether ptx_machine and the oracle take little time for it.
bool is_small_and_valid(const Problem &p);

/// The cheapest first.
void sort_by_cost(std::vector<KernelRun> &runs);

/// By kernel, of so many problems, those that it accepts.
std::map<std::string, std::vector<KernelRun>> draw_for_every_kernel(int problems);

/// Those of many draws that the kernel accepts.
std::vector<KernelRun> draw_for(const std::string &kernel, int problems);

/// Another problem like this one: other parts of tiles, other addresses. The kernel may not accept it.
KernelRun varied(KernelRun run, RandomProblems &random);

}  // namespace conv_transpose::testing

#endif
