"""The transposed convolutions of a model, as problem strings: of an ONNX file, or of a torch module made by a
script."""
from __future__ import annotations

import importlib.util
import pathlib

from candidates import TuningError, axes, problem_string


def of_model(path: str) -> list[str]:
    """Without repetitions, in the model's order."""
    reader = {".onnx": _of_onnx, ".py": _of_script}.get(pathlib.Path(path).suffix)
    if not reader:
        raise TuningError(f"'{path}' is neither an ONNX file (.onnx) nor a script (.py)")
    problems = list(dict.fromkeys(reader(path)))
    if not problems:
        raise TuningError(f"'{path}' has no transposed convolution of one to three axes")
    return problems


def _problem(x, w, stride, padding, output_padding, dilation, groups) -> str:
    values = dict(n=x[0], g=groups, ic=w[0], oc=w[1] * groups)
    for key, of_axes in (("i", x[2:]), ("k", w[2:]), ("s", stride), ("p", padding), ("d", dilation), ("op", output_padding)):
        values |= {key + axis: value for axis, value in zip(axes(len(x) - 2), of_axes, strict=True)}
    return problem_string(values)


def _of_onnx(path: str) -> list[str]:
    try:
        import onnx
        model = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True, data_prop=True)
    except ImportError as error:
        raise TuningError("reading ONNX files needs the package onnx") from error
    except Exception as error:  # whatever onnx raises for a file that it cannot read
        raise TuningError(f"'{path}' cannot be read: {error}") from error
    graph = model.graph
    shapes = {t.name: tuple(t.dims) for t in graph.initializer}
    for value in (*graph.input, *graph.value_info):
        shapes.setdefault(value.name, tuple(d.dim_value for d in value.type.tensor_type.shape.dim))
    problems = []
    for node in graph.node:
        if node.op_type != "ConvTranspose":
            continue
        x, w = shapes.get(node.input[0], ()), shapes.get(node.input[1], ())
        if 3 <= len(w) == len(x) <= 5:
            if 0 in x or 0 in w:
                raise TuningError(f"node '{node.name}' of '{path}' has no fixed shape {x}: export the model "
                                  "with fixed sizes")
            problems.append(_problem(x, w, *_onnx_attributes(path, node, w)))
    return problems


def _onnx_attributes(path, node, w):
    import onnx
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    rank = len(w) - 2
    pads = given.get("pads", [0, 0] * rank)
    if pads[:rank] != pads[rank:] or given.get("auto_pad", b"NOTSET") != b"NOTSET" or "output_shape" in given:
        raise TuningError(f"node '{node.name}' of '{path}' pads its sides differently, which this library does not do")
    ones, zeros = [1] * rank, [0] * rank
    return (given.get("strides", ones), pads[:rank], given.get("output_padding", zeros), given.get("dilations", ones),
            given.get("group", 1))


def _of_script(path: str) -> list[str]:
    """The script defines model() and example_inputs(), a tuple."""
    import torch
    specification = importlib.util.spec_from_file_location("tuned_model", path)
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    for name in ("model", "example_inputs"):
        if not callable(getattr(script, name, None)):
            raise TuningError(f"'{path}' must define a function {name}()")
    problems = []

    def note(module, inputs):
        problems.append(_problem(inputs[0].shape, module.weight.shape, module.stride, module.padding,
                                 module.output_padding, module.dilation, module.groups))

    model = script.model().eval()
    for module in model.modules():
        if isinstance(module, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)):
            module.register_forward_pre_hook(note)
    with torch.no_grad():
        model(*script.example_inputs())
    return problems
