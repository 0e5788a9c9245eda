"""Matrices that the source has transposed: each element of the output comes from another line of the input."""
import json
import sys

import measure
from measure import Side
from rows import COPY, Case, cp, versus
from workspace import HERE, warm

SOURCE_CARDS, TARGET_CARDS = 4, 2
DTYPES = {"f32": ("f4", 16), "bf16": ("u2", 32)}  # HDF5 has no bf16: any elements of two bytes
WIDTH = 4096


def size(space):
    return 256 if space.quick else WIDTH


def source(space, name):
    dtype, count = DTYPES[name]
    path = space.path(f"transposed-{name}")
    if not path.exists():
        space.require_space(2 * count * size(space)**2 * int(dtype[1]))
        path.mkdir()
        measure.run(data("make", name, space, SOURCE_CARDS, path))
    warm(path)
    return path


def data(what, name, space, cards, path):
    dtype, count = DTYPES[name]
    return [sys.executable, HERE / "transposed_data.py", what, dtype, size(space), count, cards, path]


def layout(space, cards, rule):
    path = space.path(f"transposed-{cards}.json")
    path.write_text(json.dumps({"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [cards]}, "files": "rank_{card}.h5",
                                "parameters": [{"name": "*", "split": ["card"], **rule}]}), encoding="utf-8")
    return path


def transposed(case, space, options):
    found, output = [], space.path("out")
    for name, (dtype, count) in DTYPES.items():
        side = Side([space.program("ckpt-reshard"), "-q", "--no-fsync", "--from", layout(space, SOURCE_CARDS, {"permute": [1, 0]}),
                     "--to", layout(space, TARGET_CARDS, {}), source(space, name), "-o", output], output)
        check = lambda: measure.run(data("check", name, space, TARGET_CARDS, output))  # noqa: B023, E731
        found.append(versus(case, space, options, side, ("cp -r", cp(source(space, name), space.path("rival"))), check, 1.5,
                            variant=name, bytes=count * size(space)**2 * int(dtype[1]),
                            definition=f"{count} matrices of {size(space)}² {name}, stored transposed on {SOURCE_CARDS} cards → as they "
                            f"are on {TARGET_CARDS}: wall of ckpt-reshard / {COPY}"))
        measure.remove(source(space, name))
    return found


CASES = {"transposed": Case(transposed, lambda quick: [], "4096² matrices of f32 and bf16, transposed in the source, 4 → 2: wall / cp -r")}
