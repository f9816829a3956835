"""What torch.vmap makes of the four operations: one call for all of its samples.

Samples that share the weight become more of a batch. Samples with a weight each become groups, since groups are
what meets weights of its own. A dimension over which vmap maps is called that of the samples.
"""

from __future__ import annotations

from typing import Any, Optional

from torch import Tensor

from ._operators import bias_gradient, forward, input_gradient, weight_gradient


def _split(tensor: Tensor, dimension: int, *sizes: Any) -> Tensor:
    return tensor.reshape(*tensor.shape[:dimension], *sizes, *tensor.shape[dimension + 1 :])


def _folded(tensor: Tensor, samples: Optional[int], into: int, count: Any) -> Tensor:
    """With the samples as the outer part of dimension `into`; shared by all of them, it is repeated."""
    if samples is None:
        tensor = tensor.unsqueeze(into)
        tensor = tensor.expand(*tensor.shape[:into], count, *tensor.shape[into + 1 :])
    else:
        tensor = tensor.movedim(samples, into)
    return tensor.flatten(into, into + 1)


def _with_groups(attributes: tuple[Any, ...], count: Any) -> tuple[Any, ...]:
    stride, padding, output_padding, groups, *others = attributes
    return stride, padding, output_padding, groups * count, *others


def _over_shared_weight(operation: Any, count: Any, first: Tensor, samples: int, *others: Any) -> tuple[Tensor, int]:
    result = operation(_folded(first, samples, 0, count), *others)
    return _split(result, 0, count, result.shape[0] // count), 0


def _over_groups(operation: Any, count: Any, first: Tensor, first_samples: Any, second: Tensor, second_samples: Any,
                 second_into: int, split: int, others: Any, attributes: Any) -> tuple[Tensor, int]:
    """`split`: the result's dimension whose outer part are the samples."""
    result = operation(_folded(first, first_samples, 1, count), _folded(second, second_samples, second_into, count),
                       *others, *_with_groups(attributes, count))
    return _split(result, split, count, result.shape[split] // count), split


def _forward(info: Any, in_dims: Any, input: Tensor, weight: Tensor, bias: Optional[Tensor],
             *attributes: Any) -> tuple[Tensor, int]:
    count, (input_samples, weight_samples, bias_samples, *_) = info.batch_size, in_dims
    if weight_samples is not None:
        folded_bias = None if bias is None else _folded(bias, bias_samples, 0, count)
        return _over_groups(forward, count, input, input_samples, weight, weight_samples, 0, 1, (folded_bias,),
                            attributes)
    if bias_samples is None:
        return _over_shared_weight(forward, count, input, input_samples, weight, bias, *attributes)
    # Only biases differ, or biases and inputs.
    result, samples = (forward(input, weight, None, *attributes).unsqueeze(0), 0) if input_samples is None else \
        _over_shared_weight(forward, count, input, input_samples, weight, None, *attributes)
    assert bias is not None
    biases = bias.movedim(bias_samples, 0)
    return result + biases.to(result.dtype).reshape(count, 1, -1, *(1 for _ in result.shape[3:])), samples


def _input_gradient(info: Any, in_dims: Any, output_gradient: Tensor, weight: Tensor,
                    *attributes: Any) -> tuple[Tensor, int]:
    count, (gradient_samples, weight_samples, *_) = info.batch_size, in_dims
    if weight_samples is None:
        return _over_shared_weight(input_gradient, count, output_gradient, gradient_samples, weight, *attributes)
    return _over_groups(input_gradient, count, output_gradient, gradient_samples, weight, weight_samples, 0, 1, (),
                        attributes)


def _weight_gradient(info: Any, in_dims: Any, output_gradient: Tensor, input: Tensor,
                     *attributes: Any) -> tuple[Tensor, int]:
    count, (gradient_samples, input_samples, *_) = info.batch_size, in_dims
    return _over_groups(weight_gradient, count, output_gradient, gradient_samples, input, input_samples, 1, 0, (),
                        attributes)


def _bias_gradient(info: Any, in_dims: Any, output_gradient: Tensor, *dtype: Any) -> tuple[Tensor, int]:
    result = bias_gradient(_folded(output_gradient, in_dims[0], 1, info.batch_size), *dtype)
    return _split(result, 0, info.batch_size, result.shape[0] // info.batch_size), 0


forward.batch(_forward)
input_gradient.batch(_input_gradient)
weight_gradient.batch(_weight_gradient)
bias_gradient.batch(_bias_gradient)
