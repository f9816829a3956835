"""PyTorch's tools around a layer: tracing, scripting, export to ONNX, fusing, counting, conversion of whole models."""

import copy
import io
import subprocess
import sys

import pytest
import torch
from torch import fx, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize
from torch.utils.flop_counter import FlopCounterMode

import conv_transpose
import conv_transpose.torch as ct
from torch_cases import equal, integers, seed_and_switches  # noqa: F401  (fixture)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = ct.ConvTranspose2d(4, 6, 3, stride=2, groups=2)
        self.norm = nn.BatchNorm2d(6)

    def forward(self, x):
        return F.relu(self.norm(self.up(x)))


@pytest.fixture
def block():
    block = Block()
    with torch.no_grad():
        for tensor in (*block.parameters(), block.norm.running_mean):
            tensor.copy_(integers(tensor.shape))
    return block.eval()


X = (2, 4, 5, 6)


# ---------------------------------------------------------------- tracing and scripting


def test_symbolic_trace(block):
    traced, x = fx.symbolic_trace(block), integers(X)
    assert any(node.target is ct.conv_transpose2d for node in traced.graph.nodes)
    equal(traced(x), block(x))

    def function(x, w):
        return ct.conv_transpose2d(x, w) + conv_transpose.conv_transpose2d(x, w, stride=2)[..., :7, :8]

    w = integers((4, 3, 3, 3))
    equal(fx.symbolic_trace(function)(x, w), function(x, w))


class Counting(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


def test_torch_function_modes_see_the_call():
    x, w = integers(X), integers((4, 3, 3, 3))
    with Counting() as mode:
        y = ct.conv_transpose2d(x, w, stride=2)
    assert ct.conv_transpose2d in mode.seen
    equal(y, F.conv_transpose2d(x, w, stride=2))


@pytest.mark.parametrize("precision", [None, "float32"])
def test_script(block, precision):
    block.up.precision = precision
    scripted = torch.jit.script(block)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded, x = torch.jit.load(file), integers(X)
    equal(loaded(x), block(x))
    equal(loaded(x[0].unsqueeze(0)), block(x[:1]))
    for model in (block, loaded):
        model.up.weight.grad = None
        (model(x) ** 2).sum().backward()
    equal(loaded.up.weight.grad, block.up.weight.grad)
    with torch.autocast("cpu", torch.bfloat16):
        assert loaded.up(x).dtype == torch.bfloat16


def test_script_with_output_size():
    layer, x = ct.ConvTranspose2d(4, 3, 3, stride=2), integers(X)
    scripted = torch.jit.script(layer)
    equal(scripted(x, [12, 14]), layer(x, [12, 14]))
    equal(scripted(x[0]), layer(x[0]))


def test_trace(block):
    x = integers(X)
    traced = torch.jit.trace(block, x)
    assert "conv_transpose::conv_transpose2d" in str(traced.inlined_graph)
    equal(traced(x), block(x))


# ---------------------------------------------------------------- ONNX


@pytest.mark.parametrize("dynamo", [False, True])
def test_onnx_export(block, dynamo, tmp_path):
    onnx = pytest.importorskip("onnx")
    if dynamo:
        pytest.importorskip("onnxscript")
    reference = pytest.importorskip("onnx.reference")
    block.up = ct.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1)  # ONNX's evaluator knows no groups
    x, path = integers(X), str(tmp_path / "block.onnx")
    torch.onnx.export(block, (x,), path, dynamo=dynamo, verbose=False)
    model = onnx.load(path)
    assert "ConvTranspose" in [node.op_type for node in model.graph.node]
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx"}
    result, = reference.ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x.numpy()})
    torch.testing.assert_close(torch.from_numpy(result), block(x).detach(), rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- quantization, counting, profiling


def test_fuse_modules(block):
    block.up = ct.ConvTranspose2d(4, 6, 3, stride=2).eval()
    fused, x = torch.ao.quantization.fuse_modules(block, ["up", "norm"]), torch.randn(X)
    assert type(fused.up) is ct.ConvTranspose2d and isinstance(fused.norm, nn.Identity)
    torch.testing.assert_close(fused(x), block(x), rtol=1e-4, atol=1e-4)


def test_flops_are_counted_as_pytorchs():
    counts = []
    for function in (ct.conv_transpose2d, F.conv_transpose2d):
        x, w, b = integers(X).requires_grad_(), integers((4, 3, 3, 2)).requires_grad_(), integers((3,)).requires_grad_()
        with FlopCounterMode(display=False) as counter:
            function(x, w, b, stride=2).sum().backward()
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 0


def test_a_profiler_sees_the_name():
    x, w = integers(X), integers((4, 3, 3, 3)).requires_grad_()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        ct.conv_transpose2d(x, w).sum().backward()
    names = {event.key for event in profile.key_averages()}
    assert {"conv_transpose::conv_transpose2d", "conv_transpose::weight_gradient"} <= names


def test_importing_prints_nothing():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", "import conv_transpose.torch"], capture_output=True)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


# ---------------------------------------------------------------- convert and revert


PARAMETRIZATIONS = {
    "weight_norm": parametrizations.weight_norm,
    "spectral_norm": parametrizations.spectral_norm,
    "orthogonal": parametrizations.orthogonal,
    "weight_norm by a hook": torch.nn.utils.weight_norm,
}


def parametrized(name):
    """The same twice: a layer in a model, and for comparison."""
    layers = []
    for _ in range(2):
        torch.manual_seed(0)
        layers.append(PARAMETRIZATIONS[name](nn.ConvTranspose2d(4, 4, 3, stride=2)).eval())
    return nn.Sequential(layers[0]), layers[1]


@pytest.mark.parametrize("name", PARAMETRIZATIONS)
def test_parametrized_layers(name):
    model, before = parametrized(name)
    x, names = torch.randn(X), [key for key, _ in model[0].named_parameters()]
    assert ct.convert(model).converted == ["0"]
    assert isinstance(model[0], ct.ConvTranspose2d)
    assert [key for key, _ in model[0].named_parameters()] == names
    torch.testing.assert_close(model(x), before(x), rtol=1e-5, atol=1e-5)
    model(x).sum().backward()
    before(x).sum().backward()
    for ours, theirs in zip(model.parameters(), before.parameters()):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-3)
    assert ct.revert(model).converted == ["0"]
    assert type(model[0]).__name__ == type(before).__name__ and not isinstance(model[0], ct.ConvTranspose2d)
    assert torch.equal(model(x), before(x))


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm", "orthogonal"])
def test_parametrizations_can_be_removed_after_conversion(name):
    model, before = parametrized(name)
    x = torch.randn(X)
    ct.convert(model)
    parametrize.remove_parametrizations(model[0], "weight")
    assert type(model[0]) is ct.ConvTranspose2d
    torch.testing.assert_close(model(x), before(x), rtol=1e-5, atol=1e-5)


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, 2, 3, 3))

    def forward(self, x):
        return (lambda: F.conv_transpose2d(x, self.weight))()


def test_convert_tells_what_it_cannot_see():
    model = nn.ModuleDict(dict(functional=Functional(), scripted=torch.jit.script(nn.ConvTranspose2d(1, 1, 1)),
                               other=torch.jit.script(nn.ReLU()), layer=nn.ConvTranspose2d(1, 1, 1)))
    result = ct.convert(model)
    assert result.converted == ["layer"]
    assert set(result.left) == {"functional", "scripted"}
    assert "calls conv_transpose2d as a function" in result.left["functional"]
    assert "TorchScript" in result.left["scripted"]


def test_revert_undoes_convert():
    model = nn.Sequential(nn.ConvTranspose2d(2, 4, 3), nn.Conv2d(4, 4, 1))
    before = copy.deepcopy(model)
    ct.convert(model, precision="tf32")
    result = ct.revert(model)
    assert (result.converted, result.left) == (["0"], {})
    assert type(model[0]) is nn.ConvTranspose2d
    assert repr(model) == repr(before) and vars(model[0]).keys() == vars(before[0]).keys()


def test_skip_init():
    layer = torch.nn.utils.skip_init(ct.ConvTranspose2d, 2, 3, 4, stride=2, precision="tf32")
    assert layer.weight.shape == (2, 3, 4, 4) and layer.precision == "tf32"


# ---------------------------------------------------------------- parts of tensors on several processes


@pytest.fixture
def mesh_of_two():
    """Process 0 of two, without the other: no communication is needed to see what it computes."""
    distributed = pytest.importorskip("torch.distributed")
    from torch.testing._internal.distributed.fake_pg import FakeStore
    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
    distributed.destroy_process_group()


@pytest.mark.parametrize("by, split, cut", [
    ("batch", (0, None, None), 0), ("output channels", (None, 1, 0), 1), ("nothing", (None, None, None), None)])
def test_dtensors_stay_in_parts(mesh_of_two, by, split, cut):
    from torch.distributed.tensor import DTensor, Replicate, Shard

    whole = [integers(shape) for shape in ((4, 4, 5, 6), (4, 6, 3, 3), (6,))]
    local = [(t if dim is None else t.chunk(2, dim)[0].contiguous()).requires_grad_() for t, dim in zip(whole, split)]
    parts = [DTensor.from_local(t, mesh_of_two, [Replicate() if dim is None else Shard(dim)])
             for t, dim in zip(local, split)]
    y = ct.conv_transpose2d(*parts, stride=2)
    assert y.placements == (Replicate() if cut is None else Shard(cut),)
    expected = F.conv_transpose2d(*whole, stride=2)
    equal(y.to_local(), expected if cut is None else expected.chunk(2, cut)[0])
    g = integers(y.to_local().shape)
    y.to_local().backward(g)
    reference = [t.detach().clone().requires_grad_() for t in local]
    F.conv_transpose2d(*reference, stride=2).backward(g)
    for ours, theirs in zip(local, reference):
        equal(ours.grad, theirs.grad, by)
