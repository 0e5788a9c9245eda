"""The tables of make_sample: a sparse embedding as PaddlePaddle's parameter servers have it, with the tails that some of its keys have, and a
dense parameter beside it. Keys are a hash of their number and rows a hash of their key, so that any run can say what any row must be."""
import json
import os
import sys

import h5py
import numpy as np

SHARDS = 1000
FIELDS = ["slot", "unseen_days", "delta_score", "show", "click", "embed_w", "embed_g2sum"]
LAYOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "layouts", "paddle-tables.json")


def mixed(numbers):
    """SplitMix64's finalizer: different numbers stay different."""
    with np.errstate(over="ignore"):
        x = numbers.astype("u8") + np.uint64(0x9e3779b97f4a7c15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return x ^ (x >> np.uint64(31))


def keys_of(options):
    return mixed(np.arange(options.tables, dtype="u8") + np.uint64(options.seed << 40))


def servers_of(keys, servers):
    return keys % np.uint64(SHARDS) // np.uint64(-(-SHARDS // servers))


def column(keys, number, below):
    return (mixed(keys ^ np.uint64(number + 1)) % np.uint64(below)).astype("f4")


def rows_of(keys):
    """Most keys are rare: show is one over a uniform number."""
    show = np.float32(1000) / (1 + column(keys, 3, 1000))
    click = show * column(keys, 4, 100) / np.float32(200)
    score = (show - click) * np.float32(0.1) + click
    columns = [column(keys, 0, 300), column(keys, 1, 40), score * column(keys, 2, 100) / np.float32(100), show, click,
               column(keys, 5, 1 << 20) / np.float32(1 << 20) - np.float32(0.5), column(keys, 6, 1 << 10)]
    return np.stack(columns, axis=1).astype("f4")


def tails_of(keys):
    return np.stack([column(keys, 16 + i, 1 << 20) / np.float32(1 << 20) for i in range(9)], axis=1).astype("f4")


def tables_of(options, server, servers):
    """name → keys and rows of one server."""
    keys = keys_of(options)
    keys = keys[servers_of(keys, servers) == server]
    with_tail = keys[mixed(keys) % np.uint64(4) == 0]
    return {"embedding": (keys, rows_of(keys)), "embedding.x": (with_tail, tails_of(with_tail))}


def dense():
    return np.arange(35, dtype="f4").reshape(5, 7)


def servers(options):
    if len(options.mesh.axes) != 1:
        sys.exit("make_sample: --tables lie on one axis of servers: say for example --mesh server=4")
    return options.mesh.shape[0]


def write_layout(options):
    with open(LAYOUT, encoding="utf-8") as file:
        layout = json.load(file)
    axis = options.mesh.axes[0]
    layout["mesh"] = {"axes": [axis], "shape": options.mesh.shape}
    layout["files"] = "server_{%s}.h5" % axis
    layout["tables"][0].update(name="embedding*", axis=axis)
    layout["parameters"] = [{"name": "*", "at": {axis: 0}}]
    path = options.layout or options.output.rstrip("/") + ".json"
    with open(path, "w", encoding="utf-8") as out:
        json.dump(layout, out, indent=2)
        out.write("\n")
    return path


def write_files(options):
    for server in range(servers(options)):
        with h5py.File(f"{options.output}/server_{server}.h5", "w") as file:
            for name, (keys, rows) in tables_of(options, server, servers(options)).items():
                file[f"{name}/keys"], file[f"{name}/value"] = keys, rows
            if server == 0:
                file["fc.weight"] = dense()


def check_files(options):
    """In whatever order a server has its rows."""
    for server in range(servers(options)):
        path = f"{options.output}/server_{server}.h5"
        with h5py.File(path, "r") as file:
            for name, (keys, rows) in tables_of(options, server, servers(options)).items():
                found, order = np.sort(file[f"{name}/keys"][()]), np.argsort(file[f"{name}/keys"][()])
                if not np.array_equal(found, np.sort(keys)):
                    sys.exit(f"make_sample: {path}: {name} has {len(found)} other keys than the {len(keys)} expected")
                if file[f"{name}/value"][()][order].tobytes() != rows[np.argsort(keys)].tobytes():
                    sys.exit(f"make_sample: {path}: {name}: rows of other keys")
            if server == 0 and not np.array_equal(file["fc.weight"][()], dense()):
                sys.exit(f"make_sample: {path}: fc.weight is another")
    print(f"{options.output}: {servers(options)} files hold exactly the rows that such servers would have")
