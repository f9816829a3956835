// The search space of a generator's schedule, listed for the autotuner.
#ifndef CONV_TRANSPOSE_COMPILER_SEARCH_SPACE_LISTING_H
#define CONV_TRANSPOSE_COMPILER_SEARCH_SPACE_LISTING_H

#include <string>

#include "Halide.h"

namespace conv_transpose {

/// A JSON object: "choices", for each parameter its values; "default", what the parameters are now;
/// "feasible", every combination that obeys the schedule's rules, as positions in the lists of values. All
/// empty for a schedule that cannot be tuned. Changes the generator's parameters.
std::string search_space_listing(Halide::Internal::AbstractGenerator &generator);

}  // namespace conv_transpose

#endif
