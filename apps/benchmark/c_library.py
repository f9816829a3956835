"""The library through its C interface (conv_transpose_c.h), for the Python scripts here."""
import ctypes

OPERATIONS = ("forward", "input_gradient", "weight_gradient", "bias_gradient")
DEVICES = ("automatic", "cpu", "cuda")
PRECISIONS = ("float32", "tf32", "tf32x3")
_MESSAGE_BYTES = 512


class Problem(ctypes.Structure):
    _pair = ctypes.c_int64 * 2
    _fields_ = [("batch", ctypes.c_int64), ("in_channels", ctypes.c_int64), ("out_channels", ctypes.c_int64),
                ("input", _pair), ("kernel", _pair), ("stride", _pair), ("padding", _pair),
                ("output_padding", _pair), ("dilation", _pair), ("groups", ctypes.c_int64)]


class _Options(ctypes.Structure):
    _fields_ = [("operation", ctypes.c_int), ("device", ctypes.c_int), ("precision", ctypes.c_int),
                ("bias", ctypes.c_int), ("activation", ctypes.c_int), ("negative_slope", ctypes.c_float),
                ("kernel", ctypes.c_char_p)]


class _Arguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "input", "weight", "bias", "output", "output_gradient", "input_gradient", "weight_gradient",
        "bias_gradient", "packed_weight")]


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
        problem = Problem()
        self.call("problem_parse", text.encode(), ctypes.byref(problem))
        return problem

    def version(self):
        return self._c.conv_transpose_version().decode()

    def set_cpu_threads(self, threads):
        self._c.conv_transpose_set_cpu_threads(ctypes.c_int(threads))

    def plan(self, problem, **options):
        return Plan(self, problem, **options)


class Plan:
    def __init__(self, library, problem, operation="forward", device="automatic", precision="float32", kernel=""):
        self._library, self._c = library, library._c
        self._plan = ctypes.c_void_p()
        options = _Options(OPERATIONS.index(operation), DEVICES.index(device), PRECISIONS.index(precision), 0, 0, 0.0,
                           kernel.encode())
        library.call("plan_create", ctypes.byref(problem), ctypes.byref(options), ctypes.byref(self._plan))
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
