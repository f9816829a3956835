// What the fuzzers of upsample give to it.
#ifndef UPSAMPLE_TESTS_FUZZ_H
#define UPSAMPLE_TESTS_FUZZ_H

#include <cstddef>
#include <cstdint>

namespace upsample::testing {

enum class FuzzedKind { picture, frame, model };

/// The last byte chooses method and output, the one before it the kind; the rest is a file, or two files with a zero
/// between them: see upsample_fuzz.cpp. Returns whether a picture was enlarged; throws what is no PictureError.
bool fuzz_one(const uint8_t *data, std::size_t size);

}  // namespace upsample::testing

#endif
