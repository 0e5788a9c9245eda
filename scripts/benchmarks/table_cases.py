"""Tables by key: rows of 108 bytes that go to other servers."""
import json
import sys

import measure
from measure import Side
from rows import COPY, MIB, NUMPY, Case, Row, cp, versus
from workspace import HERE, warm

ROW_BYTES = 108
SOURCE_SHARDS, SOURCE_SERVERS = 1000, 4
MEMORY_MIB = 64
WAYS = {"4 → 7": (1000, 7), "mod 1000 → 1024": (1024, 4)}


def row_count(quick):
    return 3 * 10**6 if quick else 10**7


def script(*words):
    return [sys.executable, HERE / "table_data.py", *words]


def source(space):
    path = space.path("table")
    if not path.exists():
        rows = row_count(space.quick)
        space.require_space(3 * rows * ROW_BYTES)
        measure.run(script("make", rows, SOURCE_SHARDS, SOURCE_SERVERS, path))
    warm(path)
    return path


def layout(space, shards, servers):
    path = space.path(f"table-{shards}-{servers}.json")
    path.write_text(json.dumps({
        "ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [servers]}, "files": "server_{server}.h5",
        "tables": [{"name": "*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server",
                    "place": [{"mod": shards}, {"blocks": "ceil"}]}]}))
    return path


def ours(space, shards, servers, *options):
    output = space.path("out")
    return Side([space.program("ckpt-reshard"), "-q", "--no-fsync", *options, "--from", layout(space, SOURCE_SHARDS, SOURCE_SERVERS),
                 "--to", layout(space, shards, servers), source(space), "-o", output], output)


def tables(case, space, options):
    rows, found = row_count(space.quick), []
    data = f"{rows:,} rows of {ROW_BYTES} bytes on {SOURCE_SERVERS} servers by key mod {SOURCE_SHARDS}"
    for way, (shards, servers) in WAYS.items():
        side, other = ours(space, shards, servers), space.path("rival")
        rivals = [("cp -r", cp(source(space), other), 1.6, COPY),
                  (NUMPY, Side(script("by-hand", source(space), shards, servers, other), other), 1 / 8,
                   "wall of a numpy script that reads all rows, sorts them by server (argsort) and writes them, its imports included")]
        for name, rival, goal, text in rivals:
            check = lambda: measure.run(script("check", rows, shards, servers, side.output))  # noqa: E731
            found.append(versus(case, space, options, side, (name, rival), check, goal, variant=way, bytes=rows * ROW_BYTES,
                                definition=f"{data} → {servers} servers by key mod {shards}: wall of ckpt-reshard / {text}"))
    return found + [census(case, space, options, data), memory(case, space, options, data)]


def census(case, space, options, data):
    """A dry run reads all keys, checks and counts them."""
    side = ours(space, *WAYS["4 → 7"], "--dry-run")
    runs = [measure.run(side.command) for _ in range(options.pairs)]
    seconds, bound = min(run.seconds for run in runs), row_count(space.quick) / 1e8
    return Row(case, variant="census", goal="≤ 1", met=seconds <= bound, seconds=seconds, rival="bound: 10^8 keys/s", ratio=seconds / bound,
               bytes=row_count(space.quick) * 8, peak_bytes=max(run.peak_bytes for run in runs),
               definition=f"{data}: wall of ckpt-reshard --dry-run, which reads, places and counts all keys and looks for those that "
               "stand twice / keys / 10^8")


def memory(case, space, options, data):
    side = ours(space, *WAYS["4 → 7"], "--memory", f"{MEMORY_MIB}MiB")
    run, bound = measure.produce(side), (MEMORY_MIB + 64) * MIB
    measure.remove(side.output)
    return Row(case, variant="memory", goal="≤ 1", met=run.peak_bytes <= bound, seconds=run.seconds, rival=f"bound: {bound // MIB} MiB",
               ratio=run.peak_bytes / bound, bytes=row_count(space.quick) * ROW_BYTES, peak_bytes=run.peak_bytes,
               definition=f"{data}: largest resident memory of ckpt-reshard --memory {MEMORY_MIB}MiB / ({MEMORY_MIB} + 64 MiB)")


CASES = {"tables": Case(tables, lambda quick: [], "rows by key, 4 → 7 servers, mod 1000 → mod 1024: wall of ckpt-reshard / cp -r, numpy; census; memory")}
