// What a call of a known key does: runs of plans, each into a tensor of its own.
#pragma once

#include <conv_transpose/conv_transpose_c.h>

#include <new>

#include "torch_state.h"

namespace conv_transpose::short_calls {

// conv_transpose_arguments: pointers alone.
constexpr int argument_count = sizeof(conv_transpose_arguments) / sizeof(void *);

class Step {
  public:
    Step() = default;
    // From what Python resolved: (keeper of the plan, plan, workspace's bytes, a function that makes a tensor
    // of shape, strides and type, these three of the result, its slot among the arguments, its place in the
    // answer). False with a Python error.
    bool read(PyObject *tuple) {
        PyObject *keeper, *empty, *shape, *strides, *type;
        Py_ssize_t plan, bytes;
        if (!PyArg_ParseTuple(tuple, "OnnOOOOii", &keeper, &plan, &bytes, &empty, &shape, &strides, &type,
                              &slot_, &place_))
            return false;
        keeper_ = Reference::to(keeper);
        empty_ = Reference::to(empty);
        type_ = Reference::to(type);
        shape_ = Reference::to(shape);
        strides_ = Reference::to(strides);
        plan_ = reinterpret_cast<const conv_transpose_plan *>(plan);
        workspace_bytes_ = static_cast<std::size_t>(bytes);
        if (slot_ >= 0 && slot_ < argument_count && place_ >= 0) return true;
        PyErr_SetString(PyExc_ValueError, "a step's slot or place is not one");
        return false;
    }

    // Into a new tensor; empty with a Python error.
    Reference run(const void *const operands[argument_count], bool on_cuda, void *stream) const;
    int place() const { return place_; }

    static decltype(&conv_transpose_plan_run) plan_run;  // of the library that is loaded

  private:
    Reference workspace(bool on_cuda, void *stream) const;

    Reference keeper_, empty_, shape_, strides_, type_;
    const conv_transpose_plan *plan_ = nullptr;
    std::size_t workspace_bytes_ = 0;
    int slot_ = 0, place_ = 0;
};

inline decltype(&conv_transpose_plan_run) Step::plan_run = nullptr;

// An address, or empty with a Python error.
inline Reference Step::workspace(bool on_cuda, void *stream) const {
    Reference bytes(PyLong_FromSize_t(workspace_bytes_));
    if (!bytes || !on_cuda)
        return Reference(bytes ? PyObject_CallFunctionObjArgs(torch.scratch, bytes.get(), nullptr) : nullptr);
    Reference handle(PyLong_FromVoidPtr(stream));
    return Reference(handle ? PyObject_CallFunctionObjArgs(torch.allocate, bytes.get(), handle.get(), nullptr)
                            : nullptr);
}

// PyTorch's allocator takes a workspace back at once: it hands it out again in the order of the stream.
inline Reference Step::run(const void *const operands[argument_count], bool on_cuda, void *stream) const {
    Reference result(
        PyObject_CallFunctionObjArgs(empty_.get(), shape_.get(), strides_.get(), type_.get(), nullptr));
    DLTensor borrowed;
    if (!result || torch.exchange->borrow(result.get(), &borrowed) != 0) return Reference();
    Reference space;
    if (workspace_bytes_ && !(space = workspace(on_cuda, stream))) return Reference();
    void *const address = space ? PyLong_AsVoidPtr(space.get()) : nullptr;

    const void *slots[argument_count];
    for (int i = 0; i < argument_count; i++) slots[i] = operands[i];
    slots[slot_] = static_cast<char *>(borrowed.data) + borrowed.byte_offset;
    conv_transpose_arguments arguments;
    static_assert(sizeof arguments == sizeof slots);
    __builtin_memcpy(&arguments, slots, sizeof arguments);

    char message[1024];
    PyThreadState *thread = PyEval_SaveThread();  // long kernels of the CPU let others run
    const conv_transpose_status status =
        plan_run(plan_, &arguments, address, workspace_bytes_, stream, message, sizeof message);
    PyEval_RestoreThread(thread);

    if (space && on_cuda) {
        Reference freed(PyObject_CallFunctionObjArgs(torch.free, space.get(), nullptr));
        if (!freed) return Reference();
    }
    if (status == CONV_TRANSPOSE_OK) return result;
    Reference raised(PyObject_CallFunction(torch.raise, "is", static_cast<int>(status), message));
    return Reference();
}

// A call's steps, in a capsule.
class Steps {
  public:
    static constexpr int max_count = 3;
    static constexpr const char *capsule_name = "conv_transpose.steps";

    // From (device's index, -1 for the CPU; steps). A capsule, or empty with a Python error.
    static Reference capsule(PyObject *resolved) {
        int device;
        PyObject *parts;
        if (!PyArg_ParseTuple(resolved, "iO!", &device, &PyTuple_Type, &parts)) return Reference();
        void *const memory = PyMem_Malloc(sizeof(Steps));
        if (!memory) return Reference(PyErr_NoMemory());
        Steps *const steps = new (memory) Steps;
        steps->device_ = device;
        steps->count_ = static_cast<int>(PyTuple_Size(parts));
        bool read = steps->count_ <= max_count;
        for (int i = 0; i < steps->count_ && read; i++)
            read = steps->steps_[i].read(PyTuple_GetItem(parts, i));
        Reference made(read ? PyCapsule_New(steps, capsule_name, destroy_capsule) : nullptr);
        if (!made) destroy(steps);
        return made;
    }
    static const Steps *of(PyObject *capsule) {
        return static_cast<const Steps *>(PyCapsule_GetPointer(capsule, capsule_name));
    }

    // Puts a tensor at each step's place. False with a Python error.
    bool run(const void *const operands[argument_count], PyObject *answers[]) const {
        void *stream = nullptr;
        if (on_cuda() && torch.exchange->current_stream(device_cuda, device_, &stream) != 0) return false;
        if (!on_cuda() && !Reference(PyObject_CallNoArgs(torch.follow_threads))) return false;
        for (int i = 0; i < count_; i++) {
            Reference result = steps_[i].run(operands, on_cuda(), stream);
            if (!result) return false;
            answers[steps_[i].place()] = result.release();
        }
        return true;
    }
    // Whether the tensors are on the device that is current, as a launch has to be.
    bool on_current_device() const {
        if (!on_cuda()) return true;
        Reference current(PyObject_CallNoArgs(torch.current_device));
        const long index = current ? PyLong_AsLong(current.get()) : -1;
        if (PyErr_Occurred()) PyErr_Clear();
        return index == device_;
    }

  private:
    static void destroy(const Steps *steps) {  // without the C++ library's new and delete
        steps->~Steps();
        PyMem_Free(const_cast<Steps *>(steps));
    }
    static void destroy_capsule(PyObject *capsule) { destroy(of(capsule)); }
    bool on_cuda() const { return device_ >= 0; }

    int device_ = -1, count_ = 0;
    Step steps_[max_count];
};

}  // namespace conv_transpose::short_calls
