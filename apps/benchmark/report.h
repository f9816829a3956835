// What the benchmark prints and writes.
#ifndef CONV_TRANSPOSE_BENCHMARK_REPORT_H
#define CONV_TRANSPOSE_BENCHMARK_REPORT_H

#include <ostream>
#include <string>
#include <vector>

#include "measurement.h"

namespace conv_transpose::benchmark {

const char *name(Operation operation);
const char *name(Device device);
const char *name(Precision precision);
const char *name(ElementType type);
const char *name(Layout layout);

/// The device, its limits and the rules of the measurement, above the table.
void print_heading(std::ostream &out, Device device, const Peaks &peaks);
/// One line of the table.
void print_line(std::ostream &out, const Measurement &measurement);

std::string device_facts_json(Device device);
std::string csv_heading();
std::string csv_line(const Measurement &measurement);
/// One object on one line, so that a file with one a line holds what was measured even if the program is
/// killed.
std::string json_line(const Measurement &measurement);
/// All measurements with device, limits, version and date.
std::string json_document(const std::vector<Measurement> &measurements, Device device, const Peaks &peaks);

}  // namespace conv_transpose::benchmark

#endif
