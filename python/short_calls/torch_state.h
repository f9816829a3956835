// What PyTorch is asked before a call may take the short way, and what it lends. Each is a function of
// PyTorch's or of the Python package, given by connect().
#pragma once

#include "dlpack.h"
#include "reference.h"

namespace conv_transpose::short_calls {

struct TorchState {
    // In the order in which connect() is given them.
    PyObject *tensor_type, *parameter_type;
    PyObject *has_torch_function;  // of a tensor: whether a mode of torch functions is on
    PyObject *dispatch_modes;      // () -> how many
    PyObject *functorch_level;     // () -> None outside of functorch
    PyObject *forward_mode;        // a module; its _current_level is -1 outside of forward mode
    PyObject *tracing_state;       // () -> None outside of torch.jit.trace
    PyObject *profiler_enabled;    // () -> bool
    PyObject *autocast_enabled;    // () -> bool, on any device
    PyObject *grad_enabled;        // () -> bool
    PyObject *allows_tf32;         // () -> bool
    PyObject *current_device;      // () -> int
    PyObject *allocate, *free;     // (bytes, stream) -> address; (address) -> None
    PyObject *scratch;             // (bytes) -> address, on the CPU
    PyObject *follow_threads;      // () -> None: the library uses as many as PyTorch
    PyObject *raise;               // (status, message): never returns
    PyObject *apply;               // of the autograd function
    PyObject *resolve_forward;     // how a call of an unknown key is computed: see calls.h
    PyObject *resolve_backward;
    PyObject *run_forward;  // the long ways
    PyObject *run_backward;
    static constexpr int count = 22;

    const DLPackExchangeAPI *exchange = nullptr;

    PyObject **fields() { return &tensor_type; }

    bool is_plain(PyObject *object) const {
        const void *type = Py_TYPE(object);
        return type == tensor_type || type == parameter_type;
    }
    // Also where asking fails: then the long way says why.
    bool is_looked_into() const;
    // Whether the tensor could be borrowed: it has memory, whose numbers are not to be negated.
    bool borrow(PyObject *tensor, DLTensor &borrowed) const;
};

extern TorchState torch;

// Names of PyTorch's methods and attributes.
struct Names {
    PyObject *is_neg, *requires_grad, *current_level, *saved_tensors, *to_save, *attributes,
        *needs_input_grad, *contiguous;
};
extern Names names;

// An answer, which is no error, as a truth value; what has failed counts as true.
inline bool is_true(PyObject *answer) {
    Reference held(answer);
    if (answer == Py_True || answer == Py_False) return answer == Py_True;
    const int truth = answer ? PyObject_IsTrue(answer) : -1;
    if (truth < 0) PyErr_Clear();
    return truth != 0;
}
inline bool is_none(PyObject *answer) {
    Reference held(answer);
    if (!answer) PyErr_Clear();
    return answer == Py_None;
}

inline bool TorchState::is_looked_into() const {
    if (is_true(PyObject_CallNoArgs(dispatch_modes)) || !is_none(PyObject_CallNoArgs(functorch_level)) ||
        !is_none(PyObject_CallNoArgs(tracing_state)) || is_true(PyObject_CallNoArgs(profiler_enabled)))
        return true;
    Reference level(PyObject_GetAttr(forward_mode, names.current_level));
    const long value = level ? PyLong_AsLong(level.get()) : 0;
    if (PyErr_Occurred()) PyErr_Clear();
    return value >= 0;
}

inline bool TorchState::borrow(PyObject *tensor, DLTensor &borrowed) const {
    if (exchange->borrow(tensor, &borrowed) != 0) {
        PyErr_Clear();
        return false;
    }
    if (borrowed.dimensions < 1 || borrowed.dimensions > 5 || !borrowed.data) return false;
    borrowed.data = static_cast<char *>(borrowed.data) + borrowed.byte_offset;
    return !is_true(PyObject_CallMethodObjArgs(tensor, names.is_neg, nullptr));
}

}  // namespace conv_transpose::short_calls
