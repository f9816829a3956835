// Whether a result is right: compared, exactly, with the definition evaluated for single elements.
#ifndef CONV_TRANSPOSE_BENCHMARK_VERIFICATION_H
#define CONV_TRANSPOSE_BENCHMARK_VERIFICATION_H

#include <string>

#include "operands.h"

namespace conv_transpose::benchmark {

/// Element `i` of the operation's result, counted as it lies in memory, in double precision, from the definition.
double expected_element(const Problem &problem, const PlanOptions &options, const Data &data, int64_t i);

/// Runs the plan on integers and compares edges, corners and random elements of the result, which must be
/// equal, but for what Winograd's transforms round. Returns what is wrong, or an empty string. Leaves other data in the operands.
std::string verify(const Plan &plan, Operands &operands);

}  // namespace conv_transpose::benchmark

#endif
