#include "reporter.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "printable.h"

namespace upsample {
namespace {

/// File names need not be UTF-8; JSON must be.
std::string json_line(const nlohmann::json &line) {
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Told Reporter::enlarged(const Job &job, const Report &report) const {
    Told told;
    if (options_.json) {
        const Shape &from = report.input.shape, &to = report.output.shape;
        std::vector<std::string> warnings = report.losses;
        warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
        told.line = json_line({{"input", job.input},
                               {"output", job.output},
                               {"status", "enlarged"},
                               {"method", options_.model.empty()
                                              ? std::string(filter_names[static_cast<int>(options_.filter)])
                                              : options_.model},
                               {"scale", static_cast<double>(to.width) / static_cast<double>(from.width)},
                               {"device", device_name()},
                               {"input_width", from.width},
                               {"input_height", from.height},
                               {"width", to.width},
                               {"height", to.height},
                               {"channels", to.channels},
                               {"bits", report.output.bits},
                               {"seconds", report.seconds},
                               {"decoding_seconds", report.decoding_seconds},
                               {"enlarging_seconds", report.enlarging_seconds},
                               {"warnings", warnings}});
    }
    std::ostringstream errors;
    if (!options_.quiet) {
        for (const std::string &loss : report.losses) errors << printable(job.input) << ": " << printable(loss) << '\n';
    }
    if (options_.verbose) {
        for (const std::string &warning : report.warnings)
            errors << printable(job.input) << ": " << printable(warning) << '\n';
        errors << printable(job.input) << ": " << report.input.shape.width << " x " << report.input.shape.height << ", "
               << report.input.shape.channels << " channels of " << report.input.bits << " bits, to "
               << report.output.shape.width << " x " << report.output.shape.height << " on " << device_name() << " in "
               << report.seconds << " s (decoding " << report.decoding_seconds << " s, enlarging "
               << report.enlarging_seconds << " s)\n";
    }
    told.errors = errors.str();
    return told;
}

Told Reporter::skipped(const Job &job) const {
    Told told;
    if (options_.json)
        told.line = json_line({{"input", job.input}, {"output", job.output}, {"status", "skipped"}});
    if (options_.verbose) told.errors = printable(job.input + ": skipped, " + job.output + " exists") + "\n";
    return told;
}

Told Reporter::failed(const Job &job, const std::string &why) const {
    Told told;
    if (options_.json)
        told.line = json_line({{"input", job.input}, {"output", job.output}, {"status", "failed"}, {"error", why}});
    told.errors = "upsample: " + printable(job.input + ": " + why) + "\n";
    return told;
}

const char *Reporter::device_name() const {
    return method_.device == conv_transpose::Device::cuda ? "cuda" : "cpu";
}

}  // namespace upsample
