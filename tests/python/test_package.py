"""The package as it is installed: which systems can load its library, and what it tells."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import conv_transpose


def dynamic_symbols(path=None):
    if shutil.which("objdump") is None:
        pytest.skip("no objdump")
    path = path or conv_transpose.info()["library"]
    return subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout


def test_any_linux_since_glibc_2_28_can_load_the_library():
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"\(?GLIBC_([0-9.]+)\)?", dynamic_symbols())}
    assert versions and max(versions) <= (2, 28), max(versions)
    assert not re.search("GLIBCXX|CXXABI", dynamic_symbols())


def test_the_extension_asks_for_pythons_stable_abi_alone():
    path = os.path.join(os.path.dirname(conv_transpose.info()["library"]), "_short_calls.abi3.so")
    if not os.path.exists(path):
        pytest.skip("built without the headers of Python")
    names = {line.split()[-1] for line in dynamic_symbols(path).splitlines() if "*UND*" in line and " w " not in line}
    assert "PyDict_New" in names
    assert all(name.startswith(("Py", "_Py")) or name == "memcpy" for name in names), names


def test_only_the_c_interface_is_exported():
    lines = [line.split() for line in dynamic_symbols().splitlines() if "*UND*" not in line and " .text" in line]
    assert lines and all(line[-1].startswith("conv_transpose_") for line in lines)


def test_the_package_tells_what_it_is():
    done = subprocess.run([sys.executable, "-m", "conv_transpose", "--kernels"], capture_output=True, text=True, check=True)
    assert f"conv_transpose {conv_transpose.__version__}" in done.stdout
    assert all(kernel in done.stdout for kernel in conv_transpose.info()["kernels"])
