#!/usr/bin/python3
"""Where the system allows little: open files, addresses. The output is the same, or one message names the limit. And what reads
metadata for a program goes with it, however it ends."""
import json
import os
import pathlib
import signal
import subprocess
import time

import h5py
import numpy as np
from harness import ENVIRONMENT, Job, Place, Running, arguments, check, run_cases, temporary_directory

CARDS = 200
FEW_FILES = 32


def limited(job, what, most, more=()):
    """Runs a job with a limit, hard and soft, on each of its processes, but not on mpirun."""
    launcher = job.command(more)
    at = launcher.index("env")
    return run([*launcher[:at], "bash", "-c", f'ulimit -{what} {most}; exec "$@"', "limited", *launcher[at:]])


def run(command):
    return Running(command, {**os.environ, **ENVIRONMENT}).finish()


def many_files(place):
    """200 cards of two parameters each, and the job of merging them."""
    directory = place.directory / "many"
    directory.mkdir()
    for card in range(CARDS):
        with h5py.File(directory / f"rank_{card}.h5", "w") as file:
            file["w"] = np.arange(64, dtype="f4").reshape(8, 8) + card
            file["b"] = np.arange(4, dtype="f4") - card
    for name, cards in (("many", CARDS), ("few", 3)):
        layout = {"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [cards]}, "files": "rank_{card}.h5",
                  "default": "replicate", "parameters": [{"name": "?", "split": ["x"], "uneven": "ceil"}]}
        (place.directory / f"{name}.json").write_text(json.dumps(layout))
    return directory


def few_open_files(job):
    """The same output as with as many as the system likes."""
    def case():
        job.reference().clear()
        done = limited(job, "n", FEW_FILES, ["--threads", "2"])
        check(done.status == 0 and job.is_whole(), f"with {FEW_FILES} open files: {done}")
    return case


def too_few_open_files(job):
    """A message at the start, which says what would do."""
    def case():
        job.reference().clear()
        done = limited(job, "n", FEW_FILES, ["--threads", "64"])
        job.check_message(done, 1, f"ulimit -n: it allows {FEW_FILES} open files, expected at least ", "for 64 threads",
                          "raise it, or lower --threads")
        check(not job.partial.exists(), f"something is left: {done}")
    return case


def few_open_files_to_verify(place, whole, split):
    def case():
        layout = place.directory / "many.json"
        for words in ([split.output], ["--to", layout, whole.output, place.directory / "many"]):
            command = [place.bin / "ckpt-verify", "--threads", "2", *words]
            done = run(["bash", "-c", f'ulimit -n {FEW_FILES}; exec "$@"', "limited", *map(str, command)])
            check(done.status == 0, f"with {FEW_FILES} open files: {done}")
    return case


def is_startable(job, kibibytes):
    """Whether the system can load the program and its libraries within so many addresses."""
    command = ["bash", "-c", f'ulimit -v {kibibytes}; exec "$@"', "limited", job.words[0], "--version"]
    return run(command).status == 0


def few_addresses(job):
    """From hardly enough for eight threads to as many as anybody wants: all or nothing, and never without a message."""
    def case():
        job.reference()
        statuses = []
        for mebibytes in (*range(120, 400, 20), 500, 700, 1000, 2000):
            job.clear()
            done = limited(job, "v", mebibytes * 1024, ["--threads", "8", "--memory", "128MiB"])
            job.check_left(done)
            if not is_startable(job, mebibytes * 1024):
                continue  # a library such as NCCL is larger than that, or one ends in its own beginning
            check(done.status in (0, 1), f"{mebibytes} MiB: {done}")
            if done.status == 1:
                check(len(done.messages) == 1, f"{mebibytes} MiB, expected one message: {done}")
            statuses.append(done.status)
            job.clear()
        check(statuses[-4:] == [0] * 4, f"2 GiB are not enough: {statuses}")
        return f"{statuses.count(1)} refused, {statuses.count(0)} did their work"
    return case


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            pass
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, what):
    end = time.monotonic() + 10
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.01)


def helper_goes(place, how):
    """However its program ends; what reads standard output of the program does not wait for it."""
    def case():
        job = place.merge("never.h5", "--wait-for", place.directory / "never")
        process = subprocess.Popen(job.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            wait_until(lambda: children(process.pid), "no helper")
            helper, = children(process.pid)
            how(process)
            process.wait(timeout=10)
            wait_until(lambda: not is_running(helper), "the helper is left")
            process.communicate(timeout=10)
        finally:
            process.kill()
    return case


def kill_group(number):
    return lambda process: os.killpg(process.pid, number)


def kill_first(process):
    process.send_signal(signal.SIGKILL)


def helper_is_left_alone(place):
    """What a terminal or a batch system sends to all processes ends the program in its own way."""
    job = place.merge("never.h5", "--wait-for", place.directory / "never")
    process = subprocess.Popen(job.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    wait_until(lambda: children(process.pid), "no helper")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    check(process.returncode == 130 and "ended by SIGINT" in errors, f"{process.returncode}: {errors}")


def closed_streams(job):
    """No file is opened in the place of a standard stream, where messages would be written into it."""
    def case():
        job.reference().clear()
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            job.clear()
            done = run(["bash", "-c", f'exec "$@" {closed}', "closed", *job.command(["-v"])])
            check(done.status == 0 and job.is_whole(), f"{closed}: {done}")
    return case


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory)
        many = many_files(place)
        layouts = {name: place.directory / f"{name}.json" for name in ("many", "few")}
        whole = Job(place, "ckpt-merge", ["--layout", layouts["many"], many], "many_whole.h5").reference()
        split_words = ["--layout", layouts["many"], whole.output]
        split = Job(place, "ckpt-split", split_words, "many_split")
        jobs = [Job(place, "ckpt-reshard", ["--from", layouts["many"], "--to", layouts["few"], many], "many_few"), split,
                Job(place, "ckpt-split", [*split_words, "--exchange", "mpi"], "many_split", ranks=2)]
        cases = {f"few open files: {job.name}": few_open_files(job) for job in jobs}
        cases["few open files: ckpt-verify"] = few_open_files_to_verify(place, whole, split)
        cases["too few open files"] = too_few_open_files(jobs[0])
        cases["too few open files, 2 ranks"] = too_few_open_files(jobs[-1])
        cases["few addresses"] = few_addresses(place.reshard())
        cases["closed streams"] = closed_streams(place.merge())
        for name, how in (("killed", kill_first), ("terminated", kill_group(signal.SIGTERM)), ("hung up", kill_group(signal.SIGHUP))):
            cases[f"the helper of a program that is {name}"] = helper_goes(place, how)
        cases["a signal to all"] = lambda: helper_is_left_alone(place)
        run_cases(cases)


if __name__ == "__main__":
    main()
