// Element types and layouts: pictures of two types are refused, with what would do.
#include <gtest/gtest.h>

#include "run_plan.h"

namespace conv_transpose::testing {
namespace {

class Formats : public DeviceTest {
  protected:
    const Problem p_ = Problem::parse("n2ic4oc6ih5iw7kh3kw3");

    /// The message of the refusal; empty if a plan was made.
    std::string refusal(const PlanOptions &wanted) const {
        try {
            Plan(p_, wanted);
            return {};
        } catch (const Unsupported &error) {
            return error.what();
        }
    }
};

// Either a kernel takes the format, or the refusal names the tensors whose types differ.
TEST_P(Formats, AreTakenOrRefusedByName) {
    struct {
        const char *name;
        TensorFormat PlanOptions::*format;
    } const tensors[] = {{"input", &PlanOptions::input}, {"weight", &PlanOptions::weight}, {"output", &PlanOptions::output}};
    for (Operation operation : {Operation::forward, Operation::input_gradient, Operation::weight_gradient,
                                Operation::bias_gradient})
        for (const auto &[name, format] : tensors)
            for (TensorFormat other : {TensorFormat{ElementType::float16, Layout::channels_first},
                                       {ElementType::bfloat16, Layout::channels_first},
                                       {ElementType::float32, Layout::channels_last}}) {
                PlanOptions wanted = options();
                wanted.operation = operation;
                wanted.*format = other;
                const bool matters = operation != Operation::bias_gradient || std::string(name) != "input";
                // Parameters may be of any type, and any tensor of any layout.
                EXPECT_EQ(kernels_for(p_, wanted).empty(),
                          matters && std::string(name) != "weight" && other.type != ElementType::float32 &&
                              operation != Operation::bias_gradient);
                const std::string message = refusal(wanted);
                if (kernels_for(p_, wanted).empty()) {
                    EXPECT_TRUE(matters);
                    EXPECT_NE(message.find(std::string(name) + " is "), std::string::npos) << message;
                    EXPECT_NE(message.find("must be of one type"), std::string::npos) << message;
                } else {
                    EXPECT_EQ(message, "");
                }
            }
}

INSTANTIATE_ON_DEVICES(Formats);

}  // namespace
}  // namespace conv_transpose::testing
