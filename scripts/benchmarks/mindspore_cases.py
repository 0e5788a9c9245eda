"""What MindSpore's transform_checkpoints does with its own checkpoints, beside ours."""
import os
import pathlib

import measure
from measure import Side
from rows import MIB, Case, Row, size_of

JOB = pathlib.Path(__file__).with_name("mindspore_job.py")
MEMORY_MIB = 256
GOAL = 0.1  # ten times as fast
WHAT = "weights and Adam's moments of 8 ranks by their strategies"


def source(space, python, form):
    path = space.path(f"mindspore-{form}")
    if not path.exists():
        space.require_space(4 << 30)
        quick = ["--quick"] if space.quick else []
        measure.run([python, JOB, "make", form, path, *quick])
        os.sync()
    return path


def ours(space, form, cards, directory):
    words = ["-q", "--no-fsync", "--memory", f"{MEMORY_MIB}MiB", directory / "run"]
    if cards == 1:
        output = space.path(f"out.{form}")
        return Side([space.program("ckpt-merge"), "--layout", directory / "src.ckpt", *words, "-o", output], output)
    output = space.path("out")
    return Side([space.program("ckpt-reshard"), "--from", directory / "src.ckpt", "--to", directory / "dst.ckpt",
                 "--format", "mindspore" if form == "ckpt" else form, *words, "-o", output], output)


def beside(form, cards):
    definition = f"{WHAT}, .{form}, 8 → {cards}"

    def run(case, space, options):
        if not options.mindspore:
            print(f"{case}: not run: found no Python with MindSpore; scripts/test --frameworks makes one, or give --mindspore")
            return []
        python, other = options.mindspore, space.path("rival")
        directory = source(space, python, form)
        mine = ours(space, form, cards, directory)
        rival = Side([python, JOB, "run", form, cards, directory, other], other, tells_seconds=True)

        def check():
            measure.run(rival.command)
            measure.run([python, JOB, "same", form, mine.output, other])
            measure.remove(other)

        result = measure.compare(mine, rival, options.pairs, check)
        data, bound = size_of(directory / "run"), (MEMORY_MIB + 64) * MIB
        return [Row(case, goal=f"≤ {GOAL:.2g}, ≤ {bound // MIB} MiB", met=result.ratio.median <= GOAL and result.peak_bytes <= bound,
                    rival="transform_checkpoints", bytes=data, **result.figures,
                    definition=f"{definition}, {data / MIB:.4g} MiB: wall of {mine.command[0].name} / seconds of transform_checkpoints, "
                    f"its imports not counted; its largest process held {result.rival_peak_bytes / data:.2g} times the checkpoint")]
    return Case(run, lambda quick: [], f"{definition}: wall of ours / seconds of transform_checkpoints")


CASES = {f"mindspore-{form}-{cards}": beside(form, cards) for form in ("ckpt", "safetensors") for cards in (1, 4)}
