"""Many cards, many files, many datasets: what their number costs beside the bytes."""
import statistics

import measure
from jobs import FEW_CARDS, Job, merging
from models import Mesh, model
from rows import COPY, Case, Row, data_text, versus


def many_cards(name, quick):
    return Job(name, "card=64", "card=56") if quick else Job(name, "card=512", "card=448")


def cards(case, space, options):
    """Both numbers of cards beside a copy of their own source: one state of the same machine."""
    found = []
    for job in (many_cards("rows", space.quick), FEW_CARDS):
        output = space.path("out")
        found.append(versus(case, space, options, job.side(space, output), job.copy(space), space.checker("rows", job.target, output), 0.9,
                            job.limit(space), variant=f"{Mesh.of(job.source).cards} → {Mesh.of(job.target).cards}", bytes=job.bytes(space),
                            definition=f"{job.text(space)} cut over dimension 0: wall of ckpt-reshard / {COPY}"))
    return found


MORE_SECONDS = 0.5  # than a copy may half a million datasets take


def metadata(case, space, options):
    job, output = many_cards("metadata", space.quick), space.path("out")
    count = len(model("metadata", space.quick).parameters)
    row = versus(case, space, options, job.side(space, output), job.copy(space),
                 space.checker("metadata", job.target, output, 1 if space.quick else 50), 1.0, job.limit(space), bytes=job.bytes(space),
                 definition=f"{job.text(space)}, all on every card ({count * Mesh.of(job.source).cards:,} datasets in, "
                 f"{count * Mesh.of(job.target).cards:,} out): wall of ckpt-reshard / {COPY}")
    row.met = row.met or row.seconds <= row.rival_seconds + MORE_SECONDS
    row.goal = f"≤ 1, or ≤ {MORE_SECONDS} s more"
    return [row]


def many_files(case, space, options):
    """Data next to none: what the number of files costs, and that it costs in proportion."""
    eighth, whole = (Job("tiny", f"card={4 * n}", f"card={3 * n}") for n in ((4, 32) if space.quick else (512, 4096)))
    output = space.path("out")

    def row(variant, rival, goal, text):
        return versus(case, space, options, whole.side(space, output), rival, space.checker("tiny", whole.target, output), goal,
                      variant=variant, bytes=whole.bytes(space), definition=f"{whole.text(space)}: wall of ckpt-reshard / {text}")

    cards = Mesh.of(eighth.source).cards
    return [row("cp", whole.copy(space), 3, COPY),
            row("growth", (f"{cards:,} files", eighth.side(space, space.path("rival"))), 10,
                f"its wall for {cards:,} files; in proportion it is 8")]


def many_datasets(case, space, options):
    """Data next to none: what the number of datasets costs, and that it costs in proportion."""
    count = {name: len(model(name, space.quick).parameters) for name in ("many", "many-tenth", "many-30000", "many-on-8")}
    jobs = {cards: Job("many" if cards == 1 else "many-on-8", f"card={cards}", "card=7") for cards in (1, 8)}
    merged, output, sample = space.path("merged.h5"), space.path("out"), 1 if space.quick else 20

    def row(job, variant, side, check, out, goal=5):
        cards = Mesh.of(job.source).cards
        made = versus(case, space, options, side, job.copy(space), check, 1, variant=variant, bytes=job.bytes(space),
                      definition=f"{count[job.model] * cards:,} datasets in {cards} file{'s' * (cards > 1)} that h5py wrote, "
                      f"{out:,} out, {data_text(space, job.model, job.source)}: wall of {side.command[0].name} / {COPY}")
        made.met, made.goal = made.seconds <= goal, f"ours ≤ {goal} s"
        return made

    rows = [row(job, f"{cards} → 1", merging(space, job.model, job.source, merged),
                space.checker(job.model, "whole", merged, sample), count[job.model]) for cards, job in jobs.items()]
    rows.append(row(jobs[8], "8 → 7", jobs[8].side(space, output), space.checker("many-on-8", "card=7", output, sample),
                    7 * count["many-on-8"]))
    fewer = Job("many-30000", "card=1", "card=7")
    rows.append(row(fewer, "30,000", merging(space, fewer.model, fewer.source, merged),
                    space.checker(fewer.model, "whole", merged, sample), count[fewer.model], 2))
    tenth = "a tenth of them", merging(space, "many-tenth", "card=1", space.path("tenth.h5"))
    rows.append(versus(case, space, options, merging(space, "many", "card=1", merged), tenth,
                       space.checker("many", "whole", merged, sample), 12, variant="growth", bytes=jobs[1].bytes(space),
                       definition=f"{count['many']:,} datasets in one file: wall of ckpt-merge / its wall for "
                       f"{count['many-tenth']:,}; in proportion it is 10"))
    return rows


STARTS = 15


def start(case, space, options):
    """What a job costs besides its data: from the start of the process to its end."""
    output = space.path("merged.h5")
    merge = merging(space, "one-mib", "card=8", output)
    space.checkpoint("one-mib", "card=8")

    def timed(command):
        runs = []
        for _ in range(3 if space.quick else STARTS):
            measure.remove(output)
            runs.append(measure.run(command))
        return runs

    rows = []
    for variant, command, bound in (("merge of 1 MiB", merge.command, 0.03), ("--version", [space.program("ckpt"), "--version"], 0.005)):
        runs = timed(command)
        for what, of_run in (("wall", lambda run: run.seconds), ("processor time", lambda run: run.processor_seconds)):
            seconds = statistics.median(map(of_run, runs))
            rows.append(Row(case, variant=f"{variant}, {what}", goal="≤ 1", met=seconds <= bound, seconds=seconds,
                            rival=f"bound: {bound * 1000:.0f} ms", ratio=seconds / bound, bytes=0, peak_bytes=max(run.peak_bytes for run in runs),
                            pairs=len(runs), definition=f"{variant}, without fsync: {what} from the program's start to its end, the median, "
                            f"/ {bound * 1000:.0f} ms"))
    measure.remove(output)
    return rows


CARDS = {
    "cards-512-448": Case(cards, lambda quick: [("rows", many_cards("rows", quick).source), ("rows", "card=8")],
                          f"512 → 448 cards, and 8 → 7 of the same tensors: wall of ckpt-reshard / {COPY}"),
}
COUNTS = {
    "start": Case(start, lambda quick: [("one-mib", "card=8")], "a merge of 1 MiB and --version, from start to end / 30 ms and 5 ms"),
    "metadata": Case(metadata, lambda quick: [("metadata", many_cards("metadata", quick).source)],
                     f"512 → 448, 1,000 parameters on each card, small data, wall of ckpt-reshard / {COPY}"),
    "many-files": Case(many_files, lambda quick: [], f"16,384 → 12,288 files with next to no data: wall of ckpt-reshard / {COPY}; growth with their number"),
    "many-datasets": Case(many_datasets, lambda quick: [("many", "card=1"), ("many-on-8", "card=8"), ("many-tenth", "card=1"), ("many-30000", "card=1")],
                          f"10^5 small datasets: wall of ckpt-merge and ckpt-reshard / {COPY}; growth with their number"),
}
