"""Paddle's text to another shard_num, beside awk; and tables of which a condition leaves out rows, beside numpy."""
import json
import sys

import measure
import table_cases
from measure import Side
from rows import NUMPY, Case, versus
from workspace import HERE, warm

SOURCE_SHARDS, TARGET_SHARDS, SERVERS = 1000, 1024, 4
COLUMNS = [f"c{i}" for i in range(25)]
CONDITION = "(c0 - c1) * 0.1 + c1 >= 1e-19 and c2 <= 1"


def line_count(quick):
    return 10**5 if quick else 6 * 10**6


def script(*words):
    return [sys.executable, HERE / "text_data.py", *words]


def layout(space, shards):
    path = space.path(f"text-{shards}.json")
    rule = "SparseAdaGradSGDRule"
    path.write_text(json.dumps({
        "ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [SERVERS]},
        "tables": [{"name": "embedding", "format": "paddle-text", "files": "000/part-{server:03}-{shard:05}",
                    "accessor": {"class": "SparseAccessor", "embedx_dim": 8, "embed_rule": rule, "embedx_rule": rule},
                    "axis": "server", "place": [{"mod": shards}, {"blocks": "ceil"}]}]}))
    return path


def source(space):
    path = space.path("text")
    if not path.exists():
        space.require_space(4 * line_count(space.quick) * 160)
        measure.run(script("make", line_count(space.quick), SOURCE_SHARDS, SERVERS, path))
    warm(path / "000")
    return path


def awk(space):
    """One process that reads all files once, and keeps all outputs open."""
    output, text = space.path("rival"), source(space)
    program = ('BEGIN { for (i = 0; i < shards; ++i) name[i] = sprintf("%s/000/part-%03d-%05d", out, int(i / each), i) } '
               "{ print > name[$1 % shards] }")
    words = f"mkdir -p {output}/000 && ulimit -n 4096 && LC_ALL=C exec awk -v shards={TARGET_SHARDS} -v each={-(-TARGET_SHARDS // SERVERS)} " \
            f"-v out={output} '{program}' {text}/000/part-*"
    return Side(["sh", "-c", words], output)


def text(case, space, options):
    lines = line_count(space.quick)
    output = space.path("out")
    ours = Side([space.program("ckpt-reshard"), "-q", "--no-fsync", "--from", layout(space, SOURCE_SHARDS), "--to", layout(space, TARGET_SHARDS),
                 source(space), "-o", output], output)
    check = lambda: measure.run(script("check", lines, TARGET_SHARDS, SERVERS, output))  # noqa: E731
    size = sum(path.stat().st_size for path in source(space).rglob("part-*"))
    return [versus(case, space, options, ours, ("awk", awk(space)), check, 1 / 10, bytes=size,
                   definition=f"{lines:,} lines of {size // lines} bytes in {SOURCE_SHARDS:,} files → {TARGET_SHARDS:,}: wall of ckpt-reshard, "
                   "which checks every line, compares what it has written with what it has read, and writes fingerprints / wall of one awk "
                   "(mawk) that prints each line to the file of its key modulo the number of shards")]


def filters(case, space, options):
    rows = table_cases.row_count(space.quick)
    servers = 7
    output, other = space.path("out"), space.path("rival")
    paths = {count: space.path(f"filter-{count}.json") for count in (table_cases.SOURCE_SERVERS, servers)}
    for count, path in paths.items():
        path.write_text(json.dumps({
            "ckpt_layout": 1, "mesh": {"axes": ["server"], "shape": [count]}, "files": "server_{server}.h5",
            "tables": [{"name": "*", "keys": "{name}/keys", "rows": ["{name}/*"], "axis": "server",
                        "place": [{"mod": table_cases.SOURCE_SHARDS}, {"blocks": "ceil"}], "fields": {"{name}/value": COLUMNS}}]}))
    table = table_cases.source(space)
    ours = Side([space.program("ckpt-reshard"), "-q", "--no-fsync", "--from", paths[table_cases.SOURCE_SERVERS], "--to", paths[servers],
                 "--keep", f"embedding: {CONDITION}", table, "-o", output], output)
    rival = Side(table_cases.script("filter", table, table_cases.SOURCE_SHARDS, servers, other), other)
    check = lambda: measure.run(table_cases.script("check-filter", table, table_cases.SOURCE_SHARDS, servers, output))  # noqa: E731
    return [versus(case, space, options, ours, (NUMPY, rival), check, 1 / 8, bytes=rows * table_cases.ROW_BYTES,
                   definition=f"{rows:,} rows of {table_cases.ROW_BYTES} bytes, of which those stay for which {CONDITION}, → {servers} servers: wall of "
                   "ckpt-reshard --keep / wall of a numpy script that reads all rows, masks them, sorts them by server and writes them, its "
                   "imports included")]


CASES = {"tables-text": Case(text, lambda quick: [], "Paddle's text, shard_num 1000 → 1024: wall of ckpt-reshard / awk"),
         "tables-filter": Case(filters, lambda quick: [], "rows by key for which a condition holds: wall of ckpt-reshard --keep / numpy")}
