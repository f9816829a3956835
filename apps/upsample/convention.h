// What programs that networks come with do around them, and their files do not tell.
#ifndef UPSAMPLE_CONVENTION_H
#define UPSAMPLE_CONVENTION_H

#include <string>

#include "ncnn_model.h"

namespace upsample {

/// Says how the picture goes on beyond its ends, and adds what is done to the output: up4x of Real-CUGAN makes what
/// is to be added to a picture whose pixels are only repeated. Families are known by their layers and by the names of
/// their files.
void follow_convention(const std::string &param_file, NcnnModel &model);

}  // namespace upsample

#endif
