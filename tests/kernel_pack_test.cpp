// Kernel packs that cannot be used are refused with a message that names them. (Packs that can are made by the
// autotuner, and tested with it: tests/autotune_test.py.)
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "conv_transpose/conv_transpose.h"
#include "conv_transpose/conv_transpose_c.h"
#include "temporary_folder.h"

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

TEST(KernelPack, DirectoryThatIsMissingIsNamed) {
    EXPECT_NE(refusal("/no/such/directory").find("'/no/such/directory'"), std::string::npos);
}

TEST(KernelPack, FileThatIsNoSharedObjectIsNamed) {
    const TemporaryFolder folder;
    std::ofstream(folder.file("broken.so")) << "no shared object";
    EXPECT_NE(refusal(folder.path()).find("broken.so' cannot be used"), std::string::npos) << refusal(folder.path());
}

TEST(KernelPack, FileThatWasCutOffIsNamed) {
    const TemporaryFolder folder;
    const std::string whole = CONV_TRANSPOSE_TEST_PACKS "/of_this_build/pack.so", cut = folder.file("cut.so");
    std::filesystem::copy_file(whole, cut);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 4);
    EXPECT_NE(refusal(folder.path()).find("cut.so' cannot be used: its end is missing"), std::string::npos)
        << refusal(folder.path());
}

TEST(KernelPack, PipesAndFoldersAreNamed) {
    const TemporaryFolder folder;
    ASSERT_EQ(mkfifo(folder.file("pipe.so").c_str(), 0600), 0);
    EXPECT_NE(refusal(folder.path()).find("pipe.so' cannot be used: it is no file"), std::string::npos) << refusal(folder.path());
    std::filesystem::remove(folder.file("pipe.so"));
    std::filesystem::create_directory(folder.file("folder.so"));
    EXPECT_NE(refusal(folder.path()).find("folder.so' cannot be used: it is no file"), std::string::npos) << refusal(folder.path());
}

// Two packs that differ in the hash of their signatures alone.
TEST(KernelPack, PackOfAnotherSignatureIsRefusedByItsHash) {
    const std::string folder = CONV_TRANSPOSE_TEST_PACKS;
    EXPECT_EQ(refusal(folder + "/of_this_build"), "");
    const std::string reason = refusal(folder + "/of_other_signatures");
    EXPECT_NE(reason.find("pack.so' cannot be used: its kernels take other arguments than this build's"), std::string::npos)
        << reason;
}

TEST(KernelPack, CInterfaceTellsTheSame) {
    char message[200] = "";
    EXPECT_EQ(conv_transpose_load_kernels("/no/such/directory", message, sizeof message), CONV_TRANSPOSE_UNSUPPORTED);
    EXPECT_NE(std::string(message).find("'/no/such/directory'"), std::string::npos);
    EXPECT_EQ(conv_transpose_load_kernels(nullptr, message, sizeof message), CONV_TRANSPOSE_INVALID_ARGUMENT);
}

TEST(KernelPack, DirectoryWithoutPacksChangesNothing) {
    const TemporaryFolder folder;
    const size_t before = kernels().size();
    EXPECT_EQ(refusal(folder.path()), "");
    EXPECT_EQ(kernels().size(), before);
}

}  // namespace
}  // namespace conv_transpose::testing
