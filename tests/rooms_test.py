#!/usr/bin/env python3
"""Includes go downward: which rooms of the source tree the files of a room may include (docs/design.md, Folders)."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What all of the runtime may include.
RUNTIME = ("algorithm", "runtime/include")
# A room's files include their own room and these.
MAY_INCLUDE = {
    "algorithm": (),
    "schedules": ("algorithm",),
    "compiler/passes": (),
    "compiler/ptx": ("compiler/passes",),
    "compiler/driver": ("algorithm", "schedules", "compiler/ptx"),
    "generators": ("algorithm", "schedules", "compiler/passes"),
    "runtime/include": (),
    "runtime/src/problem": RUNTIME,
    "runtime/src/device": (*RUNTIME, "runtime/src/problem"),
    "runtime/src/choice": (*RUNTIME, "runtime/src/problem", "runtime/src/device"),
    "runtime/src/plan": (*RUNTIME, "runtime/src/problem", "runtime/src/device", "runtime/src/choice"),
    "runtime/src/api": (*RUNTIME, "runtime/src/problem", "runtime/src/device", "runtime/src/choice", "runtime/src/plan"),
    "runtime/pack": (*RUNTIME, "runtime/src/device", "runtime/src/choice"),
}
# Folders whose files all belong to a room.
HOUSES = sorted({room.split("/")[0] for room in MAY_INCLUDE})
# The compiler looks for an include beside the file that has it, and in these.
INCLUDE_FOLDERS = ("", "runtime/include", "runtime/src")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', re.MULTILINE)


def room_of(path: str) -> str | None:
    return next((room for room in MAY_INCLUDE if path.startswith(room + "/")), None)


def source_files(root: pathlib.Path) -> list[str]:
    """Whatever is neither CMake's nor the linker's, so that an include of another ending is not passed over."""
    files = (path for house in HOUSES for path in sorted((root / house).rglob("*")) if path.is_file())
    return [path.relative_to(root).as_posix() for path in files
            if path.name != "CMakeLists.txt" and path.suffix not in (".cmake", ".map")]


def included(root: pathlib.Path, file: str) -> list[str]:
    """The files of the tree that it includes; others, such as Halide.h, are nobody's room."""
    found = []
    for name in INCLUDE.findall((root / file).read_text()):
        places = (os.path.normpath(os.path.join(folder, name)) for folder in (os.path.dirname(file), *INCLUDE_FOLDERS))
        found += [next((place for place in places if (root / place).is_file()), None)]
    return [place for place in found if place]


def upward_includes(root: pathlib.Path) -> list[str]:
    """Each as "file includes what"."""
    return [f"{file} includes {target}" for file in source_files(root) if (room := room_of(file))
            for target in included(root, file) if room_of(target) not in (room, *MAY_INCLUDE[room])]


class Rooms(unittest.TestCase):
    def test_no_file_includes_upward(self):
        self.assertEqual(upward_includes(ROOT), [])

    def test_every_file_has_a_room(self):
        self.assertEqual([file for file in source_files(ROOT) if not room_of(file)], [])

    def test_rooms_hold_files_and_stand_behind_what_they_include(self):
        self.assertEqual(set(MAY_INCLUDE), {room_of(file) for file in source_files(ROOT)})
        rooms = list(MAY_INCLUDE)
        for room, below in MAY_INCLUDE.items():
            self.assertLessEqual(set(below), set(rooms[:rooms.index(room)]), room)

    def test_upward_includes_are_found(self):
        files = {
            "schedules/a.h": '#include "generators/b.h"\n#include "Halide.h"\n#include <string>\n#include "a2.h"\n',
            "schedules/a2.h": '#if 1\n  # include "../generators/b.h"\n#endif\n',
            "schedules/table.inc": '#include "compiler/passes/f.h"\n',
            "generators/b.h": '#include "schedules/a.h"\n#include "runtime/src/choice/c.h"\n',
            "compiler/passes/f.h": "",
            "runtime/src/choice/c.h": '#include "plan/d.h"\n#include "device/g.h"\n',
            "runtime/src/device/g.h": '#include "choice/c.h"\n',
            "runtime/src/plan/d.h": '#include "choice/c.h"\n',
            "runtime/include/conv_transpose/e.h": '#include "runtime/src/plan/d.h"\n',
        }
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            self.assertEqual(upward_includes(root), [
                "generators/b.h includes runtime/src/choice/c.h",
                "runtime/include/conv_transpose/e.h includes runtime/src/plan/d.h",
                "runtime/src/choice/c.h includes runtime/src/plan/d.h",
                "runtime/src/device/g.h includes runtime/src/choice/c.h",
                "schedules/a.h includes generators/b.h", "schedules/a2.h includes generators/b.h",
                "schedules/table.inc includes compiler/passes/f.h"])


if __name__ == "__main__":
    sys.exit(unittest.main())
