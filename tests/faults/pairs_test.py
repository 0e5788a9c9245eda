#!/usr/bin/python3
"""Pairs of jobs with one output, the second started while the first one works, with every combination of --force and --resume,
some of them killed: the output is whole at all times, and of a job that said "wrote"; who is refused says why."""
import collections
import ctypes
import itertools
import json
import os
import pathlib
import random
import signal
import threading
import time

from harness import Place, arguments, check, checkpoints, run_cases, temporary_directory

WAYS = [[], ["--force"], ["--resume"], ["--force", "--resume"]]
# Where two jobs write one output, one may be refused, for one of these reasons. None of them is an accident.
REASONS = ["another job is writing it", "it exists already", "an earlier run left it", "it appeared while the job ran", "it was left by"]
RANKS_END_S = 20
PR_SET_CHILD_SUBREAPER = 36


def stands(done):
    """Whether a job with --resume found that its whole output is there already."""
    return done.status == 0 and "stands already" in done.errors


def slowly(job):
    return {"delay_us": 3000 if job.ranks else 1500}


def is_running(process):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def wait_for_end(processes):
    """Of ranks whose mpirun was killed: they end by themselves."""
    until = time.monotonic() + RANKS_END_S
    while any(map(is_running, processes)):
        check(time.monotonic() < until, f"one of {processes} has outlived mpirun for {RANKS_END_S} s")
        time.sleep(0.01)


class Contest:
    """Two jobs that make different things in one place. `held` is the index of the job whose output stands there."""

    def __init__(self, place, kind, dice):
        self.place, self.kind, self.dice = place, kind, dice
        self.output = place.directory / f"contested_{kind}{'.h5' if kind == 'file' else ''}"
        self.jobs = [{ranks: self.job(source, ranks) for ranks in (0, 2)} for source in (place.job, place.other)]
        self.digests = []
        for job in self.jobs:
            self.digests.append(job[0].reference().digests)
            job[0].clear()
        self.length = {ranks: self.jobs[0][ranks].run(["--force"], slowly(self.jobs[0][ranks])).seconds for ranks in (0, 2)}
        check(self.digests[0] != self.digests[1], "the two jobs make the same")
        self.held = 0

    def job(self, source, ranks):
        job = self.place.merge(ranks=ranks) if self.kind == "file" else self.place.reshard(ranks=ranks)
        job.words[-1] = str(source)
        return job.write_to(self.output)

    def found(self):
        if not self.output.exists():
            return None
        digests = checkpoints.digests(self.output)
        check(digests in self.digests, "the output is neither job's: " + ", ".join(
            f"{len(checkpoints.changed(digests, each))} of {len(digests)} files differ" for each in self.digests))
        return self.digests.index(digests)

    def meet(self, ways, ranks, victim):
        """One pair. `victim`: whose process is killed at some moment. Gives what became of both."""
        jobs = [self.jobs[i][ranks[i]] for i in (0, 1)]
        starts = [0, self.dice.uniform(0, self.length[ranks[0]])]
        moment = self.dice.uniform(0, self.length[ranks[victim]]) if victim is not None else 0
        all_done, killed = [None, None], []

        def take_part(i):
            time.sleep(starts[i])  # when they meet is what is tried out
            running = jobs[i].start([*ways[i], "--no-fsync"], slowly(jobs[i]))
            if i == victim:
                time.sleep(moment)
                killed.extend(running.processes())
                os.kill(running.process.pid, signal.SIGKILL)
            all_done[i] = running.finish()
        threads = [threading.Thread(target=take_part, args=(i,)) for i in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_for_end(killed)
        self.judge(all_done, ways, victim)
        return tuple("killed" if done.status < 0 else "stood" if stands(done) else "wrote" if done.status == 0 else "refused"
                     for done in all_done)

    def judge(self, all_done, ways, victim):
        story = "\n".join(map(str, all_done))
        wrote = [i for i in (0, 1) if all_done[i].status == 0 and not stands(all_done[i])]
        killed = [i for i in (0, 1) if i == victim and all_done[i].status < 0]
        for i, done in enumerate(all_done):
            is_told = f"wrote {self.output}" in done.errors or stands(done)
            check((done.status == 0) == is_told or i in killed, f"exit status and words differ: {story}")
            check(not stands(done) or self.held == i, f"what stands there is not this job's: {story}")
            if done.status > 0:
                reasons = [reason for reason in REASONS if len(done.messages) == 1 and reason in done.messages[0]]
                check(reasons, f"not refused for one of the known reasons: {story}")
        now = self.found()
        # Whoever is killed may have published a moment before.
        possible = {*killed, *(wrote or [self.held])}
        check(now in possible, f"found the output of {now}, expected one of {possible}: {story}")
        check(len(wrote) < 2 or ["--force"] in (ways[0][:1], ways[1][:1]), f"both wrote, and nobody with --force: {story}")
        self.held = now

    def end_well(self):
        """Whatever has been left, a job with --force makes its output, and leaves nothing besides."""
        job = self.jobs[1][0]
        done = job.run(["--force"])
        check(done.status == 0, f"{done}")
        job.check_nothing_left(done)
        self.held = self.found()
        check(self.held == 1, f"another output: {done}")


def contest(place, kind, times, dice, ranks):
    def case():
        found = collections.Counter()
        pairs = Contest(place, kind, dice)
        combinations = list(itertools.product(WAYS, WAYS))
        dice.shuffle(combinations)
        for i in range(times):
            if dice.random() < 0.5:
                pairs.jobs[0][0].clear()
                pairs.held = None
            found[pairs.meet(combinations[i % 16], ranks[i % len(ranks)], (None, 0, 1)[i % 3])] += 1
        pairs.end_well()
        return f"{times} pairs: " + ", ".join(f"{'/'.join(ends)} {count}" for ends, count in sorted(found.items()))
    return case


def stopped(job, more=(), faults=None):
    """A run, and its two ranks, which stand still when both have begun to write."""
    running = job.start(more, {**(faults or {}), "delay_us": 20000})
    while not all((job.journal / rank).exists() for rank in "01"):
        check(running.process.poll() is None, "it ended too early")
        time.sleep(0.01)
    ranks = running.processes()
    check(len(ranks) == 2, f"found ranks {ranks}")
    for rank in ranks:
        os.kill(rank, signal.SIGSTOP)
    return running, ranks


def left_ranks(place):
    """mpirun is killed; for as long as its ranks live, nobody else writes there."""
    # Ranks that mpirun leaves become children of this process. As nobody's they would be ended, being stopped.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    pairs = Contest(place, "ranks", random.Random(7))
    first, second = pairs.jobs[0][2], pairs.jobs[1][0]
    first.clear()
    running, ranks = stopped(first)
    running.process.kill()  # which they cannot even notice
    for more in (["--force"], ["--resume"]):
        done = second.run(more)
        check(done.status == 75 and f"{second.partial}: another job is writing it (process {ranks[0]} on host " in done.errors, f"{done}")
    os.kill(ranks[0], signal.SIGKILL)  # process 0, which the lock names; the other one could go on writing
    for more in (["--force"], ["--resume"]):
        check("another job is writing it" in second.run(more).errors, "a rank that is left was not seen")
    os.kill(ranks[1], signal.SIGKILL)
    for rank in ranks:
        os.waitpid(rank, 0)
    running.finish()
    pairs.end_well()


def without_locks(place):
    """On a file system that has no locks, the lock's file says whose it is."""
    pairs = Contest(place, "unlocked", random.Random(7))
    first, second, faults = pairs.jobs[0][2], pairs.jobs[1][2], {"locks": "none"}
    refused = f"{second.partial}: another job is writing it (process "
    first.clear()
    running, ranks = stopped(first, faults=faults)
    for more in ([], ["--force"], ["--resume"]):
        done = second.run(more, faults)
        check(done.status == 75 and refused in done.errors, f"{done}")
    for rank in ranks:
        os.kill(rank, signal.SIGCONT)
    done = running.finish()
    check(done.status == 0, f"{done}")
    first.check_nothing_left(done)
    check(pairs.found() == 0, "not what the first job had made")

    token = {"ckpt_lock": 1, "host": "elsewhere", "process": "1", "since": "then", "started": "1", "numbers": "others", "id": "x"}
    second.lock.write_text(json.dumps(token) + "\n")
    done = second.run(["--force"], faults)
    check(done.status == 75 and "another job may be writing it (process 1 on host elsewhere, since then)" in done.errors
          and f"if no job does, remove {second.lock}" in done.errors, f"{done}")
    second.lock.unlink()

    running, ranks = stopped(second, ["--force"], faults)
    for process in [*ranks, running.process.pid]:
        os.kill(process, signal.SIGKILL)
    running.finish()
    check(second.lock.exists() and len(second.lock.read_text().splitlines()) == 2, "the dead job's lock has gone, or is not of 2 processes")
    done = second.run(["--force"], faults)
    check(done.status == 0 and pairs.found() == 1, f"{done}")
    second.check_nothing_left(done)


def locks_of_its_own(place):
    """Where each machine has locks of its own, the job that comes later drives out the one that was there: that one finds out
    before it writes into the other's files, and publishes nothing."""
    pairs = Contest(place, "unshared", random.Random(7))
    first, second, faults = pairs.jobs[0][2], pairs.jobs[1][0], {"locks": "own"}
    gate = place.directory / "gate"
    os.mkfifo(gate)
    first.clear()
    running, ranks = stopped(first, faults=faults)
    # The first one goes on in the last moment before the second one publishes, and the second one when the first has ended.
    publishing = second.start(["--force"], {**faults, "at": f"renameat2 1 run kill -CONT {ranks[0]} {ranks[1]}; read line <{gate}"})
    lost = running.finish()
    gate.write_text("go on\n")
    done = publishing.finish()
    check(lost.status == 1 and "it is not what this job made" in lost.errors and "--resume" not in lost.errors, f"{lost}")
    check(done.status == 0 and pairs.found() == 1, f"{done}")
    second.check_nothing_left(done)


def main():
    options = arguments(__doc__, ("--pairs", {"type": int, "default": int(os.environ.get("CKPT_TEST_PAIRS", "40"))}),
                        ("--seed", {"type": int, "default": 1}))
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=128)
        place.make_sample("other", "--mesh", "dp=2,tp=2", "--layers", "2", "--hidden", "128", "--seed", "2")
        place.other = place.directory / "other"
        alone, together = [(0, 0)], [(2, 0), (0, 2), (2, 2)]
        cases = {"ranks that outlive mpirun": lambda: left_ranks(place),
                 "a file system without locks": lambda: without_locks(place),
                 "a file system with locks of each machine": lambda: locks_of_its_own(place)}
        for kind, ranks, share in (("file", alone, 3), ("directory", alone, 3), ("file", together, 1), ("directory", together, 1)):
            name = f"{kind}, {'alone' if ranks is alone else 'on 2 ranks'}"
            # Each has a place and dice of its own, so that a seed means the same whatever runs beside it.
            cases[name] = contest(place.within(name), kind, -(-options.pairs * share // 8), random.Random(f"{options.seed} {name}"),
                                  ranks)
        run_cases(cases, at_once=3)  # mpirun spends most of its time waiting


if __name__ == "__main__":
    main()
