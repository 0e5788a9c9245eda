#!/usr/bin/python3
"""Tables as a C++ program with an ostream saves them, of each accessor: into datasets, with the numbers that Paddle reads, and back to the
same bytes; whole lines to another shard_num."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

CLASSES = ["CtrCommonAccessor", "SparseAccessor", "CtrDoubleAccessor", "CtrDymfAccessor"]
RULE = "SparseAdaGradSGDRule"
DIMS, SHARDS, SERVERS, ROWS = 5, 12, 5, 2000


def layout(kind, shards, servers):
    accessor = {"class": kind, "embedx_dim": DIMS, "embed_rule": RULE, "embedx_rule": RULE}
    return {"ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]},
            "tables": [{"name": "t", "format": "paddle-text", "files": "000/part-{server:03}-{shard:05}", "accessor": accessor,
                        "axis": "server", "place": [{"mod": shards}, {"blocks": "ceil"}]}]}


def lines_in(directory):
    return [line for file in sorted((directory / "000").iterdir()) for line in file.read_text().splitlines()]


def check(is_right, what):
    if not is_right:
        sys.exit(f"FAILED: {what}")


def check_numbers(datasets, lines, kind):
    """What strtof makes of each word: numpy rounds a decimal number through f64, which for these is the same."""
    always = 8 if kind == "CtrDymfAccessor" else 7
    expected = collections.defaultdict(dict)
    for line in lines:
        words = line.split(" ")
        numbers = np.array(words[1:], "f8").astype("f4")
        expected["t"][int(words[0])] = numbers[:always].tobytes()
        if len(numbers) > always:
            tail = f"t.x{len(numbers) - always - 1}" if kind == "CtrDymfAccessor" else "t.x"
            expected[tail][int(words[0])] = numbers[always:].tobytes()
    found = collections.defaultdict(dict)
    for file in datasets.glob("*.h5"):
        with h5py.File(file) as opened:
            for table in opened:
                for key, row in zip(opened[table]["keys"][()].tolist(), opened[table]["value"][()]):
                    found[table][key] = row.tobytes()
    check(found == expected, f"{kind}: other rows or numbers in datasets")


def case(options, directory, kind):
    source = directory / kind
    os.makedirs(source / "000")
    subprocess.run([options.saver, kind, str(DIMS), str(SHARDS), str(SERVERS), str(ROWS), source / "000"], check=True)
    datasets = {"ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [3]}, "files": "server_{server}.h5",
                "tables": [{"name": "t*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server", "order": "shard",
                            "place": [{"mod": SHARDS}, {"blocks": "ceil"}]}]}
    for name, made in (("text", layout(kind, SHARDS, SERVERS)), ("other", layout(kind, 8, 3)), ("h5", datasets)):
        (directory / f"{name}.json").write_text(json.dumps(made))

    def reshard(came_from, to, out):
        words = ["-q", "--from", directory / f"{came_from[0]}.json", "--to", directory / f"{to}.json", came_from[1], "-o", out]
        subprocess.run([options.bin / "ckpt-reshard", *words], check=True)
        return to, out
    lines = lines_in(source)
    check(len(lines) == ROWS, f"{kind}: {len(lines)} lines")
    here = ("text", source)
    there = reshard(here, "h5", directory / f"{kind}_h5")
    check_numbers(there[1], lines, kind)
    back = reshard(there, "text", directory / f"{kind}_back")
    other = reshard(here, "other", directory / f"{kind}_other")
    again = reshard(other, "text", directory / f"{kind}_again")
    for file in sorted((source / "000").iterdir()):
        check(file.read_bytes() == (back[1] / "000" / file.name).read_bytes(), f"{kind}: {file.name} has other bytes after the way back")
        check(sorted(file.read_text().splitlines()) == sorted((again[1] / "000" / file.name).read_text().splitlines()),
              f"{kind}: {file.name} has other lines by way of another shard_num")
    print(f"{kind}: {ROWS} lines, {len({line.count(' ') for line in lines})} lengths")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--saver", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckpt_saver_") as directory:
        for kind in CLASSES:
            case(options, pathlib.Path(directory), kind)


if __name__ == "__main__":
    main()
