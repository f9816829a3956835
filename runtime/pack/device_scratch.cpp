// Device memory for kernels that ask for it: those of Halide's autoschedulers, which no schedule of ours resembles in
// this. Only kernel packs carry it. Blocks are kept and given out again, as Halide's own runtime does, so that a run
// that is recorded in a graph finds its memory there. For one stream at a time.
#include <map>
#include <mutex>

#include "HalideRuntime.h"
#include "device/cuda_driver.h"

namespace {

using namespace conv_transpose;

class FreeBlocks {
  public:
    static FreeBlocks &instance() {
        static FreeBlocks *all = new FreeBlocks;
        return *all;
    }

    CUresult take(size_t bytes, uint64_t *address) {
        const std::lock_guard lock(mutex_);
        if (const auto found = free_.find(bytes); found != free_.end()) {
            *address = found->second;
            free_.erase(found);
            return CUDA_SUCCESS;
        }
        return cuda_driver()->cuMemAlloc(address, bytes);
    }

    void give_back(size_t bytes, uint64_t address) {
        const std::lock_guard lock(mutex_);
        free_.emplace(bytes, address);
    }

  private:
    std::mutex mutex_;
    std::multimap<size_t, uint64_t> free_;
};

}  // namespace

extern "C" {

int halide_device_malloc(void *user_context, halide_buffer_t *buffer, const halide_device_interface_t *interface) {
    if (buffer->device) return 0;  // asked for before each use
    if (CUresult result = FreeBlocks::instance().take(buffer->size_in_bytes(), &buffer->device)) {
        halide_error(user_context, cuda_driver()->error_string(result));
        return halide_error_code_device_malloc_failed;
    }
    buffer->device_interface = interface;
    return 0;
}

int halide_device_free(void *, halide_buffer_t *buffer) {
    if (buffer->device) FreeBlocks::instance().give_back(buffer->size_in_bytes(), buffer->device);
    buffer->device = 0;
    buffer->device_interface = nullptr;
    return 0;
}

void halide_device_free_as_destructor(void *user_context, void *buffer) {
    halide_device_free(user_context, static_cast<halide_buffer_t *>(buffer));
}

}  // extern "C"
