"""What mypy sees: nothing wrong in the package, and the mistakes that users make."""

import os
import subprocess
import sys

import pytest

import conv_transpose

pytest.importorskip("mypy")
PACKAGE = os.path.dirname(conv_transpose.__file__)
CONFIGURATION = """[mypy]
python_version = 3.10
check_untyped_defs = true
no_implicit_reexport = false
warn_unused_ignores = true
warn_redundant_casts = true
strict_equality = true
[mypy-torch.*,jax.*,numpy.*,cupy.*]
follow_imports = skip
ignore_missing_imports = true
"""
MISTAKES = """import conv_transpose
import conv_transpose.torch as ct

ct.ConvTranspose2d(3, "8", 4)
ct.ConvTranspose2d(3, 8)
ct.ConvTranspose1d(3, 8, 4, kernel=2)
ct.ConvTranspose3d(3, 8, 4, stride=0.5)
ct.ConvTranspose2d(3, 8, 4, precision=True)
ct.conv_transpose2d(1, 2, stride="2", strict_propagation="yes")
conv_transpose.conv_transpose(1, 2, groups=(1, 1))
ct.convert(conv_transpose, precision=32)
"""
RIGHT = """import conv_transpose
import conv_transpose.torch as ct

layer = ct.ConvTranspose2d(3, 8, (4, 4), stride=2, padding=(1, 1), bias=False, precision="tf32")
ct.conv_transpose1d(1, 2, None, 2, padding=(1,), strict_propagation=True)
conv_transpose.conv_transpose3d(1, 2, stride=(1, 2, 2), activation="relu")
names: list[str] = ct.convert(layer).converted
"""


def mypy(folder, *arguments):
    configuration = folder / "mypy.ini"
    configuration.write_text(CONFIGURATION)
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(configuration), "--cache-dir",
                           str(folder / "cache"), *arguments], capture_output=True, text=True, cwd=folder,
                          env=os.environ | {"MYPYPATH": os.path.dirname(PACKAGE)})
    return done.stdout.splitlines()


def test_the_package_and_its_users(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    lines = mypy(tmp_path, PACKAGE, "right.py", "mistakes.py")
    found = [line for line in lines if ": error:" in line]
    assert [line for line in found if not line.startswith("mistakes.py")] == [], "\n".join(lines)
    wrong = {int(line.split(":")[1]) for line in found}
    calls = {number for number, line in enumerate(MISTAKES.splitlines(), 1) if "(" in line}
    assert wrong == calls, "\n".join(lines)
