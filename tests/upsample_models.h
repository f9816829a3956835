// Small networks for tests of upsample, in the format of ncnn.
#ifndef UPSAMPLE_TESTS_MODELS_H
#define UPSAMPLE_TESTS_MODELS_H

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace upsample::testing {

using conv_transpose::testing::TemporaryFolder;

/// The .bin of a model: what its layers need, one after another.
class Weights {
  public:
    explicit Weights(unsigned seed) : random_(seed) {}
    Weights &float32(int count) {
        append<uint32_t>(0);
        return plain(count);
    }
    Weights &float16(int count) {
        append<uint32_t>(0x01306B47);
        for (int i = 0; i < count; ++i) append<uint16_t>(0x2000 + random_() % 0x1000 + (random_() % 2 << 15));
        while (bytes_.size() % 4 != 0) bytes_.push_back(0);
        return *this;
    }
    Weights &plain(int count) {
        std::uniform_real_distribution<float> uniform(-0.3f, 0.3f);
        for (int i = 0; i < count; ++i) append(uniform(random_));
        return *this;
    }
    const std::vector<char> &bytes() const { return bytes_; }

  private:
    template <typename Value>
    void append(Value value) {
        const char *from = reinterpret_cast<const char *>(&value);
        bytes_.insert(bytes_.end(), from, from + sizeof value);
    }
    std::mt19937 random_;
    std::vector<char> bytes_;
};

inline std::string write_model(const TemporaryFolder &folder, const std::string &param, const Weights &weights,
                        const std::string &name = "model") {
    std::ofstream(folder.file(name + ".param")) << param;
    std::ofstream(folder.file(name + ".bin"), std::ios::binary)
        .write(weights.bytes().data(), weights.bytes().size());
    return folder.file(name + ".param");
}

/// The build of upconv_7, with few channels.
inline std::string small_upconv(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
4 4
Input input 0 1 x 0=156 1=156 2=3
Convolution c1 1 1 x a 0=6 1=3 5=1 6=162 9=2 -23310=1,0.100000
Convolution c2 1 1 a b 0=8 1=3 5=1 6=432 9=2 -23310=1,0.100000
Deconvolution d 1 1 b y 0=3 1=4 3=2 4=3 5=1 6=384
)",
                       Weights(11).float16(162).plain(6).float16(432).plain(8).float32(384).plain(3));
}

/// Every kind of layer that cunet has, and PReLU, ReLU and the other operations.
inline std::string small_cunet(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
17 22
Input input 0 1 x 0=200 1=200 2=3
Convolution c1 1 1 x a 0=4 1=3 5=1 6=108 9=1
Split s1 1 2 a a0 a1
Convolution c2 1 1 a1 b 0=6 1=2 3=2 5=1 6=96
PReLU p1 1 1 b b1 0=6
Split s2 1 2 b1 b2 b3
Pooling pool 1 1 b3 g 0=1 4=1
InnerProduct i1 1 1 g h 0=2 1=1 2=12 9=1
InnerProduct i2 1 1 h k 0=6 1=1 2=12 9=4
Scale sc 2 1 b2 k m 0=-233
Deconvolution d1 1 1 m n 0=4 1=2 3=2 5=1 6=96 9=2 -23310=1,0.2
Convolution c3 1 1 n o 0=4 1=3 5=0 6=144
Split s3 1 2 o o0 o1
Crop crop 2 1 a0 o0 q 0=1 1=1
Eltwise e 2 1 q o1 r 0=1
ReLU re 1 1 r t 0=0.05
Deconvolution d2 1 1 t y 0=3 1=4 3=2 4=3 5=1 6=192
)",
                       Weights(12)
                           .float16(108)
                           .plain(4)
                           .float32(96)
                           .plain(6)
                           .plain(6)
                           .float16(12)
                           .plain(2)
                           .float32(12)
                           .plain(6)
                           .float16(96)
                           .plain(4)
                           .float16(144)
                           .float32(192)
                           .plain(3));
}

/// Every kind of layer that Real-ESRGAN has, with padding in its convolutions; three times as large.
inline std::string small_esrgan(const TemporaryFolder &folder) {
    return write_model(
        folder, R"(7767517
15 20
Input input 0 1 x 0=200 1=200 2=3
Split s0 1 2 x x0 x1
Convolution c1 1 1 x0 a 0=8 1=3 4=1 5=1 6=216
PReLU p1 1 1 a a0 0=8
Split s1 1 3 a0 a1 a2 a3
Convolution c2 1 1 a1 b 0=4 1=3 4=1 5=1 6=288 9=2 -23310=1,0.2
Concat j 2 1 a2 b d 0=0
Convolution c3 1 1 d e 0=8 1=3 4=1 5=1 6=864
Eltwise w 2 1 e a3 f 0=1 -23301=2,0.2,1.0
Convolution c4 1 1 f g 0=48 1=3 4=1 5=1 6=3456
PixelShuffle ps 1 1 g h 0=4
Interp n 1 1 x1 k 0=1 1=4.0 2=4.0
BinaryOp add 2 1 h k l 0=0
Interp r 1 1 l y 0=3 1=0.75 2=0.75
)",
        Weights(13).float32(216).plain(8).plain(8).float16(288).plain(4).float32(864).plain(8).float16(3456).plain(48));
}

/// A block of Real-ESRGAN's: layers whose inputs are all that came before, joined; two times as large.
inline std::string small_dense_block(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
15 20
Input input 0 1 x
Convolution c1 1 1 x a 0=16 1=3 4=1 5=1 6=432 9=2 -23310=1,0.2
Split s1 1 4 a a0 a1 a2 a3
Convolution c2 1 1 a0 b 0=16 1=3 4=1 5=1 6=2304 9=2 -23310=1,0.2
Split s2 1 2 b b0 b1
Concat j1 2 1 a1 b0 d 0=0
Convolution c3 1 1 d e 0=24 1=3 4=1 5=1 6=6912 9=2 -23310=1,0.2
Concat j2 3 1 a2 b1 e f 0=0
Split s3 1 2 f f0 f1
Convolution c4 1 1 f0 g 0=16 1=3 4=1 5=1 6=8064
Eltwise w 2 1 g a3 h 0=1 -23301=2,0.2,1.0
Concat j3 2 1 f1 h k 0=0
Convolution c5 1 1 k m 0=12 1=3 4=1 5=1 6=7776
PixelShuffle ps 1 1 m y 0=2
)",
                       Weights(16).float16(432).plain(16).float16(2304).plain(16).float32(6912).plain(24).float16(8064).plain(16)
                           .float16(7776).plain(12));
}

/// The layers that Real-CUGAN has beside cunet's; two times as large.
inline std::string small_cugan(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
10 13
Input input 0 1 x
Convolution c1 1 1 x a 0=4 1=3 5=1 6=108 9=2 -23310=1,0.1
Split s1 1 3 a a0 a1 a2
Pooling pool 1 1 a1 g 0=1 4=1
InnerProduct i1 1 1 g h 0=4 1=1 2=16 9=4
BinaryOp m 2 1 a0 h b 0=2
Crop c 1 1 a2 e -23309=2,1,1 -23310=2,-1,-1 -23311=2,-2,-1
Convolution c2 1 1 b d 0=4 1=3 5=1 6=144
BinaryOp p 2 1 e d f 0=0
Deconvolution d2 1 1 f y 0=3 1=4 3=2 4=3 5=1 6=192
)",
                       Weights(14).float16(108).plain(4).float16(16).plain(4).float32(144).plain(4).float16(192).plain(3),
                       "up2x-conservative");
}

/// In the way of up4x, what is to be added to the picture: one convolution of a kernel as large as its border allows.
inline std::string small_up4x(const TemporaryFolder &folder) {
    return write_model(folder, R"(7767517
3 3
Input input 0 1 x
Convolution c1 1 1 x a 0=48 1=39 5=1 6=219024
PixelShuffle ps 1 1 a y 0=4
)",
                       Weights(15).float16(219024).plain(48), "up4x-no-denoise");
}

/// What it computes in between is a million times as large as its samples, more than float16 holds. No smaller than 1x1.
inline std::string write_large_values(const TemporaryFolder &folder) {
    const std::string param = folder.file("large.param");
    std::ofstream(param) << "7767517\n3 3\nInput in 0 1 x\nConvolution c 1 1 x y 0=3 1=1 6=9\nConvolution d 1 1 y z 0=3 1=1 6=9\n";
    std::ofstream bin(folder.file("large.bin"), std::ios::binary);
    for (const float factor : {1e6f, 1e-6f}) {
        const float weights[] = {0, factor, 0, 0, 0, factor, 0, 0, 0, factor};  // behind the tag of plain float32
        bin.write(reinterpret_cast<const char *>(weights), sizeof weights);
    }
    return param;
}

/// Three channels to three, of twice the size. Returns the name of its .param file.
inline std::string write_two_layers(const TemporaryFolder &folder) {
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
