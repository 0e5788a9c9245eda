"""Parameters as one row each, or all in one buffer, cut into equal pieces: 8 → 7 cards."""
import json
import sys

import measure
from measure import Side
from rows import COPY, Case, cp, versus
from workspace import HERE, warm

SOURCE_CARDS, TARGET_CARDS = 8, 7
COUNT = 32
KINDS = {"flat": "each parameter flattened and cut over the cards (`flat`)", "bucket": "all parameters laid end to end in one buffer (`buckets`)"}


def shape(space):
    return (63, 129) if space.quick else (2047, 4099)  # neither card count divides it


def data(what, kind, space, cards, path):
    return [sys.executable, HERE / "flat_data.py", what, kind, *shape(space), COUNT, cards, path]


def layout(space, kind, cards):
    whole = {"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [cards]}, "files": "rank_{card}.h5"}
    if kind == "flat":
        whole["parameters"] = [{"name": "*", "flat": {"axis": "card"}, "shape": shape(space)}]
    else:
        members = [{"name": f"w{number}", "shape": shape(space)} for number in range(COUNT)]
        whole["buckets"] = [{"name": "buffer", "axis": "card", "align": 64, "members": members}]
    path = space.path(f"{kind}-{cards}.json")
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def flat(case, space, options):
    found, output = [], space.path("out")
    rows, columns = shape(space)
    count = 4 * rows * columns * COUNT
    for kind, text in KINDS.items():
        source = space.path(f"source-{kind}")
        space.require_space(2 * count)
        source.mkdir()
        measure.run(data("make", kind, space, SOURCE_CARDS, source))
        warm(source)
        side = Side([space.program("ckpt-reshard"), "-q", "--no-fsync", "--from", layout(space, kind, SOURCE_CARDS),
                     "--to", layout(space, kind, TARGET_CARDS), source, "-o", output], output)
        check = lambda: measure.run(data("check", kind, space, TARGET_CARDS, output))  # noqa: B023, E731
        found.append(versus(case, space, options, side, ("cp -r", cp(source, space.path("rival"))), check, 1.0, variant=kind, bytes=count,
                            definition=f"{COUNT} parameters of {rows} × {columns} f32, {text}, {SOURCE_CARDS} → {TARGET_CARDS} cards: wall "
                            f"of ckpt-reshard / {COPY}"))
        measure.remove(source)
    return found


CASES = {"flat-8-7": Case(flat, lambda quick: [], "flat parameters, and all of them in one bucket, 8 → 7 cards: wall / cp -r")}
