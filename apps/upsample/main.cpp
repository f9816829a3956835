// upsample: enlarges pictures. Which files, in what order, and what is told about each; see --help.
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <iostream>
#include <optional>
#include <thread>

#include "device.h"
#include "enlarge.h"
#include "formats.h"
#include "jobs.h"
#include "models.h"
#include "options.h"
#include "output_file.h"
#include "printable.h"
#include "progress.h"
#include "raw_io.h"
#include "reporter.h"

namespace {

namespace fs = std::filesystem;
using namespace upsample;

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

/// What every picture of this call is enlarged with.
struct Session {
    const Options &options;
    Method method;
    MemoryBudget budget;
    Progress progress;
    int threads;  // of one picture
};

Report enlarge_file(const Job &job, Session &session) {
    const InputFile input = open_input(job.input);
    const std::unique_ptr<PictureReader> reader = open_picture(input.get(), session.options.limits);
    OutputFile output(job.output);
    int64_t height = 1;
    const ProgressCalls calls = {
        [&](int64_t rows) {
            height = rows;
            session.progress.start(fs::path(job.input).filename().string());
        },
        [&](int64_t rows) { session.progress.advance(rows, height); },
    };
    const Options &o = session.options;
    const WritingOptions writing = {job.format, o.compression, o.quality, o.lossless, !o.strip, session.threads};
    const Report report = enlarge(*reader, output.stream(), session.method, session.budget, writing, calls);
    output.commit(o.overwrite);
    return report;
}

enum class Outcome { enlarged, skipped, failed };

struct Result {
    Outcome outcome = Outcome::failed;
    Told told;
};

Result run_job(const Job &job, Session &session) {
    const Reporter reporter(session.options, session.method);
    std::string why = job.fault;
    try {
        if (!why.empty()) throw PictureError(why);
        if (is_existing_file(job.output) && !session.options.overwrite) {
            if (session.options.skip_existing) return {Outcome::skipped, reporter.skipped(job)};
            throw PictureError(job.output + " exists; --overwrite replaces it, --skip-existing passes over it");
        }
        return {Outcome::enlarged, reporter.enlarged(job, enlarge_file(job, session))};
    } catch (const std::bad_alloc &) {
        why = "there is not enough memory; a smaller --tile needs less";
    } catch (const std::exception &error) {
        why = error.what();
    }
    return {Outcome::failed, reporter.failed(job, why)};
}

/// Tells results in the order of the jobs, whichever is ready first.
int run_jobs(const std::vector<Job> &jobs, Session &session, int at_once) {
    std::vector<std::promise<Result>> results(jobs.size());
    std::atomic<std::size_t> next = 0;
    std::vector<std::future<void>> workers;
    for (int i = 0; i < at_once; ++i) {
        workers.push_back(std::async(std::launch::async, [&] {
            for (std::size_t job = next++; job < jobs.size(); job = next++)
                results[job].set_value(run_job(jobs[job], session));
        }));
    }
    std::vector<std::string> failures;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
        const Result result = results[job].get_future().get();
        if (result.outcome == Outcome::failed) failures.push_back(jobs[job].input);
        if (!result.told.errors.empty()) session.progress.clear();
        std::cerr << result.told.errors;
        if (!result.told.line.empty()) std::cout << result.told.line << std::flush;
    }
    session.progress.clear();
    if (!failures.empty() && jobs.size() > 1) {
        std::cerr << "upsample: " << failures.size() << " of " << jobs.size() << " pictures failed:\n";
        for (const std::string &name : failures) std::cerr << "  " << printable(name) << '\n';
    }
    if (!std::cout.flush()) {
        std::cerr << "upsample: standard output cannot be written: " << std::strerror(errno) << '\n';
        return picture_failed;
    }
    return failures.empty() ? success : picture_failed;
}

/// Frame after frame, until the input ends between two.
int run_frames(Session &session) {
    const Options &o = session.options;
    const Header header = parse_raw_format(o.raw);
    const InputFile input = open_input(o.input);
    std::FILE *output = o.output == "-" ? stdout : std::fopen(o.output.c_str(), "wb");
    if (!output) throw PictureError(o.output + ": cannot be written: " + std::strerror(errno));
    // Memory of one frame is there for the next: getting its pages anew would take longer than much of the work.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    int64_t frames = 0;
    for (; RawReader::has_more(input.get()); ++frames) {
        RawReader reader(input.get(), header);
        enlarge(reader, output, session.method, session.budget, {Format::raw, 0, 0, false, false, session.threads},
                {[&](int64_t) { session.progress.start("frame " + std::to_string(frames)); }, [](int64_t) {}});
    }
    session.progress.clear();
    if (std::fflush(output) != 0 || (output != stdout && std::fclose(output) != 0))
        throw PictureError(o.output + ": cannot be written: " + std::strerror(errno));
    if (o.verbose) std::cerr << frames << " frames\n";
    if (frames == 0) throw PictureError("the input has no frames");
    return success;
}

/// The GPUs that CUDA shows are narrowed to one, before it is first asked.
void choose_gpu(int gpu) {
    std::vector<std::string> visible;
    if (const char *variable = std::getenv("CUDA_VISIBLE_DEVICES")) {
        std::string list = variable;
        for (std::size_t at = 0; at <= list.size();) {
            const std::size_t comma = std::min(list.find(',', at), list.size());
            visible.push_back(list.substr(at, comma - at));
            at = comma + 1;
        }
        if (gpu >= static_cast<int>(visible.size()))
            throw PictureError("CUDA_VISIBLE_DEVICES shows no GPU number " + std::to_string(gpu));
    }
    setenv("CUDA_VISIBLE_DEVICES", visible.empty() ? std::to_string(gpu).c_str() : visible[gpu].c_str(), 1);
}

void tell_passed_over(const Options &options, const Jobs &found) {
    if (options.quiet || found.folders + found.others == 0) return;
    std::cerr << "upsample: " << printable(options.input) << ": passed over " << found.folders << " folders and "
              << found.others << " files that are not named as pictures\n";
}

int run(const Options &options) {
    std::optional<Network> network;
    NetworkRuns runs;
    Method method;
    try {
        if (options.list_models) {
            std::cout << describe_models(list_models(options.model_folders)) << std::flush;
            if (!options.quiet) std::cerr << where_to_get_models();
            return std::cout ? success : picture_failed;
        }
        if (options.gpu >= 0) choose_gpu(options.gpu);
        conv_transpose::set_cpu_threads(options.threads);
        method.device = resolve(options.device);
        if (!options.model.empty())
            network.emplace(find_model(options.model, options.model_folders, options.noise, options.scale));
    } catch (const std::exception &error) {
        std::cerr << "upsample: " << printable(error.what()) << '\n';
        return not_available;
    }
    method.scale = options.scale.value_or(network ? network->scale() : 2);
    method.width = options.width;
    method.height = options.height;
    method.filter = options.filter;
    method.network = network ? &*network : nullptr;
    method.runs = &runs;
    method.tta = options.tta;
    method.linear_light = options.linear_light;
    method.tile = options.tile;
    method.precision = options.precision.products;
    method.half = options.precision.half;
    const int threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    method.threads = method.kernel_threads = threads;

    Jobs found;
    if (options.raw.empty()) found = list_jobs(options);
    const bool progress = !options.quiet && !options.json;
    Session session{options, method, MemoryBudget(options.limits.memory),
                    Progress(progress, std::max<std::size_t>(1, found.jobs.size())), threads};
    if (!options.raw.empty()) return run_frames(session);

    tell_passed_over(options, found);
    if (found.jobs.empty()) throw PictureError(options.input + ": has no pictures");
    const int at_once = static_cast<int>(std::min<std::size_t>(found.jobs.size(), threads));
    session.threads = session.method.threads = std::max(1, threads / at_once);
    session.method.kernel_threads = 1 + (threads - 1 + at_once - 1) / at_once;  // the library's pool has all but the callers
    // What is freed goes back to the system: a network takes large blocks for a moment, and malloc would keep what nobody told.
    if (network) mallopt(M_MMAP_THRESHOLD, 256 << 10);
    return run_jobs(found.jobs, session, at_once);
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
        std::cerr << "upsample: " << printable(error.what()) << '\n';
        return picture_failed;
    }
}
