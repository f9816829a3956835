#include "jobs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "formats.h"

namespace upsample {
namespace {

namespace fs = std::filesystem;

const char *extension_of(Format format) {
    return format == Format::jpeg ? ".jpg" : format == Format::webp ? ".webp" : ".png";
}

/// The name in the folder of outputs; its extension changes with the format.
fs::path output_name(const fs::path &input, Format format) {
    fs::path name = input.filename();
    if (format_of_name(name.string()) != format) name.replace_extension(extension_of(format));
    return name;
}

void make_folder(const std::string &folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error && !fs::is_directory(folder)) throw PictureError(folder + ": cannot be made: " + error.message());
}

Job single_job(const Options &options) {
    std::error_code error;
    const bool into_folder = options.input != "-" && options.output != "-" &&
                             (options.output.back() == '/' || fs::is_directory(options.output, error));
    Job job{options.input, options.output, Format::png, ""};
    if (!into_folder) {
        job.format = options.format.value_or(format_of_name(options.output).value_or(Format::png));
        return job;
    }
    make_folder(options.output);
    job.format = options.format.value_or(format_of_name(options.input).value_or(Format::png));
    job.output = (fs::path(options.output) / output_name(options.input, job.format)).string();
    return job;
}

}  // namespace

Jobs list_jobs(const Options &options) {
    Jobs result;
    std::error_code error;
    if (options.input == "-" || !fs::is_directory(options.input, error)) {
        result.jobs.push_back(single_job(options));
        return result;
    }
    fs::directory_iterator entry(options.input, error), end;
    if (error) throw PictureError(options.input + ": cannot be read: " + error.message());
    make_folder(options.output);
    for (; entry != end; entry.increment(error)) {
        const fs::path path = entry->path();
        std::error_code unknown;
        const fs::file_status status = entry->status(unknown);
        const std::optional<Format> format = format_of_name(path.string());
        if (!unknown && fs::is_directory(status)) {
            ++result.folders;
        } else if (!format || (!unknown && !fs::is_regular_file(status))) {
            ++result.others;
        } else {
            Job job{path.string(), "", options.format.value_or(*format), ""};
            job.output = (fs::path(options.output) / output_name(path, job.format)).string();
            if (unknown) job.fault = "cannot be read: " + unknown.message();
            result.jobs.push_back(job);
        }
    }
    std::vector<Job> &jobs = result.jobs;
    std::sort(jobs.begin(), jobs.end(), [](const Job &a, const Job &b) { return a.input < b.input; });
    if (error) jobs.push_back({options.input, "", Format::png, "cannot be read to its end: " + error.message()});
    std::set<std::string> outputs;
    for (Job &job : jobs) {
        if (job.fault.empty() && !outputs.insert(job.output).second)
            job.fault = job.output + " is the output of another picture already";
    }
    return result;
}

}  // namespace upsample
