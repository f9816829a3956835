// Timing by the device's clock: see device_timer.h.
#include "conv_transpose/device_timer.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <thread>

#include "device/cuda_driver.h"
#include "device/memory_checks.h"

namespace conv_transpose {

namespace {

void check(const Status &status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

int attribute(CUdevice device, int which) {
    int value = 0;
    check_cuda(require_cuda_driver().cuDeviceGetAttribute(&value, which, device),
               "cannot read an attribute of the device");
    return value;
}

DeviceFacts gpu_facts() {
    const CudaDriver &cuda = require_cuda_driver();
    const ScopedCudaContext scope(nullptr);
    check_cuda(scope.result(), "no context");
    CUdevice device = 0;
    check_cuda(cuda.cuCtxGetDevice(&device), "no device");
    char name[256] = "";
    check_cuda(cuda.cuDeviceGetName(name, sizeof name, device), "cannot read the device's name");
    DeviceFacts facts;
    facts.name = name;
    facts.cache_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    facts.compute_capability = compute_capability();
    facts.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.clock_ghz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e6;
    return facts;
}

DeviceFacts cpu_facts() {
    DeviceFacts facts;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; facts.name.empty() && std::getline(info, line);)
        if (line.rfind("model name", 0) == 0)
            facts.name = line.substr(std::min(line.find(": ") + 2, line.size()));
    facts.multiprocessors = static_cast<int>(std::thread::hardware_concurrency());
    facts.cache_bytes = std::max<long>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
    return facts;
}

}  // namespace

struct TimedWork::Impl {
    virtual ~Impl() = default;
    virtual double run() = 0;
};

namespace {

class CpuWork : public TimedWork::Impl {
  public:
    explicit CpuWork(std::function<Status(Stream)> work) : work_(std::move(work)) {}

    double run() override {
        const auto start = std::chrono::steady_clock::now();
        const Status status = work_({});
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
        check(status);
        return elapsed.count();
    }

  private:
    std::function<Status(Stream)> work_;
};

class CudaWork : public TimedWork::Impl {
  public:
    CudaWork(std::function<Status(Stream)> enqueue, TimedWork::Submission submission)
        : enqueue_(std::move(enqueue)) {
        const ScopedCudaContext scope(nullptr);
        check_cuda(scope.result(), "no context");
        try {
            create_stream();
            if (submission == TimedWork::Submission::graph) record();
        } catch (...) {
            release();
            throw;
        }
    }

    ~CudaWork() override {
        const ScopedCudaContext scope(nullptr);
        release();
    }

    double run() override {
        const ScopedCudaContext scope(nullptr);
        check_cuda(scope.result(), "no context");
        float milliseconds = 0;
        check_cuda(cuda_.cuEventRecord(start_, stream_), "cannot record an event");
        submit();
        check_cuda(cuda_.cuEventRecord(stop_, stream_), "cannot record an event");
        check_cuda(cuda_.cuEventSynchronize(stop_), "the work failed");
        check_cuda(cuda_.cuEventElapsedTime(&milliseconds, start_, stop_), "cannot read the time");
        return milliseconds;
    }

  private:
    const CudaDriver &cuda_ = require_cuda_driver();
    const std::function<Status(Stream)> enqueue_;
    CUstream stream_ = nullptr;
    void *start_ = nullptr, *stop_ = nullptr, *graph_ = nullptr, *executable_ = nullptr;

    void create_stream() {
        check_cuda(cuda_.cuEventCreate(&start_, 0), "cannot create an event");
        check_cuda(cuda_.cuEventCreate(&stop_, 0), "cannot create an event");
        constexpr unsigned non_blocking = 1;
        check_cuda(cuda_.cuStreamCreate(&stream_, non_blocking), "cannot create a stream");
    }

    void record() {
        constexpr unsigned relaxed = 2;
        check_cuda(cuda_.cuStreamBeginCapture(stream_, relaxed), "cannot record a graph");
        const Status status = enqueue_({stream_});
        const CUresult ended = cuda_.cuStreamEndCapture(stream_, &graph_);
        check(status);
        check_cuda(ended, "cannot record a graph");
        check_cuda(cuda_.cuGraphInstantiateWithFlags(&executable_, graph_, 0), "cannot prepare a graph");
    }

    void submit() {
        if (executable_)
            check_cuda(cuda_.cuGraphLaunch(executable_, stream_), "cannot launch the graph");
        else
            check(enqueue_({stream_}));
    }

    void release() {
        if (executable_) cuda_.cuGraphExecDestroy(executable_);
        if (graph_) cuda_.cuGraphDestroy(graph_);
        if (stream_) cuda_.cuStreamDestroy(stream_);
        if (start_) cuda_.cuEventDestroy(start_);
        if (stop_) cuda_.cuEventDestroy(stop_);
    }
};

}  // namespace

TimedWork::TimedWork(Device device, std::function<Status(Stream)> enqueue, Submission submission) {
    if (!enqueue) throw std::invalid_argument("enqueue is empty, but it must be a function");
    if (place(device) == Device::cuda)
        impl_ = std::make_unique<CudaWork>(std::move(enqueue), submission);
    else
        impl_ = std::make_unique<CpuWork>(std::move(enqueue));
}

TimedWork::~TimedWork() = default;
TimedWork::TimedWork(TimedWork &&) noexcept = default;
TimedWork &TimedWork::operator=(TimedWork &&) noexcept = default;

double TimedWork::run() {
    return impl_->run();
}

DeviceFacts device_facts(Device device) {
    return place(device) == Device::cuda ? gpu_facts() : cpu_facts();
}

Status copy_on_device(DeviceMemory &target, std::size_t offset, const DeviceMemory &source, std::size_t bytes,
                      Stream stream) {
    if (target.device() != Device::cuda || source.device() != Device::cuda)
        return {Status::Code::invalid_argument, "target or source is the CPU's memory, but the copy is CUDA's"};
    if (offset > target.bytes() || bytes > std::min(target.bytes() - offset, source.bytes()))
        return {Status::Code::invalid_argument, "the copy reaches beyond the end of target or source"};
    const CudaDriver &cuda = require_cuda_driver();
    const ScopedCudaContext scope(stream.handle);
    const auto address = [](const DeviceMemory &memory) { return reinterpret_cast<uint64_t>(memory.data()); };
    CUresult result = scope.result();
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemcpyDtoDAsync(address(target) + offset, address(source), bytes, stream.handle);
    if (result == CUDA_SUCCESS) return {};
    return {Status::Code::device_error, cuda.error_string(result)};
}

}  // namespace conv_transpose
