"""A line of the table, and how one is made of two commands in turn."""
import json
import os
from dataclasses import dataclass, field, replace

import measure
from measure import Side

MIB = 1 << 20
NUMPY = "numpy + h5py"
COPY = "wall of cp -r of the source"


@dataclass
class Row:
    """A line of the table; what a row has no rival for is None."""
    case: str
    definition: str
    goal: str
    met: bool
    seconds: float
    rival: str
    ratio: float
    bytes: int
    peak_bytes: int
    rival_seconds: float = None
    low: float = None      # of the ratio's interval
    high: float = None
    best_ratio: float = None
    control: float = None  # the rival / itself
    is_quiet: bool = True  # the control did not stray: the figures count
    limit: str = ""        # what no program can be faster than, here
    limit_seconds: float = None
    pairs: int = None
    variant: str = ""
    phases: dict = field(default_factory=dict)
    processor: list = None  # [user, system] seconds, ours and the rival's


@dataclass(frozen=True)
class Case:
    run: object          # (case name, workspace, options) -> rows
    checkpoints: object  # quick -> the (model, mesh) that it reads
    text: str            # one line for --list


def data_text(space, name, mesh):
    count = space.bytes_of(name, mesh)
    size = f"{count / MIB:.3g} MiB" if count < 1 << 30 else f"{count / (1 << 30):.3g} GiB"
    return f"{size} of float32"


def size_of(path):
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file()) if path.is_dir() else path.stat().st_size


def cp(source, output):
    return Side(["cp", "-r", "--reflink=never", source, output], output)


def reported(side, space):
    """One more run, and the seconds of each phase as the program itself reports them."""
    report, command = space.path("report.json"), []
    for word in side.command:  # mpirun's may start several programs
        command += [word, "--report", report] if os.path.basename(str(word)).startswith("ckpt-") else [word]
    done = measure.produce(Side(command, side.output))
    measure.remove(side.output)
    return done, json.loads(report.read_text())["seconds"]


def copies_at_once(source, output):
    """As many processes as there are processors, each of which copies some files, or a part of a single one: what the kernel's own
    copying takes at least, as much as one machine can do of it."""
    files, count = sorted(source.iterdir()), len(os.sched_getaffinity(0))
    if len(files) > 1:
        script = f'mkdir "$2" && ls -d "$1"/* | xargs -P {count} -n {-(-len(files) // (4 * count))} cp --reflink=never -t "$2"'
    else:
        each = -(-files[0].stat().st_size // (count << 20))
        parts = " ".join(f'dd if="$1" of="$2/part_{n}" bs=1M skip={n * each} count={each} status=none &'
                         for n in range(count))
        script = f'mkdir "$2"; {parts} wait'
        source = files[0]
    return f"{count} cp at once", Side(["sh", "-c", script, "sh", source, output], output)


LIMIT_RUNS = 3


def limit_of(space, limit):
    """The fields of a row that say what no program can be faster than: the best of a few runs of that."""
    if limit is None:
        return {}
    name, side = limit
    runs = [measure.produce(side) for _ in range(1 if space.quick else LIMIT_RUNS)]
    measure.remove(side.output)
    return {"limit": name, "limit_seconds": min(run.seconds for run in runs)}


def each_time(case, result, goals, variant, text, **row):
    """Rows of one comparison: by wall, by processor time, which other work on the machine changes less, and by the system's part of
    it, one for each goal. No goal: None."""
    for what, goal, figures in zip(("wall", "processor time", "system time"), goals, (
            result.figures, result.figures_of("processor_seconds"), result.figures_of("system_seconds"))):
        yield Row(case, goal="–" if goal is None else f"≤ {goal:.3g}", met=goal is None or figures["ratio"] <= goal,
                  variant=f"{variant}, {what}", definition=text.format(what), **figures, **row)


def both_times(case, result, goal, variant, text, **row):
    return each_time(case, result, (goal, goal), variant, text, **row)


def cold_wall(case, options, ours, theirs, files, check, goal, rival, text, data):
    """One row by wall of two commands whose sources, `files`, the system has forgotten before each run."""
    result = measure.compare(*(replace(side, cold=tuple(files)) for side in (ours, theirs)), options.pairs, check)
    return Row(case, goal=f"≤ {goal:.3g}", met=result.ratio.median <= goal, rival=rival, variant=f"{rival}, cold", bytes=data,
               definition=text.format("wall") + ", the sources not in memory", **result.figures)


def versus(case, space, options, ours, rival, check, goal, limit=None, **row):
    """One row of two commands in turn. `limit`: a name, and a third that nothing can be faster than."""
    name, other = rival
    result = measure.compare(ours, other, options.pairs, check)
    phases = reported(ours, space)[1] if options.phases and name != NUMPY else {}
    return Row(case, goal=f"≤ {goal:.3g}", met=result.ratio.median <= goal, rival=name, phases=phases, **limit_of(space, limit),
               **result.figures, **row)
