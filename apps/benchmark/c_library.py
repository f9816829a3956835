"""The library through its C interface (conv_transpose_c.h), for the Python scripts here."""
import ctypes
import importlib.util
import pathlib


def _c_interface():
    """The package's description of the C interface, without the package, which would load its own library."""
    path = pathlib.Path(__file__).parents[2] / "python/conv_transpose/_c_interface.py"
    spec = importlib.util.spec_from_file_location("c_interface", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_c = _c_interface()
OPERATIONS, DEVICES, PRECISIONS, ELEMENT_TYPES = _c.OPERATIONS, _c.DEVICES, _c.PRECISIONS, _c.ELEMENT_TYPES
_MESSAGE_BYTES = 512


class _Arguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in _c.ARGUMENTS]


class Error(RuntimeError):
    """What the library says of a request."""


class Library:
    def __init__(self, path):
        self._c = ctypes.CDLL(path)
        for name in ("plan_workspace_bytes", "plan_packed_weight_bytes"):
            getattr(self._c, "conv_transpose_" + name).restype = ctypes.c_size_t
        for name in ("plan_kernel", "version"):
            getattr(self._c, "conv_transpose_" + name).restype = ctypes.c_char_p

    def call(self, name, *arguments):
        """Calls a function whose last two parameters receive a message; raises Error with it."""
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        if getattr(self._c, "conv_transpose_" + name)(*arguments, message, ctypes.c_size_t(_MESSAGE_BYTES)) != 0:
            raise Error(message.value.decode())

    def problem(self, text):
        problem = _c.Problem()
        self.call("problem_parse", text.encode(), ctypes.byref(problem))
        return problem

    def version(self):
        return self._c.conv_transpose_version().decode()

    def set_cpu_threads(self, threads):
        self._c.conv_transpose_set_cpu_threads(ctypes.c_int(threads))

    def plan(self, problem, **options):
        return Plan(self, problem, **options)

    def fastest_kernel(self, problem, tensors, stream=None, **options):
        """Name of the kernel that takes least time on tensors of these addresses; options as a plan has them."""
        name = ctypes.create_string_buffer(_MESSAGE_BYTES)
        self.call("fastest_kernel", ctypes.byref(problem), ctypes.byref(_plan_options(**options)),
                  ctypes.byref(_Arguments(**tensors)), ctypes.c_void_p(stream), name, ctypes.c_size_t(_MESSAGE_BYTES))
        return name.value.decode()


def _plan_options(operation="forward", device="automatic", precision="float32", kernel="", element_type="float32",
                  layout="channels_first"):
    """All tensors have the element type and the layout."""
    return _c.PlanOptions(OPERATIONS.index(operation), DEVICES.index(device), PRECISIONS.index(precision), 0, 0, 0.0,
                          kernel.encode(), *[(ELEMENT_TYPES.index(element_type), _c.LAYOUTS.index(layout))] * 3)


class Plan:
    def __init__(self, library, problem, **options):
        self._library, self._c = library, library._c
        self._plan = ctypes.c_void_p()
        library.call("plan_create", ctypes.byref(problem), ctypes.byref(_plan_options(**options)), ctypes.byref(self._plan))
        self.kernel = self._c.conv_transpose_plan_kernel(self._plan).decode()
        self.workspace_bytes = self._c.conv_transpose_plan_workspace_bytes(self._plan, 0)
        self.packed_weight_bytes = self._c.conv_transpose_plan_packed_weight_bytes(self._plan)

    def __del__(self):
        if self._plan:
            self._c.conv_transpose_plan_destroy(self._plan)

    def run(self, workspace, stream=None, **tensors):
        """`tensors` are addresses by the names of conv_transpose_arguments; `workspace` is one of workspace_bytes."""
        self._library.call("plan_run", self._plan, ctypes.byref(_Arguments(**tensors)), ctypes.c_void_p(workspace),
                           ctypes.c_size_t(self.workspace_bytes), ctypes.c_void_p(stream))

    def pack_weight(self, weight, packed, stream=None):
        """Addresses; `packed` is one of packed_weight_bytes."""
        self._library.call("plan_pack_weight", self._plan, ctypes.c_void_p(weight), ctypes.c_void_p(packed),
                           ctypes.c_void_p(stream))
