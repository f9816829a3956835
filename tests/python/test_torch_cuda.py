"""What only a GPU has: streams, graphs, several devices, its memory, kernels of half precision and channels_last; and a
training step against PyTorch's own."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import conv_transpose.torch as ct
from conv_transpose.torch import _calls, _measuring
from torch_cases import equal, expected, integers, seed_and_switches  # noqa: F401  (fixture)
from test_torch_systems import Network

_measuring_fastest = _measuring.fastest  # as it is before a test puts another in its place
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def pytorchs(model):
    """The same network of PyTorch's own layers."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, ct.ConvTranspose2d):
            module.__class__ = nn.ConvTranspose2d
    return model


def slow_down(stream_work=50_000_000):
    """Work that keeps the current stream busy for a while, so that a wrong order shows."""
    torch.cuda._sleep(stream_work)


def test_current_stream_is_used():
    w = integers((8, 8, 3, 3), "cuda")
    x = torch.zeros(2, 8, 32, 32, device="cuda")
    value = integers(x.shape, "cuda")
    ct.conv_transpose2d(x, w)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        slow_down()
        x.copy_(value)
        y = ct.conv_transpose2d(x, w)  # must see the copy, which only this stream waits for
        assert not stream.query()  # nothing waited for the GPU
    stream.synchronize()
    equal(y, expected(value, w))


def test_backward_on_another_stream():
    x, w = integers((2, 8, 16, 16), "cuda", True), integers((8, 8, 3, 3), "cuda", True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        slow_down()
        (ct.conv_transpose2d(x, w, stride=2) * 2).sum().backward()
    torch.cuda.current_stream().wait_stream(stream)
    reference = [t.detach().clone().requires_grad_() for t in (x, w)]
    (F.conv_transpose2d(*reference, stride=2) * 2).sum().backward()
    equal(x.grad, reference[0].grad)
    equal(w.grad, reference[1].grad)


def test_no_call_waits_for_the_gpu():
    x, w = integers((2, 8, 16, 16), "cuda", True), integers((8, 8, 3, 3), "cuda", True)
    b = integers((8,), "cuda", True)
    ct.conv_transpose2d(x, w, b).sum().backward()
    torch.cuda.set_sync_debug_mode("error")
    try:
        ct.conv_transpose2d(x, w, b).sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_graph_of_forward_and_backward():
    w = integers((8, 4, 3, 3), "cuda", True)
    b = integers((4,), "cuda", True)
    x = integers((2, 8, 9, 11), "cuda", True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # warm-up, as for PyTorch's own layers
        for _ in range(2):
            torch.autograd.grad(ct.conv_transpose2d(x, w, b, stride=2).square().sum(), (x, w, b))
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ct.conv_transpose2d(x, w, b, stride=2)
        found = torch.autograd.grad(y.square().sum(), (x, w, b))
    for _ in range(3):
        with torch.no_grad():
            x.copy_(integers(x.shape, "cuda"))
        graph.replay()
        torch.cuda.synchronize()
        reference = [t.detach().cpu().double().requires_grad_() for t in (x, w, b)]
        z = F.conv_transpose2d(*reference, stride=2)
        equal(y, z)
        for ours, theirs in zip(found, torch.autograd.grad(z.square().sum(), reference)):
            equal(ours, theirs)


def test_training_step_in_a_graph():
    model = Network().cuda()
    x, y = torch.randn(4, 3, 16, 16, device="cuda"), torch.randn(4, 3, 32, 32, device="cuda")
    captured = torch.cuda.make_graphed_callables(copy.deepcopy(model), (x,))
    for network in (model, captured):
        F.mse_loss(network(x), y).backward()
    for ours, reference in zip(captured.parameters(), model.parameters()):
        torch.testing.assert_close(ours.grad, reference.grad, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_a_device_that_is_not_the_current_one():
    x, w = integers((2, 8, 9, 9), "cuda:1", True), integers((8, 4, 3, 3), "cuda:1", True)
    y = ct.conv_transpose2d(x, w)
    y.sum().backward()
    assert y.device == torch.device("cuda:1") and torch.cuda.current_device() == 0
    equal(y, expected(x, w))


def test_mixed_devices():
    with pytest.raises(RuntimeError, match="weight is on cpu"):
        ct.conv_transpose2d(torch.zeros(1, 1, 2, 2, device="cuda"), torch.zeros(1, 1, 2, 2))


def test_training_steps_agree_with_pytorchs():
    """Twenty steps in float32 with Adam: the losses agree to what rounding explains."""
    ours = Network().cuda()
    theirs = pytorchs(ours)
    losses = []
    for model in (ours, theirs):
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        generator = torch.Generator("cuda").manual_seed(0)
        history = []
        for _ in range(20):
            x = torch.randn(8, 3, 24, 24, device="cuda", generator=generator)
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), F.interpolate(x, scale_factor=2))
            loss.backward()
            optimizer.step()
            history.append(loss.item())
        losses.append(torch.tensor(history))
    torch.testing.assert_close(losses[0], losses[1], rtol=2e-5, atol=0)


class AutoEncoder(nn.Module):
    """PyTorch's convolutions down, transposed ones up, of which one stays PyTorch's."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.GELU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GELU(),
            ct.ConvTranspose2d(64, 64, 3, padding=1), nn.GELU(),
            ct.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.GELU(),
            nn.ConvTranspose2d(32, 32, 3, padding=1, groups=2), nn.GELU(),
            ct.ConvTranspose2d(32, 3, 2, stride=2))

    def forward(self, x):
        return self.layers(x)


def smooth_pictures(count):
    coarse = torch.randn(count, 3, 6, 6, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    return F.interpolate(coarse, size=(48, 48), mode="bicubic").contiguous(memory_format=torch.channels_last)


def adam(parameters):
    return torch.optim.Adam(parameters, 5e-4, eps=1e-4)  # which float16 has


LOSS_SCALE = 1024


def sgd(parameters):
    return torch.optim.SGD(parameters, 0.1 / LOSS_SCALE, momentum=0.9)


def losses_of_training(model, dtype, autocast, make_optimizer=adam, steps=500, batch=16, watch=None):
    """A mean a fifty steps, and the first five. Without autocast the model's weights are of the dtype themselves. Every
    hundredth step stands between calls of `watch`."""
    model = model.to(memory_format=torch.channels_last)
    pictures = smooth_pictures(8 * batch)
    if not autocast:
        model, pictures = model.to(dtype), pictures.to(dtype)
    optimizer = make_optimizer(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=autocast and dtype == torch.float16)
    history = []
    for step in range(steps):
        x = pictures[step % 8 * batch:][:batch]
        optimizer.zero_grad()
        if watch and step % 100 == 0:
            watch(model)
        with torch.autocast("cuda", dtype, enabled=autocast):
            y = model(x)
            assert y.dtype == dtype and y.is_contiguous(memory_format=torch.channels_last)
            loss = F.mse_loss(y.float(), x.float())
        scaler.scale(loss * (LOSS_SCALE if make_optimizer is sgd else 1)).backward()
        if watch and step % 100 == 0:
            watch(model)
        scaler.step(optimizer)
        scaler.update()
        history.append(loss.detach())
    history = torch.stack(history).cpu()
    return history.view(-1, 50).mean(1), history[:5]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_500_steps_under_autocast_agree_with_pytorchs(dtype):
    """Roundings differ and training enlarges them: the first losses agree closely, later means of fifty to a twentieth, or to
    twice what the format's own roundings cost PyTorch's layers; the mean of all to a twentieth."""
    model = AutoEncoder().cuda()
    exact, _ = losses_of_training(pytorchs(model), torch.float32, autocast=False)
    theirs, their_first = losses_of_training(pytorchs(model), dtype, autocast=True)
    ours, our_first = losses_of_training(model, dtype, autocast=True)
    torch.testing.assert_close(our_first, their_first, rtol=2 * torch.finfo(dtype).eps, atol=0)
    allowed = torch.maximum(0.05 * theirs, 2 * (theirs - exact).abs())
    assert ((ours - theirs).abs() <= allowed).all(), (ours, theirs, exact)
    torch.testing.assert_close(ours.mean(), theirs.mean(), rtol=0.05, atol=0)
    assert ours[-1] < ours[0] / 4


@pytest.mark.parametrize("dtype, rtol", [(torch.float16, 5e-3), (torch.bfloat16, 1e-2)])
def test_training_of_16_bit_weights_agrees_with_pytorchs(dtype, rtol):
    """By SGD, whose steps are in proportion to gradients, and with scaled losses. (Adam normalizes what 16 bits barely hold:
    PyTorch's own layers differ by a third from themselves in the other memory format.) A bias' gradient that is half of
    what it should be differs by 1 % here, a weight's that is 0.9 of it by 9 %."""
    model = AutoEncoder().cuda()
    theirs, _ = losses_of_training(pytorchs(model), dtype, False, sgd, steps=250)
    ours, _ = losses_of_training(model, dtype, False, sgd, steps=250)
    torch.testing.assert_close(ours, theirs, rtol=rtol, atol=0)
    assert ours[-1] < ours[0] / 4


class GradientsOfLayers:
    """What the layers of this library get and give in a step: watches it from one call to the next."""

    def __init__(self, check):
        self.check, self.seen = check, None

    def __call__(self, model):
        if self.seen is None:
            self.seen = {}
            layers = [m for m in model.modules() if isinstance(m, ct.ConvTranspose2d)]
            self.handles = [layer.register_forward_hook(self.note) for layer in layers]
            return
        for handle in self.handles:
            handle.remove()
        for layer, tensors in self.seen.items():
            self.check(layer, *tensors)
        self.seen = None

    def note(self, layer, inputs, output):
        x = inputs[0]
        self.seen[layer] = tensors = [x.detach(), output.detach(), None, None]
        output.register_hook(lambda g: tensors.__setitem__(2, g.detach()))
        x.register_hook(lambda g: tensors.__setitem__(3, g.detach()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_in_training_are_rounded_once(dtype):
    """By float64 from the same operands, errors are those of one rounding, whose median is a fourth of a unit in the last
    place (of two it would be 0.29), subnormal numbers, too. Few numbers may have more; a sum that cancels has more as well."""
    checked = []

    def check(layer, x, y, output_gradient, input_gradient):
        operands = [t.detach().double().requires_grad_() for t in (x, layer.weight, layer.bias)]
        exact = F.conv_transpose2d(*operands, stride=layer.stride, padding=layer.padding)
        exact_gradients = torch.autograd.grad(exact, operands, output_gradient.double())
        for what, ours, e in zip(("output", "input", "weight", "bias"), (y, input_gradient, layer.weight.grad, layer.bias.grad),
                                 (exact.detach(), *exact_gradients)):
            smallest = torch.finfo(dtype).smallest_normal
            unit = torch.finfo(dtype).eps * torch.exp2(torch.floor(torch.log2(e.abs().clamp_min(smallest))))
            errors = (ours.double() - e).abs() / unit
            assert errors.median() < 0.265 + errors.numel() ** -0.5, (what, layer, errors.median())
            checked.append(what)

    losses_of_training(AutoEncoder().cuda(), dtype, False, sgd, steps=250, watch=GradientsOfLayers(check))
    assert len(checked) == 3 * 3 * 4


def test_memory_does_not_grow_over_1000_steps():
    model = Network().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step(size):
        optimizer.zero_grad()
        model(torch.randn(2, 3, size, size, device="cuda")).square().mean().backward()
        optimizer.step()

    def used():
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return torch.cuda.memory_allocated(), total - free

    for size in range(8, 18):
        step(size)
    growth = []
    # The second number is the whole GPU's. What other processes take or free may disturb an attempt; a leak
    # shows in all.
    while not growth or abs(growth[-1]) > 4 * 2**20 and len(growth) < 5:
        before = used()
        for i in range(1000):
            step(8 + i % 10)
        after = used()
        assert after[0] == before[0]  # tensors
        growth.append(after[1] - before[1])
    assert abs(growth[-1]) <= 4 * 2**20, growth


# ---------------------------------------------------------------- half precision and channels_last

FIRST, LAST = torch.contiguous_format, torch.channels_last
PROBLEMS = {
    "k4 s2 p1": ((2, 64, 16, 18), (64, 64, 4, 4), dict(stride=2, padding=1)),
    "k3 s1": ((2, 32, 17, 15), (32, 64, 3, 3), dict(padding=1)),
    "groups, dilation": ((2, 64, 9, 8), (64, 32, 3, 3), dict(stride=3, groups=2, dilation=2, output_padding=1)),
    "few channels": ((2, 5, 9, 8), (5, 3, 3, 3), dict(stride=2)),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("order", [FIRST, LAST], ids=["first", "last"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_format_and_order_forward_and_backward(name, order, dtype):
    torch.backends.cudnn.allow_tf32 = True
    shape, weight_shape, attributes = PROBLEMS[name]
    bias = weight_shape[1] * attributes.get("groups", 1)
    x, w, b = (torch.randint(-2, 3, s, device="cuda").to(dtype) for s in (shape, weight_shape, (bias,)))
    x, w = (t.to(memory_format=order) for t in (x, w))
    results = []
    for function, operands in ((ct.conv_transpose2d, (x, w, b)),
                               (F.conv_transpose2d, tuple(t.cpu().double() for t in (x, w, b)))):
        operands = [t.detach().requires_grad_() for t in operands]
        y = function(*operands, **attributes)
        g = torch.arange(y.numel(), device=y.device).reshape(y.shape).remainder(5).sub(2).to(y.dtype)
        results.append((y, *torch.autograd.grad(y, operands, g.to(memory_format=order) if y.is_cuda else g)))
    for which, ours, theirs in zip(("output", "input gradient", "weight gradient", "bias gradient"), *results):
        # Sums of integers are exact in float32, so all that may differ is the one rounding at last.
        equal(ours, theirs, f"{which} of {name}, {dtype}, {order}")
        assert ours.dtype == dtype
        if ours.dim() == 4:
            assert ours.is_contiguous(memory_format=order), which


@pytest.mark.parametrize("order", [FIRST, LAST], ids=["first", "last"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_needs_no_copies(dtype, order):
    """What the library has kernels for takes memory for result and workspace alone."""
    x = torch.ones(4, 64, 32, 32, dtype=dtype, device="cuda").to(memory_format=order)
    w = torch.ones(64, 64, 4, 4, dtype=dtype, device="cuda").to(memory_format=order)
    arguments = dict(stride=2, padding=1)
    y = ct.conv_transpose2d(x, w, **arguments)
    call = _calls._forward_call(_calls._signature(x), _calls._signature(w), None, 2, 1, 0, 1, 1, "tf32")
    assert call.copies == (None, None) and call.result_copy is None, call
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    z = ct.conv_transpose2d(x, w, **arguments)
    peak = torch.cuda.max_memory_allocated() - before
    round_up = 2**21  # the allocator's blocks
    assert peak <= z.nbytes + call.workspace_bytes + round_up, (peak, z.nbytes, call.workspace_bytes)
    assert torch.equal(y, z)


@pytest.mark.parametrize("dtype, order, type", [
    (torch.float16, LAST, torch.float16), (torch.float16, FIRST, torch.float16), (torch.bfloat16, LAST, torch.bfloat16),
    (torch.bfloat16, FIRST, torch.bfloat16), (torch.float32, LAST, torch.float32),
], ids=str)
def test_the_input_gradient_stays_in_its_format(dtype, order, type):
    """In channels_first only the layout is converted, never through float32."""
    g = torch.ones(2, 64, 32, 32, dtype=dtype, device="cuda").to(memory_format=order)
    w = torch.ones(64, 64, 4, 4, dtype=dtype, device="cuda").to(memory_format=order)
    call = _calls._gradient_call("input_gradient", _calls._signature(g), _calls._signature(w), "tf32", None, 2, 1, 0, 1, 1)
    assert call.result_type == type, call
    assert all(copy is None or copy[0] == type for copy in call.copies), call
    assert order is FIRST or call.copies == (None, None) and call.result_copy is None, call


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_compiled_half_precision_in_channels_last(dtype):
    layer = ct.ConvTranspose2d(32, 64, 4, 2, 1).to("cuda", dtype).to(memory_format=LAST)
    x = torch.randn(2, 32, 9, 8, device="cuda", dtype=dtype).to(memory_format=LAST)
    eager, compiled = layer(x), torch.compile(layer, backend="aot_eager")(x)
    assert torch.equal(eager, compiled) and compiled.is_contiguous(memory_format=LAST)


@pytest.mark.parametrize("order", [FIRST, torch.channels_last_3d], ids=["first", "last"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_three_axes_forward(dtype, order):
    torch.backends.cudnn.allow_tf32 = True
    x, w = (torch.randint(-2, 3, s, device="cuda").to(dtype).to(memory_format=order)
            for s in ((2, 64, 5, 6, 7), (64, 64, 4, 4, 4)))
    y = ct.conv_transpose3d(x, w, stride=2, padding=1)
    equal(y, F.conv_transpose3d(x.cpu().double(), w.cpu().double(), stride=2, padding=1))
    assert y.is_contiguous(memory_format=order)


@pytest.fixture
def cudnn_benchmark():
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    yield
    torch.backends.cudnn.benchmark = before


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16))
def test_kernels_are_measured_where_pytorch_measures(cudnn_benchmark, monkeypatch, dtype):
    measured = []
    monkeypatch.setattr(_measuring, "fastest", lambda *given: measured.append(given) or _measuring_fastest(*given))
    x = integers((3, 16, 21, 22), "cuda").to(dtype).requires_grad_()
    w = integers((16, 24, 3, 3), "cuda").to(dtype).requires_grad_()
    y = ct.conv_transpose2d(x, w, torch.ones(24, device="cuda", dtype=dtype), stride=2)
    assert len(measured) == 1 and set(measured[0][2]) == {"input", "weight", "bias", "output"}
    equal(y.float(), expected(x.detach().float(), w.detach().float(), torch.ones(24, device="cuda"), stride=2))
    y.sum().backward()
    assert [set(given[2]) for given in measured[1:3]] == [{"output_gradient", "weight", "input_gradient"},
                                                          {"output_gradient", "input", "weight_gradient"}]
    count = len(measured)
    ct.conv_transpose2d(x, w, torch.ones(24, device="cuda", dtype=dtype), stride=2)
    assert len(measured) == count  # what was measured is kept


def test_nothing_is_measured_where_results_should_be_the_same_from_process_to_process(cudnn_benchmark, monkeypatch):
    monkeypatch.setattr(_measuring, "fastest", lambda *given: pytest.fail("measured"))
    x, w = integers((2, 8, 5, 31), "cuda"), integers((8, 8, 3, 3), "cuda")
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    equal(ct.conv_transpose2d(x, w), expected(x, w))
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", False)
    torch.backends.cudnn.benchmark = False
    equal(ct.conv_transpose2d(x, w, stride=3), expected(x, w, stride=3))


def test_a_captured_problem_is_not_measured(cudnn_benchmark, monkeypatch):
    monkeypatch.setattr(_measuring, "fastest", lambda *given: pytest.fail("measured"))
    x, w = integers((2, 8, 6, 33), "cuda"), integers((8, 8, 3, 3), "cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ct.conv_transpose2d(x, w)
    graph.replay()
    equal(y, expected(x, w))
