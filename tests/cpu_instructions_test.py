"""CPU kernels have no instruction that only one maker's processors know.

LLVM compiles for AVX-512 BF16 as for Zen 4, whose SSE4A no other processor has: one `insertq`, which packed weights,
ended programs on Intel's.

    tests/cpu_instructions_test.py OBJDUMP FOLDER       FOLDER holds the kernels' object files
"""

import pathlib
import re
import subprocess
import sys

OF_AMD = re.compile(r"\t(extrq|insertq|movnts[sd])\b")


def main():
    objdump, folder = sys.argv[1:]
    kernels = sorted(pathlib.Path(folder).glob("*_avx512_bf16.o"))
    found = []
    for kernel in kernels:
        text = subprocess.run([objdump, "-d", "--no-show-raw-insn", kernel], capture_output=True, text=True, check=True).stdout
        found += [f"{kernel.name}: {name}" for name in sorted(set(OF_AMD.findall(text)))]
    print("\n".join(found) or f"{len(kernels)} kernels have none")
    sys.exit(1 if found or not kernels else 0)


if __name__ == "__main__":
    main()
