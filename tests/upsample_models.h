// A network for tests of upsample that need any, in the format of ncnn: a convolution, then a transposed one.
#ifndef UPSAMPLE_TESTS_MODELS_H
#define UPSAMPLE_TESTS_MODELS_H

#include <fstream>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace upsample::testing {

/// Three channels to three, of twice the size. Returns the name of its .param file.
inline std::string write_two_layers(const conv_transpose::testing::TemporaryFolder &folder) {
    const std::string param = folder.file("model.param");
    std::ofstream(param)
        << "7767517\n3 3\nInput in 0 1 x\nConvolution c 1 1 x y 0=4 1=3 5=1 6=108 9=2 -23310=1,0.1\n"
           "Deconvolution d 1 1 y z 0=3 1=4 3=2 4=3 5=1 6=192\n";
    std::vector<float> weights(1 + 108 + 4 + 1 + 192 + 3, 0.01f);
    weights[0] = weights[113] = 0;  // the tags of plain float32
    std::ofstream(folder.file("model.bin"), std::ios::binary)
        .write(reinterpret_cast<const char *>(weights.data()), weights.size() * sizeof(float));
    return param;
}

}  // namespace upsample::testing

#endif
