"""NumPy, JAX and CuPy arrays, and the package without PyTorch."""

import os
import subprocess
import sys

import numpy as np
import pytest

import conv_transpose
from conftest import random_problems
from problems import random_case


def scatter(x, w, b, stride=(1, 1), padding=(0, 0), output_padding=(0, 0), groups=1, dilation=(1, 1)):
    """The definition, as a scatter, in float64."""
    batch, in_channels, height, width = x.shape
    _, channels_a_group, kernel_h, kernel_w = w.shape
    size = [(n - 1) * s + d * (k - 1) + 1 + op for n, s, d, k, op in
            zip((height, width), stride, dilation, (kernel_h, kernel_w), output_padding)]
    full = np.zeros((batch, channels_a_group * groups, *size))
    for g in range(groups):
        inputs = slice(g * in_channels // groups, (g + 1) * in_channels // groups)
        outputs = slice(g * channels_a_group, (g + 1) * channels_a_group)
        for i in range(kernel_h):
            for j in range(kernel_w):
                part = np.einsum("nchw,co->nohw", x[:, inputs].astype("d"), w[inputs, :, i, j].astype("d"))
                full[:, outputs,
                     i * dilation[0] : i * dilation[0] + (height - 1) * stride[0] + 1 : stride[0],
                     j * dilation[1] : j * dilation[1] + (width - 1) * stride[1] + 1 : stride[1]] += part
    full = full[:, :, padding[0] : size[0] - padding[0], padding[1] : size[1] - padding[1]]
    return full + (0 if b is None else b[:, None, None])


def integers(rng, shape):
    """Sums of small integers are exact, so that results must be equal."""
    return np.random.default_rng(rng.getrandbits(32)).integers(-4, 5, shape).astype("float32")


def operands(rng, case):
    return (integers(rng, case.input_shape), integers(rng, case.weight_shape), integers(rng, case.bias_shape))


@pytest.fixture
def simple(rng):
    return integers(rng, (2, 4, 5, 6)), integers(rng, (4, 3, 3, 2)), integers(rng, (3,))


def test_random_problems_equal_the_definition(rng):
    for _ in range(random_problems()):
        case = random_case(rng)
        x, w, b = operands(rng, case)
        if rng.randint(0, 1):
            b = None
        np.testing.assert_array_equal(
            conv_transpose.conv_transpose2d(x, w, b, **case.arguments), scatter(x, w, b, **case.arguments), str(case))


def test_importing_does_not_import_torch():
    code = "import sys, conv_transpose; conv_transpose.info(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("library, reason", [("/no/such/library.so", "cannot open"), ("libc.so.6", "undefined symbol")])
def test_a_library_that_is_none_of_ours_is_named(library, reason):
    done = subprocess.run([sys.executable, "-c", "import conv_transpose"], capture_output=True, text=True,
                          env=os.environ | {"CONV_TRANSPOSE_LIBRARY": library})
    message = done.stderr.splitlines()[-1]
    assert message.startswith(f"ImportError: conv_transpose cannot load its compiled library {library}") and reason in message


def test_info_tells_version_devices_and_kernels():
    info = conv_transpose.info()
    assert info["version"] == conv_transpose.__version__
    assert "cpu" in info["devices"]
    assert any("general" in name for name in info["kernels"])


@pytest.mark.parametrize("make", [
    np.asfortranarray,
    lambda x: x[:, :, ::-1, ::-1],
    lambda x: np.broadcast_to(x[:1], x.shape),
    lambda x: np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1),
])
def test_any_memory_layout(simple, make):
    x, w, b = simple
    x = make(x)
    np.testing.assert_array_equal(conv_transpose.conv_transpose2d(x, w, b), scatter(x, w, b))


def test_read_only_arrays(simple):
    for array in simple:
        array.setflags(write=False)
    np.testing.assert_array_equal(conv_transpose.conv_transpose2d(*simple), scatter(*simple))


def test_unbatched(simple):
    x, w, b = simple
    np.testing.assert_array_equal(conv_transpose.conv_transpose2d(x[0], w, b), scatter(x[:1], w, b)[0])


def test_half_is_computed_through_float32(rng):
    generator = np.random.default_rng(1)
    x, w = (generator.standard_normal(shape).astype("float16") for shape in ((2, 30, 5, 6), (30, 3, 3, 3)))
    result = conv_transpose.conv_transpose2d(x, w)
    assert result.dtype == np.float16
    # Rounded once: half a unit in the last place of a float16, and what float32 sums lose.
    np.testing.assert_allclose(result, scatter(x, w, None), rtol=2.0**-11 * 1.01, atol=1e-5)


@pytest.mark.parametrize("activation, function", [
    ("none", lambda y: y),
    ("relu", lambda y: np.maximum(y, 0)),
    ("leaky_relu", lambda y: np.where(y > 0, y, 0.25 * y)),
    ("tanh", np.tanh),
    ("sigmoid", lambda y: 1 / (1 + np.exp(-y))),
])
def test_activations(simple, activation, function):
    result = conv_transpose.conv_transpose2d(*simple, activation=activation, negative_slope=0.25)
    np.testing.assert_allclose(result, function(scatter(*simple)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("change, error, message", [
    (dict(activation="gelu"), ValueError, "activation is 'gelu'"),
    (dict(precision="int8"), ValueError, "precision is 'int8'"),
    (dict(stride=0), ValueError, "stride.height is 0"),
    (dict(weight=np.zeros((5, 3, 3, 2), "f")), ValueError, "has 4 channels"),
    (dict(weight=np.zeros((3, 3, 3, 2), "f")), ValueError, "has 4 channels"),
    (dict(input=np.zeros((2, 4, 5, 6))), ValueError, "float64"),
    (dict(input=np.zeros((4, 5), "f")), ValueError, "2 dimensions"),
    (dict(input=[[1.0]]), TypeError, "must be an array"),
    (dict(weight=np.zeros((4, 3, 3, 2), "e")), ValueError, "weight is float16"),
    (dict(stride=1.5), TypeError, "stride"),
    (dict(stride=2.0), TypeError, "stride"),  # though it equals 2, for which there may be a plan
    (dict(stride=(2, 2.0)), TypeError, "stride"),
    (dict(groups=True), TypeError, "groups"),
    (dict(stride=2**64 + 1), ValueError, "stride is 18446744073709551617"),
    (dict(groups=2**64 + 1), ValueError, "groups is"),
    (dict(strict_propagation="no"), TypeError, "strict_propagation must be True or False, not 'no'"),
    (dict(activation="leaky_relu", negative_slope="0.1"), TypeError, "negative_slope must be a number, not str"),
    (dict(input=np.ma.masked_array(np.ones((2, 4, 5, 6), "f"), mask=True)), TypeError, "input is a masked array"),
])
def test_errors_name_argument_and_value(simple, change, error, message):
    arguments = dict(zip(("input", "weight", "bias"), simple))
    conv_transpose.conv_transpose2d(**arguments, stride=2)
    arguments |= change
    with pytest.raises(error, match=message):
        conv_transpose.conv_transpose2d(**arguments)


def test_workspace_is_aligned(simple, monkeypatch):
    """As the library wants it for CUDA, wherever an array library's memory begins."""
    from conv_transpose import _arrays

    addresses, needed = [], []
    run = _arrays.Plan.run
    monkeypatch.setattr(_arrays.Plan, "run", lambda plan, arguments, workspace, stream: (
        addresses.append(workspace), needed.append(plan.workspace_bytes), run(plan, arguments, workspace, stream)))
    for channels in range(8, 40):
        conv_transpose.conv_transpose2d(np.zeros((1, channels, 4, 4), "f"), np.zeros((channels, channels, 3, 3), "f"))
    assert any(needed)
    assert all(address % 256 == 0 for address in addresses if address is not None)


def test_attributes_may_be_numpys_and_lists(simple):
    for stride in (np.int64(2), [2, 2], (np.int8(2), 2)):
        result = conv_transpose.conv_transpose2d(*simple, stride=stride, groups=np.int32(1))
        np.testing.assert_array_equal(result, scatter(*simple, stride=(2, 2)))


def test_arrays_of_two_libraries_are_refused(simple):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="weight is a torch.Tensor, but input is a ndarray"):
        conv_transpose.conv_transpose2d(simple[0], torch.from_numpy(simple[1]))
    with pytest.raises(TypeError, match="weight must be a Tensor, not ndarray"):
        conv_transpose.conv_transpose2d(torch.from_numpy(simple[0]), simple[1])


def test_number_of_threads_is_checked():
    for threads, error in ((-1, ValueError), (2**40, ValueError), (1.5, TypeError), (None, TypeError)):
        with pytest.raises(error):
            conv_transpose.set_cpu_threads(threads)


def test_any_number_of_threads_gives_the_same(simple):
    try:
        for threads in (1, 2, 1000, 0):
            conv_transpose.set_cpu_threads(threads)
            np.testing.assert_array_equal(conv_transpose.conv_transpose2d(*simple), scatter(*simple))
    finally:
        conv_transpose.set_cpu_threads(0)


class Exporting:
    """An array of a library that the package knows nothing about, but that it exports its memory."""

    def __init__(self, array):
        self.array = array
        self.__dlpack_device__ = array.__dlpack_device__

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


class Standard(Exporting):
    """One that has the array API's names."""

    def __array_namespace__(self):
        class Namespace:
            @staticmethod
            def from_dlpack(array):
                return Standard(np.from_dlpack(array))

        return Namespace


def test_other_libraries_arrays(simple):
    result = conv_transpose.conv_transpose2d(*map(Exporting, simple))
    np.testing.assert_array_equal(result, scatter(*simple))
    result = conv_transpose.conv_transpose2d(*map(Standard, simple))
    assert type(result) is Standard
    np.testing.assert_array_equal(result.array, scatter(*simple))


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_jax(simple, platform):
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices(platform)[0]
    except RuntimeError:
        pytest.skip(f"JAX has no {platform}")
    arrays = [jax.device_put(array, device) for array in simple]
    results = [conv_transpose.conv_transpose2d(arrays[0] * factor, *arrays[1:]) for factor in (1, 2)]
    for factor, result in zip((1, 2), results):
        assert result.devices() == {device}
        np.testing.assert_array_equal(result, scatter(simple[0] * factor, *simple[1:]))
    half = conv_transpose.conv_transpose2d(*(array.astype("bfloat16") for array in arrays))
    assert half.dtype == jax.numpy.bfloat16


ATTRIBUTES = dict(stride=(2, 1), padding=(1, 0), output_padding=(1, 0), groups=2, dilation=(1, 2))


@pytest.fixture
def traced(rng):
    """JAX; our function, and JAX's own transposed convolution with the same meaning; operands."""
    jax = pytest.importorskip("jax")
    stride, padding, extra, groups, dilation = (ATTRIBUTES[name] for name in
                                                ("stride", "padding", "output_padding", "groups", "dilation"))

    def theirs(x, w, b):
        in_channels, channels_a_group, *kernel = w.shape
        flipped = w[:, :, ::-1, ::-1].reshape(groups, in_channels // groups, channels_a_group, *kernel)
        flipped = flipped.swapaxes(1, 2).reshape(-1, in_channels // groups, *kernel)
        ends = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)]
        y = jax.lax.conv_general_dilated(x, flipped, (1, 1), [(end, end + e) for end, e in zip(ends, extra)], stride,
                                         dilation, feature_group_count=groups, precision="highest")
        return y + b.reshape(-1, 1, 1)

    def ours(x, w, b):
        return conv_transpose.conv_transpose2d(x, w, b, **ATTRIBUTES)

    return jax, ours, theirs, [integers(rng, shape) for shape in ((2, 4, 5, 6), (4, 3, 3, 2), (6,))]


def test_jax_jit_and_gradients(traced):
    jax, ours, theirs, operands = traced
    results = []
    for function in (ours, theirs):
        def loss(*operands):
            return (function(*operands) ** 2).sum()

        gradient = jax.grad(loss, (0, 1, 2))
        results.append((
            jax.jit(function)(*operands), jax.jit(gradient)(*operands), gradient(*map(jax.numpy.asarray, operands)),
            jax.grad(lambda *a: sum((g ** 2).sum() for g in gradient(*a)) / 2**20, (0, 1, 2))(*operands)))
    for a, b in zip(*map(jax.tree.leaves, results)):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("which", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 1, 1)])
def test_jax_vmap(traced, which):
    jax, ours, theirs, operands = traced
    batched = [np.stack([operand, 2 * operand, operand[::-1]]) if w else operand for w, operand in zip(which, operands)]
    dims = tuple(0 if w else None for w in which)
    results = []
    for function in (ours, theirs):
        def loss(*operands):
            return (function(*operands) ** 2).sum()

        results.append((jax.vmap(function, dims)(*batched), jax.vmap(jax.grad(loss, (0, 1, 2)), dims)(*batched),
                        jax.grad(lambda *a: (jax.vmap(function, dims)(*a) ** 2).sum(), (0, 1, 2))(*batched),
                        jax.vmap(jax.vmap(function, dims), (None,) * 2 + (0,))(
                            *batched[:2], np.stack([batched[2]] * 2))))
    for a, b in zip(*map(jax.tree.leaves, results)):
        np.testing.assert_array_equal(a, b)


def test_jax_traced_formats_activations_and_errors(traced):
    jax, ours, _, (x, w, b) = traced
    call = conv_transpose.conv_transpose2d
    y = jax.jit(lambda *a: call(*a, **ATTRIBUTES, activation="leaky_relu", negative_slope=0.5))(x, w, b)
    np.testing.assert_allclose(y, call(x, w, b, **ATTRIBUTES, activation="leaky_relu", negative_slope=0.5))
    half = [jax.numpy.asarray(array, "bfloat16") for array in (x, w, b)]
    assert jax.jit(ours)(*half).dtype == jax.numpy.bfloat16
    np.testing.assert_array_equal(jax.jit(ours)(x[0], w, b), jax.jit(ours)(x[:1], w, b)[0])
    for arguments, keywords, message in (((x, w[:3]), {}, "has 4 channels"), ((x, w), dict(stride=0), "stride.height is 0"),
                                         ((x.astype("int32"), w), {}, "input is int32")):
        with pytest.raises(conv_transpose.InvalidProblem, match=message):
            jax.jit(lambda *a: call(*a, **keywords))(*arguments)
    with pytest.raises(TypeError):  # no derivative in forward mode, and no zeros
        jax.jvp(ours, (x, w, b), (x, w, b))


def test_cupy_on_its_current_stream(simple):
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no GPU")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        arrays = [cupy.asarray(array) for array in simple]
        result = conv_transpose.conv_transpose2d(*arrays)
        doubled = result * 2
        stream.synchronize()
    np.testing.assert_array_equal(doubled.get(), 2 * scatter(*simple))


# ---------------------------------------------------------------- ranks


def of_rank(rng, rank):
    """A problem of which each output meets one input: kernel and stride are the same."""
    x = integers(rng, (2, 16, *(3, 2, 4)[:rank]))
    w = integers(rng, (16, 8, *(2, 3, 2)[:rank]))
    stride = (2, 3, 2)[:rank]
    letters = {1: ("x", "i"), 2: ("yx", "ji"), 3: ("zyx", "kji")}[rank]
    pairs = "".join(a + b for a, b in zip(*letters))
    expected = np.einsum(f"nc{letters[0]},co{letters[1]}->no{pairs}", x, w)
    return x, w, stride, expected.reshape(2, 8, *(a * b for a, b in zip(x.shape[2:], stride)))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_ranks(rng, rank):
    x, w, stride, expected = of_rank(rng, rank)
    b = integers(rng, (8,))
    try:
        y = conv_transpose.conv_transpose(x, w, b, stride)
    except conv_transpose.Unsupported as error:
        assert rank == 3 and "kernel" in str(error)
        pytest.skip("no kernel of this build")
    np.testing.assert_array_equal(y, expected + b.reshape(-1, *(1,) * rank))
    np.testing.assert_array_equal(getattr(conv_transpose, f"conv_transpose{rank}d")(x[0], w, stride=stride), expected[0])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_ranks_under_jax(rng, rank):
    jax = pytest.importorskip("jax")
    x, w, stride, expected = of_rank(rng, rank)

    def call(x, w):
        return conv_transpose.conv_transpose(x, w, stride=stride)

    try:
        y = jax.jit(call)(x, w)
    except conv_transpose.Unsupported:
        assert rank == 3
        pytest.skip("no kernel of this build")
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(jax.vmap(call, (0, None))(x[:, None], w)[:, 0], expected)
    gradient = jax.grad(lambda x: call(x, w).sum())(jax.numpy.asarray(x))
    of_channel = w.sum(axis=tuple(range(1, rank + 2))).reshape(-1, *(1,) * rank)
    np.testing.assert_array_equal(gradient, np.broadcast_to(of_channel, x.shape))


def test_what_no_rank_has(rng):
    x, w = integers(rng, (1, 2, 3, 3)), integers(rng, (2, 2, 2, 2))
    with pytest.raises(conv_transpose.InvalidProblem, match=r"weight has shape \(2, 2\), but it must have 3 to 5"):
        conv_transpose.conv_transpose(x, w[:, :, 0, 0])
    with pytest.raises(conv_transpose.InvalidProblem, match="input has 4 dimensions"):
        conv_transpose.conv_transpose(x, w[:, :, 0])
    with pytest.raises(conv_transpose.InvalidProblem, match="as many ints as there are axes: width"):
        conv_transpose.conv_transpose1d(x[0], w[:, :, 0], stride=(1, 2))
    with pytest.raises(TypeError, match="weight must be an array"):
        conv_transpose.conv_transpose(x, None)


def test_strict_propagation(rng):
    x, w = integers(rng, (1, 8, 5, 5)), integers(rng, (8, 8, 3, 3))
    x[0, 0, 2, 2] = np.nan
    y = conv_transpose.conv_transpose(x, w, padding=1, strict_propagation=True)
    reached = np.isnan(y).any(axis=(0, 1))
    assert reached[1:4, 1:4].all() and reached.sum() == 9
