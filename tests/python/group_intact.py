"""ckpt-verify with one checkpoint: what these programs wrote, damaged in every way, and what it says of it."""
import json
import os
import shutil

import checkpoints
import h5py
import naive
import numpy as np
from group_features import FOUR, layouts, tensor
from programs import check
from random_layouts import Case

CASES, DAMAGES = 8, 15


def verify(context, path, expect=0, ranks=0):
    return json.loads(context.programs.run("ckpt-verify", "-q", "--json", path, expect=expect, ranks=ranks).stdout)


def damages(context, path, ranks=0):
    found = verify(context, path, 1, ranks)
    check(found["damages"] and not found["intact"], f"{path}: {found}")
    return found["damages"]


# --- one bit ---------------------------------------------------------------------------------------------------------

def random_bits(context):
    context.each(one_case, range(CASES))


def one_case(context, seed):
    """Any bit of any file: in a tensor, in padding, in HDF5's own bytes."""
    case = Case(seed, "full")
    source, target = case.layout(), case.layout()
    a = checkpoints.write_layout(context.path("a.json"), source)
    b = checkpoints.write_layout(context.path("b.json"), target)
    checkpoints.write(context.path("source"), source, naive.spread(source, case.logical))
    out = context.path("out")
    context.programs.reshard(a, b, context.path("source"), out)
    for ranks in (0, 2):
        verify(context, out, ranks=ranks)
    files = [os.path.join(out, name) for name in checkpoints.paths(out) if name != "checkpoint.json"]
    for _ in range(DAMAGES):
        path = case.random.choice(files)
        place = case.random.randrange(os.path.getsize(path))
        data = datasets_at(path, place)
        flip(path, place, case.random.randrange(8))
        found = damages(context, out)
        check(any(os.path.relpath(path, out) in str(one.values()) for one in found), f"{path} is not named: {found}")
        if data:
            check(len(found) == 1 and found[0]["is"] == "changed", f"byte {place} of {path}: {found}")
            check(len(found[0]["parameters"]) <= 1, f"byte {place} of {path}, in {data}: {found}")
        os.replace(f"{path}.kept", path)


def datasets_at(path, place):
    """The dataset whose data a byte of the file belongs to."""
    with h5py.File(path) as file:
        for name, dataset in checkpoints.datasets(file).items():
            start = dataset.id.get_offset()
            if start is not None and start <= place < start + dataset.id.get_storage_size():
                return name
    return None


def flip(path, place, bit):
    shutil.copy(path, f"{path}.kept")
    with open(path, "r+b") as file:
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ 1 << bit]))


# --- files -----------------------------------------------------------------------------------------------------------

def made(context):
    """Three cards' files, a merged one, and the same of another training step."""
    a, b = layouts(context)
    for name, first in (("now", 1), ("before", 2)):
        logical = {"w": tensor((6, 9)) * first, "m.w": tensor((6, 9)) * first, "step": np.array(first, "i8")}
        checkpoints.write(context.path(f"source_{name}"), FOUR, naive.spread(FOUR, logical))
        context.programs.reshard(a, b, context.path(f"source_{name}"), context.path(name))
    context.programs.merge(a, context.path("source_now"), context.path("merged.h5"))
    return context.path("now"), context.path("before")


def files(context):
    """Missing, surplus, truncated, swapped, stale files, and copies that differ; the same on any number of ranks."""
    now, before = made(context)

    def found(change):
        out = context.path("out")
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(now, out)
        change(out)
        said = [damages(context, out, ranks) for ranks in (0, 1, 2, 3)]
        check(all(one == said[0] for one in said), f"ranks say different things: {said}")
        return [(one["file"], one["is"], one["parameters"]) for one in said[0]]

    def expect(change, *expected):
        said = found(change)
        check(said == list(expected), f"expected {expected}, found {said}")

    expect(lambda out: os.remove(f"{out}/rank_1.h5"), ("rank_1.h5", "missing", []))
    expect(lambda out: shutil.copy(f"{out}/rank_1.h5", f"{out}/rank_3.h5"), ("rank_3.h5", "surplus", []))
    expect(lambda out: os.truncate(f"{out}/rank_2.h5", 5000), ("rank_2.h5", "wrong size", []))
    expect(lambda out: os.truncate(f"{out}/rank_2.h5", os.path.getsize(f"{out}/rank_2.h5") + 1),
           ("rank_2.h5", "wrong size", []))
    expect(lambda out: shutil.copy(f"{before}/rank_1.h5", f"{out}/rank_1.h5"),
           ("rank_1.h5", "changed", ["m.w", "step", "w"]))
    expect(swap, ("rank_0.h5", "swapped", []), ("rank_2.h5", "swapped", []))
    expect(lambda out: other_copy(out, 2), ("rank_2.h5", "changed", ["step"]))
    expect(lambda out: other_copy(out, 0), ("rank_0.h5", "changed", ["step"]))
    said = found(other_layout)
    check(said[0] == ("rank_1.h5", "of another run", []), f"a file of another layout: {said}")
    shutil.copy(f"{now}/checkpoint.json", f"{now}/notes.txt")  # no file of the checkpoint's kind
    verify(context, now)


def swap(out):
    os.rename(f"{out}/rank_0.h5", f"{out}/kept")
    os.rename(f"{out}/rank_2.h5", f"{out}/rank_0.h5")
    os.rename(f"{out}/kept", f"{out}/rank_2.h5")


def other_copy(out, card):
    with h5py.File(f"{out}/rank_{card}.h5", "r+") as file:
        file["step"][()] = 77


def other_layout(out):
    with h5py.File(f"{out}/rank_1.h5", "r+") as file:
        text = file.attrs["ckpt_layout"]
        text = text.decode() if isinstance(text, bytes) else text
        file.attrs.modify("ckpt_layout", np.bytes_(text.replace("balanced", "ceil    ")))


def merged(context):
    """A merged file holds its manifest itself; without fingerprints, or without a manifest, nothing can be said."""
    made(context)
    path = context.path("merged.h5")
    for ranks in (0, 2):
        verify(context, path, ranks=ranks)
    with h5py.File(path, "r+") as file:
        file["w"][3, 4] = 0.5
    check(damages(context, path) == [{"file": "merged.h5", "is": "changed", "parameters": ["w"], "detail": ""}],
          "a value of a merged file")
    a, b = layouts(context)
    context.programs.reshard(a, b, context.path("source_now"), context.path("bare"), "--verify", "none")
    context.programs.merge(a, context.path("source_now"), context.path("bare.h5"), "--verify", "none")
    for path, word in (("bare", "fingerprints"), ("bare.h5", "fingerprints"), ("source_now", "manifest"), ("nowhere", "no such file")):
        refused = context.programs.run("ckpt-verify", context.path(path), expect=2)
        check(word in refused.stderr and not refused.stdout, f"{path}: {refused.stderr}")
    with open(context.path("now", "checkpoint.json"), "w", encoding="utf-8") as text:
        text.write('{"layout": 3}')
    found = [damages(context, context.path("now"), ranks) for ranks in (0, 2)]
    check(found[0] == found[1] and [(one["file"], one["is"]) for one in found[0]] == [("checkpoint.json", "changed")],
          f"a manifest that is none: {found}")


def intact(context):
    for test in (files, merged, random_bits):
        test(context.below(test.__name__))
