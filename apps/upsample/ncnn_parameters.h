// The numbered parameters of one layer in a .param file: "0=16" and "-23310=1,0.1" (an array, here number 10).
#ifndef UPSAMPLE_NCNN_PARAMETERS_H
#define UPSAMPLE_NCNN_PARAMETERS_H

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

namespace upsample {

/// Every message names the layer, by `where`.
class NcnnParameters {
  public:
    static constexpr int64_t largest = 1 << 20;  // of a count or size; real ones are in the thousands

    NcnnParameters(std::istream &words, const std::string &where);

    bool has(int key) const { return values_.count(key) && !values_.at(key).empty(); }
    std::vector<double> array(int key) const { return has(key) ? values_.at(key) : std::vector<double>(); }
    double real(int key, double otherwise) const { return has(key) ? values_.at(key).front() : otherwise; }
    int64_t integer(int key, int64_t otherwise, int64_t least, int64_t most = largest) const;
    /// Refuses values of a parameter that would change what the layer does in a way that is not supported.
    void expect(int key, double value, const char *what) const;

    const std::string &where() const { return where_; }

  private:
    int key_of(const std::string &text) const;
    double number(const std::string &text) const;

    std::string where_;
    std::map<int, std::vector<double>> values_;
};

}  // namespace upsample

#endif
