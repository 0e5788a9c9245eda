"""Random trees of torch through every format and back, whole and cut by random layouts, exactly: tensors of every type, views, what shares a
storage, numbers, texts and unknown objects. What the programs write for torch, DCP and safetensors is read by torch_oracle, an independent reader."""
import os
import random

import checkpoints
import naive
import numpy as np
import torch_file
import torch_oracle
from programs import Failure, check
from random_trees import TYPES, Tree, TreeCase, torch_type
from torch_oracle import KIND

ENDINGS = {"torch": ".pt", "hdf5": ".h5", "safetensors": ".safetensors", "mindspore": ".ckpt", "dcp": ""}
KEEP_TREES = {"torch", "hdf5", "safetensors"}


def trees(context):
    context.each(one_case, range(context.options.seed, context.options.seed + context.options.cases))


def one_case(context, seed):
    choice = random.Random(f"way {seed}")
    way = [choice.choice(list(ENDINGS)) for _ in range(2)]
    tree = Tree(seed, [name for name in TYPES["torch"] if all(name in TYPES[each] for each in way)])
    legacy = choice.random() < 0.3
    torch_file.save(context.path("source.pt"), tree.root, protocol=2 if legacy else choice.choice([2, 3, 4, 5]), legacy=legacy)
    more, ranks = choice.choice([([], 0), (["--memory", "1MiB", "--threads", "3"], 0), (["--exchange", "mpi"], 2)])
    try:
        check_tensors(torch_oracle.contents(context.path("source.pt")), tree.tensors, "source.pt")
        whole(context, tree, way, more, ranks)
        cut(context, TreeCase(seed, context.options.tier, tree.tensors), way, more, ranks)
    except (Failure, torch_oracle.Bad) as problem:
        raise Failure(f"{problem}\n\nseed {seed}, by way of {' and '.join(way)}; again with: --group trees --tier {context.options.tier} "
                      f"--seed {seed} --cases 1 --keep") from None


def merge(context, source, to, form, more, ranks):
    leaves = ["--leaves", "tree"] if form in ("hdf5", "safetensors") else []
    context.programs.run("ckpt-merge", source, "-o", to, "--format", form, "--no-fsync", *leaves, *more, ranks=ranks)
    return to


def whole(context, tree, way, more, ranks):
    """To one file of each format of the way, and back to a file of torch."""
    source = path = context.path("source.pt")
    for number, form in enumerate([*way, "torch"]):
        before, path = path, merge(context, path, context.path(f"whole{number}" + ENDINGS[form]), form, more, ranks)
        check_whole(source, path, tree, ["torch", *way[:number], form])
        if [*way, "torch"][max(0, number - 1):number + 1] == ["dcp", "torch"]:
            check_unfolded(before, path)
            context.programs.run("ckpt-verify", before, path)
    if set(way) == {"torch"}:
        check(torch_oracle.shared(path) == torch_oracle.shared(source), f"{path}: found what shares a storage: {torch_oracle.shared(path)}, "
              f"expected {torch_oracle.shared(source)}")


def check_unfolded(directory, path):
    """A file made of a directory of DCP has all of it at the same paths, and beside that the dicts and lists on them."""
    expected = torch_oracle.contents(directory)
    same(expected, {at: value for at, value in torch_oracle.contents(path).items() if KIND not in at or at in expected}, path)


def has_dots(way):
    """Whether names are DCP's: torch has its paths instead."""
    behind = way[::-1].index("dcp") if "dcp" in way else 0
    return "dcp" in way and way[len(way) - behind:][:1] != ["torch"]


def check_whole(source, path, tree, way):
    """`way`: the formats up to this file's."""
    form, met = way[-1], set(way)
    if form not in ("torch", "dcp", "safetensors"):
        return
    found, expected = torch_oracle.contents(path), torch_oracle.contents(source)
    is_dotted = has_dots(way)
    check_tensors(found, {name.replace("/", ".") if is_dotted else name: tensor for name, tensor in tree.tensors.items()}, path,
                  "." if is_dotted else "/")
    if form == "torch" and met <= KEEP_TREES:
        same(list(expected.items()), list(found.items()), path)
    if form == "dcp" and met <= {"dcp", *KEEP_TREES}:  # whose paths are texts, and which has no empty dicts
        same(*({tuple(map(str, at)): value for at, value in each.items() if KIND not in at[:1] + at[-1:] and value != "dict()"}
               for each in (without_kinds(expected, found), found)), path)


def without_kinds(expected, found):
    """What a directory of DCP says: of dicts and lists that it enters not what they are."""
    return {at: value for at, value in expected.items() if at[-1:] != (KIND,) or at in found}


def cut(context, case, way, more, ranks):
    """To the cards of one random layout, from there to those of another, and back into one file."""
    layouts = [case.layout(), case.layout()]
    source, before = context.path("source.pt"), []
    for number, (layout, form) in enumerate(zip(layouts, way)):
        name = "abc"[number] + ".json"
        layout["files"] = os.path.splitext(layout.get("files", "rank_{card}.h5"))[0] + (ENDINGS[form] or ".h5")
        to = checkpoints.write_layout(context.path(name), layout)
        cards = context.path(f"cards{number}")
        program = ["ckpt-reshard", *before, "--to", to] if number else ["ckpt-split", "--layout", to]
        if form == "dcp":
            return  # it says itself how it is cut; what becomes of it is for the group formats
        context.programs.run(*program, source, "-o", cards, "--no-fsync", *more, ranks=ranks)
        if form in ("torch", "safetensors"):
            check_cards(layout, case.logical, cards)
        source, before = cards, ["--from", to]
    back = context.path("back.pt")
    context.programs.merge(context.path("b.json"), source, back, *more, ranks=ranks)
    check_tensors(torch_oracle.contents(back), case.logical, back)


def check_cards(layout, logical, cards):
    expected = naive.spread(layout, logical)
    for card, at in naive.positions(layout):
        path = os.path.join(cards, naive.file_name(layout, card, at))
        check_tensors(torch_oracle.contents(path), expected[card], path)


def check_tensors(found, expected, path, joint="/"):
    """That the tensors of a file are these arrays, and no others."""
    tensors = {joint.join(map(str, at)): value for at, value in found.items() if isinstance(value, tuple)}
    same({name: (torch_type(array.dtype), array.shape, np.ascontiguousarray(array).tobytes()) for name, array in expected.items()}, tensors, path)


def same(expected, found, path):
    if expected == found:
        return
    one, other = dict(expected), dict(found)
    wrong = [f"{at}: expected {one.get(at, 'nothing')}, found {other.get(at, 'nothing')}" for at in {**one, **other} if one.get(at) != other.get(at)]
    raise Failure(f"{path}:\n" + ("\n".join(wrong[:5]) or f"the order is {list(other)}, expected {list(one)}"))
