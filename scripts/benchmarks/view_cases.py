"""Outputs that only show the source's data (--virtual): what their metadata costs, whatever the data's size."""
import measure
from measure import Side
from models import model
from rows import Case, Row, data_text

MODEL, SOURCE, TARGET = "metadata", "card=64", "card=56"
BOUND_S = 1.0


def shown(case, space, options):
    source, layout = space.checkpoint(MODEL, SOURCE), ("--from", space.layout(MODEL, SOURCE))
    count, sample = len(model(MODEL, space.quick).parameters), 1 if space.quick else 50
    merged, output, rows = space.path("seen.h5"), space.path("seen"), []
    for what, mesh, side in (
            ("64 → 1", "whole", Side([space.program("ckpt-merge"), *layout, source, "-o", merged], merged)),
            ("64 → 56", TARGET, Side([space.program("ckpt-reshard"), *layout, "--to", space.layout(MODEL, TARGET), source,
                                      "-o", output], output))):
        side = Side([*side.command, "-q", "--no-fsync", "--virtual"], side.output)
        runs = []
        for _ in range(options.pairs):
            measure.remove(side.output)
            runs.append(measure.run_and_read(side.command)[0])
        space.checker(MODEL, mesh, side.output, sample)()
        measure.remove(side.output)
        seconds = min(run.seconds for run in runs)
        rows.append(Row(case, variant=what, goal="≤ 1", met=seconds <= BOUND_S, seconds=seconds, rival=f"bound: {BOUND_S:g} s",
                        ratio=seconds / BOUND_S, bytes=0, peak_bytes=max(run.peak_bytes for run in runs),
                        definition=f"{what} files of {count:,} parameters, all cut over dimension 0 "
                        f"({data_text(space, MODEL, SOURCE)}, of which nothing is read): wall of "
                        f"{side.command[0].name} --virtual / {BOUND_S:g} s"))
    return rows


CASES = {
    "virtual-64-1": Case(shown, lambda quick: [(MODEL, SOURCE)],
                         "64 files of 1,000 parameters shown as 1, and as 56, without copying / 1 s"),
}
