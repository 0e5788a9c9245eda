"""Tables by key against a dict: whatever servers, places, threads, processes and memory, a server's file holds exactly the rows
whose keys the definition puts there, in the order of the source."""
import json
import os
import random
import subprocess
import sys

import checkpoints
import h5py
import numpy as np
from programs import Failure, check

EDGE_KEYS = [0, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1]
MASK = 2**64 - 1
MAKE_SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "make_sample")


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


# Those whose last step deals shards to servers: how many there are; a key's is its remainder.
SHARDS = {"paddle": 1000, "paddle37": 37, "balanced": 10, "deeprec": 1000}


def shards_of(place, server, servers):
    return [shard for shard in range(SHARDS[place]) if PLACES[place][1](shard, None, servers) == server]


def layout(place, servers, order="source", path="server_{server}.h5"):
    steps = place if place == "any" else PLACES[place][0]
    return {"ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]}, "files": path,
            "tables": [{"name": "embedding*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server", "place": steps,
                        "order": order, "fields": {"{name}/value": ["slot", "show", "click"]}}],
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


def grouped(keys, place):
    """By shard, in order, and in a shard as they were."""
    return sorted(keys, key=lambda key: key % SHARDS[place])


def offsets(keys, place, server, servers):
    """Where each shard of a server begins among its keys, and the end."""
    counts = [sum(key % SHARDS[place] == shard for key in keys) for shard in shards_of(place, server, servers)]
    return [sum(counts[:i]) for i in range(len(counts) + 1)]


def write(directory, tables, spread, dense=None, shards_by=None, **storage):
    """spread: {table: the keys of each server}; shards_by: the place by which they are grouped."""
    os.makedirs(directory)
    for server in range(len(next(iter(spread.values())))):
        with h5py.File(os.path.join(directory, f"server_{server}.h5"), "w") as file:
            for name, (key_type, rows) in tables.items():
                keys = spread[name][server]
                more = storage if keys else {}
                file.create_dataset(f"{name}/keys", data=np.array(keys, "u8").view(key_type), **more)
                if shards_by:
                    file[f"{name}/shard_offsets"] = np.array(offsets(keys, shards_by, server, len(spread[name])), "u8")
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
            parts = {part: file[f"{name}/{part}"][()] for part in file[name]
                     if part not in ("keys", "shard_offsets", "deleted")}
            found[name] = (keys.dtype.str, [(int(key), {part: array[i].tobytes() for part, array in parts.items()})
                                            for i, key in enumerate(keys.view("u8"))])
        return found


def check_files(directory, tables, expected, shards_by=None):
    """expected: {table: the keys of each server, in order}; shards_by: the place by which they are to be grouped."""
    for server in range(len(next(iter(expected.values())))):
        path = os.path.join(directory, f"server_{server}.h5")
        found = read_tables(path, tables)
        for name, (key_type, rows) in tables.items():
            wanted = [(key, {part: value.tobytes() for part, value in rows[key].items()}) for key in expected[name][server]]
            check_offsets(path, name, expected[name], shards_by, server)
            check(found[name] == (np.dtype(key_type).str, wanted), f"{directory}, server {server}: '{name}' has other rows:\n"
                  f"{[key for key, _ in found[name][1]][:20]}\nexpected\n{[key for key, _ in wanted][:20]}")


def check_offsets(path, name, keys, shards_by, server):
    with h5py.File(path, "r") as file:
        found = file[f"{name}/shard_offsets"][()].tolist() if f"{name}/shard_offsets" in file else None
        wanted = offsets(keys[server], shards_by, server, len(keys)) if shards_by else None
        check(found == wanted, f"{path}: shards of '{name}' begin at {found}, expected {wanted}")


def moved(spread, tables, place, servers, order="source"):
    """What the definition makes of a source: server by server, in the source's order or grouped by shard."""
    result = {}
    for name, table in tables.items():
        result[name] = [[] for _ in range(servers)]
        for keys in spread[name]:
            for key in keys:
                result[name][PLACES[place][1](key, table[1][key], servers)].append(key)
        if order == "shard":
            result[name] = [grouped(keys, place) for keys in result[name]]
    return result


# --- the groups ---------------------------------------------------------------------------------------------------------

def tables(context):
    """Random tables from servers to servers and back, with dense parameters beside them."""
    context.each(random_case, range(context.options.seed, context.options.seed + min(context.options.cases, 40)))
    shared_files(context.below("shared"))
    ways_of_shards(context.below("shards"))
    sample(context.below("sample"))


def shared_files(context):
    """So much that several processes write one file, each its part, and that the cut between them goes through a row."""
    rows = {key * 7919: {"value": np.arange(key, key + 25, dtype="f4")} for key in range(60000)}
    model = {"embedding": ("u8", rows)}
    write(context.path("src"), model, {"embedding": servers_of(model["embedding"], "paddle", 3)})
    a = checkpoints.write_layout(context.path("a.json"), layout("paddle", 3))
    b = checkpoints.write_layout(context.path("b.json"), layout("geo", 2))
    digests = {}
    for ranks, memory in ((0, "8MiB"), (3, "1GiB"), (7, "8MiB")):
        context.programs.reshard(a, b, context.path("src"), context.path(f"two{ranks}"), "--memory", memory, ranks=ranks)
        context.programs.merge(a, context.path("src"), context.path(f"one{ranks}.h5"), ranks=ranks)
        digests[ranks] = (checkpoints.digests(context.path(f"two{ranks}")), checkpoints.digests(context.path(f"one{ranks}.h5")))
        check(digests[ranks] == digests[0], f"{ranks} processes wrote other bytes than one")
    check_files(context.path("two0"), model, moved({"embedding": servers_of(model["embedding"], "paddle", 3)}, model, "geo", 2))


def sample(context):
    """What make_sample --tables writes is what its layout says, on whatever servers it comes to lie."""
    def make(servers, name, *more):
        words = ["-o", context.path(name), "--mesh", f"server={servers}", "--tables", "2000", *more]
        subprocess.run([sys.executable, MAKE_SAMPLE, *words], check=True, stdout=subprocess.DEVNULL)
    make(3, "three")
    make(7, "seven", "--layout-only")
    context.programs.reshard(context.path("three.json"), context.path("seven.json"), context.path("three"), context.path("seven"))
    make(7, "seven", "--check")
    with h5py.File(context.path("seven", "server_2.h5"), "r+") as file:
        file["embedding/value"][5, 3] += 1
    try:
        make(7, "seven", "--check")
    except subprocess.CalledProcessError:
        return
    raise Failure("make_sample --check finds no row that was changed")


def ways_of_shards(context):
    """Grouped by shard, the rows are the same on whatever way they came: by keys, by whole shards, over other servers."""
    generator = random.Random(context.options.seed)
    model = {name: random_table(generator, rows, "u8", "f4") for name, rows in (("embedding", 2000), ("embedding.x", 40))}
    spread = {name: servers_of(table, "geo", 3) for name, table in model.items()}
    write(context.path("src"), model, spread)
    start = checkpoints.write_layout(context.path("start.json"), layout("geo", 3))
    layouts, sources = {}, {}
    for place in SHARDS:
        to = {k: checkpoints.write_layout(context.path(f"{place}{k}.json"), layout(place, k, "shard")) for k in (1, 2, 5, 10)}
        found = {}
        for number, way in enumerate([(5,), (2, 5), (10, 5), (1, 10, 2, 5)]):
            at, source = start, context.path("src")
            for step in way:
                out = context.path(f"{place}_{number}_{step}")
                options = generator.choice([[], ["--memory", "1MiB", "--threads", "3"], ["--verify", "reread"]])
                context.programs.reshard(at, to[step], source, out, *options, ranks=generator.choice([0, 0, 2]))
                context.programs.run("ckpt-verify", out)
                at, source = to[step], out
            check_files(source, model, moved(spread, model, place, 5, "shard"), place)
            found[way] = {name: digest for name, digest in checkpoints.digests(source).items() if name.endswith(".h5")}
            check(found[way] == found[(5,)], f"{place}: over {way} came other bytes")
        context.programs.run("ckpt-verify", "--from", start, context.path("src"), source)
        layouts[place], sources[place] = to, source
    # The same shards, dealt to servers in another way: still whole.
    dealt, back = context.path("dealt"), context.path("dealt_back")
    context.programs.reshard(layouts["paddle"][5], layouts["deeprec"][2], sources["paddle"], dealt, ranks=2)
    check_files(dealt, model, moved(spread, model, "deeprec", 2, "shard"), "deeprec")
    context.programs.reshard(layouts["deeprec"][2], layouts["paddle"][5], dealt, back, "--memory", "1MiB")
    check_files(back, model, moved(spread, model, "paddle", 5, "shard"), "paddle")
    sums = [table_sums(path)["embedding"][1] for path in (sources["paddle"], dealt, back)]
    check(sums[0] is not None and sums[0] == sums[1] == sums[2], f"other sums by key where shards move whole: {sums}")
    moved_whole = context.programs.reshard(layouts["paddle"][5], layouts["deeprec"][2], sources["paddle"], context.path("none"),
                                           "--dry-run", "--verify", "none").stdout
    check("no key was read" in moved_whole, f"shards do not move whole: {moved_whole}")


def random_case(context, seed):
    generator = random.Random(seed)
    place = {side: generator.choice(list(PLACES)) for side in "ab"}
    count = {side: generator.choice([1, 2, 3, 4, 7, 12]) for side in "ab"}  # 12: more than some have shards
    model = {name: random_table(generator, generator.choice([0, 1, 5, 300, 3000]), generator.choice(["u8", "i8"]),
                                generator.choice(["f4", "f8"])) for name in ("embedding", "embedding.x")}
    any_place = generator.random() < 0.2
    order = {side: "shard" if place[side] in SHARDS and generator.random() < 0.5 else "source" for side in "ab"}
    if any_place:
        order["a"] = "source"
    shards_by = {side: place[side] if order[side] == "shard" else None for side in "ab"}
    spread = {name: servers_of(table, place["a"], count["a"]) for name, table in model.items()}
    if shards_by["a"]:
        spread = {name: [grouped(keys, place["a"]) for keys in servers] for name, servers in spread.items()}
    dense = {"w": np.arange(35, dtype="f4").reshape(5, 7), "step": np.array(7, "i8")}
    storage = generator.choice([{}, {"chunks": True, "compression": "gzip", "shuffle": True}])
    write(context.path("src"), model, spread, dense, shards_by["a"], **storage)
    a = checkpoints.write_layout(context.path("a.json"), layout("any" if any_place else place["a"], count["a"], order["a"]))
    b = checkpoints.write_layout(context.path("b.json"), layout(place["b"], count["b"], order["b"]))
    expected = moved(spread, model, place["b"], count["b"], order["b"])
    digests = None
    ways = [(0, ["--threads", "1", "--memory", "1GiB"]), (0, ["--threads", "4", "--memory", "1MiB"]),
            (generator.choice([2, 3, 7]), ["--memory", "16MiB"])]
    for number, (ranks, options) in enumerate(ways):
        out = context.path(f"dst{number}")
        context.programs.reshard(a, b, context.path("src"), out, *options, ranks=ranks)
        check_files(out, model, expected, shards_by["b"])
        check(np.array_equal(checkpoints.read_file(f"{out}/server_0.h5")["w"], dense["w"]), "the dense parameter is another")
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {options} wrote other bytes")
    context.programs.run("ckpt-verify", context.path("dst0"))
    back = moved(expected, model, place["a"], count["a"], order["a"])
    source = checkpoints.write_layout(context.path("back.json"), layout(place["a"], count["a"], order["a"]))
    context.programs.reshard(b, source, context.path("dst0"), context.path("back"), "--verify", "reread")
    check_files(context.path("back"), model, back, shards_by["a"])
    whole = context.path("merged.h5")
    context.programs.merge(a, context.path("src"), whole)
    context.programs.split(b, whole, context.path("split"))
    check_files(context.path("split"), model, moved(merged_order(spread, model, place["a"], order["a"]), model, place["b"],
                                                    count["b"], order["b"]), shards_by["b"])
    context.programs.run("ckpt-verify", "--from", a, context.path("src"), context.path("split"))
    sums = [table_sums(context.path(name)) for name in ("dst0", "back")]
    check(sums[0] == sums[1], "other sums by key after the way back")


def merged_order(spread, model, place, order):
    """The rows of all servers on one."""
    return {name: [grouped(sum(servers, []), place) if order == "shard" else sum(servers, [])] for name, servers in spread.items()}


def table_sums(directory):
    with open(os.path.join(directory, "checkpoint.json"), encoding="utf-8") as file:
        return {name: (table["rows"], table.get("fingerprints")) for name, table in json.load(file)["tables"].items()}
