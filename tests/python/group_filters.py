"""Filters of tables (--keep) against numpy: random conditions, values at a threshold and one step beside it, NaN; tails that go where
their rows go."""
import json
import os
import random

import checkpoints
import group_tables
import numpy as np
from programs import check

FIELDS = ["slot", "show", "click", "seen"]
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}
LITERALS = [0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 16.0, 100.0]


# --- conditions as trees: how they are written, and what numpy makes of them ----------------------------------------------

def random_number(generator, depth):
    if depth == 0 or generator.random() < 0.3:
        return generator.choice(FIELDS) if generator.random() < 0.7 else generator.choice(LITERALS)
    if generator.random() < 0.1:
        return ("negate", random_number(generator, depth - 1))
    return (generator.choice(list(ARITHMETIC)), random_number(generator, depth - 1), random_number(generator, depth - 1))


def random_condition(generator, depth):
    kind = generator.choice(["and", "or", "not", "compare"]) if depth else "compare"
    if kind == "not":
        return ("not", random_condition(generator, depth - 1))
    if kind == "compare":
        return (generator.choice(list(COMPARISONS)), random_number(generator, 2), random_number(generator, 2))
    return (kind, random_condition(generator, depth - 1), random_condition(generator, depth - 1))


def text_of(tree, generator):
    """Each operation in parentheses, and sometimes more of them."""
    if isinstance(tree, (str, float)):
        return tree if isinstance(tree, str) else repr(tree)
    operation, *operands = tree
    texts = [text_of(each, generator) for each in operands]
    text = {"negate": "-{0}", "not": "not {0}"}.get(operation, "{0} " + operation + " {1}").format(*texts)
    return f"(({text}))" if generator.random() < 0.2 else f"({text})"


def value_of(tree, columns):
    if isinstance(tree, str):
        return columns[tree]
    if isinstance(tree, float):
        return tree
    operation, *operands = tree
    values = [value_of(each, columns) for each in operands]
    if all(isinstance(value, float) for value in values):  # numbers are put together before they meet a field
        values = [np.float64(value) for value in values]
        return float(-values[0] if operation == "negate" else ARITHMETIC[operation](*values))
    return np.negative(values[0]) if operation == "negate" else ARITHMETIC[operation](*values)


def truth_of(tree, columns, nan):
    """(holds, holds not) of each row: neither, where it compares NaN. Adds to `nan` which rows those are."""
    operation, *operands = tree
    if operation in COMPARISONS:
        a, b = (value_of(each, columns) for each in operands)
        unknown = np.broadcast_to(np.isnan(a) | np.isnan(b), nan.shape)
        nan |= unknown
        found = np.broadcast_to(COMPARISONS[operation](a, b), nan.shape)
        return found & ~unknown, ~found & ~unknown
    truths = [truth_of(each, columns, nan) for each in operands]
    if operation == "not":
        return truths[0][1], truths[0][0]
    (a, not_a), (b, not_b) = truths
    return (a & b, not_a | not_b) if operation == "and" else (a | b, not_a & not_b)


def kept_of(rows, tree):
    """The keys for whose rows the condition holds, and how many others have NaN in it."""
    keys = list(rows)
    if not keys:
        return set(), 0
    values = np.array([rows[key]["value"] for key in keys])
    seen = np.array([rows[key]["seen"] for key in keys])
    columns = {**{name: values[:, i].copy() for i, name in enumerate(FIELDS[:3])}, "seen": seen.astype("f4")}
    nan = np.zeros(len(keys), bool)
    with np.errstate(all="ignore"):
        kept, _ = truth_of(tree, columns, nan)
    return {key for key, keep in zip(keys, kept) if keep}, int((nan & ~kept).sum())


# --- the groups -----------------------------------------------------------------------------------------------------------

def filters(context):
    context.each(random_case, range(context.options.seed, context.options.seed + min(context.options.cases, 40)))
    thresholds(context.below("thresholds"))


def with_fields(layout):
    layout["tables"][0]["fields"]["{name}/seen"] = ["seen"]
    return layout


def random_model(generator):
    key_type, rows = group_tables.random_table(generator, generator.choice([0, 1, 70, 3000]), "u8", generator.choice(["f4", "f8"]))
    for row in rows.values():
        for column in (1, 2):
            if generator.random() < 0.5:
                row["value"][column] = generator.choice([0.1, 1.5, 3, np.nan, np.inf])
        row["seen"] = np.uint8(generator.choice([0, 1, 16, 255]))
    tails = {key: {"value": row["value"] * 2, "seen": row["seen"]} for key, row in rows.items() if generator.random() < 0.3}
    return {"embedding": (key_type, rows), "embedding.x": (key_type, tails)}


def random_case(context, seed):
    generator = random.Random(seed)
    model = random_model(generator)
    place = {side: generator.choice(list(group_tables.PLACES)) for side in "ab"}
    count = {side: generator.choice([1, 2, 3, 7]) for side in "ab"}
    trees = {"embedding": random_condition(generator, 3)}
    if generator.random() < 0.3:
        trees["embedding.x"] = random_condition(generator, 1)
    spread = {name: group_tables.servers_of(table, place["a"], count["a"]) for name, table in model.items()}
    group_tables.write(context.path("src"), model, spread)
    any_place = generator.random() < 0.2
    a = checkpoints.write_layout(context.path("a.json"),
                                 with_fields(group_tables.layout("any" if any_place else place["a"], count["a"])))
    order = "shard" if place["b"] in group_tables.SHARDS and generator.random() < 0.5 else "source"
    b = checkpoints.write_layout(context.path("b.json"), group_tables.layout(place["b"], count["b"], order))
    kept = {name: kept_of(model[name][1], tree) for name, tree in trees.items()}
    left = {name: [[key for key in keys if all(key in kept[each][0] for each in ("embedding", name) if each in kept)]
                   for keys in servers] for name, servers in spread.items()}
    expected = group_tables.moved(left, model, place["b"], count["b"], order)
    options = [word for name, tree in trees.items() for word in ("--keep", f"{name}: {text_of(tree, generator)}")]
    digests = None
    ways = [(0, []), (0, ["--threads", "3", "--memory", "1MiB"]), (generator.choice([2, 3]), ["--verify", "reread", "--exchange", "mpi"])]
    for number, (ranks, more) in enumerate(ways):
        out, report = context.path(f"dst{number}"), context.path(f"report{number}.json")
        context.programs.reshard(a, b, context.path("src"), out, *options, *more, "--report", report, ranks=ranks)
        group_tables.check_files(out, model, expected, place["b"] if order == "shard" else None)
        check_report(report, model, expected, kept)
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {more} wrote other bytes")
    context.programs.run("ckpt-verify", context.path("dst0"))


def check_report(path, model, expected, kept):
    with open(path, encoding="utf-8") as file:
        tables = {table["name"]: table for table in json.load(file)["tables"]}
    for name, servers in expected.items():
        check(tables[name]["rows"] == [len(keys) for keys in servers], f"the report says other rows of {name}")
        said = tables[name]["kept"]
        check(said["of"] == len(model[name][1]), f"the report says that {name} had {said['of']} rows")
        nan = kept[name][1] if name in kept else 0
        check(said["dropped_with_nan"] == nan, f"the report says that {said['dropped_with_nan']} rows of {name} have NaN, not {nan}")


def thresholds(context):
    """Paddle's words, on rows whose score is the threshold, and one step of 32 bits below and above it."""
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "layouts", "paddle-tables.json"), encoding="utf-8") as file:
        layout = json.load(file)
    layout["mesh"]["shape"] = [2]
    one = np.float32(1)
    rows, values = {}, []
    for show in np.float32([0.5, 1.5, 2.4, 7.8, 15, 16, 100]):
        for threshold in np.float32([1.5, 0.8, 0.8 / 0.98]):
            click = (threshold - show * np.float32(0.1)) / np.float32(0.9)  # so that the score is about the threshold
            for step in range(-3, 4):
                near = click
                for _ in range(abs(step)):
                    near = np.nextafter(near, np.float32(np.sign(step) * np.inf))
                for days in (0, 16, 17, 30, 31):
                    for delta in (np.float32(0.25), np.nextafter(np.float32(0.25), np.float32(0)), np.float32(np.nan)):
                        values.append([3, days, delta, show, near, 0.25, 0.5])
    for number, value in enumerate(values):
        rows[number * 7919] = {"value": np.array(value, "f4")}
    model = {"embedding": ("u8", rows)}
    spread = {"embedding": group_tables.servers_of(model["embedding"], "paddle", 2)}
    group_tables.write(context.path("src"), model, spread)
    a = checkpoints.write_layout(context.path("a.json"), layout)
    _, days, delta, show, click, _, _ = np.array(values, "f4").T

    def score(show, click):
        return (show - click) * np.float32(0.1) + click * one

    decay = np.float32(0.98)
    words = {"base": (score(show, click) >= np.float32(1.5)) & (delta >= 0) & (days <= 16),
             "delta": (score(show, click) >= np.float32(1.5)) & (delta >= np.float32(0.25)) & (days <= 16),
             "shrink": (score(show * decay, click * decay) >= np.float32(0.8)) & (days <= 30)}
    for word, kept in words.items():
        check(0 < kept.sum() < len(kept), f"{word} keeps all rows, or none: nothing is tested")
        keys = {key for key, keep in zip(rows, kept) if keep}
        left = {"embedding": [[key for key in server if key in keys] for server in spread["embedding"]]}
        context.programs.reshard(a, a, context.path("src"), context.path(word), "--keep", f"embedding: {word}")
        group_tables.check_files(context.path(word), model, group_tables.moved(left, model, "paddle", 2))
