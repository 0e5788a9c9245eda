"""What the programs hold: with --memory 128MiB no process goes beyond that plus 64 MiB, whatever the checkpoint's size.

Metadata comes on top where there are very many tensors: a dry run says how much, and the job holds to it.
"""
import json
import os
import shutil
import struct
import sys

from group_cold import forget
from group_jobs import make_sample
from programs import check

PEAK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peak.py")
MEMORY_MIB, ALLOWANCE_MIB = 128, 64
EMPTY_MIB = 32  # of a program without a checkpoint


def memory(context):
    make_sample("-o", context.path("source"), "--mesh", "dp=8,tp=8", "--layers", "2", "--bytes", "1GiB")
    reshard = ["--to-mesh", "dp=7,tp=8"]
    measure(context, "ckpt-merge", [], 0)
    many_tensors(context)
    for ranks, exchange in ((0, "direct"), (2, "direct"), (2, "mpi")):
        measure(context, "ckpt-reshard", [*reshard, "--exchange", exchange], ranks)
        forget(context.path("source"))
        measure(context, "ckpt-reshard", [*reshard, "--exchange", exchange], ranks)


def many_tensors(context):
    """50,000 tensors of two cards: at most 1 KiB for each piece beyond what --memory says, and what the dry run says."""
    count, source = 50_000, context.path("many")
    header = {f"model.layers.{i // 100}.block.{i % 100}.weight":
              {"dtype": "F32", "shape": [2, 4], "data_offsets": [32 * i, 32 * i + 32]} for i in range(count)}
    text = json.dumps(header).encode()
    os.makedirs(source)
    for card in range(2):
        with open(os.path.join(source, f"rank_{card}.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + os.urandom(32 * count))
    layout, report = context.path("many.json"), context.path("many_report.json")
    with open(layout, "w", encoding="utf-8") as file:
        json.dump({"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [2]}, "files": "rank_{card}.safetensors",
                   "parameters": [{"name": "*", "split": ["tp"]}]}, file)
    words = ["--layout", layout, source, "-o", context.path("many.safetensors"), "--memory", "64MiB"]
    context.programs.run("ckpt-merge", *words, "--dry-run", "--report", report)
    with open(report, encoding="utf-8") as file:
        told = json.load(file)["peak_bytes"] / 2**20
    peaks = context.path("many_peaks")
    os.makedirs(peaks)
    context.programs.run("ckpt-merge", *words, before=[sys.executable, "-S", "-E", PEAK, peaks])
    (found,) = (int(open(os.path.join(peaks, name), encoding="utf-8").read()) / 1024 for name in os.listdir(peaks))
    print(f"{count} tensors: a peak of {found:.0f} MiB, the dry run says {told:.0f}")
    check(found <= told + ALLOWANCE_MIB, f"a peak of {found:.0f} MiB, the dry run says {told:.0f}")
    check(found <= 64 + EMPTY_MIB + count * 2 / 1024, f"a peak of {found:.0f} MiB for {count} tensors")


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
