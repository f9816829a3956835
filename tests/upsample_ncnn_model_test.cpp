// Files of models that are not right: what is refused, and how it is told.
#include <gtest/gtest.h>

#include <sstream>

#include "network.h"
#include "picture.h"
#include "upsample_models.h"

namespace upsample::testing {
namespace {

struct Refused {
    const char *layers;
    const char *reason;
};

TEST(NcnnModel, IsRefusedNamingTheFirstThingThatIsNotRight) {
    const std::string head = "7767517\n3 3\nInput in 0 1 x\n";
    const Refused cases[] = {
        {"Softmax s 1 1 x y\n", "layers of type Softmax are not supported"},
        {"Convolution c 1 1 x y 0=3 1=3 6=80\n", "no multiple"},
        {"Convolution c 1 1 x y 0=3 1=3 6=81 8=1\n", "int8"},
        {"Convolution c 1 1 x y 0=3 1=0 6=81\n", "must be a whole number from 1"},
        {"Convolution c 1 1 x y 0=3 1=3 4=1 15=2 6=81\n", "left to right"},
        {"Convolution c 1 1 x y 0=3 1=3 6=81 9=5\n", "activation"},
        {"Convolution c 1 1 z y 0=3 1=3 6=81\n", "no layer before it makes blob z"},
        {"Convolution c 1 1 x x 0=3 1=3 6=81\n", "exists already"},
        {"Convolution c 1 1 x y 0=3 1=3 6=8100\n", "fewer weights"},
        {"Convolution c 1 1 x y 0=3 1=1 6=9\n", "more weights"},
        {"Convolution c 1 1 x\n", "fewer blobs"},
        {"Convolution c one 1 x y\n", "two counts"},
        {"Convolution c 1 1 x y 0=a\n", "\"a\" is not a number"},
        {"Convolution c 1 1 x y kernel\n", "not KEY=VALUE"},
        {"ReLU r 1 1 x y nan=3\n", "is no key of a parameter"},
        {"ReLU r 1 1 x y 1e30=3\n", "is no key of a parameter"},
        {"ReLU r 1 1 x y 99999999999=3\n", "is no key of a parameter"},
        {"Convolution c 1 1 x y 0=nan 1=3 6=81\n", "must be a whole number"},
        {"Convolution c 1 1 x z 0=4 1=3 6=108\nPixelShuffle s 1 1 z y 0=3\n", "no multiple of 9"},
        {"PixelShuffle s 1 1 x y 0=2 1=1\n", "order of channels"},
        {"Interp i 1 1 x y 0=2 1=2 2=2\n", "nearest interpolation"},
        {"Interp i 1 1 x y 0=1 1=1.5 2=1.5\n", "nearest interpolation"},
        {"BinaryOp b 2 1 x x y 0=3\n", "division"},
        {"BinaryOp b 1 1 x y 0=0 1=1 2=1\n", "with a number"},
        {"Concat c 1 1 x y 0=1\n", "another axis"},
        {"ReLU r 1 1 x y -23300=2,1\n", "as many items"},
        {"Pooling p 1 1 x y 0=0 1=2\n", "global average"},
        {"Eltwise e 1 1 x y\n", "must have 2 inputs"},
        {"Convolution c 1 1 x y 0=4 1=3 6=108\n", "not RGB"},
        {"Convolution c 1 1 x y 0=2 1=3 6=108\n", "6 channels"},
    };
    for (const Refused &refused : cases) {
        const TemporaryFolder folder;
        const std::string file = write_model(folder, head + refused.layers, Weights(1).float32(27 * 4));
        try {
            const Network network(file);
            ADD_FAILURE() << refused.layers << "was accepted";
        } catch (const PictureError &error) {
            const std::string message = error.what();
            EXPECT_NE(message.find(refused.reason), std::string::npos)
                << refused.layers << "gives: " << message;
            EXPECT_EQ(message.find(folder.file("model")), 0u) << message;
        }
    }
}

TEST(NcnnModel, WithoutLayersIsRefused) {
    const TemporaryFolder folder;
    EXPECT_THROW(Network(write_model(folder, "7767517\n1 1\nInput in 0 1 x\n", Weights(1))), PictureError);
    EXPECT_THROW(Network(write_model(folder, "7767517\n0 0\n", Weights(1))), PictureError);
    EXPECT_THROW(Network(write_model(folder, "7767516\n0 0\n", Weights(1))), PictureError);
    EXPECT_THROW(Network(folder.file("other.param")), PictureError);
    EXPECT_THROW(Network(folder.file("model.bin")), PictureError);
}

TEST(NcnnModel, AnswersToDamagedFilesWithErrors) {
    const TemporaryFolder folder;
    const std::string file = small_cunet(folder);
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string whole = text.str();
    std::mt19937 random(3);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
        std::string changed = whole;
        changed[random() % changed.size()] = "0123456789 =-,x\n"[random() % 16];
        std::ofstream(file) << changed;
        try {
            const Network network(file);
        } catch (const PictureError &) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace upsample::testing
