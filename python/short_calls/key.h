// What a call is found by: attributes, and everything of its tensors but their addresses.
#pragma once

#include "dlpack.h"
#include "reference.h"

namespace conv_transpose::short_calls {

constexpr int max_rank = 3;

// Stride, padding, output padding, dilation and groups, from a Python call.
class Attributes {
  public:
    // False where one is no int and no tuple of `rank` ints: Python words the error, or converts.
    bool read(int rank, PyObject *stride, PyObject *padding, PyObject *output_padding, PyObject *groups,
              PyObject *dilation) {
        PyObject *const by_axis[] = {stride, padding, output_padding, dilation};
        for (int i = 0; i < 4; i++)
            if (!read_axes(rank, by_axis[i], values + i * max_rank)) return false;
        return read_integer(groups, values[4 * max_rank]);
    }

    static constexpr int count = 4 * max_rank + 1;
    std::int64_t values[count] = {};

  private:
    static bool read_integer(PyObject *object, std::int64_t &value) {
        if (!PyLong_CheckExact(object)) return false;
        value = PyLong_AsLongLong(object);
        if (value != -1 || !PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }
    static bool read_axes(int rank, PyObject *object, std::int64_t *axes) {
        if (!PyTuple_CheckExact(object)) {
            if (!read_integer(object, axes[0])) return false;
            for (int i = 1; i < rank; i++) axes[i] = axes[0];
            return true;
        }
        if (PyTuple_Size(object) != rank) return false;
        for (int i = 0; i < rank; i++)
            if (!read_integer(PyTuple_GetItem(object, i), axes[i])) return false;
        return true;
    }
};

class Key {
  public:
    // `what`: the operation and its options, in a number.
    Key(std::int64_t what, const Attributes &attributes) {
        add(what);
        for (std::int64_t value : attributes.values) add(value);
    }
    // The tensor has at most max_rank + 2 dimensions.
    void add(const DLTensor &tensor) {
        add(tensor.dimensions | std::int64_t(tensor.type) << 8 | std::int64_t(tensor.bits) << 16 |
            std::int64_t(tensor.device_type) << 24 | std::int64_t(tensor.device_id) << 32);
        for (int i = 0; i < tensor.dimensions; i++) add(tensor.shape[i]);
        for (int i = 0; i < tensor.dimensions; i++) add(tensor.strides[i]);
    }
    Reference bytes() const {
        return Reference(
            PyBytes_FromStringAndSize(reinterpret_cast<const char *>(values_), count_ * sizeof values_[0]));
    }

  private:
    static constexpr int max_tensors = 3,
                         max_count = 1 + Attributes::count + max_tensors * (1 + 2 * (max_rank + 2));
    void add(std::int64_t value) { values_[count_++] = value; }

    std::int64_t values_[max_count];
    int count_ = 0;
};

}  // namespace conv_transpose::short_calls
