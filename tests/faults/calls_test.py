#!/usr/bin/python3
"""The system's calls fail one at a time, first and last and in between: the program ends with one message that names the
file, or does its work all the same; it never writes anything wrong."""
import errno
import json
import os
import pathlib
import random
import re
import struct
import subprocess

from harness import ENVIRONMENT, LIMIT_S, Job, Place, arguments, check, run_cases, temporary_directory

AGAIN = {"EINTR", "short", "EOPNOTSUPP", "EAGAIN"}  # nothing has failed: to be done again, gone on with, or done without
WAYS = {
    "pwrite": ["ENOSPC", "EIO", "short", "EDQUOT", "EINTR"],
    "fallocate": ["ENOSPC", "EOPNOTSUPP", "EINTR", "EDQUOT"],
    "ftruncate": ["EIO", "ENOSPC", "EINTR", "EDQUOT"],
    "fsync": ["EIO", "EINTR", "ENOSPC", "EDQUOT"],
    "rename": ["EIO", "ENOSPC"],
    "renameat2": ["EIO", "ENOSPC", "EROFS", "EINVAL", "EEXIST"],
    "mmap": ["ENOMEM", "ENODEV"],
    "pread": ["EIO", "short", "EINTR", "ESTALE"],
    "preadv2": ["EOPNOTSUPP", "EAGAIN", "EIO", "EINTR"],  # what it reads is asked for again by pread
    "open": ["EMFILE", "EIO", "EACCES", "ENOSPC", "EINTR"],
    "mkdir": ["ENOSPC", "EACCES"],
}
# Wrapped calls that these jobs do not make: on standard output (`streamed`), and for blocks that are shared (reflink_test.py).
ELSEWHERE = {"write", "ioctl"}
STREAMED = ["ENOSPC", "EIO", "short", "EDQUOT", "EINTR"]


def calls(job):
    """How often an undisturbed run makes each call."""
    log = job.place.directory / f"{job.output.name}.log"
    done = job.run(["--threads", "1", "--force"], {"log": log})
    check(done.status == 0, f"undisturbed: {done}")
    names = [line.split(" ")[0] for line in log.read_text().splitlines()]
    log.unlink()
    return {name: names.count(name) for name in WAYS if name in names}


def points(count, most, dice):
    """The first and the last of so many calls, and others between."""
    if count <= most:
        return range(1, count + 1)
    return sorted({1, count, *dice.sample(range(2, count), most - 2)})


def status_of(way, errors):
    """A full disk or quota may pass, and a stale handle, unless HDF5 is told of it, which passes on its words alone, or it is the
    lock's, which somebody has replaced then."""
    if way == "ESTALE" and ("HDF5: " in errors or "it is not what this job made" in errors):
        return 1
    return 75 if way in ("ENOSPC", "EDQUOT", "ESTALE") else 1


def action_of(way):
    return "short" if way == "short" else getattr(errno, way)


def fail(job, function, number, way):
    job.clear()
    done = job.run(["--threads", "1"], {"at": f"{function} {number} {action_of(way)}"})
    job.check_left(done)
    check(done.status == 0 or way not in AGAIN or function in ("open", "mkdir"),
          f"{function} {number}, {way}: nothing had failed: {done}")
    if done.status != 0:
        job.check_message(done, status_of(way, done.errors), str(job.place.directory))
    return min(done.status, 1)


def is_ext(directory):
    return "ext" in subprocess.run(["stat", "-f", "-c", "%T", directory], check=True, capture_output=True, text=True).stdout


def all_are_made(counts, asks_for_blocks):
    """So that no way to fail is left out unnoticed."""
    wrapped = set(re.findall(r'fault(?:_of)?\("(\w+)"', pathlib.Path(__file__).with_name("interpose.c").read_text()))
    check(wrapped == ELSEWHERE.union(WAYS), f"interpose.c wraps {', '.join(sorted(wrapped))}: let each fail here, or say where it does")
    elsewhere = set() if asks_for_blocks else {"fallocate"}
    never = set(WAYS).difference(elsewhere, *counts.values())
    check(not never, f"calls that no job makes: {', '.join(sorted(never))}")


def fail_each(job, counts, most, dice):
    def case():
        found = {0: 0, 1: 0}
        for function, count in counts.items():
            ways = WAYS[function]
            for i, number in enumerate(points(count, max(most, len(ways)), dice)):
                found[fail(job, function, number, ways[i % len(ways)])] += 1
            if count < len(ways):
                for way in ways[count:]:
                    found[fail(job, function, count, way)] += 1
        return f"{found[1]} failed with a message, {found[0]} did their work"
    return case


def on_one_rank(job, number):
    """The message of the rank that failed, once; what was written stays for another run."""
    job.reference().clear()
    done = job.run(["--threads", "1"], {"at": f"pwrite {number} {errno.ENOSPC}", "for": ".partial", "rank": 1})
    job.check_message(done, 75, str(job.partial), "No space left on device")
    job.clear()
    job.check_again()


def streamed(job, dice):
    """Standard output, which is a file here: a write that fails ends the job with one message, and others are gone on with."""
    file, log = job.place.directory / "streamed.safetensors", job.place.directory / "streamed.log"

    def run(faults):
        command = job.command(["--threads", "1", "--format", "safetensors"], faults, output="-")
        with open(file, "wb") as out:
            return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT}, timeout=LIMIT_S)
    undisturbed = run({"log": log})
    check(undisturbed.returncode == 0, f"undisturbed: {undisturbed}")
    count, whole = log.read_text().splitlines().count(f"write {file}"), file.read_bytes()
    check(count > 0, f"nothing is written: {undisturbed}")
    for way, number in zip(STREAMED, sorted(dice.choices(range(1, count + 1), k=len(STREAMED)))):
        done = run({"at": f"write {number} {action_of(way)}", "for": file.name})
        if way in AGAIN:
            check(done.returncode == 0 and file.read_bytes() == whole, f"write {number}, {way}: nothing had failed: {done}")
            continue
        messages = [line for line in done.stderr.splitlines() if ": error: " in line]
        check(done.returncode == status_of(way, done.stderr) and len(messages) == 1 and os.strerror(getattr(errno, way)) in messages[0], f"write {number}, {way}: {done}")


def not_allowed(job):
    """A process that may not open the lock, as another user's, does not say that it does not see it. (It looks first whether there is one: 1.)"""
    job.reference().clear()
    done = job.run([], {"at": f"open 2 {errno.EACCES}", "for": f"{job.partial.name}.lock", "rank": 1})
    job.check_message(done, 1, f"{job.partial}.lock: cannot be opened: Permission denied", "do all processes run as one user?")


def without_blocks(job):
    """A quota for all files (1), then the blocks of each (2), are asked for before anything is moved: one clear message, and the job can go on.
    One file may have less room than all files have: only a quota refuses the first call."""
    job.reference()
    for number, words in ((errno.ENOSPC, "No space left on device"), (errno.EDQUOT, "Disk quota exceeded")):
        for call in (1, 2):
            job.clear()
            done = job.run(["--threads", "1"], {"at": f"fallocate {call} {number}"})
            if call == 1 and number == errno.ENOSPC:
                check(done.status == 0, f"the disk's room had been looked at: {done}")
                continue
            job.check_message(done, 75, str(job.place.directory), words)
            check(call == 2 or not job.partial.exists(), f"something was written before the room was looked for: {done}")
            job.check_again()


def more_than_is_there(place):
    """No file gets blocks where the disk has too few: ext4 would give it all that are left before it refuses, and others' writes would fail."""
    free = os.statvfs(place.directory)
    size = free.f_bavail * free.f_frsize + (1 << 30)
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    hole, log = place.directory / "hole.safetensors", place.directory / "hole.log"
    hole.write_bytes(struct.pack("<Q", len(header)) + header)
    os.truncate(hole, 8 + len(header) + size)
    done = Job(place, "ckpt-merge", [hole], "hole.h5").run(["--dry-run"], {"log": log})
    check(done.status == 0, f"expected exit status 0: {done}")
    check("fallocate" not in log.read_text(), f"blocks were asked for: {done}")


def lock_in_two_writes(job):
    """The system takes a part of the lock's text, and the rest when it is given that."""
    job.reference().clear()
    done = job.run(["--threads", "1"], {"at": "pwrite 1 short", "for": f"{job.partial.name}.lock"})
    check(done.status == 0, f"nothing had failed: {done}")
    job.check_left(done)


def line_of_done_file(job, done_file):
    """The output stands: a line that cannot be added is a warning."""
    job.output.parent.mkdir()
    job.reference().clear()
    done_file.unlink()
    done = job.run(["--threads", "1"], {"at": f"pwrite 1 {errno.ENOSPC}", "for": f"{done_file.name}.partial"})
    check(done.status == 0 and job.is_whole(), f"the output stands: {done}")
    for words in ("No space left on device", "the output is written: only the line is not"):
        check(words in done.errors, f"expected '{words}': {done}")
    check(not done_file.exists(), f"a line all the same: {done}")


def main():
    options = arguments(__doc__, ("--points", {"type": int, "default": int(os.environ.get("CKPT_TEST_POINTS", "12"))}),
                        ("--seed", {"type": int, "default": 1}))
    dice = random.Random(options.seed)
    with temporary_directory() as directory:
        place = Place(options, directory)
        jobs = [place.merge(), place.split(), place.reshard()]
        direct, exchanged = place.reshard(ranks=2), place.split(ranks=2)
        exchanged.words += ["--exchange", "mpi"]
        counts = {job.name: calls(job.reference()) for job in jobs}
        shared = place.reshard(output="shared", ranks=2)
        locked, done_file = place.merge("locked.h5"), place.directory / "done.txt"
        noted = place.reshard("--done", done_file).write_to(place.directory / "20190720" / "6")
        piped = place.merge("piped.h5")
        full, asks_for_blocks = place.merge(), is_ext(directory)  # for the blocks of each file
        run_cases({"every call is made": lambda: all_are_made(counts, asks_for_blocks),
                   **({"no blocks": lambda: without_blocks(full), "too many blocks": lambda: more_than_is_there(place)} if asks_for_blocks else {}),
                   "the lock": lambda: lock_in_two_writes(locked), "the line": lambda: line_of_done_file(noted, done_file),
                   "standard output": lambda: streamed(piped, random.Random(options.seed)),
                   "another user": lambda: not_allowed(shared), direct.name: lambda: on_one_rank(direct, 5), exchanged.name: lambda: on_one_rank(exchanged, 100)} |
                  {job.name: fail_each(job, counts[job.name], options.points, dice) for job in jobs}, at_once=2)


if __name__ == "__main__":
    main()
