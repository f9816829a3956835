// Kernel packs that cannot be used are refused with a message that names them. (Packs that can are made by the
// autotuner, and tested with it: tests/autotune_test.py.)
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/conv_transpose_c.h"

namespace conv_transpose::testing {
namespace {

std::string refusal(const std::string &directory) {
    try {
        load_kernels(directory);
    } catch (const Unsupported &error) {
        return error.what();
    }
    return "";
}

std::string empty_directory() {
    const std::string path = ::testing::TempDir() + "kernel_packs";
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    return path;
}

TEST(KernelPack, DirectoryThatIsMissingIsNamed) {
    EXPECT_NE(refusal("/no/such/directory").find("'/no/such/directory'"), std::string::npos);
}

TEST(KernelPack, FileThatIsNoSharedObjectIsNamed) {
    const std::string directory = empty_directory();
    std::ofstream(directory + "/broken.so") << "no shared object";
    EXPECT_NE(refusal(directory).find("broken.so' cannot be used"), std::string::npos) << refusal(directory);
}

TEST(KernelPack, CInterfaceTellsTheSame) {
    char message[200] = "";
    EXPECT_EQ(conv_transpose_load_kernels("/no/such/directory", message, sizeof message), CONV_TRANSPOSE_UNSUPPORTED);
    EXPECT_NE(std::string(message).find("'/no/such/directory'"), std::string::npos);
    EXPECT_EQ(conv_transpose_load_kernels(nullptr, message, sizeof message), CONV_TRANSPOSE_INVALID_ARGUMENT);
}

TEST(KernelPack, DirectoryWithoutPacksChangesNothing) {
    const size_t before = kernels().size();
    EXPECT_EQ(refusal(empty_directory()), "");
    EXPECT_EQ(kernels().size(), before);
}

}  // namespace
}  // namespace conv_transpose::testing
