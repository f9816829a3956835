"""The choice of a kernel by measurement, where PyTorch measures its own: while torch.backends.cudnn.benchmark is on.

A problem is measured when it is first met, on memory of PyTorch's caching allocator that nobody has written; the choice stays
for as long as the process keeps it, so results have the same bits from call to call. Not where PyTorch is asked to be
deterministic from process to process, and not while a CUDA graph is captured.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from .._library import ARGUMENTS, Arguments, Error, Plan, Unsupported


def is_wanted(device_index: int) -> bool:
    """-1 is the CPU, whose kernels are chosen by estimate."""
    cudnn = torch.backends.cudnn
    return (device_index >= 0 and cudnn.benchmark and not cudnn.deterministic
            and not torch.are_deterministic_algorithms_enabled() and not torch.cuda.is_current_stream_capturing())


def fastest(plan: Plan, with_kernel: Callable[[str], Plan], bytes_of: dict[str, int]) -> Plan:
    """The plan by the kernel that takes least time on the current device; `bytes_of` tells of each of the library's arguments
    that the plan takes, by name. Where memory is short the plan stays as it is."""
    allocate: Any = torch._C._cuda_cudaCachingAllocator_raw_alloc
    stream = torch.cuda.current_stream().cuda_stream
    arguments, addresses = Arguments(), []
    try:
        for name, bytes in bytes_of.items():
            arguments[ARGUMENTS.index(name)] = address = allocate(bytes, stream)
            addresses.append(address)
        kernel = plan.fastest_kernel(arguments, stream)
        return plan if kernel == plan.kernel else with_kernel(kernel)
    except (torch.cuda.OutOfMemoryError, MemoryError, Unsupported, Error):
        return plan
    finally:
        for address in addresses:
            torch._C._cuda_cudaCachingAllocator_raw_delete(address)
