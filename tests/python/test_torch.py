"""The PyTorch function and module: results, gradients, formats, errors, on CPU and CUDA."""

import copy
import itertools
import threading
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import conv_transpose
import conv_transpose.torch as ct
from conv_transpose.torch import _calls, _fallback, _function, _operators
from conftest import random_problems
from problems import random_case

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(autouse=True)
def seed_and_switches():
    torch.manual_seed(0)
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before  # sets the newer switches, too


def integers(shape, device="cpu", requires_grad=False):
    """Sums of small integers are exact in float32 and tf32, in any order: results must be equal."""
    return torch.randint(-4, 5, shape, device=device).float().requires_grad_(requires_grad)


def expected(x, w, b=None, *arguments, **keywords):
    """PyTorch's own, on the CPU in float64."""
    x, w, b = (None if t is None else t.detach().cpu().double() for t in (x, w, b))
    return F.conv_transpose2d(x, w, b, *arguments, **keywords).float()


def equal(a, b, text=""):
    torch.testing.assert_close(a.detach().cpu(), b.detach().cpu().to(a.dtype), rtol=0, atol=0,
                               msg=lambda message: f"{text}\n{message}")


# ---------------------------------------------------------------- results and gradients


def test_random_problems_equal_pytorch_forward_and_backward(rng, device):
    for _ in range(random_problems()):
        case = random_case(rng)
        x, w, b = (integers(shape, device, True) for shape in (case.input_shape, case.weight_shape, case.bias_shape))
        if rng.randint(0, 1):
            b = None
        y = ct.conv_transpose2d(x, w, b, **case.arguments)
        reference = [None if t is None else t.detach().cpu().double().requires_grad_() for t in (x, w, b)]
        z = F.conv_transpose2d(*reference, **case.arguments)
        equal(y, z, str(case))
        g = integers(y.shape)
        y.backward(g.to(device))
        z.backward(g.double())
        for name, ours, theirs in zip(("input", "weight", "bias"), (x, w, b), reference):
            if ours is not None:
                equal(ours.grad, theirs.grad, f"{name} gradient of {case}")


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_only_the_wanted_gradients(needs):
    tensors = [integers(shape, requires_grad=n) for shape, n in zip([(1, 2, 3, 3), (2, 4, 2, 2), (4,)], needs)]
    y = ct.conv_transpose2d(*tensors)
    assert y.requires_grad == any(needs)
    if any(needs):
        y.sum().backward()
    assert [t.grad is not None for t in tensors] == list(needs)


ATTRIBUTES = [
    {},
    dict(stride=2, padding=1, output_padding=1),
    dict(stride=(1, 3), padding=(2, 1), dilation=(2, 1), groups=2),
]


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("through_operator", [False, True])
def test_first_and_second_derivatives(device, attributes, through_operator, monkeypatch):
    """Every derivative is linear in each operand, so with integers and a step of 1 differences are exact in float32."""
    if through_operator:
        monkeypatch.setattr(_operators, "looked_into", lambda: True)
    groups = attributes.get("groups", 1)
    tensors = (integers((2, 4, 3, 4), device, True), integers((4, 2, 3, 2), device, True),
               integers((2 * groups,), device, True))

    def function(*operands):
        return ct.conv_transpose2d(*operands, **attributes)

    tolerance = dict(eps=1.0, atol=1e-3, rtol=1e-4)
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradcheck(function, tensors, check_forward_ad=True, check_batched_grad=True,
                                        check_batched_forward_grad=True, **tolerance)
    shape = function(*tensors).shape
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradgradcheck(function, tensors, integers(shape, device, True), check_fwd_over_rev=True,
                                            check_rev_over_rev=True, **tolerance)


def test_gradients_are_bitwise_repeatable(device):
    x = torch.randn(4, 8, 33, 31, device=device, requires_grad=True)
    w = torch.randn(8, 6, 3, 3, device=device, requires_grad=True)
    g = torch.randn(4, 6, 65, 61, device=device)
    runs = [torch.autograd.grad(ct.conv_transpose2d(x, w, stride=2, padding=1), (x, w), g) for _ in range(3)]
    for run in runs[1:]:
        assert torch.equal(run[0], runs[0][0]) and torch.equal(run[1], runs[0][1])


@pytest.mark.parametrize("make", [
    lambda x: x.to(memory_format=torch.channels_last),
    lambda x: x.flip(2)[:, :, ::2],
    lambda x: x.transpose(2, 3),
    lambda x: x[:1].expand_as(x),
    lambda x: x[..., 1:],
    lambda x: torch.complex(x, x).conj().imag,  # a view that negates
    lambda x: torch._neg_view(x),  # the same, and contiguous
], ids=["channels_last", "strided", "transposed", "expanded", "offset", "negated", "negated_contiguous"])
def test_any_memory_layout(device, make):
    leaf = integers((2, 4, 6, 6), device, True)
    x, w = make(leaf), integers((4, 3, 3, 3), device)
    y = ct.conv_transpose2d(x, make(w) if make(w).shape == w.shape else w, stride=2)
    equal(y, expected(x, make(w) if make(w).shape == w.shape else w, stride=2))
    y.backward(make(integers(y.shape, device)) if make(y).shape == y.shape else integers(y.shape, device))
    assert leaf.grad.shape == leaf.shape


def test_expanded_output_gradient(device):
    x, w = integers((2, 4, 5, 5), device, True), integers((4, 3, 3, 3), device, True)
    ct.conv_transpose2d(x, w).sum().backward()  # sum's gradient is one number with strides of 0
    reference = x.detach().cpu().requires_grad_(), w.detach().cpu().requires_grad_()
    F.conv_transpose2d(*reference).sum().backward()
    equal(x.grad, reference[0].grad)
    equal(w.grad, reference[1].grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_formats(device, dtype):
    x = torch.randn(2, 16, 6, 7, device=device).to(dtype).requires_grad_()
    w = torch.randn(16, 4, 3, 3, device=device).to(dtype).requires_grad_()
    b = torch.randn(4, device=device).to(dtype).requires_grad_()
    y = ct.conv_transpose2d(x, w, b, stride=2)
    assert y.dtype == dtype
    unit = torch.finfo(dtype).eps
    torch.testing.assert_close(y.cpu().float(), expected(x, w, b, stride=2), rtol=unit, atol=1e-4)
    y.backward(torch.ones_like(y))
    reference = [t.detach().cpu().double().requires_grad_() for t in (x, w, b)]
    F.conv_transpose2d(*reference, stride=2).sum().backward()
    for ours, theirs in zip((x, w, b), reference):
        assert ours.grad.dtype == dtype
        torch.testing.assert_close(ours.grad.cpu().double(), theirs.grad, rtol=unit, atol=1e-3)


def test_defaults_of_pytorch_change_nothing(device):
    x, w = integers((1, 64, 9, 10), device, True), integers((64, 64, 3, 3), device, True)  # needs a workspace
    reference = expected(x, w)
    try:
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float64)
        _calls._scratch.__init__()
        y = ct.conv_transpose2d(x, w)
        y.backward(torch.ones_like(y))
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    equal(y, reference)
    assert y.dtype == x.grad.dtype == torch.float32


def test_unbatched(device):
    x, w = integers((4, 5, 6), device), integers((4, 3, 3, 3), device)
    equal(ct.conv_transpose2d(x, w), expected(x, w))


def test_generic_function_with_activation(device):
    x, w = integers((2, 4, 5, 6), device, True), integers((4, 3, 3, 3), device)
    y = conv_transpose.conv_transpose2d(x, w, activation="leaky_relu", negative_slope=0.5)
    equal(y, F.leaky_relu(expected(x, w), 0.5))
    y.sum().backward()
    with torch.no_grad():
        equal(conv_transpose.conv_transpose2d(x, w, activation="relu"), F.relu(expected(x, w)))


def test_many_threads(device):
    x, w = integers((2, 8, 20, 20), device), integers((8, 8, 3, 3), device)
    reference = expected(x, w, stride=2)
    failures = []

    def work():
        try:
            for _ in range(20):
                equal(ct.conv_transpose2d(x, w, stride=2), reference)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_cpu_threads_follow_pytorchs(monkeypatch):
    x, w, seen = integers((1, 4, 5, 5)), integers((4, 3, 3, 3)), []
    set_threads = _calls._library.library.conv_transpose_set_cpu_threads
    monkeypatch.setattr(_calls._library.library, "conv_transpose_set_cpu_threads",
                        lambda threads: (seen.append(threads), set_threads(threads)))
    conv_transpose.set_cpu_threads(0)
    before = torch.get_num_threads()
    try:
        for threads in (3, 3, 2):
            torch.set_num_threads(threads)
            equal(ct.conv_transpose2d(x, w), expected(x, w))
        assert seen == [0, 3, 2]
        conv_transpose.set_cpu_threads(5)
        torch.set_num_threads(4)
        ct.conv_transpose2d(x, w)
        assert seen == [0, 3, 2, 5]
        conv_transpose.set_cpu_threads(0)
        ct.conv_transpose2d(x, w)
        assert seen == [0, 3, 2, 5, 0, 4]
    finally:
        conv_transpose.set_cpu_threads(0)
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_gives_what_pytorch_gives(device, dtype):
    layer = nn.ConvTranspose2d(4, 3, 3, stride=2).to(device)
    ours = copy.deepcopy(layer)
    ct.convert(ours)
    x = torch.randn(2, 4, 6, 6, device=device)
    with torch.autocast(device, dtype=dtype):
        y, z = ours(x), layer(x)
    assert y.dtype == z.dtype == dtype
    torch.testing.assert_close(y, z, rtol=2 * torch.finfo(dtype).eps, atol=1e-2)
    y.float().sum().backward()
    assert ours.weight.grad.dtype == torch.float32


# ---------------------------------------------------------------- errors




ERRORS = {
    "output padding": (dict(output_padding=1), "output_padding.height is 1"),
    "output padding, stride": (dict(stride=2, output_padding=2), "output_padding.height is 2"),
    "negative padding": (dict(padding=-1), "padding.height is -1"),
    "negative output padding": (dict(output_padding=-1), "output_padding.height is -1"),
    "stride 0": (dict(stride=0), "stride.height is 0"),
    "stride negative": (dict(stride=(1, -2)), "stride.width is -2"),
    "dilation 0": (dict(dilation=0), "dilation.height is 0"),
    "groups 0": (dict(groups=0), "groups is 0"),
    "groups negative": (dict(groups=-1), "groups is -1"),
    "groups do not divide": (dict(groups=3), "in_channels is 4"),
    "more groups than channels": (dict(groups=8), "in_channels is 4"),
    "channels": (dict(weight=torch.zeros(5, 3, 3, 3)), "has 4 channels"),
    "bias length": (dict(bias=torch.zeros(4)), "bias has shape"),
    "bias dimensions": (dict(bias=torch.zeros(3, 1)), "bias has shape"),
    "input 2-D": (dict(input=torch.zeros(4, 5)), "2 dimensions"),
    "input 5-D": (dict(input=torch.zeros(1, 2, 4, 5, 5)), "5 dimensions"),
    "weight 3-D": (dict(weight=torch.zeros(4, 3, 3)), "weight has shape"),
    "kernel 0": (dict(weight=torch.zeros(4, 3, 0, 3)), "kernel.height is 0"),
    "empty input": (dict(input=torch.zeros(2, 4, 0, 5)), "input.height is 0"),
    "no output channels": (dict(weight=torch.zeros(4, 0, 3, 3), bias=None), "out_channels is 0"),
    "output too small": (dict(padding=4), "padding.height is 4"),
    "mixed formats": (dict(weight=torch.zeros(4, 3, 3, 3, dtype=torch.half)), "weight is torch.float16"),
    "integers and floats": (dict(input=torch.zeros(2, 4, 5, 5, dtype=torch.int64)), None),
    "three strides": (dict(stride=(1, 1, 1)), r"stride is \(1, 1, 1\)"),
    "no stride": (dict(stride=()), r"stride is \(\)"),
    "float stride": (dict(stride=2.0), "stride"),
    "floats among strides": (dict(stride=(2, 2.0)), "stride"),
    "stride of 65 bits": (dict(stride=2**64 + 1), "stride is 18446744073709551617"),
    "bool padding": (dict(padding=True), "padding"),
    "padding by name": (dict(padding="same"), "padding"),
    "input not a tensor": (dict(input=None), "input must be a Tensor"),
    "bias not a tensor": (dict(bias=1.0), "bias must be a Tensor"),
}


@pytest.mark.filterwarnings("ignore:conv_transpose computes")
@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("through_operator", [False, True])
def test_errors_are_pytorchs(name, through_operator, monkeypatch):
    change, message = ERRORS[name]
    arguments = {**dict(input=torch.zeros(2, 4, 5, 5), weight=torch.zeros(4, 3, 3, 3), bias=torch.zeros(3)), **change}
    with pytest.raises(Exception) as theirs:
        F.conv_transpose2d(**arguments)
    if through_operator:
        monkeypatch.setattr(_operators, "looked_into", lambda: True)
        message = None  # PyTorch's dispatcher words some itself
    wanted = TypeError if isinstance(theirs.value, TypeError) else RuntimeError  # PyTorch has subclasses of it
    with pytest.raises(wanted, match=message):
        ct.conv_transpose2d(**arguments)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.complex128, torch.int64])
def test_other_formats_are_left_to_pytorch_and_told_once(dtype, monkeypatch):
    monkeypatch.setattr(_function, "_told", set())
    x, w = integers((2, 4, 5, 5)).to(dtype), integers((4, 3, 3, 3)).to(dtype)
    with pytest.warns(UserWarning, match=f"{dtype} is left to PyTorch"):
        y = ct.conv_transpose2d(x, w, stride=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(y, ct.conv_transpose2d(x, w, stride=2))
    assert torch.equal(y, F.conv_transpose2d(x, w, stride=2))
    if dtype == torch.float64:
        assert torch.autograd.gradcheck(ct.conv_transpose2d, (x.requires_grad_(), w.requires_grad_()))


def test_random_attributes_are_accepted_as_pytorch_accepts_them(rng):
    accepted = 0
    for _ in range(4 * random_problems()):
        keywords = {name: rng.randint(low, 3) for name, low in
                    dict(stride=0, padding=-1, output_padding=-1, groups=0, dilation=0).items()}
        x, w = integers((1, rng.randint(1, 4), rng.randint(1, 3), 2)), integers((rng.randint(1, 4), 2, rng.randint(1, 3), 2))
        results = []
        for function in (F.conv_transpose2d, ct.conv_transpose2d):
            try:
                results.append(function(x, w, **keywords))
            except RuntimeError:
                results.append(None)
        assert (results[0] is None) == (results[1] is None), (x.shape, w.shape, keywords)
        if results[0] is not None:
            accepted += 1
            equal(results[1], results[0], str((x.shape, w.shape, keywords)))
    assert accepted > 0


# ---------------------------------------------------------------- precision


def test_precision_is_checked():
    with pytest.raises(ValueError, match="precision is 'half'"):
        ct.conv_transpose2d(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), precision="half")


class OnCuda:
    """As much of a tensor as the choice of a precision looks at."""

    is_cuda = True

    def __init__(self, dtype):
        self.dtype = dtype


def test_precision_follows_pytorchs_switch():
    for allowed, name in ((True, "tf32"), (False, "float32")):
        torch.backends.cudnn.allow_tf32 = allowed
        assert _calls._precision("auto", OnCuda(torch.float32)) == name
        assert _calls._precision("auto", OnCuda(torch.float16)) == "tf32"
        assert _calls._precision("tf32x3", OnCuda(torch.float32)) == "tf32x3"
    assert _calls._precision("auto", torch.zeros(1)) == "float32"


@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "conv"), reason="this PyTorch has the older switch only")
@pytest.mark.parametrize("general, cudnn, conv, name", [
    ("none", "none", "ieee", "float32"), ("none", "none", "tf32", "tf32"), ("tf32", "none", "none", "tf32"),
    ("ieee", "none", "none", "float32"), ("ieee", "tf32", "none", "tf32"), ("tf32", "ieee", "none", "float32"),
    ("ieee", "ieee", "tf32", "tf32"), ("tf32", "tf32", "ieee", "float32"),
])
def test_precision_follows_pytorchs_newer_switches(general, cudnn, conv, name):
    backends = torch.backends, torch.backends.cudnn, torch.backends.cudnn.conv
    before = [backend.fp32_precision for backend in backends]
    try:
        for backend, precision in zip(backends, (general, cudnn, conv)):
            backend.fp32_precision = precision
        assert _calls._precision("auto", OnCuda(torch.float32)) == name
    finally:
        for backend, precision in zip(backends, before):
            backend.fp32_precision = precision


# ---------------------------------------------------------------- module


@pytest.mark.parametrize("arguments, keywords", [
    ((4, 3, 3), {}),
    ((4, 6, (3, 2)), dict(stride=2, padding=(1, 0), output_padding=1, groups=2, bias=False, dilation=2)),
    ((4, 3, 3, 2, 1, 1, 1, True, 1, "zeros"), dict(dtype=torch.float32)),
])
def test_module_is_pytorchs(arguments, keywords, device):
    torch.manual_seed(1)
    theirs = nn.ConvTranspose2d(*arguments, **keywords).to(device)
    torch.manual_seed(1)
    ours = ct.ConvTranspose2d(*arguments, **keywords).to(device)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for name, value in theirs.state_dict().items():
        assert torch.equal(value, ours.state_dict()[name])  # the same initialisation
    ours.load_state_dict(theirs.state_dict(), strict=True)
    theirs.load_state_dict(ours.state_dict(), strict=True)
    x = torch.randn(2, 4, 6, 7, device=device)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    torch.testing.assert_close(ours(x[0]), theirs(x[0]), rtol=1.3e-6, atol=1e-5)


def test_module_output_size():
    theirs, x = nn.ConvTranspose2d(1, 1, 3, stride=2), torch.randn(1, 1, 4, 4)
    ours = copy.deepcopy(theirs)
    ct.convert(ours)
    for size in ([9, 9], [10, 9], (1, 1, 10, 10)):
        torch.testing.assert_close(ours(x, output_size=size), theirs(x, output_size=size))
    for size in ([11, 11], [8, 9], [9, 9, 9]):
        with pytest.raises(ValueError):
            ours(x, output_size=size)


def test_module_padding_mode():
    with pytest.raises(ValueError, match="zeros"):
        ct.ConvTranspose2d(1, 1, 3, padding_mode="reflect")


def test_module_precision_is_shown():
    assert "precision=tf32" in repr(ct.ConvTranspose2d(1, 1, 3, precision="tf32"))


class Special(nn.ConvTranspose2d):
    pass


def test_convert():
    model = nn.Sequential(
        nn.ConvTranspose2d(2, 4, 3), nn.Conv2d(4, 4, 1), nn.Sequential(nn.ConvTranspose2d(4, 2, 2, stride=2)),
        nn.ConvTranspose1d(1, 1, 1), Special(1, 1, 1), nn.ConvTranspose2d(1, 1, 1).double(),
        nn.LazyConvTranspose2d(1, 1),
    )
    parameters = {name: id(p) for name, p in model.named_parameters()}
    calls = []
    model[0].register_forward_hook(lambda *_: calls.append(1))
    result = ct.convert(model, precision="tf32")
    assert result.model is model
    assert result.converted == ["0", "2.0", "3", "5"]
    assert set(result.left) == {"4", "6"}
    assert type(ct.convert(nn.ConvTranspose3d(1, 1, 1)).model) is ct.ConvTranspose3d
    assert "Special" in result.left["4"]
    assert {name: id(p) for name, p in model.named_parameters()} == parameters
    assert type(model[0]) is ct.ConvTranspose2d and model[0].precision == "tf32"
    model[:3](torch.randn(1, 2, 4, 4))
    assert calls == [1]
    assert ct.convert(model).converted == []  # twice is once


def test_convert_of_the_module_itself_and_copies():
    layer = nn.ConvTranspose2d(2, 4, 3)
    x, reference = torch.randn(1, 2, 4, 4), None
    reference = layer(x)
    assert ct.convert(layer).converted == [""]
    torch.testing.assert_close(copy.deepcopy(layer)(x), reference)


# ---------------------------------------------------------------- one and three axes


def test_one_axis_equals_pytorchs_forward_and_backward(rng, device):
    for _ in range(random_problems() // 5):
        groups, stride = rng.randint(1, 3), rng.randint(1, 4)
        attributes = dict(stride=stride, padding=rng.randint(0, 2), output_padding=rng.randint(0, stride - 1),
                          groups=groups, dilation=rng.randint(1, 2))
        shapes = (rng.randint(1, 3), 2 * groups, rng.randint(4, 30)), (2 * groups, 3, rng.randint(1, 5)), (3 * groups,)
        tensors = [integers(shape, device, True) for shape in shapes]
        reference = [t.detach().cpu().double().requires_grad_() for t in tensors]
        y, z = ct.conv_transpose1d(*tensors, **attributes), F.conv_transpose1d(*reference, **attributes)
        equal(y, z, f"{shapes} {attributes}")
        g = integers(y.shape)
        for ours, theirs in zip(torch.autograd.grad(y, tensors, g.to(device)),
                                torch.autograd.grad(z, reference, g.double())):
            equal(ours, theirs, f"gradient of {shapes} {attributes}")


@pytest.mark.parametrize("through_operator", [False, True])
def test_derivatives_of_one_axis(device, through_operator, monkeypatch):
    if through_operator:
        monkeypatch.setattr(_operators, "looked_into", lambda: True)
    tensors = (integers((2, 4, 5), device, True), integers((4, 2, 3), device, True), integers((2,), device, True))
    with pytest.warns(UserWarning, match="double precision"):
        assert torch.autograd.gradcheck(lambda *t: ct.conv_transpose1d(*t, stride=2, padding=1), tensors, eps=1.0, atol=1e-3,
                                        rtol=1e-4, check_forward_ad=True, check_batched_grad=True)


def test_module_of_one_axis_is_pytorchs(device):
    theirs = nn.ConvTranspose1d(4, 6, 4, 2, 1, groups=2).to(device)
    ours = copy.deepcopy(theirs)
    assert ct.convert(ours).converted == [""] and type(ours) is ct.ConvTranspose1d
    assert repr(ct.ConvTranspose1d(4, 6, 4, 2, 1, groups=2)) == repr(theirs)
    x = torch.randn(2, 4, 9, device=device)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    torch.testing.assert_close(ours(x[0], [19]), theirs(x[0], [19]), rtol=1.3e-6, atol=1e-5)
    torch.testing.assert_close(torch.jit.script(ours)(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    ct.revert(ours)
    assert type(ours) is nn.ConvTranspose1d


@pytest.fixture
def no_kernels(monkeypatch):
    """As if the library had none at all; with sizes that no other test has."""
    caches = (_calls._forward_call, _calls._gradient_call, _calls._bias_gradient_call)

    def refuse(*_, **__):
        raise conv_transpose.Unsupported("no kernel")

    for cache in caches:
        cache.cache_clear()
    monkeypatch.setattr(_calls, "Plan", refuse)
    monkeypatch.setattr(_fallback, "_told", set())
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_what_there_is_no_kernel_for_is_left_to_pytorch(rank, device, no_kernels):
    arguments = dict(stride=2, padding=1, output_padding=1, groups=2, dilation=(2, 1, 2)[:rank])
    shapes = (2, 4, *(11, 7, 13)[:rank]), (4, 3, *(3, 5, 2)[:rank]), (6,)
    ours = [integers(shape, device, True) for shape in shapes]
    theirs = [t.detach().cpu().double().requires_grad_() for t in ours]
    function = getattr(ct, f"conv_transpose{rank}d")
    with pytest.warns(UserWarning, match=f"no kernel for this .* of rank {rank} in torch.float32") as told:
        for _ in range(2):
            y = function(*ours, **arguments)
            y.sum().backward()
    assert len({str(warning.message).split(" of rank")[0] for warning in told}) == len(told) == 4
    z = getattr(F, f"conv_transpose{rank}d")(*theirs, **arguments)
    equal(y, z)
    z.sum().backward()
    for our, their in zip(ours, theirs):
        equal(our.grad / 2, their.grad)
    with pytest.raises(conv_transpose.Unsupported, match="no kernel"):
        function(*ours, **arguments, strict_propagation=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_three_axes_with_gradients_are_pytorchs(device, dtype):
    x, w, b = (integers(shape, device, True) for shape in ((2, 4, 3, 4, 5), (4, 3, 2, 3, 2), (6,)))
    arguments = dict(stride=(2, 1, 2), padding=(0, 1, 0), groups=2)
    exact = torch.nn.functional.conv_transpose3d(x.double(), w.double(), b.double(), **arguments)
    y = ct.conv_transpose3d(x.to(dtype), w.to(dtype), b.to(dtype), **arguments)
    assert y.dtype == dtype and torch.equal(y, exact.to(dtype))
    upstream = torch.ones_like(exact)
    wanted = torch.autograd.grad(exact, (x, w, b), upstream)
    for ours, theirs in zip(torch.autograd.grad(y, (x, w, b), upstream.to(dtype)), wanted):
        assert torch.equal(ours, theirs.to(dtype).to(ours.dtype))


def test_errors_of_three_axes():
    x, layer = torch.zeros(1, 4, 3, 3, 3), ct.ConvTranspose3d(4, 4, 3)
    with pytest.raises(RuntimeError, match="stride is"):
        ct.conv_transpose3d(x, layer.weight, stride=(1, 2))
    with pytest.raises(RuntimeError, match="input has 3 dimensions"):
        ct.conv_transpose3d(x[0, 0], layer.weight)


@pytest.mark.filterwarnings("ignore:conv_transpose has no kernel")
def test_module_of_three_axes_is_pytorchs(device):
    theirs = nn.ConvTranspose3d(4, 6, 4, 2, 1, groups=2).to(device)
    ours = copy.deepcopy(theirs)
    assert ct.convert(ours).converted == [""] and type(ours) is ct.ConvTranspose3d
    x = integers((2, 4, 3, 4, 5), device, True)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1.3e-6, atol=1e-5)
    gradients = [torch.autograd.grad(layer(x).square().sum(), (x, *layer.parameters())) for layer in (ours, theirs)]
    for our, their in zip(*gradients):
        torch.testing.assert_close(our, their, rtol=1e-4, atol=1e-4)
    ct.revert(ours)
    assert type(ours) is nn.ConvTranspose3d


# ---------------------------------------------------------------- memory formats


LAST = torch.channels_last
ORDERS = list(itertools.product([torch.contiguous_format, LAST], repeat=3))


def strides(convolve, shape, weight_shape, orders, device="cpu", dtype=torch.float32):
    """Of output, input gradient and weight gradient, from tensors in these orders, the last the output gradient's."""
    x, w = (integers(s, device).to(dtype).to(memory_format=order).requires_grad_()
            for s, order in zip((shape, weight_shape), orders))
    y = convolve(x, w)
    gradients = torch.autograd.grad(y, (x, w), torch.ones_like(y).to(memory_format=orders[2]))
    # The stride of an axis of one element says nothing, and in gradients of 1x1 kernels PyTorch's depends on the format.
    return [[stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1] for tensor in (y, *gradients)]


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: " ".join(str(o)[6:] for o in orders))
@pytest.mark.parametrize("shapes", [((2, 4, 5, 6), (4, 6, 3, 3)), ((2, 1, 5, 6), (1, 6, 3, 3)), ((2, 4, 5, 6), (4, 6, 1, 1)),
                                    ((1, 16, 1, 1), (16, 32, 4, 4)), ((2, 16, 4, 4), (16, 32, 3, 3))], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_memory_formats_are_pytorchs(shapes, orders, dtype, device):
    _, channels, *size = shapes[0]
    if device == "cuda" and (channels == 1 or size == [1, 1]):
        pytest.skip("such an input is in both orders, and of the two cuDNN's gradients take another than PyTorch's own")
    ours = strides(ct.conv_transpose2d, *shapes, orders, device, dtype)
    assert ours == strides(F.conv_transpose2d, *shapes, orders, device, dtype)


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: " ".join(str(o)[6:] for o in orders))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_results_without_data_have_the_strides_of_a_run(orders, dtype):
    shapes = (2, 4, 5, 6), (4, 6, 3, 3)
    real = strides(ct.conv_transpose2d, *shapes, orders, dtype=dtype)
    with torch._subclasses.FakeTensorMode():
        x, w = (torch.empty(s, dtype=dtype).to(memory_format=order) for s, order in zip(shapes, orders))
        y = ct.conv_transpose2d(x, w)
        g = torch.empty_like(y)
        attributes = ([1, 1], [0, 0], [0, 0], 1, [1, 1], "auto")
        fake = [y, torch.ops.conv_transpose.input_gradient(g, w, *attributes),
                torch.ops.conv_transpose.weight_gradient(g, x, *attributes)]
    assert [list(t.stride()) for t in fake] == real


def test_an_order_is_found_once(monkeypatch):
    """Ways that the library refuses are not tried again."""
    x, w = integers((2, 4, 5, 7)).half().to(memory_format=LAST), integers((4, 3, 3, 3)).half()
    plans = []

    def plan_of_float32(*arguments, **options):
        plans.append(options)
        if options["input"][0] == "float16":
            raise conv_transpose.Unsupported("as if there were none")
        return _calls._library.Plan(*arguments, **options)

    monkeypatch.setattr(_calls, "Plan", plan_of_float32)
    _calls._forward_call.cache_clear()
    first = ct.conv_transpose2d(x, w)
    tried = len(plans)
    assert plans[0]["input"] == ("float16", "channels_last") and plans[0]["weight"] == ("float16", "channels_first")
    assert plans[-1]["input"] == ("float32", "channels_first")
    equal(first, expected(x, w))
    equal(ct.conv_transpose2d(x, w), first)
    assert len(plans) == tried and first.is_contiguous(memory_format=LAST)


def test_strict_propagation(device):
    """It reaches the library by every way, and gradients."""
    x, w = integers((1, 8, 6, 6), device, True), integers((8, 8, 3, 3), device, True)
    layer = ct.ConvTranspose2d(8, 8, 3, padding=1, device=device, strict_propagation=True)
    assert "strict_propagation=True" in repr(layer)
    assert ct.convert(nn.ConvTranspose2d(8, 8, 3), strict_propagation=True).model.strict_propagation
    with torch.no_grad():
        x[0, 0, 0, 0] = float("nan")
    y = ct.conv_transpose2d(x, w, padding=1, strict_propagation=True)
    assert torch.isnan(y)[0].any(0).nonzero().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    y.backward(torch.ones_like(y))
    # The NaN at the corner meets the taps that lie inside: none of the kernel's first row and column.
    expectation = torch.zeros(3, 3, dtype=torch.bool)
    expectation[1:, 1:] = True
    assert torch.equal(torch.isnan(w.grad[0]).any(0).cpu(), expectation)
    for call in (layer, torch.compile(layer, backend="eager"), torch.jit.script(layer)):
        assert torch.isnan(call(x))[0].any(0).sum() == 4
