#include "ncnn_parameters.h"

#include <charconv>
#include <sstream>

#include "picture.h"

namespace upsample {

namespace {

constexpr int array_offset = -23300;

}  // namespace

NcnnParameters::NcnnParameters(std::istream &words, const std::string &where) : where_(where) {
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) throw PictureError(where + ": \"" + word + "\" is not KEY=VALUE");
        int key = key_of(word.substr(0, equals));
        std::vector<double> values;
        std::istringstream list(word.substr(equals + 1));
        for (std::string item; std::getline(list, item, ',');) values.push_back(number(item));
        if (key <= array_offset) {
            key = array_offset - key;
            if (values.empty() || values.front() != static_cast<double>(values.size() - 1))
                throw PictureError(where + ": \"" + word + "\" does not have as many items as it says");
            values.erase(values.begin());
        }
        values_[key] = values;
    }
}

int64_t NcnnParameters::integer(int key, int64_t otherwise, int64_t least, int64_t most) const {
    const double value = real(key, static_cast<double>(otherwise));
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) ||
        value != static_cast<double>(static_cast<int64_t>(value)))
        throw PictureError(where_ + ": parameter " + std::to_string(key) + " is " + std::to_string(value) +
                           "; it must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int64_t>(value);
}

void NcnnParameters::expect(int key, double value, const char *what) const {
    if (real(key, value) != value)
        throw PictureError(where_ + ": " + what + " (parameter " + std::to_string(key) + ") is not supported");
}

int NcnnParameters::key_of(const std::string &text) const {
    int key = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key);
    if (error != std::errc() || end != text.data() + text.size() || key > 1000 || key < array_offset - 1000)
        throw PictureError(where_ + ": \"" + text + "\" is no key of a parameter");
    return key;
}

double NcnnParameters::number(const std::string &text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw PictureError(where_ + ": \"" + text + "\" is not a number");
    return value;
}

}  // namespace upsample
