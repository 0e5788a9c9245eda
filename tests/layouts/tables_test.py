#!/usr/bin/python3
"""The ready layouts of tables by key: files as each system deals out its keys, by its own function as its sources have it, go to other
servers as that system itself would have dealt them; a layout with another system's function is refused.

    tables_test.py --bin DIR [--only NAME]
"""
import argparse
import os
import random
import sys

import h5py
import numpy as np

import harness
from harness import Failure, ready_layout

EDGES = [0, 1, 2**31 - 1, 2**31, 2**62 + 7]
BEYOND = [2**63 - 1, 2**63, 2**63 + 5, 2**64 - 1]


def c_remainder(a, b):
    """C's % of 64-bit numbers with a sign: towards zero."""
    return int(np.fmod(np.int64(a), np.int64(b)))


def signed(key):
    return int(np.uint64(key).astype(np.int64))


# name → keys that it may have, and server of (key, slot, servers): as the sources that layouts/README.md names have it
SYSTEMS = {
    "paddle-tables": (EDGES + BEYOND, lambda key, slot, n: (key % 1000) // (1000 // n + (1000 % n != 0))),
    "paddle-geo": (EDGES + BEYOND, lambda key, slot, n: key % n),
    "torchrec-row-wise": ([0, 1, 3999999], lambda key, slot, n: key // ((4000000 + n - 1) // n)),
    "torchrec-bucketized": (EDGES + BEYOND, lambda key, slot, n: (key % 1024) // (1024 // n)),
    "deeprec": (EDGES, lambda key, slot, n: c_remainder(key, 1000) % n),
    "hugectr-distributed": (EDGES, lambda key, slot, n: key % n),
    "hugectr-localized": (EDGES, lambda key, slot, n: slot % n),
    "monolith": (EDGES + BEYOND, lambda key, slot, n: signed(key) - n * int(np.floor_divide(np.int64(signed(key)), np.int64(n)))),
    "tfra-cuda": (EDGES + BEYOND, lambda key, slot, n: (signed(key) & 0x7fffffff) % n),
}
BUCKETS = {"torchrec-bucketized": 1024, "deeprec": 1000}  # those that save their rows by bucket
OTHER = {"paddle-tables": "paddle-geo", "paddle-geo": "paddle-tables", "monolith": "paddle-geo", "tfra-cuda": "monolith",
         "hugectr-localized": "hugectr-distributed", "torchrec-row-wise": "paddle-geo"}


def rows_of(name):
    generator = random.Random(name)
    edges, _ = SYSTEMS[name]
    top = 4000000 if name == "torchrec-row-wise" else 2**63 if BEYOND[-1] not in edges else 2**64
    keys = list(dict.fromkeys(edges + [generator.randrange(top) >> generator.choice([0, 20, 40]) for _ in range(300)]))
    generator.shuffle(keys)
    return [(key, generator.randrange(26)) for key in keys]


def dealt(name, rows, servers):
    """What each server's file holds."""
    files = {}
    axis = ready_layout(name)["mesh"]["axes"][0]
    for server in range(servers):
        own = [(key, slot) for key, slot in rows if SYSTEMS[name][1](key, slot, servers) == server]
        arrays = {}
        if name in BUCKETS:
            count = BUCKETS[name]
            buckets = [b for b in range(count) if SYSTEMS[name][1](b, 0, servers) == server]
            own = sorted(own, key=lambda row: row[0] % count)
            ends = np.cumsum([0] + [sum(key % count == b for key, _ in own) for b in buckets])
            arrays["user/shard_offsets"] = ends.astype("u8")
        keys = np.array([key for key, _ in own], "u8")
        arrays.update({"user/keys": keys, "user/value": (keys[:, None] * np.arange(1, 8, dtype="u8")).astype("u4").view("f4"),
                       "user/slot_id": np.array([slot for _, slot in own], "i4")})
        if server == 0:
            arrays["dense/w"] = np.arange(12, dtype="f4").reshape(3, 4)
        files[f"{axis}_{server}.h5"] = arrays
    return files


def rows_on_files(path):
    with h5py.File(path, "r") as file:
        order = np.argsort(file["user/keys"][()], kind="stable")
        parts = [file[f"user/{part}"][()][order] for part in ("keys", "value", "slot_id")]
        return [part.tobytes() for part in parts] + [file["user/shard_offsets"][()].tobytes() if "user/shard_offsets" in file else b""]


def expect(what, directory, files):
    for name, arrays in files.items():
        order = np.argsort(arrays["user/keys"], kind="stable")
        wanted = [arrays[f"user/{part}"][order].tobytes() for part in ("keys", "value", "slot_id")]
        wanted.append(arrays["user/shard_offsets"].tobytes() if "user/shard_offsets" in arrays else b"")
        if rows_on_files(os.path.join(directory, name)) != wanted:
            raise Failure(f"{what}, {name}: other rows than the system would have there")


def on(name, servers):
    layout = ready_layout(name)
    layout["mesh"]["shape"] = [servers]
    return layout


def case(name):
    def check(workplace):
        rows = rows_of(name)
        source = workplace.sample(dealt(name, rows, 4))
        for servers in (1, 2, 8, 16) if name == "torchrec-bucketized" else (1, 3, 7):
            out = workplace.reshard(source, ready_layout(name), on(name, servers))
            expect(f"on {servers}", out, dealt(name, rows, servers))
            back = workplace.reshard(out, on(name, servers), ready_layout(name))
            expect(f"from {servers} on 4 again", back, dealt(name, rows, 4))
        merged = workplace.merge(source, ready_layout(name))
        expect("merged and split", workplace.split(merged, ready_layout(name)), dealt(name, rows, 4))
        if name in OTHER:
            refused(workplace, name)

    return check


def paddle_text(workplace):
    """The files that Paddle's servers would have saved: shard by shard, the names with the server that has it."""
    def names(shard_num, servers):
        average = shard_num // servers + (shard_num % servers != 0)
        return [f"000/part-{shard // average:03}-{shard:05}" for shard in range(shard_num)]

    keys = [key for key, _ in rows_of("paddle-tables")]
    source = workplace.path()
    os.makedirs(os.path.join(source, "000"))
    for shard, name in enumerate(names(1000, 4)):
        with open(os.path.join(source, name), "w", encoding="ascii") as file:
            file.writelines(f"{key} 101 0 0.5 3 1 -0.25 0.0625\n" for key in keys if key % 1000 == shard)
    for shard_num, servers in ((1000, 7), (1024, 4), (37, 3)):
        layout = on("paddle-text", servers)
        layout["tables"][0]["place"][0]["mod"] = shard_num
        out = workplace.reshard(source, ready_layout("paddle-text"), layout)
        for shard, name in enumerate(names(shard_num, servers)):
            with open(os.path.join(out, name), encoding="ascii") as file:
                found = sorted(int(line.split()[0]) for line in file)
            if found != sorted(key for key in keys if key % shard_num == shard):
                raise Failure(f"shard_num {shard_num}, {name}: other keys than Paddle would have there")


def refused(workplace, name):
    """On three servers: by 4, some of these functions have the same remainders."""
    source = workplace.sample(dealt(name, rows_of(name), 3))
    wrong = on(name, 3)
    wrong["tables"][0]["place"] = ready_layout(OTHER[name])["tables"][0]["place"]
    try:
        workplace.reshard(source, wrong, on(name, 2))
    except Failure as failure:
        if "which belongs on server" not in str(failure):
            raise
    else:
        raise Failure(f"with the place of {OTHER[name]} it is taken")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="where ckpt-merge, ckpt-split and ckpt-reshard are")
    parser.add_argument("--only", help="only the cases whose name holds this")
    arguments = parser.parse_args()
    return harness.run_cases({**{name: case(name) for name in SYSTEMS}, "paddle-text": paddle_text}, arguments.bin, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
