// Every allocation of upsample is made to fail in turn, those of libpng, Little CMS and the library's CPU
// kernels too: each time there must be an error or the right picture, nothing may leak, and the next picture
// must come out right.
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <optional>

#include "enlarge.h"
#include "upsample_models.h"
#include "upsample_pictures.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)

namespace {

std::atomic<long> countdown{-1};  // allocations until the one that fails; negative: none does
std::atomic<long> alive{0};

bool fails() {
    if (countdown.load(std::memory_order_relaxed) < 0) return false;
    return countdown.fetch_sub(1, std::memory_order_relaxed) == 0;
}

void *counted(void *pointer) {
    if (pointer) alive.fetch_add(1, std::memory_order_relaxed);
    return pointer;
}

}  // namespace

// glibc lets a program replace these for all libraries in it.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t bytes) {
    return fails() ? (errno = ENOMEM, nullptr) : counted(__libc_malloc(bytes));
}
void *calloc(size_t count, size_t bytes) {
    return fails() ? (errno = ENOMEM, nullptr) : counted(__libc_calloc(count, bytes));
}
void *realloc(void *old, size_t bytes) {
    if (fails()) return errno = ENOMEM, nullptr;
    void *pointer = __libc_realloc(old, bytes);
    return old ? pointer : counted(pointer);
}
void *memalign(size_t alignment, size_t bytes) {
    return fails() ? (errno = ENOMEM, nullptr) : counted(__libc_memalign(alignment, bytes));
}
void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}
int posix_memalign(void **pointer, size_t alignment, size_t bytes) {
    void *made = memalign(alignment, bytes);
    if (!made) return ENOMEM;
    *pointer = made;
    return 0;
}
void free(void *pointer) {
    if (pointer) alive.fetch_sub(1, std::memory_order_relaxed);
    __libc_free(pointer);
}
}

namespace upsample::testing {
namespace {

struct Attempt {
    std::vector<uint8_t> png;  // empty where it failed with one of the errors that the program reports
    long allocations = 0;
};

/// Decodes, enlarges and encodes, while the allocation with this number fails.
Attempt attempt(const std::vector<uint8_t> &png, const Method &method, const std::string &model,
                long failing) {
    const File input = file_of(png), output = temporary_file();
    bool done = false;
    countdown = failing;
    try {
        Method with_model = method;
        std::optional<Network> network;
        if (!model.empty()) with_model.network = &network.emplace(model);
        enlarge(input.get(), output.get(), with_model, {}, {}, {[](int64_t) {}, [](int64_t) {}});
        done = std::fflush(output.get()) == 0;
    } catch (const std::exception &) {
    }
    const long left = countdown.exchange(-1);
    return {done ? bytes_of(output.get()) : std::vector<uint8_t>(), failing - left};
}

void fail_every_allocation(const std::vector<uint8_t> &png, const Method &method,
                           const std::string &model = "") {
    constexpr long never = 1'000'000'000;
    attempt(png, method, model, never);  // whatever is made once, such as threads, exists now
    const Attempt whole = attempt(png, method, model, never);
    ASSERT_FALSE(whole.png.empty());
    int errors = 0;
    for (long failing = 0; failing < whole.allocations; ++failing) {
        const long before = alive;
        const bool failed = attempt(png, method, model, failing).png.empty();
        ASSERT_EQ(alive, before) << "leaked after allocation " << failing << " failed";
        // What one of several failures broke shows in the next whole run.
        constexpr long several = 64;
        if (failing % several == several - 1 || failing + 1 == whole.allocations) {
            ASSERT_EQ(attempt(png, method, model, never).png, whole.png)
                << "after one of the " << several << " allocations up to " << failing << " failed";
        }
        errors += failed;
    }
    std::printf("%ld allocations made to fail, %d of them with an error\n", whole.allocations, errors);
    EXPECT_GT(errors, whole.allocations / 4);
}

std::vector<uint8_t> picture_with_metadata() {
    return make_png8(24, 20, 4, random_bytes(24 * 20 * 4, 1), [](png_structp png, png_infop info) {
        png_text text{};
        text.key = const_cast<char *>("Comment");
        text.text = const_cast<char *>("compressed");
        text.compression = PNG_TEXT_COMPRESSION_zTXt;
        png_set_text(png, info, &text, 1);
        png_set_gAMA(png, info, 0.5);
    });
}

TEST(Allocation, MayFailAnywhereWhileFiltering) {
    Method method;
    method.filter = Filter::lanczos;
    fail_every_allocation(picture_with_metadata(), method);
}

// There is no such test of --linear: Little CMS 2.14 passes a mutex that it could not allocate to
// pthread_mutex_init.

TEST(Allocation, MayFailAnywhereInANetwork) {
    const conv_transpose::testing::TemporaryFolder folder;
    fail_every_allocation(picture_with_metadata(), Method{}, write_two_layers(folder));
}

}  // namespace
}  // namespace upsample::testing

#endif
