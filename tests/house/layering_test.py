"""scripts/layering finds an include against the order of the rooms, one that a room does not list, and a list that is too long."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def layering(root):
    done = subprocess.run([sys.executable, ROOT / "scripts/layering", root], capture_output=True, text=True)
    return done.returncode, done.stdout


def planted(what, file, old, new, expected):
    """Runs the check on a copy of lib/ in which `new` replaces the first `old` of a file."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        shutil.copytree(ROOT / "lib", root / "lib")
        path = root / "lib" / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new, 1))
        status, output = layering(root)
        assert status == 1 and expected in output, f"{what}: status {status}, expected 1 and {expected!r} in:\n{output}"
        print(f"{what}: found")


status, output = layering(ROOT)
assert status == 0, output
planted("an include against the order", "tensor/box.hpp", "#pragma once\n", '#pragma once\n#include "plan/chunk.hpp"\n',
        "lib/tensor/box.hpp:2: 'tensor' includes 'plan/chunk.hpp', expected rooms above it alone")
planted("an include that is not listed", "exchange/exchange.hpp", "#pragma once\n", '#pragma once\n#include "io/posix_file.hpp"\n',
        "lib/exchange/exchange.hpp:2: 'exchange' includes 'io/posix_file.hpp', expected it to list 'io'")
planted("a room that nothing includes", "plan/CMakeLists.txt", "ROOMS base", "ROOMS processes base",
        "lists 'processes', which nothing in it includes")
planted("a list against the order", "tensor/CMakeLists.txt", "ROOMS base", "ROOMS base jobs", "lists 'jobs', expected rooms above 'tensor'")
planted("a path without a room", "base/text.hpp", "#pragma once\n", '#pragma once\n#include "error.hpp"\n',
        "includes 'error.hpp', expected a path that begins with a room")
