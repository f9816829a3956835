// benchmark: verifies and times transposed convolutions. See --help.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "measurement.h"
#include "report.h"

using namespace conv_transpose;
using namespace conv_transpose::benchmark;

namespace {

struct CommandLine {
    std::vector<std::string> problems, shapes;
    std::vector<std::string> kernels;
    size_t first = 0;
    std::string series, csv, json;
    PlanOptions options;
    TensorFormat format;
    MeasuringRules rules;
    int threads = 0;
    double peak_tflops = 0, peak_gb_per_second = 0;
    bool list_kernels = false, json_lines = false, device_facts = false;
};

void declare(CLI::App &app, CommandLine &line) {
    const std::map<std::string, Operation> operations = {{"forward", Operation::forward},
                                                         {"input_gradient", Operation::input_gradient},
                                                         {"weight_gradient", Operation::weight_gradient},
                                                         {"bias_gradient", Operation::bias_gradient}};
    const std::map<std::string, Device> devices = {
        {"automatic", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}};
    const std::map<std::string, Precision> precisions = {
        {"float32", Precision::float32}, {"tf32", Precision::tf32}, {"tf32x3", Precision::tf32x3}};
    const std::map<std::string, ElementType> types = {{"float32", ElementType::float32},
                                                      {"float16", ElementType::float16},
                                                      {"bfloat16", ElementType::bfloat16}};
    const std::map<std::string, Layout> layouts = {{"channels_first", Layout::channels_first},
                                                   {"channels_last", Layout::channels_last}};
    app.add_option("problems", line.problems,
                   "Problem strings, such as n8g1ic64oc64ih256iw256kh4kw4sh2sw2ph1pw1");
    app.add_option("--shapes", line.shapes, "Files with a problem string and a name a line")
        ->check(CLI::ExistingFile);
    app.add_option("--series", line.series,
                   "Replace the one problem by a series: batch 1 to 64, or size 128 to 4096")
        ->check(CLI::IsMember({"batch", "size"}));
    app.add_option("--operation", line.options.operation)->transform(CLI::CheckedTransformer(operations));
    app.add_option("--device", line.options.device)->transform(CLI::CheckedTransformer(devices));
    app.add_option("--precision", line.options.precision)->transform(CLI::CheckedTransformer(precisions));
    app.add_option("--format", line.format.type, "Elements of all tensors")->transform(CLI::CheckedTransformer(types));
    app.add_option("--layout", line.format.layout, "Of all tensors")->transform(CLI::CheckedTransformer(layouts));
    app.add_option("--kernel", line.kernels, "Names of kernels, or 'all' for every one that accepts the problem");
    app.add_option("--first", line.first, "Of 'all' only as many, which the estimate takes to be the fastest");
    app.add_flag("--bias", line.options.epilogue.bias, "Add a bias");
    app.add_flag("--packed-weights", line.rules.packed_weights, "Pack weights once, before the clock starts");
    app.add_option("--seconds", line.rules.seconds, "Timed work for each kernel and problem")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--give-up-ratio", line.rules.give_up_ratio,
                   "Stop timing a kernel that is this much slower than the best so far");
    app.add_option("--threads", line.threads, "CPU threads; 0 is one a core")->check(CLI::NonNegativeNumber);
    app.add_option("--peak-tflops", line.peak_tflops, "The device's limit, instead of what is found out");
    app.add_option("--peak-gb-per-second", line.peak_gb_per_second, "Likewise");
    app.add_option("--csv", line.csv, "Write the measurements to this file");
    app.add_option("--json", line.json, "Likewise, with device, limits and date");
    app.add_flag("--json-lines", line.json_lines, "Print each measurement as a line of JSON instead of the table");
    app.add_flag("--device-facts", line.device_facts, "Print the device's name and compute capability as JSON");
    app.add_flag("--list-kernels", line.list_kernels, "Print the names of all kernels");
}

std::vector<NamedProblem> problems(const CommandLine &line) {
    std::vector<NamedProblem> all;
    for (const std::string &text : line.problems) all.push_back(parse_problem(text));
    for (const std::string &path : line.shapes)
        for (const NamedProblem &problem : read_shapes(path)) all.push_back(problem);
    if (all.empty()) throw std::runtime_error("give problem strings or --shapes; --help tells more");
    if (line.series.empty()) return all;
    if (all.size() != 1)
        throw std::runtime_error("--series extends one problem, but there are " + std::to_string(all.size()));
    return line.series == "batch" ? batch_series(all[0]) : size_series(all[0]);
}

// The kernels to measure for a problem; an empty name lets the plan choose.
std::vector<std::string> kernel_names(const CommandLine &line, const NamedProblem &problem) {
    if (line.kernels.empty()) return {""};
    if (line.kernels != std::vector<std::string>{"all"}) return line.kernels;
    auto names = kernels_for(problem.problem, line.options);
    if (line.first > 0 && names.size() > line.first) names.resize(line.first);
    return {names.begin(), names.end()};
}

Peaks peaks(const CommandLine &line) {
    Peaks found;
    if (line.peak_tflops == 0 || line.peak_gb_per_second == 0)
        found = Peaks::of(line.options);
    if (line.peak_tflops > 0) found.flops = line.peak_tflops * 1e12;
    if (line.peak_gb_per_second > 0) found.bytes = line.peak_gb_per_second * 1e9;
    return found;
}

void write(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text << "\n";
    if (!file.flush()) throw std::runtime_error("cannot write '" + path + "'");
}

std::vector<Measurement> measure_all(const CommandLine &line, const Peaks &limits) {
    std::vector<Measurement> all;
    for (const NamedProblem &problem : problems(line)) {
        double best_ms = 0;
        for (const std::string &kernel : kernel_names(line, problem)) {
            PlanOptions options = line.options;
            options.kernel = kernel;
            all.push_back(measure(problem, options, limits, line.rules, best_ms));
            const Measurement &m = all.back();
            if (line.json_lines)
                std::cout << json_line(m) << std::endl;
            else
                print_line(std::cout, m);
            if (m.error.empty() && (best_ms == 0 || m.ms_min < best_ms)) best_ms = m.ms_min;
        }
    }
    return all;
}

int run(CommandLine line) {
    if (line.list_kernels) {
        for (const KernelInfo &kernel : kernels()) std::cout << kernel.name << "\n";
        return 0;
    }
    if (line.options.device == Device::automatic)
        line.options.device = cuda_available() ? Device::cuda : Device::cpu;
    line.options.input = line.options.weight = line.options.output = line.format;
    set_cpu_threads(line.threads);
    if (line.device_facts) {
        std::cout << device_facts_json(line.options.device) << "\n";
        return 0;
    }
    const Peaks limits = peaks(line);
    if (!line.json_lines) print_heading(std::cout, line.options.device, limits);
    const std::vector<Measurement> all = measure_all(line, limits);
    if (!line.csv.empty()) {
        std::string text = csv_heading();
        for (const Measurement &m : all) text += "\n" + csv_line(m);
        write(line.csv, text);
    }
    if (!line.json.empty()) write(line.json, json_document(all, line.options.device, limits));
    const bool failed =
        std::any_of(all.begin(), all.end(), [](const Measurement &m) { return !m.error.empty(); });
    return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char **argv) {
    CLI::App app(
        "Verifies and times transposed convolutions: every result is checked against the definition first.");
    CommandLine line;
    declare(app, line);
    CLI11_PARSE(app, argc, argv);
    try {
        return run(line);
    } catch (const std::exception &error) {
        std::cerr << "benchmark: " << error.what() << "\n";
        return 2;
    }
}
