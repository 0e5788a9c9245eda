"""A source behind a network, as far as one machine can show it: a mount (FUSE) that answers each request after a
millisecond, as many at a time as are asked for."""
import contextlib
import json
import os
import pathlib
import subprocess
import time
from dataclasses import replace

import measure
from jobs import COLUMNS, GPT64, MAIN, merging
from measure import Side
from rows import Case, data_text, versus

LATENCY_US, REQUEST = 1000, 1 << 20
COPIES = 16
GOAL = 1 / 0.85  # 0.85 of the rival's rate


@contextlib.contextmanager
def mounted(space, directory):
    """The directory, seen through the mount; gives its path there, and where the tool reports when it has ended."""
    place, report = space.path("mount"), space.path("mount.json")
    place.mkdir(exist_ok=True)
    words = [space.program("slow_mount"), directory, place, LATENCY_US, REQUEST, report]
    with subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True) as tool:
        try:
            while not os.path.ismount(place):
                if tool.poll() is not None:
                    raise measure.Failed(f"the mount failed: {tool.stderr.read().strip() or tool.returncode}")
                time.sleep(0.01)
            yield place, report
        finally:
            if os.path.ismount(place):
                subprocess.run(["fusermount3", "-u", str(place)], check=False)
            tool.wait()


def copies(source, output):
    script = f'mkdir "$2" && ls -d "$1"/* | xargs -P {COPIES} -n 1 cp --reflink=never -t "$2"'
    return Side(["sh", "-c", script, "sh", source, output], output)


def requests(space, directory, side_of):
    """What the mount saw of one more run."""
    with mounted(space, directory) as (place, report):
        side = side_of(place)
        measure.produce(side)
    measure.remove(side.output)
    told = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))
    return (f"{told['reads']} requests of {told['bytes'] / max(1, told['reads']) / 1024:.0f} KiB in the mean, {told['mean_in_flight']:.1f} "
            f"under way together in the mean, {told['most_in_flight']} at most")


def network(name, job, make, target, is_one_file):
    def run(case, space, options):
        if not space.program("slow_mount").exists():
            print(f"{case}: not run: there is no {space.program('slow_mount')}: a build without libfuse 3")
            return []
        source = space.checkpoint(job.model, job.source)
        output = space.path("merged.h5" if is_one_file else "out")

        def cold(place):
            return tuple(place / path.name for path in source.iterdir())

        def ours(place):
            side = make(space, output)
            return replace(side, command=[place if word == source else word for word in side.command], cold=cold(place))

        def theirs(place):
            return replace(copies(place, space.path("rival")), cold=cold(place))

        with mounted(space, source) as (place, _):
            row = versus(case, space, options, ours(place), (f"{COPIES} cp at once", theirs(place)),
                         space.checker(job.model, target, output), GOAL, bytes=space.bytes_of(job.model, job.source), definition="")
        row.definition = (f"{data_text(space, job.model, job.source)} behind {LATENCY_US} µs for each request, of {REQUEST >> 10} KiB at "
                          f"most, of which the system has nothing in memory: wall of {ours(place).command[0].name} / wall of {COPIES} cp "
                          f"at once, each of one file after another. Ours: {requests(space, source, ours)}; the rival: "
                          f"{requests(space, source, theirs)}")
        return [row]
    return Case(run, lambda quick: [(job.model, job.source)], f"{name}, behind a network's latency: wall / wall of {COPIES} cp at once")


CASES = {
    "network-64-56": network("64-56", MAIN, MAIN.side, MAIN.target, False),
    "network-merge": network("merge", MAIN, lambda space, output: merging(space, "gpt", GPT64, output), "whole", True),
    "network-columns": network("columns", COLUMNS, COLUMNS.side, COLUMNS.target, False),
}
