#!/usr/bin/python3
"""Programs killed at random moments: afterwards the output is whole or absent, and the next run makes it the same."""
import collections
import json
import os
import random
import signal
import time

from harness import GOES_ON, Place, arguments, check, run_cases, temporary_directory



def slowly(job):
    """Most of the run in the data; on several ranks more than the second that mpirun waits before it hands a signal on."""
    return {"delay_us": 12000 if job.ranks else 4000}



def kill_program(running, number):
    os.kill(running.process.pid, number)


def kill_rank(running, number):
    ranks = running.processes()
    if ranks:
        os.kill(ranks[-1], number)


# Who gets which signal, and the exit status that says so. mpirun hands SIGTERM on for SIGINT, kills a second later, and ends
# with a status of its own.
ALONE = [(kill_program, signal.SIGKILL, -9), (kill_program, signal.SIGTERM, 143), (kill_program, signal.SIGINT, 130)]
RANKS = [(kill_rank, signal.SIGKILL, 137), (kill_program, signal.SIGTERM, None), (kill_rank, signal.SIGTERM, 143),
         (kill_program, signal.SIGINT, None), (kill_rank, signal.SIGINT, 130)]


def kill_once(job, way, moment):
    """Gives what was found afterwards."""
    who, number, status = way
    job.clear()
    running = job.start(faults=slowly(job))
    time.sleep(moment)
    who(running, number)
    done = running.finish()
    job.check_left(done)
    found = "whole" if job.output.exists() else "partial" if job.partial.exists() else "nothing"
    if done.messages and done.status in (130, 143):
        check(len(done.messages) == 1, f"more than one message: {done}")
        check((GOES_ON in done.messages[0]) == (found == "partial"), f"{found} is left, but that is not what is said: {done}")
    # Before the program is up, a signal has its usual effect; mpirun may lose its own way when it is killed early. One that sees
    # a rank's connection end before it sees the rank's status tells the others to end, and says 1.
    statuses = {status, 1} if job.ranks and done.messages else {status}
    if None not in (status, done.status) and found == "partial":
        check(done.status in statuses, f"expected exit status {status}: {done}")
    job.check_again()
    return found if done.status is not None else f"{found} (mpirun hung)"


def kill(job, ways, times, dice):
    def case():
        found = collections.Counter()
        length = job.reference().run(["--force"], slowly(job)).seconds
        for i in range(times):
            found[kill_once(job, ways[i % len(ways)], dice.uniform(0, length))] += 1
        return f"{times} kills over {length:.2f} s: " + ", ".join(f"{name} {count}" for name, count in sorted(found.items()))
    return case


def waiting(job):
    """A job that waits for its marker ends as soon as it is told to, and leaves nothing."""
    def case():
        report = job.place.directory / f"{job.output.name}.json"
        running = job.start(["--wait-for", "never", "--report", report])
        while "waiting for never" not in running.process.stderr.readline():
            check(running.process.poll() is None, "it does not wait")
        kill_rank(running, signal.SIGTERM)
        done = running.finish()
        job.check_message(done, 143, "ended by SIGTERM")
        left = [path for path in job.place.directory.iterdir() if path.name.startswith(job.output.name) and path != report]
        check(not left, f"left: {left}: {done}")
        told = json.loads(report.read_text())
        check((told["status"], told["error"]["kind"], told["error"]["exit_status"]) == ("failed", "terminated", 143), told)
    return case


def main():
    options = arguments(__doc__, ("--kills", {"type": int, "default": int(os.environ.get("CKPT_TEST_KILLS", "60"))}),
                        ("--seed", {"type": int, "default": 1}))
    dice = random.Random(options.seed)
    with temporary_directory() as directory:
        place = Place(options, directory)
        in_safetensors = place.reshard("--format", "safetensors", output="safetensors")
        in_dcp = place.reshard("--format", "dcp", output="dcp")
        alone = [place.merge(), place.split(), place.reshard(), place.merge("merged.safetensors"), in_safetensors, in_dcp, place.tables(), place.shards(),
                 place.averaged()]
        together = [place.merge(ranks=2), place.split(ranks=2), place.reshard("--exchange", "mpi", ranks=2), place.tables(ranks=2),
                    place.shards(ranks=2)]
        each = -(-options.kills // 14)
        waits = [place.merge("waited.h5", ranks=2), place.merge("waited.h5")]
        run_cases({job.name: kill(job, ways, each, dice)
                   for jobs, ways in ((together, RANKS), (alone, ALONE)) for job in jobs} |
                  {f"{job.name}, waiting": waiting(job) for job in waits},
                  at_once=3)  # mpirun spends most of its time waiting for its children to obey


if __name__ == "__main__":
    main()
