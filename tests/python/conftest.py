"""What the tests of the Python package share.

    python -m pytest tests/python

runs them against an installed wheel, or against a build:

    PYTHONPATH=python CONV_TRANSPOSE_LIBRARY=build/python/libconv_transpose.so python -m pytest tests/python

Tests of CUDA skip themselves where there is no GPU; tests of PyTorch, JAX or CuPy where that is not installed.
"""

import gc
import importlib.util
import os
import random

import pytest


def pytest_ignore_collect(collection_path, config):
    """Without PyTorch its tests are not even read."""
    if collection_path.name.startswith("test_torch") and importlib.util.find_spec("torch") is None:
        return True
    return None


def pytest_collection_finish(session):
    """What imports made stays: looking through it at each collection took a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def one_thread_for_pytorch():
    """Its thread pool beside ours makes the small problems of these tests many times slower."""
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture
def rng(request):
    """Random numbers of a seed that is the test's name, so that a failure repeats."""
    return random.Random(request.node.nodeid)


def random_problems():
    """How many random problems the comparisons draw."""
    return int(os.environ.get("CONV_TRANSPOSE_RANDOM_PROBLEMS", "150"))
