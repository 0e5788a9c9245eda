"""The cases: each makes its rows of the table. A ratio below 1 means that we are faster, or below the bound."""
import json
import os
import pathlib
import subprocess

import average_cases
import count_cases
import flat_cases
import format_cases
import hosts_cases
import launch_cases
import measure
import mindspore_cases
import names_cases
import network_cases
import saver_cases
import storage_cases
import table_cases
import text_cases
import torch_cases
import transposed_cases
import view_cases
from jobs import COLUMNS, FEW_CARDS, GPT56, GPT64, MAIN, MPIRUN, Job, merging, splitting
from measure import Side
from models import Mesh
from rows import COPY, MIB, Case, Row, copies_at_once, cp, data_text, size_of, versus

LAYOUTS = pathlib.Path(__file__).resolve().parents[2] / "layouts"
BY_HAND = "wall of the numpy script, its imports included"


# --- cases that reshard beside a rival that reads the same source ---------------------------------------------------

def reshard(job, goal, text, launcher=(), rival=Job.copy):
    def run(case, space, options):
        output = space.path("out")
        return [versus(case, space, options, job.side(space, output, launcher), rival(job, space),
                       space.checker(job.model, job.target, output), goal, job.limit(space) if rival is Job.copy else None,
                       bytes=job.bytes(space), definition=f"{job.text(space)}: {text}")]
    return Case(run, lambda quick: [(job.model, job.source)], text)


def merge(case, space, options):
    output = space.path("merged.h5")
    return [versus(case, space, options, merging(space, "gpt", GPT64, output), MAIN.copy(space),
                   space.checker("gpt", "whole", output), 1.0, MAIN.limit(space), bytes=MAIN.bytes(space),
                   definition=f"64 (8×8) → one file, {data_text(space, 'gpt', GPT64)}: wall of ckpt-merge / {COPY}")]


def split(case, space, options):
    output, source = space.path("out"), space.checkpoint("gpt", "card=1") / "rank_0.h5"
    return [versus(case, space, options, splitting(space, output), ("cp -r", cp(source, space.path("rival"))),
                   space.checker("gpt", GPT56, output), 0.8, copies_at_once(source.parent, space.path("rival")),
                   bytes=space.bytes_of("gpt", "card=1"),
                   definition=f"one file → 56 (7×8), {data_text(space, 'gpt', 'card=1')}: "
                   f"wall of ckpt-split / {COPY}")]


def exchange_mpi(case, space, options):
    """Each of two ranks has a directory with links to half of the files: consecutive cards, as nodes hold them."""
    output, source = space.path("out"), space.checkpoint("gpt", GPT64)
    halves = [space.path("node0"), space.path("node1")]
    for half in halves:
        half.mkdir()
    cards = Mesh.of(GPT64).cards
    for card in range(cards):
        os.link(source / f"rank_{card}.h5", halves[card * 2 // cards] / f"rank_{card}.h5")
    program = [space.program("ckpt-reshard"), "-q", "--no-fsync", "--exchange", "mpi",
               "--from", space.layout("gpt", GPT64), "--to", space.layout("gpt", GPT56)]
    # By rank, in one program: Debian 13's mpirun (PRRTE 3.0.8) crashes on `mpirun A : B`.
    ours = Side(["mpirun", "-n", 2, "bash", "-c", 'half=$1$OMPI_COMM_WORLD_RANK; shift; exec "$@" "$half"', "bash",
                 space.path("node"), *program, "-o", output], output)
    row = versus(case, space, options, ours, MAIN.copy(space), space.checker("gpt", GPT56, output), 1.0,
                 MAIN.limit(space), bytes=MAIN.bytes(space), definition=f"{MAIN.text(space)}: wall of mpirun of 2 ranks, --exchange mpi, "
                 "of which each sees half of the source files (cards 0–31, 32–63), MPI's start included / " + COPY)
    for half in halves:
        measure.remove(half)
    return [row]


# --- bounds ----------------------------------------------------------------------------------------------------------

def memory_row(case, space, budget, way, launcher):
    output, bound = space.path("out"), (budget + 64) * MIB
    side = MAIN.side(space, output, launcher, ("--memory", f"{budget}MiB", "--exchange", way))
    runs = [measure.produce(side) for _ in range(1 if space.quick else 2)]
    space.checker("gpt", GPT56, output)()
    measure.remove(output)
    peak = max(run.peak_bytes for run in runs)
    ranks = " on 2 ranks" if launcher else ""
    return Row(case, variant=f"{budget}MiB {way}", goal="≤ 1", met=peak <= bound, rival=f"bound: {budget + 64} MiB",
               seconds=min(run.seconds for run in runs), ratio=peak / bound, bytes=MAIN.bytes(space), peak_bytes=peak,
               definition=f"{MAIN.text(space)}, --memory {budget}MiB --exchange {way}{ranks}: largest resident memory "
               "of any process (ru_maxrss, mapped pages included) / (--memory + 64 MiB)")


def memory(case, space, options):
    return [memory_row(case, space, budget, way, launcher)
            for budget in (64, 128, 512) for way, launcher in (("direct", ()), ("mpi", MPIRUN))]


def plans_of(case, space, *words):
    """What plan_bench says, run by run, and the most memory that it took; nothing where it was not built."""
    program = space.program("plan_bench")
    if not program.exists():
        print(f"{case}: not run: there is no {program}")
        return [], 0
    runs = [measure.run_and_read([program, *words]) for _ in range(1 if space.quick else 3)]
    plans = [json.loads(text) for _, text in runs]
    return plans, max(max(done.peak_bytes, plan["peak_bytes"]) for (done, _), plan in zip(runs, plans))


def plan_gshard(case, space, options):
    plans, peak = plans_of(case, space, "gshard", LAYOUTS / "gshard-16x32.json")
    if not plans:
        return []
    seconds, bound = min(plan["seconds"] for plan in plans), 2
    return [Row(case, goal="≤ 1, ≤ 200 MiB", met=seconds <= bound and peak <= 200 * MIB, seconds=seconds, rival=f"bound: {bound} s",
                ratio=seconds / bound, bytes=plans[0]["bytes_to_write"], peak_bytes=peak,
                definition=f"GShard's 41 B model with Adam's slots and accumulators ({plans[0]['parameters']} tensors) on its permuted "
                f"mesh of 16 × 32, {plans[0]['source_cards']} → {plans[0]['target_cards']} devices, catalog in memory: all that --dry-run "
                f"does / {bound} s; peak memory of the process, catalog included")]


def run_gshard(case, space, options):
    """That job on real files: as much of it as fits into a page cache."""
    job, permuted, output = space.path("gshard"), LAYOUTS / "gshard-16x32.json", space.path("out")
    layout = space.path("gshard-16x32.json")
    layout.write_text(json.dumps({**json.loads(permuted.read_text(encoding="utf-8")), "files": "rank_{card}.h5"}), encoding="utf-8")
    space.require_space((1 if space.quick else 9) << 30)
    measure.run(space.script("gshard_job.py", "make", permuted, job))
    os.sync()
    count = size_of(job)
    ours = Side([space.program("ckpt-reshard"), "-q", "--no-fsync", "--from", layout, "--to-mesh", "y=28", job, "-o", output], output)
    row = versus(case, space, options, ours, ("cp -r", cp(job, space.path("rival"))),
                 lambda: measure.run(space.script("gshard_job.py", "check", "16,28", output)), 1.0, bytes=count,
                 definition=f"GShard's model, an eighth as wide and a third as deep ({count / MIB:.4g} MiB of files), on its permuted mesh "
                 f"of 16 × 32, to 16 × 28, by ceil: wall of ckpt-reshard / {COPY}")
    measure.remove(job)
    return [row]


def plan_405b(case, space, options):
    plans, peak = plans_of(case, space)
    if not plans:
        return []
    texts = {"share": "the whole share of one of 1,024 processes", "summary": "what --dry-run tells of the whole job"}
    rows = []
    for what, text in texts.items():
        seconds = min(plan[f"{what}_seconds"] for plan in plans)
        rows.append(Row(case, variant=what, goal="≤ 1, ≤ 200 MiB", met=seconds <= 5 and peak <= 200 * MIB,
                        seconds=seconds, rival="bound: 5 s", ratio=seconds / 5, bytes=0, peak_bytes=peak,
                        definition="planning Llama-3.1-405B with two moments, 16,384 → 12,288 cards, catalog in "
                        f"memory: {text} / 5 s; peak memory of the process, catalog included"))
    return rows


def fingerprint(case, space, options):
    program = space.program("fingerprint_bench")
    if not program.exists():
        print(f"{case}: not run: there is no {program}")
        return []
    runs = [json.loads(measure.run_and_read([program])[1]) for _ in range(1 if space.quick else 3)]
    rows = []
    for length in runs[0]:
        speed = max(run[length] for run in runs)
        what = "in one piece" if length == "whole" else f"in runs of {length} bytes"
        rows.append(Row(case, variant=what, goal="≤ 1" if length == "whole" else "–",
                        met=speed >= 5 or length != "whole", seconds=1 / speed, rival="bound: 5 GB/s", ratio=5 / speed,
                        bytes=10**9, peak_bytes=0, definition="the fingerprint's sum of data in the cache (1 MiB), one "
                        f"core, {what}: seconds for 1e9 bytes / those at 5 GB/s"))
    return rows


GPU_TEXTS = {
    "gpu-copy": "1 GiB from device to device by cudaMemcpyAsync",
    "gpu-pack": "1 GiB in runs that lie a run apart, made dense by the copy kernel",
    "gpu-assemble": "1 GiB put into runs that lie a run apart by the copy kernel",
    "gpu-upload": "1 GiB of pinned memory to the device, as the exchange does it",
    "gpu-download": "1 GiB from the device to pinned memory, as the exchange does it",
    "gpu-pipeline": "a file through the device into another, --work to --work, which ought to be memory"}


def gpu(case, space, options):
    program = space.program("gpu_bench")
    if not program.exists():
        print(f"{case}: not run: there is no {program}: a build without CUDA")
        return []
    probe = subprocess.run([space.program("gpu_probe")], capture_output=True, text=True, check=False)
    if probe.returncode:
        print(f"{case}: not run: {probe.stdout.strip().removeprefix('skipped: ')}")
        return []
    done, text = measure.run_and_read([program, space.root, 256 if space.quick else 8192])
    rows = []
    for found in map(json.loads, text.splitlines()):
        ratio = found["seconds"] / found["rival_seconds"]
        rows.append(Row(found["case"], variant=found["variant"], goal=f"≤ {found['goal']:.2f}", met=ratio <= found["goal"],
                        seconds=found["seconds"], rival=found["rival"], rival_seconds=found["rival_seconds"], ratio=ratio,
                        bytes=found["bytes"], peak_bytes=done.peak_bytes,
                        definition=f"{GPU_TEXTS[found['case']]}, seconds / those of {found['rival']}"))
    return rows


def reads(*checkpoints):
    return lambda quick: list(checkpoints)


# Neighbours share a source: it is made once, stays in the page cache, and goes when no later case wants it.
CASES = {
    "reshard-64-56": reshard(MAIN, 0.8, f"8×8 → 7×8, wall of ckpt-reshard alone, its default threads / {COPY}"),
    "reshard-64-56-mpirun": reshard(
        MAIN, 0.9, f"8×8 → 7×8, wall of mpirun -n 2 ckpt-reshard, MPI's start included / {COPY}", launcher=MPIRUN),
    **launch_cases.CASES,
    "verify": reshard(MAIN, 1.1, "8×8 → 7×8, wall of ckpt-reshard --verify written (the default) / --verify none",
                      rival=Job.unverified),
    "merge-64-1": Case(merge, reads(("gpt", GPT64)), f"64 cards to one file, wall of ckpt-merge / {COPY}"),
    **average_cases.CASES,
    "exchange-mpi": Case(exchange_mpi, reads(("gpt", GPT64)), f"64 → 56, 2 ranks that see half of it each / {COPY}"),
    "memory": Case(memory, reads(("gpt", GPT64)), "largest resident memory of a process / (--memory + 64 MiB)"),
    "numpy-64-56": reshard(MAIN, 1 / 5, f"8×8 → 7×8, wall of ckpt-reshard / {BY_HAND}", rival=Job.by_hand),
    "split-1-56": Case(split, reads(("gpt", "card=1")), f"one file to 56 cards, wall of ckpt-split / {COPY}"),
    "columns-64-56": reshard(
        COLUMNS, 1.2, f"all cut over dimension 1 of 3584-wide rows (224-byte runs), wall of ckpt-reshard / {COPY}"),
    "numpy-columns": reshard(
        COLUMNS, 1 / 10, f"all cut over dimension 1, wall of ckpt-reshard / {BY_HAND}", rival=Job.by_hand),
    **count_cases.CARDS,
    "numpy-8-7": reshard(
        FEW_CARDS, 1 / 3, f"all cut over dimension 0, wall of ckpt-reshard / {BY_HAND}", rival=Job.by_hand),
    **count_cases.COUNTS,
    "fingerprint": Case(fingerprint, reads(), "the fingerprint's sum of data in the cache, one core / 5 GB/s"),
    "gpu": Case(gpu, reads(), "copies, transfers and the whole pipeline on a GPU / the same by plain copies or alone"),
    "plan-gshard": Case(plan_gshard, reads(), "planning GShard's 41 B model, 512 → 448 devices / 2 s"),
    "run-gshard": Case(run_gshard, reads(), f"GShard's model, smaller, 512 → 448 devices, on files / {COPY}"),
    "plan-405b": Case(plan_405b, reads(), "planning 405 B parameters, 16,384 → 12,288 cards / 5 s"),
    **storage_cases.CASES,
    **network_cases.CASES,
    **hosts_cases.CASES,
    **view_cases.CASES,
    **transposed_cases.CASES,
    **flat_cases.CASES,
    **table_cases.CASES,
    **text_cases.CASES,
    **format_cases.CASES,
    **torch_cases.CASES,
    **mindspore_cases.CASES,
    **saver_cases.CASES,
    **names_cases.CASES,
}
