// The little of Exif that enlarging changes.
#ifndef UPSAMPLE_EXIF_H
#define UPSAMPLE_EXIF_H

#include "picture_file.h"

namespace upsample {

/// Whether the bytes begin as Exif does: with a TIFF header.
bool is_exif(const Bytes &exif);

/// Makes the sizes that Exif tells those of the enlarged picture; what it does not tell stays untold.
void set_exif_size(Bytes &exif, int64_t width, int64_t height);

}  // namespace upsample

#endif
