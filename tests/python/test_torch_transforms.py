"""Derivatives and vmap by every way that PyTorch has: right, as PyTorch's own, or an error; never zeros in silence."""

import itertools

import pytest
import torch
from torch import func, nn
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import conv_transpose.torch as ct
from torch_cases import DEVICES, device, integers, seed_and_switches  # noqa: F401  (fixtures)

ATTRIBUTES = dict(stride=2, padding=1, output_padding=1, groups=2, dilation=2)
SHAPES = (2, 4, 3, 4), (4, 2, 3, 2), (4,)


@pytest.fixture
def operands(device):
    return tuple(integers(shape, device) for shape in SHAPES)


@pytest.fixture
def tangents(device):
    return tuple(integers(shape, device) for shape in SHAPES)


def same(use):
    """`use` makes something of a convolution of three tensors: the same of ours and of PyTorch's."""
    def with_attributes(function):
        return lambda x, w, b: function(x, w, b, **ATTRIBUTES)

    ours, theirs = (tree_leaves(use(with_attributes(f))) for f in (ct.conv_transpose2d, F.conv_transpose2d))
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        torch.testing.assert_close(a, b, rtol=0, atol=0, msg=lambda text: f"result {i}: {text}")
    assert any(t.abs().sum() > 0 for t in theirs)


def squares(convolve):
    return lambda *operands: (convolve(*operands) ** 2).sum()


ALL = (0, 1, 2)
HESSIAN_INPUT = (slice(1), slice(None), slice(2), slice(2))  # small, since every pair of elements is an entry

TRANSFORMS = {
    "vjp": lambda c, xs, ts: func.vjp(c, *xs)[1](torch.ones_like(c(*xs))),
    "grad": lambda c, xs, ts: func.grad(squares(c), ALL)(*xs),
    "grad of grad": lambda c, xs, ts: func.grad(
        lambda *a: sum((g * t).sum() for g, t in zip(func.grad(squares(c), ALL)(*a), ts)), ALL)(*xs),
    "jvp": lambda c, xs, ts: func.jvp(c, xs, ts),
    "jvp over grad": lambda c, xs, ts: func.jvp(func.grad(squares(c), ALL), xs, ts),
    "grad over jvp": lambda c, xs, ts: func.grad(lambda *a: (func.jvp(c, a, ts)[1] ** 2).sum(), ALL)(*xs),
    "jvp of jvp": lambda c, xs, ts: func.jvp(lambda *a: func.jvp(c, a, ts)[1], xs, ts),
    "linearize": lambda c, xs, ts: (lambda value, linear: (value, linear(*ts)))(*func.linearize(c, *xs)),
    "jacrev": lambda c, xs, ts: func.jacrev(c, ALL)(*xs),
    "jacfwd": lambda c, xs, ts: func.jacfwd(c, ALL)(*xs),
    "hessian": lambda c, xs, ts: func.hessian(lambda w: squares(c)(xs[0][HESSIAN_INPUT], w, xs[2]))(xs[1]),
    "reverse over forward": lambda c, xs, ts: func.jacrev(func.jacfwd(lambda x: squares(c)(x, *xs[1:])))(
        xs[0][HESSIAN_INPUT]),
    "reverse over reverse": lambda c, xs, ts: func.jacrev(func.jacrev(lambda x: squares(c)(x, *xs[1:])))(
        xs[0][HESSIAN_INPUT]),
    "forward over forward": lambda c, xs, ts: func.jacfwd(func.jacfwd(lambda x: squares(c)(x, *xs[1:])))(
        xs[0][HESSIAN_INPUT]),
    "per sample gradients": lambda c, xs, ts: func.vmap(
        func.grad(lambda w, x: squares(c)(x.unsqueeze(0), w, xs[2])), (None, 0))(xs[1], xs[0]),
    "jacobian, vectorized": lambda c, xs, ts: torch.autograd.functional.jacobian(c, xs, vectorize=True),
    "jacobian, vectorized, forward": lambda c, xs, ts: torch.autograd.functional.jacobian(
        c, xs, vectorize=True, strategy="forward-mode"),
    "hessian, vectorized": lambda c, xs, ts: torch.autograd.functional.hessian(
        lambda w: squares(c)(xs[0], w, xs[2]), xs[1], vectorize=True),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, operands, tangents):
    same(lambda convolve: TRANSFORMS[name](convolve, operands, tangents))


class Mode(TorchDispatchMode):
    """Sees every operator, and changes nothing."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        return operator(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["vjp", "jvp", "jvp over grad", "grad over jvp", "linearize", "per sample gradients"])
def test_transforms_under_a_mode(name, operands, tangents):
    with Mode():
        same(lambda convolve: TRANSFORMS[name](convolve, operands, tangents))


@pytest.mark.parametrize("name", ["grad", "jvp", "jvp over grad", "linearize"])
def test_traced_transforms(name, operands, tangents):
    def traced(convolve):
        function = lambda xs, ts: TRANSFORMS[name](convolve, xs, ts)  # noqa: E731
        return make_fx(function)(operands, operands)(operands, tangents)

    same(traced)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", ["grad", "jvp", "jvp over grad", "hessian", "per sample gradients"])
def test_compiled_transforms(name, backend, operands, tangents):
    def compiled(convolve):
        torch._dynamo.reset()
        function = torch.compile(lambda xs, ts: TRANSFORMS[name](convolve, xs, ts), backend=backend, fullgraph=True)
        return function(operands, tangents)

    same(compiled)


BATCHED = [which for which in itertools.product([False, True], repeat=3) if any(which)]


@pytest.mark.parametrize("which", BATCHED)
def test_vmap(which, device):
    dims = tuple(dim if batched else None for batched, dim in zip(which, (0, 1, 1)))
    operands = [integers(shape if dim is None else (*shape[:dim], 3, *shape[dim:]), device)
                for shape, dim in zip(SHAPES, dims)]
    same(lambda convolve: func.vmap(convolve, dims)(*operands))
    same(lambda convolve: func.vmap(func.grad(squares(convolve), ALL), dims)(*operands))
    same(lambda convolve: func.grad(squares(func.vmap(convolve, dims)), ALL)(*operands))
    same(lambda convolve: func.vmap(lambda *a: func.jvp(convolve, a, a), dims)(*operands))


def test_vmap_in_vmap(device):
    xs, ws, b = integers((3, *SHAPES[0]), device), integers((5, *SHAPES[1]), device), integers(SHAPES[2], device)
    same(lambda convolve: func.vmap(func.vmap(convolve, (None, 0, None)), (0, None, None))(xs, ws, b))


def test_vmap_runs_once(monkeypatch, operands):
    """Not once for each sample."""
    from conv_transpose.torch import _calls
    runs = []
    execute = _calls._execute
    monkeypatch.setattr(_calls, "_execute", lambda *arguments: runs.append(1) or execute(*arguments))
    x, w, b = operands
    func.vmap(ct.conv_transpose2d, (None, 0, None))(x, torch.stack([w] * 7), integers((2,), x.device))
    assert len(runs) == 1


# ---------------------------------------------------------------- PyTorch's own modes


def test_batched_output_gradients(operands):
    def gradients(convolve):
        leaves = [t.clone().requires_grad_() for t in operands]
        output = convolve(*leaves)
        directions = torch.stack([integers(output.shape, output.device) for _ in range(3)])
        torch.manual_seed(1)
        return torch.autograd.grad(output, leaves, torch.ones_like(directions), is_grads_batched=True)

    same(gradients)


@pytest.mark.parametrize("which", BATCHED)
def test_dual_numbers(which, operands, tangents):
    def derivative(convolve):
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t) if w else x for w, x, t in zip(which, operands, tangents)]
            return tuple(forward_ad.unpack_dual(convolve(*duals)))

    same(derivative)
    with Mode():
        same(derivative)


def test_dual_numbers_and_gradients(operands, tangents):
    x, w, b = operands

    def gradient_of_tangent(convolve):
        leaf = w.clone().requires_grad_()
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(convolve(forward_ad.make_dual(x, tangents[0]), leaf, b)).tangent
            return torch.autograd.grad((tangent**2).sum(), leaf)

    def tangent_of_gradient(convolve):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(w.clone().requires_grad_(), tangents[1])
            gradient, = torch.autograd.grad(squares(convolve)(x, dual, b), dual, create_graph=True)
            return tuple(forward_ad.unpack_dual(gradient))

    same(gradient_of_tangent)
    same(tangent_of_gradient)


class Kind(nn.Parameter):
    pass


def test_parameter_subclasses(operands):
    x, w, b = operands
    same(lambda convolve: func.grad(lambda weight: squares(convolve)(x, weight, b))(Kind(w)))


def test_tensor_subclasses(operands, tangents):
    x, w, b = operands

    def gradient(convolve):
        leaf = TwoTensor(w.clone(), w.clone()).requires_grad_()
        squares(convolve)(x, leaf, b).backward()
        return leaf.grad.a, leaf.grad.b

    def derivative(convolve):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(TwoTensor(w.clone(), w.clone()), TwoTensor(tangents[1], tangents[1].clone()))
            return forward_ad.unpack_dual(convolve(x, dual, b)).tangent.a

    same(gradient)
    same(derivative)


def test_a_tensor_that_outlives_its_transform(operands):
    x, w, b = operands
    kept = []
    func.grad(lambda leaf: (kept.append(leaf), leaf.sum())[1])(x)
    same(lambda convolve: convolve(kept[0], w, b))
