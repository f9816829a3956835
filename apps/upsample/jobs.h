// Which pictures are enlarged into which files.
#ifndef UPSAMPLE_JOBS_H
#define UPSAMPLE_JOBS_H

#include <string>
#include <vector>

#include "options.h"

namespace upsample {

struct Job {
    std::string input, output;
    Format format = Format::png;
    std::string fault;  ///< why it cannot be tried; empty where it can
};

struct Jobs {
    std::vector<Job> jobs;
    int folders = 0, others = 0;  ///< what a folder has beside pictures, and is passed over
};

/// One job, or one for every picture of a folder, in the order of their names. Makes folders that are to be
/// written to. Throws PictureError.
Jobs list_jobs(const Options &options);

}  // namespace upsample

#endif
