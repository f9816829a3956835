// The .bin file of a network: weights of the layers, one after another.
#ifndef UPSAMPLE_NCNN_WEIGHTS_H
#define UPSAMPLE_NCNN_WEIGHTS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace upsample {

class NcnnWeights {
  public:
    explicit NcnnWeights(const std::string &path);

    /// Weights that say in four bytes how they are stored.
    std::vector<float> tagged(int64_t count);
    std::vector<float> plain(int64_t count);
    void expect_end() const;

  private:
    const char *take(std::size_t count);

    std::string path_;
    std::vector<char> bytes_;
    std::size_t position_ = 0;
};

}  // namespace upsample

#endif
