// upsample: enlarges PNG pictures. Which files, in what order, and what is told about each; see --help.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "device.h"
#include "enlarge.h"
#include "models.h"
#include "options.h"
#include "output_file.h"
#include "progress.h"

namespace {

namespace fs = std::filesystem;
using namespace upsample;

struct Job {
    std::string input, output;
};

bool is_png_name(const fs::path &path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    return extension == ".png";
}

/// One job, or one for every PNG of a folder, in the order of their names.
std::vector<Job> list_jobs(const Options &options) {
    if (options.input == "-" || !fs::is_directory(options.input)) {
        const bool into_folder =
            options.input != "-" && options.output != "-" && fs::is_directory(options.output);
        if (!into_folder) return {{options.input, options.output}};
        return {{options.input, (fs::path(options.output) / fs::path(options.input).filename()).string()}};
    }
    if (options.output == "-") throw PictureError("a folder cannot be written to standard output");
    fs::create_directories(options.output);
    std::vector<Job> jobs;
    for (const fs::directory_entry &entry : fs::directory_iterator(options.input)) {
        if (!entry.is_regular_file() || !is_png_name(entry.path())) continue;
        jobs.push_back(
            {entry.path().string(), (fs::path(options.output) / entry.path().filename()).string()});
    }
    std::sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) { return a.input < b.input; });
    return jobs;
}

struct FileCloser {
    void operator()(std::FILE *file) const {
        if (file != stdin) std::fclose(file);
    }
};
using InputFile = std::unique_ptr<std::FILE, FileCloser>;

InputFile open_input(const std::string &path) {
    if (path == "-") return InputFile(stdin);
    InputFile file(std::fopen(path.c_str(), "rb"));
    if (!file) throw PictureError(std::string("cannot be read: ") + std::strerror(errno));
    return file;
}

enum class Outcome { enlarged, skipped, failed };

/// Tells people or programs what became of a picture.
class Reporter {
  public:
    Reporter(const Options &options, const Method &method) : options_(options), method_(method) {}

    void enlarged(const Job &job, const Report &report) const {
        if (options_.json) {
            print({{"input", job.input},
                   {"output", job.output},
                   {"status", "enlarged"},
                   {"method", options_.model.empty()
                                  ? std::string(filter_names[static_cast<int>(options_.filter)])
                                  : options_.model},
                   {"scale", options_.scale},
                   {"device", device_name()},
                   {"input_width", report.input.shape.width},
                   {"input_height", report.input.shape.height},
                   {"width", report.output.width},
                   {"height", report.output.height},
                   {"channels", report.output.channels},
                   {"bits", report.input.bits},
                   {"seconds", report.seconds},
                   {"decoding_seconds", report.decoding_seconds},
                   {"enlarging_seconds", report.enlarging_seconds},
                   {"warnings", report.warnings}});
        }
        if (!options_.verbose) return;
        for (const std::string &warning : report.warnings) std::cerr << job.input << ": " << warning << '\n';
        std::cerr << job.input << ": " << report.input.shape.width << " x " << report.input.shape.height
                  << ", " << report.output.channels << " channels of " << report.input.bits << " bits, to "
                  << report.output.width << " x " << report.output.height << " on " << device_name() << " in "
                  << report.seconds << " s (decoding " << report.decoding_seconds << " s, enlarging "
                  << report.enlarging_seconds << " s)\n";
    }

    void skipped(const Job &job) const {
        if (options_.json) print({{"input", job.input}, {"output", job.output}, {"status", "skipped"}});
        if (options_.verbose) std::cerr << job.input << ": skipped, " << job.output << " exists\n";
    }

    void failed(const Job &job, const std::string &why) const {
        if (options_.json)
            print({{"input", job.input}, {"output", job.output}, {"status", "failed"}, {"error", why}});
        std::cerr << "upsample: " << job.input << ": " << why << '\n';
    }

  private:
    const char *device_name() const {
        return method_.device == conv_transpose::Device::cuda ? "cuda" : "cpu";
    }

    /// File names need not be UTF-8; JSON must be.
    static void print(const nlohmann::json &line) {
        std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    }

    const Options &options_;
    const Method &method_;
};

Report enlarge_file(const Job &job, const Options &options, const Method &method, Progress &progress) {
    const InputFile input = open_input(job.input);
    OutputFile output(job.output);
    const ProgressCalls calls = {
        [&](int64_t rows) { progress.start(fs::path(job.input).filename().string(), rows); },
        [&](int64_t rows) { progress.advance(rows); },
    };
    const Report report = enlarge(input.get(), output.stream(), method, options.limits,
                                  {options.compression, !options.strip}, calls);
    output.commit(options.overwrite);
    return report;
}

Outcome run_job(const Job &job, const Options &options, const Method &method) {
    const Reporter reporter(options, method);
    Progress progress(!options.quiet && !options.json);
    try {
        if (job.output != "-" && fs::exists(job.output) && !options.overwrite) {
            if (options.skip_existing) return reporter.skipped(job), Outcome::skipped;
            throw PictureError(job.output +
                               " exists; --overwrite replaces it, --skip-existing passes over it");
        }
        const Report report = enlarge_file(job, options, method, progress);
        progress.clear();
        reporter.enlarged(job, report);
        return Outcome::enlarged;
    } catch (const std::bad_alloc &) {
        progress.clear();
        reporter.failed(job, "there is not enough memory; a smaller --tile needs less");
    } catch (const std::exception &error) {
        progress.clear();
        reporter.failed(job, error.what());
    }
    return Outcome::failed;
}

int run(const Options &options) {
    if (options.list_models) {
        for (const std::string &name : list_models(options.model_folders)) std::cout << name << '\n';
        return success;
    }
    std::optional<Network> network;
    Method method;
    try {
        conv_transpose::set_cpu_threads(options.threads);
        method.device = resolve(options.device);
        if (!options.model.empty()) network.emplace(find_model(options.model, options.model_folders));
    } catch (const std::exception &error) {
        std::cerr << "upsample: " << error.what() << '\n';
        return not_available;
    }
    method.scale = options.scale;
    method.filter = options.filter;
    method.network = network ? &*network : nullptr;
    method.linear_light = options.linear_light;
    method.tile = options.tile;
    method.precision = options.precision;

    const std::vector<Job> jobs = list_jobs(options);
    std::vector<std::string> failures;
    for (const Job &job : jobs) {
        if (run_job(job, options, method) == Outcome::failed) failures.push_back(job.input);
    }
    if (failures.empty()) return success;
    if (jobs.size() > 1) {
        std::cerr << "upsample: " << failures.size() << " of " << jobs.size() << " pictures failed:\n";
        for (const std::string &name : failures) std::cerr << "  " << name << '\n';
    }
    return picture_failed;
}

}  // namespace

int main(int argc, char **argv) {
    Options options;
    int exit_code = success;
    if (!parse_command_line(argc, argv, options, exit_code)) return exit_code;
    remove_unfinished_output_on_signals();
    try {
        return run(options);
    } catch (const std::exception &error) {
        std::cerr << "upsample: " << error.what() << '\n';
        return picture_failed;
    }
}
