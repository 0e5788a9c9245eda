"""What Paddle, TensorFlow and Orbax take to load one of their checkpoints and save it again, beside ours."""
import os
import pathlib

import measure
from measure import Side
from rows import MIB, Case, Row, size_of

JOB = pathlib.Path(__file__).with_name("saver_job.py")
MEMORY_MIB = 256
GOAL = 0.2  # five times as fast


def beside(name, ending):
    definition = f"weights as {name} saves them, loaded and saved again"

    def run(case, space, options):
        python = options.venvs / f"{name}-venv/bin/python"
        if not python.exists():
            print(f"{case}: not run: found no {python}; scripts/test --frameworks makes it, or give --venvs")
            return []
        source, output, other = (space.path(what + ending) for what in (f"saved-{name}", "out", "rival"))
        if not source.exists():
            space.require_space(3 << 30)
            measure.run([python, JOB, "make", name, source, *(["--quick"] if space.quick else [])])
            os.sync()
        ours = Side([space.program("ckpt-merge"), "-q", "--no-fsync", "--memory", f"{MEMORY_MIB}MiB", "--format", name, source, "-o", output],
                    output)
        rival = Side([python, JOB, "run", name, source, other], other, tells_seconds=True)

        def check():
            measure.run(rival.command)
            measure.run([python, JOB, "same", name, output, other])
            measure.remove(other)

        result = measure.compare(ours, rival, options.pairs, check)
        data, bound = size_of(source), (MEMORY_MIB + 64) * MIB
        return [Row(case, goal=f"≤ {GOAL:.2g}, ≤ {bound // MIB} MiB", met=result.ratio.median <= GOAL and result.peak_bytes <= bound,
                    rival=f"{name} itself", bytes=data, **result.figures,
                    definition=f"{definition}, {data / MIB:.4g} MiB: wall of ckpt-merge / seconds of {name}, its imports not counted; "
                    f"its largest process held {result.rival_peak_bytes / data:.2g} times the checkpoint")]
    return Case(run, lambda quick: [], f"{definition}: wall of ckpt-merge / seconds of {name}")


CASES = {f"{name}-again": beside(name, ending) for name, ending in (("paddle", ".pdparams"), ("tensorflow", ""), ("orbax", ""))}
