"""One file that several processes write, each its part: the same bytes as from one process, in every format."""
import filecmp
import json
import os

from group_jobs import make_sample
from programs import check


def parts(context):
    """32 MiB on four cards: so much that three processes have 10 MiB each, and cuts fall into arrays."""
    source = context.path("source")
    make_sample("-o", source, "--mesh", "dp=2,tp=2", "--layers", "2", "--bytes", "32MiB")
    layout = f"{source}.json"
    for ending in ("h5", "safetensors", "pt", "ckpt"):
        alone = context.path(f"alone.{ending}")
        merge(context, layout, source, alone, 0)
        for ranks, more in ((2, []), (3, ["--verify", "reread"]), (5, ["--exchange", "mpi"])):
            output = context.path(f"ranks{ranks}.{ending}")
            report = merge(context, layout, source, output, ranks, more)
            check(filecmp.cmp(alone, output, shallow=False), f"{output} differs from what one process writes")
            check(report["bytes_written"] == json_of(f"{alone}.report")["bytes_written"], "bytes are written twice")
            if ranks == 2:  # each reads and writes half, but for 1 MiB to which a cut is rounded
                busiest, mean = dry_run(context, layout, source, ranks)
                check(busiest <= mean + (2 << 20), f"the busiest process moves {busiest} bytes, the mean is {mean}")
            os.remove(output)
    few_files(context, layout, source)


def few_files(context, layout, source):
    """Two files and three processes: one of them writes a part of both."""
    words = ["ckpt-reshard", "--from", layout, "--to-mesh", "dp=1,tp=2", source, "-o"]
    alone, together = context.path("alone"), context.path("together")
    context.programs.run(*words, alone)
    context.programs.run(*words, together, ranks=3)
    names = [name for name in os.listdir(alone) if name.endswith(".h5")]
    check(len(names) == 2, f"found {names}")
    for name in [*names, "checkpoint.json"]:
        check(filecmp.cmp(f"{alone}/{name}", f"{together}/{name}", shallow=False), f"{name} differs")
    context.programs.run("ckpt-verify", together)


def merge(context, layout, source, output, ranks, more=()):
    context.programs.run("ckpt-merge", "--layout", layout, source, "-o", output, "--report", f"{output}.report", *more,
                         ranks=ranks)
    return json_of(f"{output}.report")


def dry_run(context, layout, source, ranks):
    report = context.path("plan.json")
    context.programs.run("ckpt-merge", "--layout", layout, source, "-o", context.path("none.h5"), "--dry-run", "--report",
                         report, ranks=ranks)
    plan = json_of(report)
    return plan["busiest_process_bytes"], (plan["bytes_to_write"] + plan["bytes_to_read"]) / ranks


def json_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
