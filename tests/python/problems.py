"""Random problems: every attribute varies, and awkward values come often; and the keyword arguments of a call."""

from dataclasses import dataclass

from conv_transpose._problem import output_extent


@dataclass
class Case:
    input_shape: tuple
    weight_shape: tuple
    bias_shape: tuple
    arguments: dict

    def __str__(self):
        return f"input {self.input_shape} weight {self.weight_shape} {self.arguments}"


def random_case(rng):
    def size():
        return rng.randint(1, 24 if rng.randint(1, 3) == 1 else 9)

    def attribute(low, high, usual):
        return usual if rng.randint(0, 1) else rng.randint(low, high)

    while True:
        groups = attribute(1, 6, 1)
        in_channels = groups * (1 if rng.randint(1, 3) == 1 else rng.randint(1, 5))
        channels_a_group = rng.randint(1, 8)
        batch = 0 if rng.randint(1, 40) == 1 else rng.randint(1, 3)
        axes = []
        for _ in range(2):
            stride, dilation = attribute(1, 5, 1), attribute(1, 4, 1)
            axes.append(dict(size=size(), kernel=rng.randint(1, 5), stride=stride, padding=attribute(0, 6, 0),
                             output_padding=attribute(0, max(stride, dilation) - 1, 0), dilation=dilation))
        if all(output_extent(*axis.values()) >= 1 for axis in axes):
            break
    pairs = {name: tuple(axis[name] for axis in axes) for name in ("stride", "padding", "output_padding", "dilation")}
    return Case(
        (batch, in_channels, axes[0]["size"], axes[1]["size"]),
        (in_channels, channels_a_group, axes[0]["kernel"], axes[1]["kernel"]),
        (channels_a_group * groups,),
        dict(pairs, groups=groups),
    )
