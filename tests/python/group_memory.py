"""What the programs hold: with --memory 128MiB no process goes beyond that plus 64 MiB, whatever the checkpoint."""
import os
import shutil
import sys

from group_cold import forget
from group_jobs import make_sample
from programs import check

PEAK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peak.py")
MEMORY_MIB, ALLOWANCE_MIB = 128, 64


def memory(context):
    make_sample("-o", context.path("source"), "--mesh", "dp=8,tp=8", "--layers", "2", "--bytes", "1GiB")
    reshard = ["--to-mesh", "dp=7,tp=8"]
    measure(context, "ckpt-merge", [], 0)
    for ranks, exchange in ((0, "direct"), (2, "direct"), (2, "mpi")):
        measure(context, "ckpt-reshard", [*reshard, "--exchange", exchange], ranks)
        forget(context.path("source"))
        measure(context, "ckpt-reshard", [*reshard, "--exchange", exchange], ranks)


def measure(context, program, more, ranks):
    """Each process's own peak of resident memory, mapped pages included, as the kernel counts it."""
    layout = "--layout" if program == "ckpt-merge" else "--from"
    output, peaks = context.path("out.h5"), context.path("peaks")
    os.makedirs(peaks)
    context.programs.run(program, layout, context.path("source.json"), context.path("source"), "-o", output, *more,
                         "--memory", f"{MEMORY_MIB}MiB", "--no-fsync", ranks=ranks,
                         before=[sys.executable, "-S", "-E", PEAK, peaks])
    found = [int(open(os.path.join(peaks, name), encoding="utf-8").read()) / 1024 for name in os.listdir(peaks)]
    what = f"{program} {' '.join(more)} with {ranks} ranks: peaks of {[round(peak) for peak in found]} MiB"
    print(what)
    check(len(found) == max(1, ranks), f"{what}: some process was not measured")
    check(max(found) <= MEMORY_MIB + ALLOWANCE_MIB, f"{what}, expected at most {MEMORY_MIB + ALLOWANCE_MIB}")
    shutil.rmtree(peaks)
    shutil.rmtree(output) if os.path.isdir(output) else os.remove(output)
