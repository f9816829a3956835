// Reading problems: see problem_list.h.
#include "problem_list.h"

#include <fstream>
#include <sstream>

namespace conv_transpose::benchmark {

NamedProblem parse_problem(const std::string &text) {
    const Problem problem = Problem::parse(text);
    problem.validate();
    return {"", problem};
}

std::vector<NamedProblem> read_shapes(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read the shapes file '" + path + "'");
    std::vector<NamedProblem> problems;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string text;
        if (!(words >> text)) continue;
        try {
            problems.push_back(parse_problem(text));
        } catch (const InvalidProblem &error) {
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
        }
        std::string &name = problems.back().name;
        std::getline(words >> std::ws, name);
        name.erase(name.find_last_not_of(" \t\r") + 1);
    }
    if (problems.empty()) throw std::runtime_error("the shapes file '" + path + "' has no problem");
    return problems;
}

std::vector<NamedProblem> batch_series(const NamedProblem &base) {
    std::vector<NamedProblem> series;
    for (int64_t batch = 1; batch <= 64; batch *= 2) {
        series.push_back(base);
        series.back().problem.batch = batch;
        series.back().name = "batch " + std::to_string(batch);
    }
    return series;
}

std::vector<NamedProblem> size_series(const NamedProblem &base) {
    std::vector<NamedProblem> series;
    for (int64_t side : {128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096}) {
        series.push_back(base);
        series.back().problem.height().input = series.back().problem.width().input = side;
        series.back().name = std::to_string(side) + "x" + std::to_string(side);
    }
    return series;
}

}  // namespace conv_transpose::benchmark
