"""Many cards, many files, many datasets: what their number costs beside the bytes."""
from jobs import FEW_CARDS, Job, merging
from models import Mesh, model
from rows import COPY, Case, data_text, versus


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


MORE_SECONDS = 1  # than a copy may half a million datasets take


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
    count = {name: len(model(name, space.quick).parameters) for name in ("many", "many-tenth", "many-on-8")}
    jobs = {cards: Job("many" if cards == 1 else "many-on-8", f"card={cards}", "card=7") for cards in (1, 8)}
    merged, output, sample = space.path("merged.h5"), space.path("out"), 1 if space.quick else 20

    def row(job, variant, side, check, out):
        cards = Mesh.of(job.source).cards
        made = versus(case, space, options, side, job.copy(space), check, 1, variant=variant, bytes=job.bytes(space),
                      definition=f"{count[job.model] * cards:,} datasets in {cards} file{'s' * (cards > 1)} that h5py wrote, "
                      f"{out:,} out, {data_text(space, job.model, job.source)}: wall of {side.command[0].name} / {COPY}")
        made.met, made.goal = made.seconds <= 5, "ours ≤ 5 s"
        return made

    rows = [row(job, f"{cards} → 1", merging(space, job.model, job.source, merged),
                space.checker(job.model, "whole", merged, sample), count[job.model]) for cards, job in jobs.items()]
    rows.append(row(jobs[8], "8 → 7", jobs[8].side(space, output), space.checker("many-on-8", "card=7", output, sample),
                    7 * count["many-on-8"]))
    tenth = "a tenth of them", merging(space, "many-tenth", "card=1", space.path("tenth.h5"))
    rows.append(versus(case, space, options, merging(space, "many", "card=1", merged), tenth,
                       space.checker("many", "whole", merged, sample), 12, variant="growth", bytes=jobs[1].bytes(space),
                       definition=f"{count['many']:,} datasets in one file: wall of ckpt-merge / its wall for "
                       f"{count['many-tenth']:,}; in proportion it is 10"))
    return rows


CARDS = {
    "cards-512-448": Case(cards, lambda quick: [("rows", many_cards("rows", quick).source), ("rows", "card=8")],
                          f"512 → 448 cards, and 8 → 7 of the same tensors: wall of ckpt-reshard / {COPY}"),
}
COUNTS = {
    "metadata": Case(metadata, lambda quick: [("metadata", many_cards("metadata", quick).source)],
                     f"512 → 448, 1,000 parameters on each card, small data, wall of ckpt-reshard / {COPY}"),
    "many-files": Case(many_files, lambda quick: [], f"16,384 → 12,288 files with next to no data: wall of ckpt-reshard / {COPY}; growth with their number"),
    "many-datasets": Case(many_datasets, lambda quick: [("many", "card=1"), ("many-on-8", "card=8"), ("many-tenth", "card=1")],
                          f"10^5 small datasets: wall of ckpt-merge and ckpt-reshard / {COPY}; growth with their number"),
}
