"""Random models saved by DeepSpeed's ZeRO: rewritten for another number of ranks and back, and from there into every format, whole and cut by
random layouts. Every file for torch is read by torch_oracle, and held against what a job of so many ranks saves."""
import os
import pathlib
import random
import zlib

import checkpoints
import deepspeed_directory
import numpy as np
import torch_oracle
from group_trees import ENDINGS, check_cards, check_tensors, same
from programs import Failure
from random_trees import Tree, TreeCase, numpy_type

SHAPES = [(), (1,), (3,), (7,), (16,), (2, 5), (1, 1), (4, 3), (13, 2), (3, 1, 2)]


def zero(context):
    context.each(one_case, range(context.options.seed, context.options.seed + context.options.cases))


def random_model(choice, seed, precision):
    names = [f"layers.{number}.{name}" for number in range(3) for name in ("weight", "bias", "größe")]
    choice.shuffle(names)
    groups = [{names.pop(): choice.choice(SHAPES) for _ in range(choice.randint(1, 3))} for _ in range(choice.randint(1, 2))]
    held = [name for group in groups for name in group]

    def value(word, name, shape):
        source = np.random.default_rng([seed, zlib.crc32(name.encode()), len(word) if word.startswith("exp") else 0])
        if word.startswith("exp") or precision == "fp32":
            return source.integers(0, 256, 4 * int(np.prod(shape, dtype=int)), dtype="u1").view("<f4").reshape(shape)
        nearest = np.asarray(source.integers(-99, 99, shape), "<f4")  # what the master weight is as a half
        return nearest if word == "module" else np.asarray(nearest * np.float32(1 + 2.0 ** -12))
    return deepspeed_directory.Model(groups, {f"tied.{name}": name for name in held if choice.random() < 0.2},
                                     {f"frozen.{number}": choice.choice(SHAPES) for number in range(choice.randint(0, 2))}, value)


def client_state(seed):
    """What a job adds of its own: a random tree, but no tensors."""
    tree = Tree(seed, ["float32"])
    return {"numbers": [1, 2.5, None], "leaves": [tree.leaf() for _ in range(4)]}


def one_case(context, seed):
    choice = random.Random(f"zero {seed}")
    stage, precision, ranks, others = choice.randint(1, 3), choice.choice(["bf16", "fp16", "fp32"]), choice.randint(1, 6), choice.randint(1, 7)
    what = {"precision": precision, "model": random_model(choice, seed, precision), "client": client_state(seed)}
    more, processes = choice.choice([([], 0), (["--memory", "1MiB", "--threads", "3"], 0), (["--exchange", "mpi"], 2)])
    source = pathlib.Path(context.path("source"))
    deepspeed_directory.Job(stage, ranks, **what).write(source)
    try:
        for number, (name, to) in enumerate((("there", others), ("back", ranks))):
            written = pathlib.Path(context.path(name))
            context.programs.run("ckpt-reshard", "--cards", to, source if number == 0 else context.path("there"), "-o", written, "--no-fsync", *more,
                                 ranks=processes)
            deepspeed_directory.Job(stage, to, is_rewritten=True, **what).write(pathlib.Path(context.path(f"expected-{name}")))
            check_files(pathlib.Path(context.path(f"expected-{name}")), written)
        to_others(context, source, whole(stage, ranks, what), choice, more, processes)
    except (Failure, torch_oracle.Bad) as problem:
        raise Failure(f"{problem}\n\nseed {seed}: ZeRO-{stage}, {precision}, {ranks} ranks to {others}; again with: --group zero --seed {seed} "
                      "--cases 1 --keep") from None


def check_files(expected, written):
    tag = deepspeed_directory.TAG
    names = [sorted(path.name for path in (each / tag).glob("*.pt")) for each in (expected, written)]
    if names[0] != names[1] or (written / "latest").read_text() != tag:
        raise Failure(f"{written}: found the files {names[1]}, expected {names[0]} and {tag} in latest")
    for name in names[0]:
        same(torch_oracle.contents(expected / tag / name), torch_oracle.contents(written / tag / name), written / name)


def whole(stage, ranks, what):
    found = deepspeed_directory.Job(stage, ranks, **what).whole()
    return {name: array if isinstance(array, np.ndarray) else array.bits.view(numpy_type(array.name)) for name, array in found.items()}


def to_others(context, source, tensors, choice, more, processes):
    """Into one file of some format and from there into one of torch, and onto the cards of a random layout."""
    form = choice.choice(list(ENDINGS))
    merged, again = context.path("merged" + ENDINGS[form]), context.path("again.pt")
    for of, to, to_form in ((source, merged, form), (merged, again, "torch")):
        context.programs.run("ckpt-merge", of, "-o", to, "--format", to_form, "--no-fsync", *more, ranks=processes)
        if to_form in ("torch", "safetensors", "dcp"):
            joint = "." if to_form == "dcp" else "/"
            check_tensors(torch_oracle.contents(to), {name.replace("/", joint): array for name, array in tensors.items()}, to, joint)
    case = TreeCase(choice.randrange(1 << 30), context.options.tier, tensors)
    layout = case.layout()
    layout["files"] = os.path.splitext(layout.get("files", "rank_{card}.h5"))[0] + choice.choice([".pt", ".safetensors"])
    to = checkpoints.write_layout(context.path("cards.json"), layout)
    context.programs.run("ckpt-reshard", "--to", to, source, "-o", context.path("cards"), "--no-fsync", *more, ranks=processes)
    check_cards(layout, case.logical, context.path("cards"))
