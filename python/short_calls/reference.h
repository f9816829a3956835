// A Python object that is held, and let go at the end of a block.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace conv_transpose::short_calls {

class Reference {
  public:
    Reference() = default;
    explicit Reference(PyObject *owned) : object_(owned) {}
    Reference(Reference &&other) noexcept : object_(other.release()) {}
    Reference &operator=(Reference &&other) noexcept {
        PyObject *before = object_;
        object_ = other.release();
        Py_XDECREF(before);
        return *this;
    }
    ~Reference() { Py_XDECREF(object_); }

    static Reference to(PyObject *borrowed) {
        Py_XINCREF(borrowed);
        return Reference(borrowed);
    }
    PyObject *get() const { return object_; }
    PyObject *release() {
        PyObject *object = object_;
        object_ = nullptr;
        return object;
    }
    explicit operator bool() const { return object_; }

  private:
    PyObject *object_ = nullptr;
};

}  // namespace conv_transpose::short_calls
