"""Tables by key against a dict: whatever servers, places, threads, processes and memory, a server's file holds exactly the rows
whose keys the definition puts there, in the order of the source."""
import json
import os
import random

import checkpoints
import h5py
import numpy as np
from programs import check

EDGE_KEYS = [0, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1]
MASK = 2**64 - 1


# --- the definitions: each step of "place" as one line ----------------------------------------------------------------

def signed(key):
    return key - 2**64 if key >= 2**63 else key


def splitmix64(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


def fmix64(x):
    x = ((x ^ (x >> 33)) * 0xff51afd7ed558ccd) & MASK
    x = ((x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53) & MASK
    return x ^ (x >> 33)


# name → (steps of the layout, key, row and servers → server)
PLACES = {
    "paddle": ([{"mod": 1000}, {"blocks": "ceil"}], lambda key, row, k: key % 1000 // -(-1000 // k)),
    "paddle37": ([{"mod": 37}, {"blocks": "ceil"}], lambda key, row, k: key % 37 // -(-37 // k)),
    "balanced": ([{"mod": 10}, {"blocks": "balanced"}],
                 lambda key, row, k: [s for s in range(k) for _ in range(10 // k + (s < 10 % k))][key % 10]),
    "geo": ([{"mod": "servers"}], lambda key, row, k: key % k),
    "floor": ([{"signed": "floor"}, {"mod": "servers"}], lambda key, row, k: signed(key) % k),
    "masked": ([{"mask": "0x7fffffff"}, {"mod": "servers"}], lambda key, row, k: (key & 0x7fffffff) % k),
    "deeprec": ([{"mod": 1000}, {"mod": "servers"}], lambda key, row, k: key % 1000 % k),
    "field": ([{"field": "slot"}, {"mod": "servers"}], lambda key, row, k: int(row["value"][0]) % k),
    "split": ([{"hash": "splitmix64"}, {"mod": "servers"}], lambda key, row, k: splitmix64(key) % k),
    "fmix": ([{"hash": "murmur3_fmix64"}, {"mod": "servers"}], lambda key, row, k: fmix64(key) % k),
}


def layout(place, servers, path="server_{server}.h5"):
    steps = place if place == "any" else PLACES[place][0]
    return {"ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]}, "files": path,
            "tables": [{"name": "embedding*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server", "place": steps,
                        "fields": {"{name}/value": ["slot", "show", "click"]}}],
            "parameters": [{"name": "*", "at": {"server": 0}}]}


# --- the model: {table: {key: {dataset: row}}} --------------------------------------------------------------------------

def random_table(generator, rows, key_type, value_type):
    keys = {generator.choice(EDGE_KEYS) for _ in range(min(rows, 9))}
    while len(keys) < rows:
        keys.add(generator.getrandbits(64) >> generator.choice([0, 0, 32, 50]))
    keys = list(keys)
    generator.shuffle(keys)
    numbers = np.random.default_rng(generator.getrandbits(32))
    return key_type, {key: {"value": np.concatenate([[generator.randrange(300)], numbers.integers(0, 1000, 2)]).astype(value_type),
                            "seen": np.uint8(numbers.integers(256))} for key in keys}


def servers_of(table, place, servers):
    """The keys of each server, in the table's order."""
    found = [[] for _ in range(servers)]
    for key, row in table[1].items():
        found[PLACES[place][1](key, row, servers)].append(key)
    return found


def write(directory, tables, spread, dense=None, **storage):
    """spread: {table: the keys of each server}."""
    os.makedirs(directory)
    for server in range(len(next(iter(spread.values())))):
        with h5py.File(os.path.join(directory, f"server_{server}.h5"), "w") as file:
            for name, (key_type, rows) in tables.items():
                keys = spread[name][server]
                more = storage if keys else {}
                file.create_dataset(f"{name}/keys", data=np.array(keys, "u8").view(key_type), **more)
                for part, shape, dtype in parts_of(rows):
                    stacked = np.array([rows[key][part] for key in keys], dtype).reshape(len(keys), *shape)
                    file.create_dataset(f"{name}/{part}", data=stacked, **more)
            if server == 0:
                for name, array in (dense or {}).items():
                    file[name] = array


def parts_of(rows):
    row = next(iter(rows.values())) if rows else {"value": np.zeros(3, "f4"), "seen": np.uint8(0)}
    return [(part, np.shape(value), np.asarray(value).dtype) for part, value in row.items()]


def read_tables(path, names):
    """{table: (key type, [(key, {dataset: bytes of the row}), …])} of one file."""
    with h5py.File(path, "r") as file:
        found = {}
        for name in names:
            keys = file[f"{name}/keys"][()]
            parts = {part: file[f"{name}/{part}"][()] for part in file[name] if part != "keys"}
            found[name] = (keys.dtype.str, [(int(key), {part: array[i].tobytes() for part, array in parts.items()})
                                            for i, key in enumerate(keys.view("u8"))])
        return found


def check_files(directory, tables, expected):
    """expected: {table: the keys of each server, in order}."""
    for server in range(len(next(iter(expected.values())))):
        found = read_tables(os.path.join(directory, f"server_{server}.h5"), tables)
        for name, (key_type, rows) in tables.items():
            wanted = [(key, {part: value.tobytes() for part, value in rows[key].items()}) for key in expected[name][server]]
            check(found[name] == (np.dtype(key_type).str, wanted), f"{directory}, server {server}: '{name}' has other rows:\n"
                  f"{[key for key, _ in found[name][1]][:20]}\nexpected\n{[key for key, _ in wanted][:20]}")


def moved(spread, tables, place, servers):
    """What the definition makes of a source: server by server, in the source's order."""
    result = {}
    for name, table in tables.items():
        result[name] = [[] for _ in range(servers)]
        for keys in spread[name]:
            for key in keys:
                result[name][PLACES[place][1](key, table[1][key], servers)].append(key)
    return result


# --- the groups ---------------------------------------------------------------------------------------------------------

def tables(context):
    """Random tables from servers to servers and back, with dense parameters beside them."""
    context.each(random_case, range(context.options.seed, context.options.seed + min(context.options.cases, 40)))
    shared_files(context.below("shared"))


def shared_files(context):
    """So much that several processes write one file, each its part, and that the cut between them goes through a row."""
    rows = {key * 7919: {"value": np.arange(key, key + 25, dtype="f4")} for key in range(60000)}
    model = {"embedding": ("u8", rows)}
    write(context.path("src"), model, {"embedding": servers_of(model["embedding"], "paddle", 3)})
    a = checkpoints.write_layout(context.path("a.json"), layout("paddle", 3))
    b = checkpoints.write_layout(context.path("b.json"), layout("geo", 2))
    digests = {}
    for ranks in (0, 3, 5):
        context.programs.reshard(a, b, context.path("src"), context.path(f"two{ranks}"), "--memory", "8MiB", ranks=ranks)
        context.programs.merge(a, context.path("src"), context.path(f"one{ranks}.h5"), ranks=ranks)
        digests[ranks] = (checkpoints.digests(context.path(f"two{ranks}")), checkpoints.digests(context.path(f"one{ranks}.h5")))
        check(digests[ranks] == digests[0], f"{ranks} processes wrote other bytes than one")
    check_files(context.path("two0"), model, moved({"embedding": servers_of(model["embedding"], "paddle", 3)}, model, "geo", 2))


def random_case(context, seed):
    generator = random.Random(seed)
    place = {side: generator.choice(list(PLACES)) for side in "ab"}
    count = {side: generator.choice([1, 2, 3, 4, 7, 10]) for side in "ab"}
    model = {name: random_table(generator, generator.choice([0, 1, 5, 300, 3000]), generator.choice(["u8", "i8"]),
                                generator.choice(["f4", "f8"])) for name in ("embedding", "embedding.x")}
    spread = {name: servers_of(table, place["a"], count["a"]) for name, table in model.items()}
    dense = {"w": np.arange(35, dtype="f4").reshape(5, 7), "step": np.array(7, "i8")}
    storage = generator.choice([{}, {"chunks": True, "compression": "gzip", "shuffle": True}])
    write(context.path("src"), model, spread, dense, **storage)
    any_place = generator.random() < 0.2
    a = checkpoints.write_layout(context.path("a.json"), layout("any" if any_place else place["a"], count["a"]))
    b = checkpoints.write_layout(context.path("b.json"), layout(place["b"], count["b"]))
    expected = moved(spread, model, place["b"], count["b"])
    digests = None
    ways = [(0, []), (0, ["--threads", "4", "--memory", "1MiB"]), (generator.choice([2, 3]), ["--memory", "16MiB"])]
    for number, (ranks, options) in enumerate(ways):
        out = context.path(f"dst{number}")
        context.programs.reshard(a, b, context.path("src"), out, *options, ranks=ranks)
        check_files(out, model, expected)
        check(np.array_equal(checkpoints.read_file(f"{out}/server_0.h5")["w"], dense["w"]), "the dense parameter is another")
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {options} wrote other bytes")
    context.programs.run("ckpt-verify", context.path("dst0"))
    back = moved(expected, model, place["a"], count["a"])
    source = checkpoints.write_layout(context.path("back.json"), layout(place["a"], count["a"]))
    context.programs.reshard(b, source, context.path("dst0"), context.path("back"), "--verify", "reread")
    check_files(context.path("back"), model, back)
    whole = context.path("merged.h5")
    context.programs.merge(a, context.path("src"), whole)
    context.programs.split(b, whole, context.path("split"))
    check_files(context.path("split"), model, expected)
    check(table_sums(context.path("dst0")) == table_sums(context.path("back")), "other sums by key after the way back")


def table_sums(directory):
    with open(os.path.join(directory, "checkpoint.json"), encoding="utf-8") as file:
        return {name: (table["rows"], table["fingerprints"]) for name, table in json.load(file)["tables"].items()}
