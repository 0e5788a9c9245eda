"""Random tensors between random layouts and random formats, there and back and by way of a directory that says itself how it is cut,
against the naive model: every file is written and read here without the programs. What is no tensor in a file of torch comes with it into the next one."""
import json
import os

import checkpoints
import formats
import naive
import numpy as np
import torch_file
from group_random import compare, tensors
from programs import Failure, check
from random_layouts import Case

MORE = {"epoch": 7, "note": "a run", "betas": [0.9, 0.999], "nothing": None, "optimizer": {"lr": 0.5, "flags": [True, "x", {"k": 1}]}}


def random_formats(context):
    options = context.options
    context.each(one_case, range(options.seed, options.seed + options.cases))


def one_case(context, seed):
    tier = context.options.tier
    case = Case(seed, tier)
    for name, array in case.logical.items():  # dtypes that all formats have
        dtype = np.dtype("f4" if name.startswith("moments.") else formats.DTYPES[(seed + array.ndim) % len(formats.DTYPES)])
        raw = np.random.default_rng([seed, array.size]).integers(0, 256, array.size * dtype.itemsize, dtype="u1")
        case.logical[name] = (raw % 2 if dtype.kind == "b" else raw).view(dtype).reshape(array.shape)
    sides = [case.layout(), case.layout()]
    endings = [case.random.choice(list(formats.WRITERS)) for _ in range(3)]
    for layout, ending in zip(sides, endings):
        layout["files"] = os.path.splitext(layout.get("files", "rank_{card}.h5"))[0] + ending
    try:
        there_and_back(context, case, sides, endings)
    except Failure as problem:
        raise Failure(f"{problem}\n\nseed {seed}, tier {tier}; again with: --group formats --tier {tier} --seed {seed} --cases 1 --keep\n"
                      f"{tensors(case)}\nsource {json.dumps(sides[0])}\ntarget {json.dumps(sides[1])}") from None


def paths(directory, layout):
    return {card: os.path.join(directory, naive.file_name(layout, card, at)) for card, at in naive.positions(layout)}


def read(directory, layout):
    return {card: formats.read(path) for card, path in paths(directory, layout).items()}


def write(directory, layout, logical):
    cards = naive.spread(layout, logical)
    for card, path in paths(directory, layout).items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if path.endswith(".pt"):
            formats.write_torch(path, cards[card], MORE)
        else:
            formats.write(path, cards[card])
    return cards


def written(ending):
    """Of .ckpt, which is torch's too, the source decides unless it is said."""
    return ["--format", "mindspore"] if ending == ".ckpt" else []


def there_and_back(context, case, sides, endings):
    source, target = sides
    a, b = (checkpoints.write_layout(context.path(name), side) for name, side in zip(("a.json", "b.json"), sides))
    cards = write(context.path("source"), source, case.logical)
    ranks, more = case.random.choice([(0, []), (0, ["--memory", "1MiB", "--threads", "3"]), (2, ["--exchange", "mpi"])])
    context.programs.reshard(a, b, context.path("source"), context.path("target"), *written(endings[1]), *more, ranks=ranks)
    compare(naive.spread(target, case.logical), read(context.path("target"), target), "target")
    context.programs.reshard(b, a, context.path("target"), context.path("back"), *written(endings[0]), *more, ranks=ranks)
    compare(cards, read(context.path("back"), source), "back")
    merged = context.path("merged" + endings[2])
    context.programs.merge(b, context.path("target"), merged, *written(endings[2]), *more, ranks=ranks)
    compare({0: case.logical}, {0: formats.read(merged)}, "merged")
    context.programs.run("ckpt-verify", "--from", a, context.path("source"), merged)
    by_directory(context, case, source, cards, endings, [*more], ranks)
    if endings[:2] == [".pt", ".pt"]:
        for path in paths(context.path("target"), target).values():
            tree = torch_file.load(path)
            for key, value in MORE.items():
                check(tree.get(key) == value, f"{path}: {key} is {tree.get(key)!r}, expected {value!r}")


def by_directory(context, case, source, cards, endings, more, ranks):
    """To a directory, where a name's / become dots, and from there into one file, of torch and Paddle with the paths that names were if it has
    them, and, with names as they were, to the cards."""
    dotted = {name.replace("/", "."): array for name, array in case.logical.items()}
    if len(dotted) < len(case.logical):
        return  # two would have one name
    form = case.random.choice(list(formats.DIRECTORIES))
    if form == "orbax":  # which cannot hold the others
        dotted = {name: array for name, array in dotted.items() if array.size}
        if not dotted:
            return
    a, b, directory = (context.path(name) for name in ("a.json", "b.json", form))
    context.programs.reshard(a, b, context.path("source"), directory, "--format", form, *more, ranks=ranks)
    compare({0: dotted}, {0: formats.DIRECTORIES[form](directory)}, form)
    ending = endings[2]
    merged = context.path("from_directory" + ending)
    context.programs.run("ckpt-merge", directory, "-o", merged, "--no-fsync", *written(ending), *more, ranks=ranks)
    keeps_paths = form == "dcp" and ending == ".pt"
    compare({0: case.logical if keeps_paths else dotted}, {0: formats.read(merged)}, f"merged from {form}")
    if dotted.keys() == case.logical.keys():
        again = context.path("again")
        context.programs.run("ckpt-reshard", "--to", a, directory, "-o", again, "--no-fsync", *written(endings[0]), *more, ranks=ranks)
        compare(cards, read(again, source), f"from {form}")
