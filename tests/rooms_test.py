#!/usr/bin/env python3
"""Includes go downward: which rooms of the source tree the files of a room may include (docs/design.md, Folders)."""
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A room's files include their own room and these.
MAY_INCLUDE = {
    "algorithm": (),
    "schedules": ("algorithm",),
    "compiler/passes": (),
    "compiler/ptx": ("compiler/passes",),
    "compiler/driver": ("algorithm", "schedules", "compiler/ptx"),
    "generators": ("algorithm", "schedules", "compiler/passes"),
    "runtime/include": (),
    "runtime/src": ("algorithm", "runtime/include"),
    "runtime/pack": ("algorithm", "runtime/include", "runtime/src"),
}
# Where includes that name no room of the tree are looked for.
INCLUDE_FOLDERS = {"runtime/include": ("runtime/include",), "runtime/src": ("runtime/include", "runtime/src"),
                   "runtime/pack": ("runtime/include", "runtime/src")}


def room_of(path: str) -> str | None:
    return next((room for room in MAY_INCLUDE if path.startswith(room + "/")), None)


def upward_includes(root: pathlib.Path) -> list[str]:
    """Each as "file includes what"; files that are not in the tree, such as Halide.h, are nobody's room."""
    found = []
    for room, below in MAY_INCLUDE.items():
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            for name in re.findall(r'^#\s*include\s+[<"]([^">]+)[">]', path.read_text(), re.MULTILINE):
                places = (name, *(f"{folder}/{name}" for folder in INCLUDE_FOLDERS.get(room, ())))
                target = next((place for place in places if (root / place).is_file()), None)
                if target and room_of(target) not in (room, *below):
                    found.append(f"{path.relative_to(root)} includes {target}")
    return found


class Rooms(unittest.TestCase):
    def test_no_file_includes_upward(self):
        self.assertEqual(upward_includes(ROOT), [])

    def test_rooms_hold_files(self):
        for room in MAY_INCLUDE:
            self.assertTrue(any((ROOT / room).rglob("*.h")) or any((ROOT / room).rglob("*.cpp")), room)

    def test_upward_includes_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {"schedules/a.h": '#include "generators/b.h"\n#include "Halide.h"\n#include <string>\n',
                               "generators/b.h": '#include "schedules/a.h"\n#include "runtime/src/choice/c.h"\n',
                               "runtime/src/choice/c.h": '#include "plan/d.h"\n', "runtime/src/plan/d.h": "",
                               "runtime/include/conv_transpose/e.h": '#include "runtime/src/plan/d.h"\n'}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            self.assertEqual(upward_includes(root), [
                "schedules/a.h includes generators/b.h", "generators/b.h includes runtime/src/choice/c.h",
                "runtime/include/conv_transpose/e.h includes runtime/src/plan/d.h"])


if __name__ == "__main__":
    sys.exit(unittest.main())
