"""The PyTorch function inside PyTorch's larger systems: operators, compilation, export, distributed training."""

import copy
import os

import pytest
import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional as F

import conv_transpose.torch as ct
from test_torch_errors import ERRORS
from torch_cases import DEVICES, device, integers, seed_and_switches  # noqa: F401  (fixtures)

ATTRIBUTES = ([2, 1], [1, 0], [1, 0], 2, [1, 2], "float32")
operators = torch.ops.conv_transpose


def operator_arguments(device):
    x, w, b = integers((2, 4, 3, 4), device, True), integers((4, 2, 3, 2), device, True), integers((4,), device, True)
    g = torch.ones_like(operators.conv_transpose2d(x, w, b, *ATTRIBUTES)).detach().requires_grad_()
    return {
        "conv_transpose2d": (x, w, b, *ATTRIBUTES),
        "input_gradient": (g, w, *ATTRIBUTES),
        "weight_gradient": (g, x, *ATTRIBUTES),
        "bias_gradient": (g,),
        "weight_gradient in float32": (g.bfloat16().detach(), x.bfloat16().detach(), *ATTRIBUTES, torch.float32),
        "bias_gradient in float32": (g.bfloat16().detach(), torch.float32),
    }


@pytest.mark.parametrize("name", ["conv_transpose2d", "input_gradient", "weight_gradient", "bias_gradient",
                                  "weight_gradient in float32", "bias_gradient in float32"])
def test_opcheck(name, device):
    torch.library.opcheck(getattr(operators, name.split()[0]).default, operator_arguments(device)[name])


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            ct.ConvTranspose2d(3, 8, 3, padding=1), nn.LeakyReLU(0.1), ct.ConvTranspose2d(8, 3, 4, stride=2, padding=1))

    def forward(self, x):
        return self.layers(x)


def gradients(model, x):
    model.zero_grad()
    y = model(x)
    y.square().sum().backward()
    return [y.detach()] + [p.grad.clone() for p in model.parameters()]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(device, backend, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # nothing from earlier runs
    model, x = Network().to(device), torch.randn(2, 3, 7, 9, device=device)
    expected = gradients(model, x)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    # Inductor tries which vector instructions its compiler knows, which takes longer than all else here.
    with torch._inductor.config.patch({"cpp.vec_isa_ok": False}):
        actual = gradients(compiled, x)
    for ours, reference in zip(actual, expected):
        torch.testing.assert_close(ours, reference, rtol=1e-5, atol=1e-4)


def test_compile_with_changing_sizes(device):
    model = Network().to(device)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in (5, 7, 12):
        x = torch.randn(2, 3, size, size + 1, device=device)
        for ours, reference in zip(gradients(compiled, x), gradients(model, x)):
            torch.testing.assert_close(ours, reference, rtol=1e-5, atol=1e-4)


def test_compile_under_autocast(device):
    model, x = Network().to(device), torch.randn(2, 3, 7, 9, device=device)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16):
        y, z = compiled(x), model(x)
    assert y.dtype == z.dtype == torch.bfloat16
    torch.testing.assert_close(y, z)


def test_export(device):
    model, x = Network().to(device).eval(), torch.randn(2, 3, 7, 9, device=device)
    program = torch.export.export(model, (x,))
    assert "conv_transpose.conv_transpose2d" in str(program.graph)
    torch.testing.assert_close(program.module()(x), model(x))


@pytest.mark.parametrize("name", [name for name, (change, _) in ERRORS.items()
                                  if name != "integers and floats" and
                                  all(isinstance(change.get(key, torch.empty(0)), torch.Tensor) for key in ("input", "weight"))])
def test_meta_tensors_refuse_what_pytorch_refuses(name):
    change, message = ERRORS[name]
    arguments = {**dict(input=torch.zeros(2, 4, 5, 5), weight=torch.zeros(4, 3, 3, 3), bias=torch.zeros(3)), **change}
    arguments = {key: value.to("meta") if isinstance(value, torch.Tensor) else value for key, value in arguments.items()}
    with pytest.raises((RuntimeError, TypeError), match=message):
        ct.conv_transpose2d(**arguments)


@pytest.mark.parametrize("name", ["input", "weight", "bias"])
def test_an_operand_on_the_meta_device_is_named(name):
    arguments = dict(input=torch.zeros(2, 4, 5, 5), weight=torch.zeros(4, 3, 3, 3), bias=torch.zeros(3))
    arguments[name] = arguments[name].to("meta")
    with pytest.raises(RuntimeError, match="weight is on cpu, but it must be on meta" if name == "input" else
                       f"{name} is on meta, but it must be on cpu"):
        ct.conv_transpose2d(**arguments)


def test_shapes_on_the_meta_device():
    x, w = torch.zeros(2, 4, 1000, 1000, device="meta"), torch.zeros(4, 3, 3, 3, device="meta")
    assert ct.conv_transpose2d(x, w, stride=2).shape == F.conv_transpose2d(x, w, stride=2).shape


# ---------------------------------------------------------------- distributed training


def upsampler(axes):
    layer = getattr(ct, f"ConvTranspose{axes}d")
    return nn.Sequential(layer(3, 8, 3, padding=1), nn.LeakyReLU(0.1), layer(8, 3, 4, stride=2, padding=1))


def train(model, batches, device, part=lambda batch: batch, wrapped=lambda model: model):
    """Two steps on a part of the batches; returns the parameters, on the CPU."""
    model = copy.deepcopy(model).to(device)
    parallel = wrapped(model)
    optimizer = torch.optim.SGD(parallel.parameters(), 0.01)
    for x, y in batches:
        optimizer.zero_grad()
        F.mse_loss(parallel(part(x).to(device)), part(y).to(device)).backward()
        optimizer.step()
    return {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}


def train_in_a_process(rank, world, folder, backend, runs):
    """Leaves the parameters of each run in the folder."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"  # there may be no other, and no name for this machine
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # as in the process that compares
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    if backend == "nccl":
        torch.cuda.set_device(device)
    torch.distributed.init_process_group(backend, init_method=(folder / "meeting").as_uri(), rank=rank, world_size=world)
    torch.save([train(model, batches, device, lambda batch: batch.chunk(world)[rank], nn.parallel.DistributedDataParallel)
                for model, batches in runs], folder / str(rank))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("backend", ["gloo", pytest.param("nccl", marks=pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason="fewer than two GPUs"))])
def test_distributed_data_parallel_on_two_processes(backend, tmp_path):
    world, runs = 2, []
    for axes in (1, 2, 3):
        shape = (4, 3) + (6,) * axes, (4, 3) + (12,) * axes
        runs.append((upsampler(axes), [tuple(map(torch.randn, shape)) for _ in range(2)]))
    torch.multiprocessing.spawn(train_in_a_process, (world, tmp_path, backend, runs), nprocs=world)
    first, second = (torch.load(tmp_path / str(rank)) for rank in range(world))
    for (model, batches), ours, others in zip(runs, first, second):
        for name, expected in train(model, batches, "cpu").items():
            assert (ours[name] == others[name]).all()
            torch.testing.assert_close(ours[name], expected, rtol=1e-5, atol=1e-6)
