"""Runs programs, times them, in turn with their rivals.

The largest resident memory that the kernel reports of a process (and of the descendants it waited for) includes what
the process that forked it held at that moment. So the one that measures loads neither numpy nor h5py: it holds 20 MiB.
"""
import contextlib
import functools
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

from held_memory import HeldMemory


# A case has as many pairs as asked for, but no more than this takes; and a few in any case.
ENOUGH_SECONDS = 60
LEAST_PAIRS = 3
MOST_STRAYED = 0.1  # of the control from 1


class Failed(Exception):
    """A program ended with an error, or its result is wrong."""


@dataclass(frozen=True)
class Run:
    seconds: float
    peak_bytes: int  # of the largest process
    processor_seconds: float = 0.0  # of the process and those it waited for
    system_seconds: float = 0.0     # the kernel's part of that


@dataclass(frozen=True)
class Estimate:
    """A median, and the interval that holds the median of all such runs with 95 % confidence, whatever their distribution.
    Of fewer than 6 values the interval is all of them, and says less."""
    median: float
    low: float
    high: float

    @staticmethod
    def of(values):
        """By order: that so many of n values lie below the median is a matter of n tosses of a coin."""
        ordered, n = sorted(values), len(values)
        outside = max((k for k in range(n // 2) if sum(math.comb(n, i) for i in range(k + 1)) <= 0.025 * 2**n), default=-1)
        at = max(outside, 0)
        return Estimate(statistics.median(ordered), ordered[at], ordered[n - 1 - at])


@dataclass(frozen=True)
class Comparison:
    ours: list      # Run
    rivals: list    # Run, in the same turn
    controls: list  # Run, the rival's second in that turn

    @property
    def seconds(self):
        return statistics.median(run.seconds for run in self.ours)

    @property
    def rival_seconds(self):
        return statistics.median(run.seconds for run in self.rivals)

    @property
    def ratio(self):
        return Estimate.of([a.seconds / b.seconds for a, b in zip(self.ours, self.rivals)])

    def figures_of(self, what):
        """What a row says of another time of the same runs."""
        ratio = Estimate.of([getattr(a, what) / max(getattr(b, what), 1e-6) for a, b in zip(self.ours, self.rivals)])
        ours, rivals = (statistics.median(getattr(run, what) for run in runs) for runs in (self.ours, self.rivals))
        return {"seconds": ours, "rival_seconds": rivals, "ratio": ratio.median, "low": ratio.low, "high": ratio.high,
                "is_quiet": self.is_quiet, "peak_bytes": self.peak_bytes, "pairs": len(self.ours)}

    @property
    def control(self):
        """The rival against itself: how far from 1 tells what this machine does to a ratio."""
        return Estimate.of([a.seconds / b.seconds for a, b in zip(self.controls, self.rivals)])

    @property
    def is_quiet(self):
        """Whether the figures say something of the programs: not where the rival strayed from itself, as the machine did other
        things meanwhile. A trial measures nothing, and need not be quiet."""
        return is_trial or abs(self.control.median - 1) <= MOST_STRAYED

    @property
    def best_ratio(self):
        return min(run.seconds for run in self.ours) / min(run.seconds for run in self.rivals)

    @property
    def processor(self):
        """Medians of the user's and the system's seconds, ours and the rival's."""
        return [[statistics.median(run.processor_seconds - run.system_seconds for run in runs),
                 statistics.median(run.system_seconds for run in runs)] for runs in (self.ours, self.rivals)]

    @property
    def figures(self):
        """What a row says of it."""
        ratio, control = self.ratio, self.control
        return {"seconds": self.seconds, "rival_seconds": self.rival_seconds, "ratio": ratio.median, "low": ratio.low,
                "high": ratio.high, "best_ratio": self.best_ratio, "control": control.median, "is_quiet": self.is_quiet,
                "pairs": len(self.ours), "peak_bytes": self.peak_bytes, "processor": self.processor}

    @property
    def peak_bytes(self):
        return max(run.peak_bytes for run in self.ours)

    @property
    def rival_peak_bytes(self):
        return max(run.peak_bytes for run in self.rivals)


# Open MPI refuses root and more ranks than cores unless told; a container usually is both. The last is Open MPI 5's.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CKPT_")}
    return {**kept, **MPI_ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"}


def run(command, output=None):
    """Starts the command, waits for it; throws where it fails, with the end of what it said."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output or said, stderr=said,
                                   env=environment())
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            tail = said.read()[-2000:].decode(errors="replace").strip()
            raise Failed(f"exit status {process.returncode} of: {' '.join(command)}\n{tail}")
    return Run(seconds, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime, usage.ru_stime)


def run_and_read(command):
    """The run, and what the command prints."""
    with tempfile.TemporaryFile() as output:
        done = run(command, output)
        output.seek(0)
        return done, output.read().decode()


def remove(path):
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class Side:
    command: list
    output: object  # the path it writes
    tells_seconds: bool = False  # its last line is the seconds that count, as those of a rival without its imports
    cold: tuple = ()  # files that the system is to have forgotten


is_trial = False  # a trial measures nothing: it need not be quiet
is_held = True     # memory is held between runs


@functools.cache
def holder():
    return HeldMemory() if not is_trial and HeldMemory.is_needed() else None


def held():
    return holder() if is_held else None


@contextlib.contextmanager
def memory_as_it_is():
    """Runs find the memory that earlier ones have left, part of which a virtual machine has handed back to its host."""
    global is_held
    if memory := held():
        memory.hold()
        memory.give()
    is_held = False
    try:
        yield
    finally:
        is_held = True


def forget(paths):
    """Asks the system to drop what it keeps of these files in memory."""
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def produce(side):
    """One timed run of a side; its output is removed before, outside the timing, and stays for a check. Nor does it pay
    for what earlier runs have left in memory to be written: that goes to the disk first; nor for memory that a virtual
    machine has handed back to its host."""
    remove(side.output)
    if not is_trial:
        os.sync()
    forget(side.cold)
    if memory := held():
        memory.hold()
        memory.give()
    if not side.tells_seconds:
        return run(side.command)
    done, text = run_and_read(side.command)
    return Run(float(text.split()[-1]), done.peak_bytes, done.processor_seconds, done.system_seconds)


def compare(ours, rival, pairs, check):
    """Ours, the rival, the rival again; in every other turn the other way round. A first run of each is discarded, but the
    result of ours is checked. As many turns as asked for, or a minute's."""
    for side in (ours, rival):
        produce(side)
        if side is ours:
            check()
        remove(side.output)
    kept = Comparison([], [], [])
    order = [(ours, kept.ours), (rival, kept.rivals), (rival, kept.controls)]
    begin = time.monotonic()
    for turn in range(pairs):
        if turn >= LEAST_PAIRS and time.monotonic() - begin > ENOUGH_SECONDS:
            break
        for side, runs in order:
            runs.append(produce(side))
            remove(side.output)
        order.reverse()
    return kept
