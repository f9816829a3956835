// The short way of a plain eager call of PyTorch: from Python's arguments to the compiled library without
// Python between.
//
// forward(), run_and_save() and backward() are conv_transpose.torch's, in C: they ask PyTorch whether
// anything looks into the call, find what it does by its key, and run it. Whatever is not plain, or not known
// to need no conversion, is left to Python, which also words all errors. What a key does is resolved in
// Python, once (torch/_short_calls.py).
//
// Python's stable ABI, DLPack's table of functions and the library's C interface: one binary for all
// versions.
#include "key.h"
#include "reference.h"
#include "steps.h"
#include "torch_state.h"

namespace conv_transpose::short_calls {

TorchState torch;
Names names;

namespace {

PyObject *table, *automatic;
constexpr Py_ssize_t max_calls = 4096;

enum Operation { op_forward, op_backward };

// As _calls.py's _precision(), as a number; -1 for what Python has to judge.
int precision_of(PyObject *name, const DLTensor &tensor) {
    if (!PyUnicode_Check(name)) return -1;
    const auto is = [&](const char *text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    const bool half = tensor.bits == 16;
    if (name == automatic || is("auto")) {
        if (tensor.device_type != device_cuda) return 0;
        return half || is_true(PyObject_CallNoArgs(torch.allows_tf32)) ? 1 : 0;
    }
    if (is("float32")) return 0;
    if (is("tf32")) return 1;
    return is("tf32x3") ? (half ? 1 : 2) : -1;
}

bool is_computed(const DLTensor &tensor) {
    return tensor.lanes == 1 && (tensor.device_type == device_cpu || tensor.device_type == device_cuda) &&
           ((tensor.type == type_float && (tensor.bits == 32 || tensor.bits == 16)) ||
            tensor.type == type_bfloat);
}

// Where not, Python makes a copy (_calls.py).
bool lies_right(const DLTensor &tensor) {
    return tensor.device_type != device_cuda || reinterpret_cast<uintptr_t>(tensor.data) % 16 == 0;
}

// Python's `not implemented`: the caller goes the long way.
PyObject *the_long_way() {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

bool read_attributes(Attributes &attributes, int rank, PyObject *tuple) {
    return PyTuple_CheckExact(tuple) && PyTuple_Size(tuple) == 6 &&
           attributes.read(rank, PyTuple_GetItem(tuple, 0), PyTuple_GetItem(tuple, 1),
                           PyTuple_GetItem(tuple, 2), PyTuple_GetItem(tuple, 3), PyTuple_GetItem(tuple, 4));
}

// What is kept for a key: a capsule of Steps, a dictionary (the gradient's memory format to be made first),
// or None for the long way. `resolve` is called with `arguments` for a new key. Empty with a Python error.
Reference find(const Key &key, PyObject *resolve, PyObject *arguments) {
    Reference bytes = key.bytes();
    if (!bytes) return Reference();
    if (PyObject *known = PyDict_GetItemWithError(table, bytes.get())) return Reference::to(known);
    if (PyErr_Occurred()) return Reference();
    Reference resolved(PyObject_CallObject(resolve, arguments));
    if (resolved && PyTuple_CheckExact(resolved.get())) resolved = Steps::capsule(resolved.get());
    if (!resolved) return Reference();
    if (PyDict_Size(table) >= max_calls) PyDict_Clear(table);
    if (PyDict_SetItem(table, bytes.get(), resolved.get()) != 0) return Reference();
    return resolved;
}

const Steps *runnable(const Reference &found) {
    if (!PyCapsule_CheckExact(found.get())) return nullptr;
    const Steps *steps = Steps::of(found.get());
    return steps->on_current_device() ? steps : nullptr;
}

// What forward() and run_and_save() compute with.
struct Operands {
    PyObject *input, *weight, *bias;
    DLTensor borrowed[3];

    bool has_bias() const { return bias != Py_None; }
    bool borrow() {
        return torch.borrow(input, borrowed[0]) && torch.borrow(weight, borrowed[1]) &&
               (!has_bias() || torch.borrow(bias, borrowed[2])) && is_computed(borrowed[0]);
    }
    int rank() const { return borrowed[0].dimensions - 2; }
    // Dimensions that do not belong together are told of in Python.
    bool have_rank(int rank) const {
        return rank >= 1 && rank <= max_rank && borrowed[0].dimensions == rank + 2 &&
               borrowed[1].dimensions == rank + 2 && (!has_bias() || borrowed[2].dimensions == 1);
    }
};

// A tensor, `not implemented`, or null with a Python error.
PyObject *compute(const Operands &operands, const Attributes &attributes, PyObject *attribute_tuple) {
    const int precision = precision_of(PyTuple_GetItem(attribute_tuple, 5), operands.borrowed[0]);
    if (precision < 0) return the_long_way();
    Key key(op_forward | precision << 1 | operands.has_bias() << 3, attributes);
    const void *slots[argument_count] = {};
    for (int i = 0; i < 2 + operands.has_bias(); i++) {
        if (!lies_right(operands.borrowed[i])) return the_long_way();
        key.add(operands.borrowed[i]);
        slots[i] = operands.borrowed[i].data;
    }
    Reference arguments(PyTuple_Pack(4, operands.input, operands.weight, operands.bias, attribute_tuple));
    Reference found = arguments ? find(key, torch.resolve_forward, arguments.get()) : Reference();
    if (!found) return nullptr;
    const Steps *steps = runnable(found);
    if (!steps) return the_long_way();
    PyObject *answer = nullptr;
    return steps->run(slots, &answer) ? answer : nullptr;
}

// Parameters in float32 beside a picture of 16 bits are autocast's, once it has cast the picture.
bool have_one_type(const Operands &operands) {
    const DLTensor &picture = operands.borrowed[0];
    for (int i = 1; i < 2 + operands.has_bias(); i++)
        if (operands.borrowed[i].type != picture.type || operands.borrowed[i].bits != picture.bits) return false;
    return true;
}

bool requires_gradient(PyObject *tensor) {
    return tensor != Py_None && is_true(PyObject_GetAttr(tensor, names.requires_grad));
}

// forward(rank, input, weight, bias, stride, padding, output_padding, groups, dilation, precision, is_cast); `is_cast`: autocast,
// where it is on, has been followed.
PyObject *forward(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 11) return PyErr_Format(PyExc_TypeError, "forward() takes 11 arguments, not %zd", count);
    const int rank = static_cast<int>(PyLong_AsLong(arguments[0]));
    if (PyErr_Occurred()) return nullptr;
    Operands operands = {arguments[1], arguments[2], arguments[3], {}};
    Attributes attributes;
    if (!torch.exchange || !torch.is_plain(operands.input) || !torch.is_plain(operands.weight) ||
        (operands.has_bias() && !torch.is_plain(operands.bias)) ||
        is_true(PyObject_CallFunctionObjArgs(torch.has_torch_function, operands.input, nullptr)) ||
        torch.is_looked_into() ||
        (arguments[10] != Py_True && is_true(PyObject_CallNoArgs(torch.autocast_enabled))) ||
        !operands.borrow() || !operands.have_rank(rank) || (arguments[10] != Py_True && !have_one_type(operands)) ||
        !attributes.read(rank, arguments[4], arguments[5], arguments[6], arguments[7], arguments[8]))
        return the_long_way();
    PyObject *precision = arguments[9] == Py_None ? automatic : arguments[9];
    if (precision_of(precision, operands.borrowed[0]) < 0) return the_long_way();
    Reference tuple(
        PyTuple_Pack(6, arguments[4], arguments[5], arguments[6], arguments[7], arguments[8], precision));
    if (!tuple) return nullptr;
    if (is_true(PyObject_CallNoArgs(torch.grad_enabled)) &&
        (requires_gradient(operands.input) || requires_gradient(operands.weight) ||
         requires_gradient(operands.bias)))
        return PyObject_CallFunctionObjArgs(torch.apply, operands.input, operands.weight, operands.bias,
                                            tuple.get(), nullptr);
    return compute(operands, attributes, tuple.get());
}

// run_and_save(ctx, input, weight, bias, attributes): the autograd function's forward.
PyObject *run_and_save(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "run_and_save() takes 5 arguments, not %zd", count);
    PyObject *context = arguments[0], *tuple = arguments[4];
    Operands operands = {arguments[1], arguments[2], arguments[3], {}};
    Attributes attributes;
    Reference output(operands.borrow() && operands.have_rank(operands.rank()) &&
                             read_attributes(attributes, operands.rank(), tuple)
                         ? compute(operands, attributes, tuple)
                         : the_long_way());
    if (output.get() == Py_NotImplemented)
        output = Reference(PyObject_CallFunctionObjArgs(torch.run_forward, operands.input, operands.weight,
                                                        operands.bias, tuple, nullptr));
    Reference saved(PyTuple_Pack(2, operands.input, operands.weight));
    if (!output || !saved || PyObject_SetAttr(context, names.to_save, saved.get()) != 0 ||
        PyObject_SetAttr(context, names.attributes, tuple) != 0)
        return nullptr;
    return output.release();
}

// `borrowed` are the output gradient, the input and the weight. Returns the gradients of input, weight and bias, and None for the
// attributes; null with a Python error.
PyObject *differentiate(const Steps &steps, const DLTensor (&borrowed)[3]) {
    // In the order of conv_transpose_arguments.
    const void *slots[argument_count] = {borrowed[1].data, borrowed[2].data, nullptr, nullptr, borrowed[0].data};
    PyObject *answers[4] = {};
    const bool ran = steps.run(slots, answers);
    Reference held[3] = {Reference(answers[0]), Reference(answers[1]), Reference(answers[2])};
    if (!ran) return nullptr;
    for (PyObject *&answer : answers)
        if (!answer) answer = Py_None;
    return PyTuple_Pack(4, answers[0], answers[1], answers[2], answers[3]);
}

// What differentiate() answers; `not implemented`, or null with a Python error.
PyObject *gradients(PyObject *context, PyObject *output_gradient) {
    Reference saved(PyObject_GetAttr(context, names.saved_tensors)),
        tuple(PyObject_GetAttr(context, names.attributes)),
        needed(PyObject_GetAttr(context, names.needs_input_grad));
    if (!saved || !tuple || !needed) return nullptr;
    PyObject *input = PyTuple_GetItem(saved.get(), 0), *weight = PyTuple_GetItem(saved.get(), 1);
    if (!input || !weight) return nullptr;
    DLTensor borrowed[3];
    Attributes attributes;
    if (!torch.is_plain(output_gradient) || !torch.is_plain(input) || !torch.is_plain(weight) ||
        is_true(PyObject_CallNoArgs(torch.grad_enabled)) || torch.is_looked_into() ||
        !torch.borrow(input, borrowed[1]) || !torch.borrow(weight, borrowed[2]) ||
        borrowed[1].dimensions < 3 || borrowed[1].dimensions != borrowed[2].dimensions ||
        !read_attributes(attributes, borrowed[1].dimensions - 2, tuple.get()))
        return the_long_way();
    const int precision = precision_of(PyTuple_GetItem(tuple.get(), 5), borrowed[1]);
    if (precision < 0) return the_long_way();
    int wanted = 0;
    for (int i = 0; i < 3; i++) wanted |= (PyTuple_GetItem(needed.get(), i) == Py_True) << i;

    Reference gradient = Reference::to(output_gradient);
    for (bool is_dense = false;; is_dense = true) {
        if (!torch.borrow(gradient.get(), borrowed[0])) return the_long_way();
        Key key(op_backward | precision << 1 | wanted << 3, attributes);
        for (const DLTensor &tensor : borrowed) {
            if (!lies_right(tensor)) return the_long_way();
            key.add(tensor);
        }
        Reference arguments(PyTuple_Pack(5, gradient.get(), input, weight, needed.get(), tuple.get()));
        Reference found = arguments ? find(key, torch.resolve_backward, arguments.get()) : Reference();
        if (!found) return nullptr;
        if (PyDict_Check(found.get()) && !is_dense) {
            Reference method(PyObject_GetAttr(gradient.get(), names.contiguous)), none(PyTuple_New(0));
            gradient =
                Reference(method && none ? PyObject_Call(method.get(), none.get(), found.get()) : nullptr);
            if (!gradient) return nullptr;
            continue;
        }
        const Steps *steps = runnable(found);
        return steps ? differentiate(*steps, borrowed) : the_long_way();
    }
}

// backward(ctx, output_gradient): the autograd function's.
PyObject *backward(PyObject *, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "backward() takes 2 arguments, not %zd", count);
    Reference answer(gradients(arguments[0], arguments[1]));
    if (answer.get() != Py_NotImplemented) return answer.release();
    return PyObject_CallFunctionObjArgs(torch.run_backward, arguments[0], arguments[1], nullptr);
}

const DLPackExchangeAPI *exchange_in(PyObject *capsule) {
    return static_cast<const DLPackExchangeAPI *>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
}

// lends(exchange): whether the table of functions is one that is known here.
PyObject *lends(PyObject *, PyObject *capsule) {
    const DLPackExchangeAPI *exchange = exchange_in(capsule);
    if (!exchange) return nullptr;
    return PyBool_FromLong(exchange->major == 1 && exchange->borrow && exchange->current_stream);
}

// connect(exchange, plan_run, asked): the table of functions, an address, and what TorchState has, in its
// order.
PyObject *connect(PyObject *, PyObject *arguments) {
    PyObject *capsule, *asked;
    Py_ssize_t plan_run;
    if (!PyArg_ParseTuple(arguments, "OnO!", &capsule, &plan_run, &PyTuple_Type, &asked)) return nullptr;
    const DLPackExchangeAPI *exchange = exchange_in(capsule);
    if (!exchange) return nullptr;
    if (!plan_run || PyTuple_Size(asked) != TorchState::count)
        return PyErr_Format(PyExc_ValueError, "connect() takes %d functions", TorchState::count);
    for (int i = 0; i < TorchState::count; i++) {
        PyObject *function = PyTuple_GetItem(asked, i);
        Py_INCREF(function);
        torch.fields()[i] = function;
    }
    Step::plan_run = reinterpret_cast<decltype(Step::plan_run)>(plan_run);
    torch.exchange = exchange;
    Py_RETURN_NONE;
}

template <auto function>
constexpr PyMethodDef fast(const char *name) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL,
            nullptr};
}

bool prepare() {
    const struct {
        PyObject *&name;
        const char *text;
    } interned[] = {{names.is_neg, "is_neg"},
                    {names.requires_grad, "requires_grad"},
                    {names.current_level, "_current_level"},
                    {names.saved_tensors, "saved_tensors"},
                    {names.to_save, "to_save"},
                    {names.attributes, "attributes"},
                    {names.needs_input_grad, "needs_input_grad"},
                    {names.contiguous, "contiguous"},
                    {automatic, "auto"}};
    for (const auto &[name, text] : interned)
        if (!(name = PyUnicode_InternFromString(text))) return false;
    return (table = PyDict_New());
}

}  // namespace
}  // namespace conv_transpose::short_calls

PyMODINIT_FUNC PyInit__short_calls() {
    using namespace conv_transpose::short_calls;
    static PyMethodDef methods[] = {fast<forward>("forward"),
                                    fast<run_and_save>("run_and_save"),
                                    fast<backward>("backward"),
                                    {"lends", lends, METH_O, nullptr},
                                    {"connect", connect, METH_VARARGS, nullptr},
                                    {}};
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT, "_short_calls", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
    return prepare() ? PyModule_Create(&definition) : nullptr;
}
