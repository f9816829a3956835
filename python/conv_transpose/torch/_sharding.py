"""How the operations work on DTensors: by parts of the batch, of the output channels, or of the input channels.

Imported when the first DTensor comes, since torch.distributed.tensor takes long to import.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

_operators = torch.ops.conv_transpose
_BATCH, _INPUT_CHANNELS, _OUTPUT_CHANNELS = Shard(0), Shard(0), Shard(1)
_WHOLE, _SUM = Replicate(), Partial()


def _register(operator: Any, operands: int, dense: Any, grouped: Any) -> None:
    """`dense` and `grouped`: placements of the result and of each operand. Channels are cut where there is one group."""
    groups = operands + 3  # among the arguments
    @register_sharding(operator)
    def placements(*arguments: Any) -> list[tuple[list[Any], list[Any]]]:
        there = [argument is not None for argument in arguments[:operands]]
        one_group = len(arguments) <= groups or arguments[groups] == 1
        whole = [_WHOLE] * (1 + operands)
        rows = [whole, *grouped, *(dense if one_group else [])]
        return [([row[0]], [place if is_there else None for place, is_there in zip(row[1:], there)]
                 + [None] * (len(arguments) - operands)) for row in rows]


_register(_operators.conv_transpose2d.default, 3,
          dense=[[Shard(1), _WHOLE, _OUTPUT_CHANNELS, Shard(0)]],
          grouped=[[Shard(0), _BATCH, _WHOLE, _WHOLE]])
_register(_operators.input_gradient.default, 2,
          dense=[[_SUM, Shard(1), _OUTPUT_CHANNELS], [Shard(1), _WHOLE, _INPUT_CHANNELS]],
          grouped=[[Shard(0), _BATCH, _WHOLE]])
_register(_operators.weight_gradient.default, 2,
          dense=[[_OUTPUT_CHANNELS, Shard(1), _WHOLE], [_INPUT_CHANNELS, _WHOLE, Shard(1)]],
          grouped=[[_SUM, _BATCH, _BATCH]])
_register(_operators.bias_gradient.default, 1,
          dense=[[Shard(0), Shard(1)]],
          grouped=[[_SUM, _BATCH]])
