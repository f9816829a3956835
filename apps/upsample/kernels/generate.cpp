// Makes one of upsample's kernels ahead of time, by the parts of the library's own driver (compiler/driver/generate.cpp):
//
//   upsample_generate GENERATOR NAME TARGET FOLDER PTXAS FATBINARY GPU,... [parameter=value ...]
//
// Writes NAME.o and, for tests/ptx_machine, what it is made of.
#include <filesystem>
#include <iostream>
#include <sstream>

#include "Halide.h"
#include "compiler/driver/device_code.h"
#include "compiler/driver/gpu_assembler.h"

namespace {

std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
    return parts;
}

void generate(const std::vector<std::string> &words) {
    if (words.size() < 7) throw std::runtime_error("too few words: see its source");
    const Halide::GeneratorContext context{Halide::Target(words[2])};
    const auto generator = Halide::Internal::GeneratorRegistry::create(words[0], context);
    for (std::size_t i = 7; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        if (equals == std::string::npos) throw std::runtime_error("'" + words[i] + "' is no parameter=value");
        generator->set_generatorparam_value(words[i].substr(0, equals), words[i].substr(equals + 1));
    }
    Halide::Module module = generator->build_module(words[1]);
    conv_transpose::GpuAssembler assembler;
    assembler.ptxas = words[4], assembler.fatbinary = words[5], assembler.architectures = split(words[6]);
    assembler.keep_files = true;
    const std::filesystem::path stem = std::filesystem::path(words[3]) / words[1];
    conv_transpose::replace_device_code(module, assembler.assemble(conv_transpose::device_ptx(module), stem));
    module.compile({{Halide::OutputFileType::object, stem.string() + ".o"}});
}

}  // namespace

int main(int argc, char **argv) {
    try {
        generate({argv + 1, argv + argc});
        return 0;
    } catch (const std::exception &error) {
        std::cerr << "upsample_generate: " << error.what() << "\n";
    }
    return 1;
}
