// How far tests reach into the code that was loaded. The goals are: each instruction executed, each branch
// taken and passed, each loop repeated, each comparison made of equal values, where a mistake by one shows.
#ifndef CONV_TRANSPOSE_PTX_MACHINE_COVERAGE_H
#define CONV_TRANSPOSE_PTX_MACHINE_COVERAGE_H

#include <cstddef>
#include <string>

#include "ptx_program.h"

namespace ptx_machine {

/// From now on until the process ends, when PTX_MACHINE_COVERAGE names a file: what was not reached is
/// appended to it. For each module there is a line
///     NAME INSTRUCTIONS FLOW
/// where FLOW is the same for modules whose blocks follow each other in the same way, and for each goal that was not
/// reached a tabulator, the instruction's number, the goal, the instruction's block with the number of its condition
/// there, and its text. tests/ptx_machine/coverage.py makes a table of it.
void watch(const std::string &name, const Module *module);

}  // namespace ptx_machine

/// For find_shapes.cpp: of the modules with this name, whatever the GPU, the number of goals. Tells which of
/// the first `capacity` have been reached and, where there are such, forgets.
extern "C" size_t ptx_machine_take_goals(const char *name, unsigned char *reached, size_t capacity);

#endif
