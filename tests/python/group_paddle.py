"""Tables in Paddle's text against a dict of lines: whatever shard_num, servers, accessor, compression, threads, processes and memory, each
shard's file holds exactly the lines whose keys belong there, in the order of the source's shards."""
import gzip
import json
import os
import random

import checkpoints
import group_tables
import h5py
import numpy as np
from programs import check

EDGE_KEYS = [0, 1, 2**31, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]
CLASSES = ["CtrCommonAccessor", "SparseAccessor", "CtrDoubleAccessor", "CtrDymfAccessor"]
RULES = {"SparseNaiveSGDRule": lambda d: 0, "SparseAdaGradSGDRule": lambda d: 1, "StdAdaGradSGDRule": lambda d: d,
         "SparseAdamSGDRule": lambda d: 2 * d + 2, "SparseSharedAdamSGDRule": lambda d: 4}  # numbers of state of d weights


def server_of(shard, shard_num, servers):
    """As MemorySparseTable::InitializeValue deals out its shards."""
    average = shard_num // servers + (shard_num % servers != 0)
    return shard // average


def file_of(shard, shard_num, servers, ending, directory="000"):
    return f"{directory}/part-{server_of(shard, shard_num, servers):03}-{shard:05}{ending}"


def layout(accessor, shard_num, servers, ending):
    return {"ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]},
            "tables": [{"name": "embedding", "format": "paddle-text", "files": "000/part-{server:03}-{shard:05}" + ending,
                        "accessor": accessor, "axis": "server", "place": [{"mod": shard_num}, {"blocks": "ceil"}]}]}


def random_accessor(generator):
    kind = generator.choice(CLASSES)
    rules = ["SparseAdaGradSGDRule"] if kind == "CtrDoubleAccessor" else list(RULES)
    return {"class": kind, "embedx_dim": generator.randint(1, 9), "embed_rule": generator.choice(rules),
            "embedx_rule": generator.choice(rules)}


def random_line(generator, key, accessor):
    number = lambda: "%g" % (generator.uniform(-1, 1) * 10.0 ** generator.randint(-8, 8))
    numbers = [number() for _ in range(6 + RULES[accessor["embed_rule"]](1))]
    dims = accessor["embedx_dim"]
    if accessor["class"] == "CtrDymfAccessor":
        dims = generator.randint(0, dims)
        numbers.append(str(dims))
    if dims and generator.random() < 0.4:
        numbers += [number() for _ in range(dims + RULES[accessor["embedx_rule"]](dims))]
    return " ".join([str(key), *numbers]) + "\n"


def random_lines(generator, count, accessor):
    keys = set(generator.sample(EDGE_KEYS, min(count, len(EDGE_KEYS))))
    while len(keys) < count:
        keys.add(generator.getrandbits(64) >> generator.choice([0, 20, 45]))
    keys = list(keys)
    generator.shuffle(keys)
    return {key: random_line(generator, key, accessor) for key in keys}


def by_shard(keys, shard_num):
    shards = [[] for _ in range(shard_num)]
    for key in keys:
        shards[key % shard_num].append(key)
    return shards


def write(directory, lines, shards, servers, ending, below="000"):
    os.makedirs(os.path.join(directory, below))
    for shard, keys in enumerate(shards):
        text = "".join(lines[key] for key in keys).encode()
        with open(os.path.join(directory, file_of(shard, len(shards), servers, ending, below)), "wb") as file:
            file.write(gzip.compress(text) if ending else text)


def check_files(directory, lines, shards, servers, ending, below="000"):
    expected = [file_of(shard, len(shards), servers, ending, below) for shard in range(len(shards))]
    found = sorted(f"{below}/{name}" for name in os.listdir(os.path.join(directory, below)))
    check(found == sorted(expected), f"{directory} has the files {found}\nexpected {expected}")
    for name, keys in zip(expected, shards):
        with open(os.path.join(directory, name), "rb") as file:
            text = gzip.decompress(file.read()) if ending else file.read()
        check(text == "".join(lines[key] for key in keys).encode(), f"{directory}/{name}: other lines")


def moved(shards, shard_num):
    """Shard by shard of the source, each in its order."""
    return by_shard([key for keys in shards for key in keys], shard_num)


def sums(directory):
    with open(os.path.join(directory, "checkpoint.json"), encoding="utf-8") as file:
        table = json.load(file)["tables"]["embedding"]
    return table["rows"], table["fingerprints"]


def paddle(context):
    seeds = range(context.options.seed, context.options.seed + min(context.options.cases, 40))
    context.each(random_case, seeds)
    context.below("together").each(together, seeds)


def random_case(context, seed):
    generator = random.Random(seed)
    accessor = random_accessor(generator)
    lines = random_lines(generator, generator.choice([0, 1, 40, 2000]), accessor)
    sides = {side: (generator.choice([1, 2, 7, 10, 12, 37]), generator.choice([1, 3, 4, 50]), generator.choice(["", ".gz"])) for side in "ab"}
    paths = {side: checkpoints.write_layout(context.path(f"{side}.json"), layout(accessor, *sides[side])) for side in "ab"}
    shards = by_shard(lines, sides["a"][0])
    write(context.path("src"), lines, shards, *sides["a"][1:])
    expected = moved(shards, sides["b"][0])
    digests = None
    ways = [(0, []), (0, ["--threads", "4", "--memory", "32MiB"]), (generator.choice([2, 3]), ["--verify", "reread"])]
    for number, (ranks, options) in enumerate(ways):
        out = context.path(f"dst{number}")
        context.programs.reshard(paths["a"], paths["b"], context.path("src"), out, *options, ranks=ranks)
        check_files(out, lines, expected, *sides["b"][1:])
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {options} wrote other bytes")
    context.programs.reshard(paths["b"], paths["a"], context.path("dst0"), context.path("back"))
    check_files(context.path("back"), lines, moved(expected, sides["a"][0]), *sides["a"][1:])
    check(sums(context.path("dst0")) == sums(context.path("back")), "other sums of the lines after the way back")
    faulty(context, generator, lines, sides, paths)
    as_datasets(context, generator, lines, accessor, paths["a"])
    and_back(context, generator, lines, shards, accessor, sides["a"][0], paths["a"])
    scattered(context, generator, lines, accessor)


def rows_of(lines, accessor):
    """{table: {key: its numbers}}: what all rows have, and the tails by their tables."""
    always = 6 + RULES[accessor["embed_rule"]](1) + (accessor["class"] == "CtrDymfAccessor")
    tables = {"embedding": {}} if accessor["class"] == "CtrDymfAccessor" else {"embedding": {}, "embedding.x": {}}
    for key, line in lines.items():
        numbers = np.array(line.split()[1:], "f4")
        tables["embedding"][key] = numbers[:always].tobytes()
        if len(numbers) > always:
            table = f"embedding.x{int(numbers[always - 1])}" if accessor["class"] == "CtrDymfAccessor" else "embedding.x"
            tables.setdefault(table, {})[key] = numbers[always:].tobytes()
    return tables


def as_datasets(context, generator, lines, accessor, source):
    """As HDF5 on servers by another function; both are the same to ckpt-verify."""
    servers = generator.choice([1, 3, 4])
    order = {"order": "shard", "place": [{"mod": 12}, {"mod": "servers"}]} if generator.random() < 0.5 else {"place": [{"mod": "servers"}]}
    target = checkpoints.write_layout(context.path("h5.json"), {
        "ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]}, "files": "server_{server}.h5",
        "tables": [{"name": "embedding*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server", **order}]})
    out = context.path("datasets")
    context.programs.reshard(source, target, context.path("src"), out, "--memory", generator.choice(["1MiB", "64MiB"]),
                             ranks=generator.choice([0, 2]))
    tables = rows_of(lines, accessor)
    for server in range(servers):
        with h5py.File(f"{out}/server_{server}.h5") as file:
            check(set(file) == set(tables), f"{out}: the tables {set(file)}, expected {set(tables)}")
            for name, rows in tables.items():
                keys, values = file[name]["keys"][()].tolist(), file[name]["value"][()]
                wanted = sorted(key for key in rows if key % 12 % servers == server) if "order" in order else sorted(
                    key for key in rows if key % servers == server)
                check(sorted(keys) == wanted, f"{out}, server {server}: '{name}' has other keys")
                check(all(values[i].tobytes() == rows[key] for i, key in enumerate(keys)), f"{out}: '{name}' has other numbers")
    context.programs.run("ckpt-verify", "--from", source, context.path("src"), out)


def and_back(context, generator, lines, shards, accessor, shard_num, source):
    """Through datasets to the same text, on other servers."""
    servers, ending = generator.choice([1, 2, 5]), generator.choice(["", ".gz"])
    grouped = checkpoints.write_layout(context.path("grouped.json"), {
        "ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [2]}, "files": "server_{server}.h5",
        "tables": [{"name": "embedding*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server", "order": "shard",
                    "place": [{"mod": shard_num}, {"blocks": "ceil"} if generator.random() < 0.5 else {"mod": "servers"}]}]})
    text = checkpoints.write_layout(context.path("text.json"), layout(accessor, shard_num, servers, ending))
    context.programs.reshard(source, grouped, context.path("src"), context.path("grouped"))
    for digits in ("6", "9"):
        out = context.path(f"text{digits}")
        context.programs.reshard(grouped, text, context.path("grouped"), out, "--digits", digits, "--threads",
                                 generator.choice("14"), ranks=generator.choice([0, 0, 2]))
        if digits == "6":
            check_files(out, lines, shards, servers, ending)
        else:
            context.programs.run("ckpt-verify", "--from", source, context.path("src"), out)


def scattered(context, generator, lines, accessor):
    """Datasets whose rows lie in any order, and tails in another one, as text: shard by shard, in the rows' order."""
    servers, place = generator.choice([1, 2, 3]), generator.choice(["geo", "paddle", "split", "floor", "any"])
    tables = rows_of(lines, accessor)
    spread = {}
    for name, rows in tables.items():
        keys = generator.sample(list(rows), len(rows))
        server_of_key = {key: generator.randrange(servers) if place == "any" else group_tables.PLACES[place][1](key, None, servers)
                         for key in keys}
        spread[name] = [[key for key in keys if server_of_key[key] == server] for server in range(servers)]
    shard_num, ending = generator.choice([1, 3, 12, 200]), generator.choice(["", ".gz"])
    source = checkpoints.write_layout(context.path("scattered.json"), {
        "ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]}, "files": "server_{server}.h5",
        "tables": [{"name": "embedding*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server",
                    "place": place if place == "any" else group_tables.PLACES[place][0]}]})
    text = checkpoints.write_layout(context.path("of_scattered.json"), layout(accessor, shard_num, 2, ending))
    write_scattered(context.path("scattered"), tables, spread, accessor)
    shards = by_shard([key for keys in spread["embedding"] for key in keys], shard_num)
    digests = None
    ways = [(0, []), (0, ["--threads", "3", "--memory", "1MiB"]), (2, ["--verify", "reread"]), (3, ["--memory", "2MiB", "--threads", "1"])]
    for number, (ranks, options) in enumerate(ways):
        out = context.path(f"of_scattered{number}")
        context.programs.reshard(source, text, context.path("scattered"), out, *options, ranks=ranks)
        check_files(out, lines, shards, 2, ending)
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {options} wrote other bytes")
    if lines:
        plant(context, generator, tables, spread, accessor, source, text)


def write_scattered(directory, tables, spread, accessor):
    os.makedirs(directory)
    always = 6 + RULES[accessor["embed_rule"]](1) + (accessor["class"] == "CtrDymfAccessor")
    for server in range(len(spread["embedding"])):
        with h5py.File(f"{directory}/server_{server}.h5", "w") as file:
            for name, rows in tables.items():
                dims = int(name[len("embedding.x"):] or accessor["embedx_dim"]) if name != "embedding" else 0
                columns = dims + RULES[accessor["embedx_rule"]](dims) if dims else always
                keys = spread[name][server]
                file[f"{name}/keys"] = np.array(keys, "u8")
                file[f"{name}/value"] = np.frombuffer(b"".join(rows[key] for key in keys), "f4").reshape(len(keys), columns)


def plant(context, generator, tables, spread, accessor, source, text):
    """A row twice, or a tail of no row, is found, and nothing is left."""
    name = generator.choice(sorted(name for name in tables if tables[name]))
    server = generator.choice([server for server, keys in enumerate(spread[name]) if keys])
    key = generator.choice(spread[name][server])
    if name == "embedding" and any(key in rows for other, rows in tables.items() if other != name):
        spread[name][server].remove(key)
        wanted = f"key {key} is not in table 'embedding'"
    else:
        spread[name][server].append(key)
        wanted = f"key {key}"
    write_scattered(context.path("planted"), tables, spread, accessor)
    told = context.programs.reshard(source, text, context.path("planted"), context.path("none"), expect=1).stderr
    check(wanted in told, f"'{wanted}' is not in: {told}")
    check(not os.path.exists(context.path("none")), "something was published")


def together(context, seed):
    """Two tables of text, one of datasets and a dense parameter, in one job: as lines, rows or datasets, to other servers and back."""
    generator = random.Random(seed)
    names = {"embedding": "000", "words": "001"}
    accessors = {name: random_accessor(generator) for name in names}
    lines = {name: random_lines(generator, generator.choice([0, 3, 500]), accessors[name]) for name in names}
    rows = group_tables.random_table(generator, generator.choice([0, 200]), "u8", "f4")
    dense = np.arange(generator.randint(1, 50), dtype="f4")
    sides = {}
    for side in "ab":
        servers, place = generator.choice([1, 2, 3, 5]), generator.choice(["paddle37", "geo", "split"])
        of_rows = group_tables.layout(place, servers)
        made = {"ckpt_layout": 1, "mesh": of_rows["mesh"], "files": "server_{server}.h5", "parameters": of_rows["parameters"],
                "tables": [{**of_rows["tables"][0], "name": "rows"}]}
        shards = {}
        for name, below in names.items():
            shards[name] = (generator.choice([1, 4, 6, 10]), generator.choice(["", ".gz"]))
            entry = layout(accessors[name], shards[name][0], servers, shards[name][1])["tables"][0]
            made["tables"].append({**entry, "name": name, "files": entry["files"].replace("000", below)})
        sides[side] = (servers, place, shards, checkpoints.write_layout(context.path(f"{side}.json"), made))
    servers, place, shards, a = sides["a"]
    spread = {"rows": group_tables.servers_of(rows, place, servers)}
    group_tables.write(context.path("src"), {"rows": rows}, spread, {"w": dense})
    by_shards = {}
    for name, below in names.items():
        by_shards[name] = by_shard(lines[name], shards[name][0])
        write(context.path("src"), lines[name], by_shards[name], servers, shards[name][1], below)

    servers, place, shards, b = sides["b"]
    digests = None
    for number, (ranks, options) in enumerate([(0, []), (2, ["--verify", "reread", "--exchange", generator.choice(["direct", "mpi"])])]):
        out = context.path(f"dst{number}")
        context.programs.reshard(a, b, context.path("src"), out, *options, ranks=ranks)
        for name, below in names.items():
            check_files(out, lines[name], moved(by_shards[name], shards[name][0]), servers, shards[name][1], below)
        group_tables.check_files(out, {"rows": rows}, group_tables.moved(spread, {"rows": rows}, place, servers))
        with h5py.File(f"{out}/server_0.h5") as file:
            check((file["w"][()] == dense).all(), "another dense parameter")
        digests = digests or checkpoints.digests(out)
        check(checkpoints.digests(out) == digests, f"{ranks} ranks with {options} wrote other bytes")
    context.programs.run("ckpt-verify", context.path("dst0"))
    context.programs.run("ckpt-verify", "--from", a, context.path("src"), context.path("dst0"))
    datasets = checkpoints.write_layout(context.path("datasets.json"), {
        **group_tables.layout("geo", generator.choice([1, 4])), "tables": [{
            "name": "*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server", "place": [{"mod": "servers"}]}]})
    context.programs.reshard(a, datasets, context.path("src"), context.path("datasets"), ranks=generator.choice([0, 2]))
    context.programs.run("ckpt-verify", "--from", a, context.path("src"), context.path("datasets"))
    context.programs.run("ckpt-verify", "--from", b, context.path("dst0"), context.path("datasets"))


def faulty(context, generator, lines, sides, paths):
    """One line of another shard, or twice, is found."""
    shard_num = sides["a"][0]
    if not lines or shard_num == 1:
        return
    key = generator.choice(list(lines))
    shards = by_shard(lines, shard_num)
    home = key % shard_num
    target = generator.choice([home, (home + 1) % shard_num])
    shards[target].insert(generator.randint(0, len(shards[target])), key)
    if target != home:
        shards[home].remove(key)
    write(context.path("bad"), lines, shards, *sides["a"][1:])
    told = context.programs.reshard(paths["a"], paths["b"], context.path("bad"), context.path("none"), expect=1).stderr
    wanted = f"key {key} stands in line" if target == home else f"key {key}: lies in shard {target}"
    check(wanted in told and file_of(target, shard_num, *sides["a"][1:]) in told, f"expected '{wanted}':\n{told}")
    check(not os.path.exists(context.path("none")), "something was published")
