// What is told about each picture, to people or to programs.
#ifndef UPSAMPLE_REPORTER_H
#define UPSAMPLE_REPORTER_H

#include <string>

#include "enlarge.h"
#include "jobs.h"
#include "options.h"

namespace upsample {

/// Text for standard error and a line for standard output, of which either may be empty.
struct Told {
    std::string errors, line;
};

class Reporter {
  public:
    Reporter(const Options &options, const Method &method) : options_(options), method_(method) {}

    Told enlarged(const Job &job, const Report &report) const;
    Told skipped(const Job &job) const;
    Told failed(const Job &job, const std::string &why) const;

  private:
    const char *device_name() const;

    const Options &options_;
    const Method &method_;
};

}  // namespace upsample

#endif
