// The generator driver: makes one kernel from a registered generator, ahead of time.
//
//   generate GENERATOR --name NAME --target TARGET --out DIRECTORY [--option=value ...] [parameter=value ...]
//   generate runtime   --target TARGET --out DIRECTORY
//   generate list                                                    all generators, as JSON
//   generate GENERATOR --search-space --target TARGET [parameter=value ...]    what the autotuner may choose, as JSON
//
// Writes NAME.o and NAME.kernel.inc (the kernel's row in the registry). Options:
//   --gpu=sm_80,sm_90,...   machine code for these GPUs goes into the fat binary
//   --ptxas=PATH, --fatbinary=PATH
//   --compression=MODE      fatbinary's --compress-mode, for all that it holds
//   --registers=N           at most N registers a thread
//   --allow-spills          do not fail when ptxas reports register spills
//   --h200-tflops=N         TFLOP/s of full blocks, measured on an H200 (KernelTraits::h200_tflops)
//   --check=forward,tf32,cuda,dense    refuse a kernel of another operation, format, device or family of schedules than
//                           its row in generators/kernels.cmake, and so its name, says
//   --exact-gpu=90          the kernel is for GPUs of this compute capability alone (one that was tuned for it)
//   --autoscheduler=NAME[,key=value...]          one of Halide's autoschedulers finds the schedule
//   --plugin=PATH           the shared object that has it
//   --stmt, --keep-ptx      also write NAME.stmt, NAME.ptx: to read what a schedule became
//   --keep-device-code      also write NAME.fatbin and the NAME.ARCHITECTURE.ptx that it is made of
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "Halide.h"
#include "algorithm/element_format.h"
#include "compiler/driver/device_code.h"
#include "compiler/driver/generator_listing.h"
#include "compiler/driver/gpu_assembler.h"
#include "compiler/driver/search_space_listing.h"
#include "compiler/driver/signature_check.h"
#include "schedules/shared/kernel_description.h"

namespace fs = std::filesystem;
using namespace conv_transpose;

namespace {

struct CommandLine {
    std::string generator, name, target;
    fs::path out = ".";
    GpuAssembler assembler;
    bool stmt = false, keep_ptx = false, search_space = false;
    std::string exact_gpu, h200_tflops;
    std::vector<std::string> check;
    Halide::AutoschedulerParams autoscheduler;
    std::map<std::string, std::string> parameters;
};

std::vector<std::string> split(const std::string &text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

// NAME[,key=value...]
Halide::AutoschedulerParams parse_autoscheduler(const std::string &text) {
    const std::vector<std::string> words = split(text, ',');
    if (words.empty()) throw std::runtime_error("--autoscheduler is empty, but it must begin with a name");
    Halide::AutoschedulerParams params(words[0]);
    for (size_t i = 1; i < words.size(); i++) {
        const auto equals = words[i].find('=');
        if (equals == std::string::npos)
            throw std::runtime_error("--autoscheduler: '" + words[i] + "' is no key=value");
        params.extra[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    }
    return params;
}

CommandLine parse(const std::vector<std::string> &words) {
    if (words.empty())
        throw std::runtime_error("usage: generate GENERATOR --name=NAME --target=TARGET --out=DIRECTORY");
    CommandLine line;
    line.generator = words[0];
    for (size_t i = 1; i < words.size(); i++) {
        const auto equals = words[i].find('=');
        const std::string key = words[i].substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
        if (key == "--name") line.name = value;
        else if (key == "--target") line.target = value;
        else if (key == "--out") line.out = value;
        else if (key == "--gpu") line.assembler.architectures = split(value, ',');
        else if (key == "--ptxas") line.assembler.ptxas = value;
        else if (key == "--fatbinary") line.assembler.fatbinary = value;
        else if (key == "--compression") line.assembler.compression = value;
        else if (key == "--registers") line.assembler.registers = std::stoi(value);
        else if (key == "--allow-spills") line.assembler.allow_spills = true;
        else if (key == "--exact-gpu") line.exact_gpu = value;
        else if (key == "--h200-tflops") line.h200_tflops = value;
        else if (key == "--check") line.check = split(value, ',');
        else if (key == "--autoscheduler")
            line.autoscheduler = parse_autoscheduler(words[i].substr(equals + 1));
        else if (key == "--plugin") Halide::load_plugin(value);
        else if (key == "--search-space") line.search_space = true;
        else if (key == "--stmt") line.stmt = true;
        else if (key == "--keep-ptx") line.keep_ptx = true;
        else if (key == "--keep-device-code") line.assembler.keep_files = true;
        else if (key.rfind("--", 0) == 0 || equals == std::string::npos)
            throw std::runtime_error("unknown option '" + words[i] + "'");
        else line.parameters[key] = value;
    }
    return line;
}

void write(const fs::path &path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::unique_ptr<Halide::Internal::AbstractGenerator> create_generator(const CommandLine &line) {
    const Halide::GeneratorContext context(Halide::Target(line.target), line.autoscheduler);
    auto generator = Halide::Internal::GeneratorRegistry::create(line.generator, context);
    if (!generator) throw std::runtime_error("no generator is named '" + line.generator + "'");
    for (const auto &[name, value] : line.parameters) generator->set_generatorparam_value(name, value);
    return generator;
}

// The row of the registry, of a kernel that takes the arguments that its family's signature says.
KernelDescription checked_description(Halide::Internal::AbstractGenerator &generator, const Halide::Module &module) {
    auto *described = dynamic_cast<DescribedGenerator *>(&generator);
    if (!described) throw std::runtime_error("the generator of " + module.name() + " describes no kernel");
    KernelDescription description;
    described->describe(description);
    if (!description.family()) throw std::runtime_error("the generator of " + module.name() + " tells no family");
    const std::string rank = description.get("rank");  // of the problems that the kernel is for
    check_signature(module, signature(*description.family()), rank.empty() ? 2 : std::stoi(rank));
    return description;
}

void check_word(const char *what, const std::string &row, const std::string &kernel) {
    if (row != kernel)
        throw std::runtime_error(std::string("the row in generators/kernels.cmake says ") + what + " " + row +
                                 ", but the kernel's is " + kernel);
}

// The format of a kernel's products as rows name it: that of its tensors, where they have 16 bits.
std::string format_of(const KernelDescription &description) {
    const std::string input = description.get("input"), precision = description.get("precision");
    for (const NamedStorage &s : storages)
        if (s.storage != Storage::f32 && input.find(std::string("::") + s.element_type) != std::string::npos) return s.name;
    const std::string prefix = "Precision::";
    return precision.empty() || precision == prefix + "float32" ? "f32" : precision.substr(prefix.size());
}

// The name follows from the row, and the registry from the generator: both must mean the same kernel.
void check_row(const std::vector<std::string> &row, const Halide::Internal::AbstractGenerator &generator,
               const KernelDescription &description) {
    if (row.empty()) return;
    if (row.size() != 4) throw std::runtime_error("--check is no operation,format,device,family");
    const auto facts = dynamic_cast<const DescribedGenerator &>(generator).facts();
    check_word("operation", "Operation::" + row[0], description.get("operation"));
    check_word("format", row[1], format_of(description));
    check_word("device", "Device::" + row[2], description.get("device"));
    if (facts) check_word("family", row[3], facts->family);
}

// What is known of a kernel beyond its generator.
void describe_measured(const CommandLine &line, KernelDescription &description) {
    if (!line.h200_tflops.empty()) description.set("h200_tflops", line.h200_tflops);
    if (!line.exact_gpu.empty()) {
        description.set("min_compute_capability", line.exact_gpu);
        description.set("max_compute_capability", line.exact_gpu);
    }
}

void make_kernel(const CommandLine &line) {
    const auto generator = create_generator(line);
    Halide::Module module = generator->build_module(line.name);
    const fs::path stem = line.out / line.name;
    KernelDescription description = checked_description(*generator, module);
    check_row(line.check, *generator, description);
    describe_measured(line, description);
    if (has_device_code(module)) {
        const std::string ptx = device_ptx(module);
        if (line.keep_ptx) write(stem.string() + ".ptx", ptx);
        replace_device_code(module, line.assembler.assemble(ptx, stem));
    }
    std::map<Halide::OutputFileType, std::string> files{
        {Halide::OutputFileType::object, stem.string() + ".o"}};
    if (line.stmt) files[Halide::OutputFileType::conceptual_stmt] = stem.string() + ".stmt";
    module.compile(files);
    write(stem.string() + ".kernel.inc", description.row(line.name));
}

}  // namespace

int main(int argc, char **argv) {
    try {
        const CommandLine line = parse({argv + 1, argv + argc});
        if (line.generator == "runtime")
            Halide::compile_standalone_runtime((line.out / "halide_runtime.o").string(),
                                               Halide::Target(line.target));
        else if (line.generator == "list")
            std::cout << generator_listing() << "\n";
        else if (line.search_space)
            std::cout << search_space_listing(*create_generator(line)) << "\n";
        else
            make_kernel(line);
        return 0;
    } catch (const Halide::Error &error) {
        std::cerr << "generate: " << error.what() << "\n";
    } catch (const std::exception &error) {
        std::cerr << "generate: " << error.what() << "\n";
    }
    return 1;
}
