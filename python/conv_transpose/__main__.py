"""python -m conv_transpose: what this installation can do, for a report of a fault."""

import platform
import sys

from . import info


def main() -> None:
    found = info()
    print(f"conv_transpose {found['version']}, Python {platform.python_version()}, {platform.platform()}")
    print(f"library     {found['library']}")
    print(f"devices     {', '.join(found['devices'])}")
    print(f"precisions  {', '.join(found['precisions'])}")
    print(f"kernels     {len(found['kernels'])}" + ("" if "--kernels" in sys.argv else " (--kernels lists them)"))
    if "--kernels" in sys.argv:
        print("\n".join(found["kernels"]))


main()
