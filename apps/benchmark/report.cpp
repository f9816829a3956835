// Table, CSV and JSON: see report.h.
#include "report.h"

#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace conv_transpose::benchmark {

namespace {

using nlohmann::ordered_json;

template <class... Values>
std::string format(const char *pattern, Values... values) {
    char text[512];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

ordered_json to_json(const Measurement &m) {
    ordered_json row = {{"name", m.problem.name},
                        {"problem", m.problem.problem.str()},
                        {"operation", name(m.options.operation)},
                        {"device", name(m.device)},
                        {"precision", name(m.options.precision)},
                        {"format", name(m.options.input.type)},
                        {"layout", name(m.options.input.layout)},
                        {"kernel", m.kernel}};
    if (!m.error.empty()) {
        row["error"] = m.error;
        return row;
    }
    row["ms_median"] = m.ms_median;
    row["ms_min"] = m.ms_min;
    row["repeats"] = m.repeats;
    row["flops"] = m.work.flops;
    row["bytes"] = m.work.bytes;
    row["tflops"] = m.tflops();
    row["gb_per_second"] = m.gb_per_second();
    row["output_elements"] = m.problem.problem.output_elements();
    row["limit_ms"] = m.limit_ms;
    row["percent_of_limit"] = m.percent_of_limit();
    return row;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
}

}  // namespace

const char *name(Operation operation) {
    switch (operation) {
        case Operation::forward:
            return "forward";
        case Operation::input_gradient:
            return "input_gradient";
        case Operation::weight_gradient:
            return "weight_gradient";
        case Operation::bias_gradient:
            break;
    }
    return "bias_gradient";
}

const char *name(Device device) {
    return device == Device::cuda ? "cuda" : device == Device::cpu ? "cpu" : "automatic";
}

const char *name(Precision precision) {
    return precision == Precision::tf32 ? "tf32" : precision == Precision::tf32x3 ? "tf32x3" : "float32";
}

const char *name(ElementType type) {
    return type == ElementType::float16 ? "float16" : type == ElementType::bfloat16 ? "bfloat16" : "float32";
}

const char *name(Layout layout) { return layout == Layout::channels_last ? "channels_last" : "channels_first"; }

void print_heading(std::ostream &out, Device device, const Peaks &peaks) {
    out << device_facts(device).name
        << format(", limits %.4g TF/s and %.4g GB/s\n", peaks.flops * 1e-12, peaks.bytes * 1e-9)
        << format("%10s %10s %9s %9s %7s  %-40s %s\n", "median ms", "min ms", "TF/s", "GB/s", "limit",
                  "kernel", "problem");
}

void print_line(std::ostream &out, const Measurement &m) {
    const std::string problem =
        m.problem.problem.str() + (m.problem.name.empty() ? "" : "  " + m.problem.name);
    if (!m.error.empty())
        out << format("%49s  %-40s ", "failed", m.kernel.c_str()) << problem << "\n    " << m.error << "\n";
    else
        out << format("%10.4g %10.4g %9.4g %9.4g %6.1f%%  %-40s ", m.ms_median, m.ms_min, m.tflops(),
                      m.gb_per_second(), m.percent_of_limit(), m.kernel.c_str())
            << problem << "\n";
    out.flush();
}

std::string device_facts_json(Device device) {
    const DeviceFacts facts = device_facts(device);
    return ordered_json{{"device", name(device)},
                        {"name", facts.name},
                        {"compute_capability", facts.compute_capability},
                        {"multiprocessors", facts.multiprocessors}}
        .dump();
}

std::string csv_heading() {
    return "name,problem,operation,device,precision,format,layout,kernel,ms_median,ms_min,tflops,gb_per_second,limit_ms,"
           "percent_of_limit,error";
}

std::string csv_line(const Measurement &m) {
    const auto quoted = [](std::string text) {
        for (size_t i = 0; (i = text.find('"', i)) != std::string::npos; i += 2) text.insert(i, 1, '"');
        return '"' + text + '"';
    };
    std::string line = quoted(m.problem.name) + ',' + m.problem.problem.str() + ',' +
                       name(m.options.operation) + ',' + name(m.device) + ',' + name(m.options.precision) + ',' +
                       name(m.options.input.type) + ',' + name(m.options.input.layout) + ',' + m.kernel + ',';
    if (!m.error.empty()) return line + ",,,,,," + quoted(m.error);
    return line + format("%.6g,%.6g,%.6g,%.6g,%.6g,%.4g,", m.ms_median, m.ms_min, m.tflops(),
                         m.gb_per_second(), m.limit_ms, m.percent_of_limit());
}

std::string json_line(const Measurement &measurement) {
    return to_json(measurement).dump();
}

std::string json_document(const std::vector<Measurement> &measurements, Device device, const Peaks &peaks) {
    ordered_json document = {{"device", device_facts(device).name},
                             {"date", utc_now()},
                             {"version", version()},
                             {"peak_tflops", peaks.flops * 1e-12},
                             {"peak_gb_per_second", peaks.bytes * 1e-9},
                             {"measurements", ordered_json::array()}};
    for (const Measurement &m : measurements) document["measurements"].push_back(to_json(m));
    return document.dump(1);
}

}  // namespace conv_transpose::benchmark
