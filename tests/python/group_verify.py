"""ckpt-verify against the naive model: two checkpoints that hold the same, and what it says where they do not."""
import json
import os
import shutil

import checkpoints
import h5py
import naive
import numpy as np
from group_features import FOUR, THREE, layouts, tensor
from programs import check
from random_layouts import Case

CASES = 6
DAMAGES = 3  # in each case on either side


def verify(context, *arguments, expect=0, ranks=0):
    return context.programs.run("ckpt-verify", "-q", *arguments, expect=expect, ranks=ranks)


def differences(context, *arguments, ranks=0, expect=1):
    return json.loads(verify(context, "--json", *arguments, ranks=ranks, expect=expect).stdout)["differences"]


# --- random layouts, random damage -----------------------------------------------------------------------------------

def random_damage(context):
    context.each(one_case, range(context.options.seed, context.options.seed + CASES))


def plain(layout):
    """The layout without what makes a byte of a file not count: copies that may differ, and edges repeated."""
    for rule in layout["parameters"]:
        rule.pop("replicas", None)
    return json.loads(json.dumps(layout).replace('"edge"', '"zero"'))


def one_case(context, seed):
    case = Case(seed, "full")
    sides = [Side(context, case, name, plain(case.layout())) for name in ("a", "b")]
    both = ["--from", sides[0].json, "--to", sides[1].json, sides[0].path, sides[1].path]
    how = case.random.choice([(0, []), (2, ["--exchange", "mpi"]), (3, ["--exchange", "mpi", "--memory", "1MiB"]),
                              (2, ["--exchange", "direct"]), (0, ["--memory", "1MiB", "--threads", "3"])])
    verify(context, *both, *how[1], "--replicas", "full", ranks=how[0])
    for side in sides:
        for _ in range(DAMAGES):
            with side.damaged(case.random) as damage:
                if damage:
                    check_found(context, case, side is sides[1], damage, both, how)


class Side:
    """A checkpoint on disk with the number of every stored element: 1 for the first of the first parameter, 0 for padding."""

    def __init__(self, context, case, name, layout):
        self.path, self.layout = context.path(name), layout
        self.json = checkpoints.write_layout(context.path(f"{name}.json"), layout)
        checkpoints.write(self.path, layout, naive.spread(layout, case.logical))
        numbers, self.starts = {}, {}
        for parameter, array in case.logical.items():
            start = 1 + sum(map(np.size, numbers.values()))
            self.starts[parameter] = start
            numbers[parameter] = np.arange(start, start + array.size).reshape(array.shape)
        self.numbers = naive.spread(layout, numbers)
        self.stored = [(card, array) for card in self.numbers for array in self.numbers[card]
                       if self.numbers[card][array].size]

    def file(self, card):
        coordinates = dict(naive.positions(self.layout))[card]
        return os.path.join(self.path, naive.file_name(self.layout, card, coordinates))

    def damaged(self, draw):
        return Damage(self, draw)


class Damage:
    """One bit of one stored element flipped, for the time of a `with`."""

    def __init__(self, side, draw):
        self.side = side
        if side.stored:
            self.card, self.array = draw.choice(side.stored)
            numbers = side.numbers[self.card][self.array]
            self.at, self.bit = draw.randrange(numbers.size), draw.randrange(8)
            self.byte = draw.random()
            self.number = int(numbers.reshape(-1)[self.at])
            self.copies = sum(int(np.sum(array == self.number)) for arrays in side.numbers.values()
                              for array in arrays.values())
            self.is_bucket = any(self.array == naive.rename_writing(side.layout, bucket["name"])
                                 for bucket in side.layout.get("buckets", []))

    def flip(self):
        with h5py.File(self.side.file(self.card), "r+") as file:
            dataset = file[self.array]
            start, size = dataset.id.get_offset(), dataset.dtype.itemsize
        place = start + self.at * size + int(self.byte * size)
        with open(self.side.file(self.card), "r+b") as file:
            file.seek(place)
            old = file.read(1)[0]
            file.seek(place)
            file.write(bytes([old ^ 1 << self.bit]))

    def __enter__(self):
        if not self.side.stored:
            return None
        self.flip()
        return self

    def __exit__(self, *_):
        if self.side.stored:
            self.flip()


def check_found(context, case, is_b, damage, both, how):
    ranks, more = how
    if damage.number == 0:  # padding
        verify(context, *both, *more, "--replicas", "full", ranks=ranks)
    elif is_b:
        found = differences(context, *both, *more, ranks=ranks)
        parameter = max((name for name, start in damage.side.starts.items()
                         if start <= damage.number and case.logical[name].size), key=damage.side.starts.get)
        index = np.unravel_index(damage.number - damage.side.starts[parameter], case.logical[parameter].shape)
        expected = {"parameter": parameter, "differs": "elements", "cards": [damage.card], "first": list(map(int, index)),
                    "differing": 1, "compared": case.logical[parameter].size * damage.copies, "copies": damage.copies}
        check(len(found) == 1 and expected.items() <= found[0].items(), f"{expected}\nexpected, found\n{found}")
    elif damage.copies == 1:
        found = differences(context, *both, *more, ranks=ranks)
        check(len(found) == 1 and found[0]["differs"] == "elements", f"A's element {damage.number}: {found}")
    elif not damage.is_bucket:
        refused = verify(context, *both, *more, "--replicas", "full", expect=2, ranks=ranks)
        check("replicas" in refused.stderr, refused.stderr)


# --- what is said ----------------------------------------------------------------------------------------------------

def pair(context, logical, other=None):
    """The same tensors (or others) under two layouts."""
    a, b = layouts(context)
    checkpoints.write(context.path("a"), FOUR, naive.spread(FOUR, logical))
    checkpoints.write(context.path("b"), THREE, naive.spread(THREE, other or logical))
    return ["--from", a, "--to", b, context.path("a"), context.path("b")]


def values(context):
    """Indices, values, counts and distances as numpy has them, the same on any number of ranks."""
    draw = np.random.default_rng(5)
    logical = {f"w{i}": draw.integers(0, 100, (37, 29)).astype(dtype)
               for i, dtype in enumerate(["f4", "f8", "f2", ">f8", "i1", "u2", ">i4", "i8", "u8", "c8", "?"])}
    logical["scalar"] = np.array(0.5, "f4")
    other = {name: array.copy() for name, array in logical.items()}
    for array in other.values():
        places = draw.integers(0, array.size, 40)
        array.reshape(-1)[places] = draw.integers(0, 100, 40).astype(array.dtype)
    both = pair(context, logical, other)
    ways = [(ranks, exchange) for ranks in (0, 1, 2, 3) for exchange in ("direct", "mpi")]
    texts = {verify(context, "--json", *both, "--exchange", exchange, ranks=ranks, expect=1).stdout
             for ranks, exchange in ways}
    check(len(texts) == 1, f"ranks and exchanges say different things: {texts}")
    found = {one["parameter"]: one for one in json.loads(texts.pop())["differences"]}
    for name, array in logical.items():
        check_values(name, array, other[name], found.pop(name, None))
    check(not found, f"too many differences: {found}")


def check_values(name, one, other, found):
    differing = np.argwhere(one != other)
    if not len(differing):
        return check(found is None, f"{name}: {found}")
    copies = 3 if one.ndim == 0 else 1
    first = tuple(differing[0])
    expected = {"first": [int(i) for i in first], "differing": len(differing) * copies, "compared": one.size * copies}
    check(expected.items() <= found.items(), f"{name}: {expected} expected, {found} found")
    if one.dtype.kind not in "fiu":
        return check(found["largest_absolute"] is None and found["a"].startswith("0x") or one.dtype == "?", f"{found}")
    check(float(found["a"]) == one[first] and float(found["b"]) == other[first], f"{name}: {found}")
    apart = np.abs(one.astype("f8") - other.astype("f8"))
    size = np.maximum(np.abs(one.astype("f8")), np.abs(other.astype("f8")))
    check(found["largest_absolute"] == apart.max(), f"{name}: largest {apart.max()}: {found}")
    check(found["largest_relative"] == np.max(apart[apart > 0] / size[apart > 0]), f"{name}: {found}")


def metadata(context):
    """Names only in one, dtypes, shapes; what is chosen and renamed."""
    logical = {"w": tensor((6, 9)), "w1": tensor((6, 9)), "w2": tensor((6, 9)), "only.a": tensor((3,)), "m.w": tensor((6, 9))}
    other = {"w": tensor((6, 9), "f8"), "w1": tensor((9, 6)), "w2": tensor((6, 9)), "only.b": tensor((2,), "i8"),
             "m.w": tensor((6, 9))}
    both = pair(context, logical, other)
    said = {(one["parameter"], one["differs"], one["a"], one["b"]) for one in differences(context, *both)}
    check(said == {("only.a", "only in A", "f32 [3]", None), ("only.b", "only in B", None, "i64 [2]"),
                   ("w", "dtype", "f32", "f64"), ("w1", "shape", "[6, 9]", "[9, 6]")}, f"{said}")
    verify(context, *both, "--only", "w2", "--only", "m.*")
    verify(context, *both, "--drop", "w", "--drop", "w1", "--drop", "only.*")
    said = differences(context, *both, "--drop", "only.*", "--drop", "w1", "--rename", "m.w=w9")
    check({one["parameter"] for one in said} == {"w", "m.w", "w9"}, f"{said}")
    verify(context, *both, "--only", "only.a", "--only", "w2", "--rename", "only.{x}=else.{x}", expect=1)
    swapped = context.path("swapped")
    shutil.copytree(context.path("b"), swapped)
    os.rename(f"{swapped}/rank_0.h5", f"{swapped}/kept")
    os.rename(f"{swapped}/rank_2.h5", f"{swapped}/rank_0.h5")
    os.rename(f"{swapped}/kept", f"{swapped}/rank_2.h5")
    said = differences(context, *both[:-1], swapped, "--only", "w2")
    check(len(said) == 1 and said[0]["cards"] == [0, 2] and said[0]["differing"] == 36, f"swapped files: {said}")


def copies(context):
    """Every copy in B counts, but where its layout says that the lowest card's does."""
    layout = {"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [3], "cards": [7, 5, 6]}, "default": "replicate",
              "parameters": [{"name": "rng", "replicas": "first"},
                             {"name": "edge", "split": ["x"], "pad": {"0": {"size": 7, "fill": "edge"}}}]}
    logical = {"rng": tensor((50,), "u8"), "w": tensor((50,)), "edge": tensor((7,))}
    cards = naive.spread(layout, logical)
    cards[7]["rng"] = cards[6]["rng"] = cards[7]["rng"] + np.uint64(1)
    cards[6]["edge"][1:] = 77  # two elements of padding
    path = checkpoints.write_layout(context.path("copies.json"), layout)
    checkpoints.write(context.path("copies"), layout, cards)
    checkpoints.write(context.path("one"), checkpoints.one_file(), {0: logical})
    whole = context.path("one", "merged.h5")
    for ranks in (0, 2):
        verify(context, whole, "--to", path, context.path("copies"), ranks=ranks)
        verify(context, "--from", path, context.path("copies"), whole, ranks=ranks)
    with h5py.File(context.path("copies", "rank_6.h5"), "r+") as file:
        file["w"][[3, 49]] = 0.25
    said = differences(context, whole, "--to", path, context.path("copies"))
    check(len(said) == 1 and {"parameter": "w", "differing": 2, "compared": 150, "copies": 3, "cards": [6], "first": [3],
                              "a": "4", "b": "0.25"}.items() <= said[0].items(), f"one copy changed: {said}")


# --- tolerance -------------------------------------------------------------------------------------------------------

def brain_float():
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_size(2)
    kind.set_ebias(127)
    return kind


def to_brain(array):
    """The upper halves of f32, rounded to the nearest even one; as their bits."""
    bits = array.view("u4").astype("u8")
    return np.where(np.isnan(array), bits >> 16, (bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("u2")


def tolerance(context):
    """Casts: dtypes may differ, and elements by as much as the tolerance says."""
    draw = np.random.default_rng(9)
    values_ = (draw.standard_normal(4000) * 10.0 ** draw.integers(-4, 4, 4000)).astype("f4")
    values_[:4] = np.nan, np.inf, -np.inf, 0
    for name, dtype in (("a", "f4"), ("half", "f2"), ("double", "f8")):
        with h5py.File(context.path(f"{name}.h5"), "w") as file:
            with np.errstate(over="ignore"):
                file["w"] = values_.astype(dtype)
    bits = to_brain(values_)
    with h5py.File(context.path("brain.h5"), "w") as file:
        kind = brain_float()
        dataset = h5py.h5d.create(file.id, b"w", kind, h5py.h5s.create_simple(bits.shape))
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, bits, kind)
    a = context.path("a.h5")
    for name, bound in (("half", "5e-4,3e-8"), ("double", "0"), ("brain", "4e-3")):
        b = context.path(f"{name}.h5")
        check([one["differs"] for one in differences(context, a, b)] == ["dtype"], f"{name}: dtypes")
        verify(context, a, b, "--tolerance", bound)
        verify(context, b, a, "--tolerance", bound, ranks=2)
    found, = differences(context, a, context.path("brain.h5"), "--tolerance", "1e-3")
    rounded = (bits.astype("u4") << 16).view("f4").astype("f8")
    with np.errstate(invalid="ignore"):
        apart = np.abs(values_.astype("f8") - rounded)
        relative = apart / np.maximum(np.abs(values_), np.abs(rounded))
    beyond = relative > 1e-3
    check(found["differing"] == beyond.sum() and found["first"] == [int(np.argmax(beyond))], f"{beyond.sum()}: {found}")
    check(found["largest_absolute"] == apart[beyond].max(), f"{apart[beyond].max()}: {found}")
    with h5py.File(context.path("double.h5"), "r+") as file:
        file["w"][0] = 1.0
    found, = differences(context, a, context.path("double.h5"), "--tolerance", "10,1e300")
    check(found["a"] == "nan" and found["largest_absolute"] is None, f"a NaN and a number: {found}")


def verification(context):
    for test in (values, metadata, copies, tolerance, random_damage):
        test(context.below(test.__name__))
