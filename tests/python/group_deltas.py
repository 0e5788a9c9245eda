"""A base and deltas (--delta) against dict.update in order: rows that are new, changed, deleted and come back, tails that are gained and
lost, each layer on servers of its own, filtered or not."""
import json
import os
import random

import checkpoints
import group_filters
import group_tables
import h5py
import numpy as np
from programs import check

NAMES = ("embedding", "embedding.x")


def deltas(context):
    context.each(random_case, range(context.options.seed, context.options.seed + min(context.options.cases, 40)))


def layout(place, servers, order="source"):
    made = group_filters.with_fields(group_tables.layout(place, servers, order))
    made["tables"][0]["deleted"] = "{name}/deleted"
    return made


class Layer:
    """Rows and tails of one checkpoint, and keys that it deletes from older ones."""

    def __init__(self, generator, pool, is_base):
        keys = generator.sample(pool, generator.choice([0, 1, len(pool) // 4, len(pool) // 2]))
        numbers = np.random.default_rng(generator.getrandbits(32))

        def row():
            value = np.concatenate([[generator.randrange(300)], numbers.integers(0, 20, 2)]).astype("f4")
            return {"value": value, "seen": np.uint8(numbers.integers(256))}
        self.rows = {key: row() for key in keys}
        self.tails = {key: row() for key in keys if generator.random() < 0.3}
        self.deleted = [] if is_base else generator.sample(pool, generator.choice([0, 0, len(pool) // 5]))

    def tables(self):
        return {"embedding": ("u8", self.rows), "embedding.x": ("u8", self.tails)}

    def write(self, directory, generator, place, count):
        spread = {name: group_tables.servers_of(table, place, count) for name, table in self.tables().items()}
        group_tables.write(directory, self.tables(), spread)
        servers = [[] for _ in range(count)]
        for key in self.deleted:
            is_by_key = place != "field"
            servers[group_tables.PLACES[place][1](key, None, count) if is_by_key else generator.randrange(count)].append(key)
        for server, keys in enumerate(servers):
            with h5py.File(os.path.join(directory, f"server_{server}.h5"), "r+") as file:
                for name in NAMES:  # those of the tails are the rows' business
                    file[f"{name}/deleted"] = np.array(keys if name == "embedding" else [], "u8")
        return spread


def merged(layers):
    """{key: row} and {key: tail} of all, and of each key the layer that it is from."""
    rows, tails, origin = {}, {}, {}
    for number, layer in enumerate(layers):
        for key in layer.deleted:
            rows.pop(key, None)
            tails.pop(key, None)
        for key, row in layer.rows.items():
            rows[key], origin[key] = row, number
            tails.pop(key, None)
        tails.update(layer.tails)
    return rows, tails, origin


def random_case(context, seed):
    generator = random.Random(seed)
    pool = list({*group_tables.EDGE_KEYS, *(generator.getrandbits(64) for _ in range(generator.choice([20, 800])))})
    layers = [Layer(generator, pool, number == 0) for number in range(generator.choice([2, 3, 5]))]
    place = {side: generator.choice(list(group_tables.PLACES)) for side in ("base", "delta", "to")}
    count = {side: generator.choice([1, 2, 3, 7]) for side in place}
    order = "shard" if place["to"] in group_tables.SHARDS and generator.random() < 0.5 else "source"
    written = {side: checkpoints.write_layout(context.path(f"{side}.json"),
                                              layout(place[side], count[side], order if side == "to" else "source"))
               for side in place}
    spreads = []
    for number, layer in enumerate(layers):
        side = "base" if number == 0 else "delta"
        spreads.append(layer.write(context.path(f"layer{number}"), generator, place[side], count[side]))
    tree = group_filters.random_condition(generator, 2) if generator.random() < 0.4 else None
    rows, tails, origin = merged(layers)
    kept = group_filters.kept_of(rows, tree)[0] if tree else set(rows)
    left = {name: [[key for key in keys if origin[key] == number and key in part and key in kept]
                   for number, spread in enumerate(spreads) for keys in spread[name]]
            for name, part in (("embedding", rows), ("embedding.x", tails))}
    model = {"embedding": ("u8", rows), "embedding.x": ("u8", tails)}
    expected = group_tables.moved(left, model, place["to"], count["to"], order)
    words = [word for number in range(1, len(layers)) for word in ("--delta", context.path(f"layer{number}"))]
    words += ["--delta-layout", written["delta"]]
    if tree:
        words += ["--keep", f"embedding: {group_filters.text_of(tree, generator)}"]
    digests = None
    ways = [(0, []), (0, ["--threads", "3", "--memory", "1MiB"]), (generator.choice([2, 3]), ["--verify", "reread", "--exchange", "mpi"])]
    for number, (ranks, more) in enumerate(ways):
        out = context.path(f"dst{number}")
        context.programs.reshard(written["base"], written["to"], context.path("layer0"), out, *words, *more, ranks=ranks)
        group_tables.check_files(out, model, expected, place["to"] if order == "shard" else None)
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {more} wrote other bytes")
    context.programs.run("ckpt-verify", context.path("dst0"))
    check_manifest(context.path("dst0"), layers, left, len(spreads))
    if place["delta"] != "field" and place["to"] != "field":
        on_other_servers(context, written, layers, words, digests)


def check_manifest(directory, layers, left, count):
    with open(os.path.join(directory, "checkpoint.json"), encoding="utf-8") as file:
        said = json.load(file)["tables"]["embedding"]["layers"]
    check([each["rows"] for each in said] == [len(layer.rows) for layer in layers], f"the manifest says {said}")
    check(len(said) == count and sum(each["taken"] for each in said) == sum(map(len, left["embedding"])), f"it says {said}")


def on_other_servers(context, written, layers, words, digests):
    """Deltas that were themselves moved to other servers, and carry their layouts, give the same tables."""
    words = words[:2 * (len(layers) - 1)] + words[2 * len(layers):]
    for number in range(1, len(layers)):
        context.programs.reshard(written["delta"], written["to"], context.path(f"layer{number}"), context.path(f"moved{number}"))
        words[2 * number - 1] = context.path(f"moved{number}")
    context.programs.reshard(written["base"], written["to"], context.path("layer0"), context.path("again"), *words)
    found = [sorted_rows(context.path(name)) for name in ("again", "dst0")]
    check(found[0] == found[1], "moved deltas gave other rows")


def sorted_rows(directory):
    rows = []
    for name in sorted(os.listdir(directory)):
        if name.endswith(".h5"):
            rows += [(table, *row) for table, (_, found) in group_tables.read_tables(os.path.join(directory, name), NAMES).items()
                     for row in found]
    return sorted(rows, key=lambda row: row[:2])
