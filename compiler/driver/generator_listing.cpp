// Listing generators: see generator_listing.h.
#include "compiler/driver/generator_listing.h"

#include <sstream>

#include "Halide.h"
#include "schedules/shared/kernel_description.h"

namespace conv_transpose {

std::string generator_listing() {
    using Halide::Internal::GeneratorRegistry;
    std::ostringstream out;
    const char *separator = "[\n";
    for (const std::string &name : GeneratorRegistry::enumerate()) {
        // Any target will do: nothing is generated.
        const auto generator = GeneratorRegistry::create(name, Halide::GeneratorContext(Halide::Target("host")));
        const auto *described = dynamic_cast<const DescribedGenerator *>(generator.get());
        out << separator << "{\"name\": \"" << name << '"';
        if (const auto facts = described ? described->facts() : std::nullopt)
            out << ", \"operation\": \"" << signature(facts->operation).family << "\", \"device\": \""
                << (facts->on_gpu ? "cuda" : "cpu") << "\", \"family\": \"" << facts->family << "\", \"tensor_cores\": "
                << (facts->on_tensor_cores ? "true" : "false") << ", \"format_parameter\": \"" << facts->format_parameter
                << "\", \"ranks\": \""
                << (facts->ranks == Ranks::any         ? "any"
                    : facts->ranks == Ranks::parameter ? "parameter"
                                                       : "two")
                << '"';
        out << '}';
        separator = ",\n";
    }
    out << "\n]";
    return out.str();
}

}  // namespace conv_transpose
