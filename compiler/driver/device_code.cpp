// The device code inside a lowered module: see device_code.h.
#include "compiler/driver/device_code.h"

#include <algorithm>
#include <stdexcept>

namespace conv_transpose {

using namespace Halide::Internal;

namespace {

// The embedded constant is a Variable with a Buffer; its size is the last argument of the initialize call.
class ReplaceDeviceCode : public IRMutator {
  public:
    ReplaceDeviceCode(std::string old_name, Halide::Buffer<uint8_t> binary)
        : old_name_(std::move(old_name)), binary_(std::move(binary)) {}
    int replaced() const { return replaced_; }

  private:
    using IRMutator::visit;
    std::string old_name_;
    Halide::Buffer<uint8_t> binary_;
    int replaced_ = 0;

    Halide::Expr visit(const Variable *op) override {
        if (op->name != old_name_ + ".buffer" || !op->image.defined()) return op;
        return Variable::make(op->type, binary_.name() + ".buffer", binary_, op->param, op->reduction_domain);
    }

    Halide::Expr visit(const Call *op) override {
        if (op->name != "halide_cuda_initialize_kernels") return IRMutator::visit(op);
        replaced_++;
        std::vector<Halide::Expr> args = mutate(op->args);
        args.back() = make_const(args.back().type(), static_cast<int64_t>(binary_.size_in_bytes()));
        return Call::make(op->type, op->name, args, op->call_type);
    }
};

}  // namespace

bool has_device_code(const Halide::Module &module) { return module.get_device_code_buffer().defined(); }

std::string device_ptx(const Halide::Module &module) {
    const Halide::Buffer<> buffer = module.get_device_code_buffer();
    std::string text(static_cast<const char *>(buffer.data()), buffer.size_in_bytes());
    return text.substr(0, text.find('\0'));
}

void replace_device_code(Halide::Module &module, const std::string &binary) {
    const std::string old_name = module.get_device_code_buffer().name();
    Halide::Buffer<uint8_t> buffer(static_cast<int>(binary.size()), module.name() + "_fat_binary");
    std::copy(binary.begin(), binary.end(), buffer.begin());

    ReplaceDeviceCode replace(old_name, buffer);
    for (LoweredFunc &function : module.functions()) function.body = replace.mutate(function.body);
    if (replace.replaced() == 0)
        throw std::runtime_error("no call of halide_cuda_initialize_kernels was found");
    module.append(buffer);
}

}  // namespace conv_transpose
