#!/usr/bin/python3
"""--resume trusts nothing that it has not checked: what is left of a killed run is damaged, and the output is the same none
the less; what it cannot go on with is refused. Memory that changes what was read is found by --verify
written, and a storage that changes what it is given by --verify reread."""
import json
import os
import random
import signal
import subprocess
import time

import h5py
import numpy as np

from harness import Job, Place, arguments, check, checkpoints, run_cases, temporary_directory

RECORD = 64  # bytes


def interrupted(job, dice):
    """What a run leaves that is killed when about half of its data is written and noted."""
    for _ in range(20):
        job.clear()
        running = job.start(["--threads", "1"], {"delay_us": 4000})
        while running.process.poll() is None and records(job) < 2 + dice.randrange(3):
            time.sleep(0.001)
        os.kill(running.process.pid, signal.SIGKILL)
        running.finish()
        if job.partial.exists() and records(job):
            return
    check(False, f"{job.name} could not be killed half way")


def journals(job):
    return sorted(path for path in job.journal.glob("*") if path.name.isdigit()) if job.journal.is_dir() else []


def records(job):
    return sum(path.stat().st_size // RECORD for path in journals(job))


def data_files(job):
    return [job.partial] if job.partial.is_file() else sorted(job.partial.glob("*.h5"))


def flip(path, place):
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)
        file.seek(place)
        file.write(bytes([byte[0] ^ 16]))


def flip_data(job, dice):
    for path in data_files(job):
        for _ in range(5):
            flip(path, dice.randrange(path.stat().st_size))


def flip_journal(job, dice):
    for path in journals(job):
        for place in dice.sample(range(path.stat().st_size), min(3, path.stat().st_size)):
            flip(path, place)


def tear_journal(job, dice):
    for path in journals(job):
        os.truncate(path, dice.randrange(path.stat().st_size))


def repeat_journal(job, _):
    """Each chunk twice, and once more by a process that is not there."""
    for path in journals(job):
        content = path.read_bytes()
        path.write_bytes(content + content)
        (path.parent / "77").write_bytes(content)


def shift_data(job, dice):
    """What the journal says of each chunk is true of another place only."""
    path = dice.choice(data_files(job))
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\0\0\0\0" + content[8192:-4])


def lose_file(job, dice):
    dice.choice(data_files(job)).unlink()
    if job.partial.parent == job.output.parent and not job.partial.exists():
        job.partial.touch()  # a single file: it lost its content


def cut_file(job, dice):
    path = dice.choice(data_files(job))
    os.truncate(path, dice.randrange(path.stat().st_size))


def nothing(*_):
    pass


DAMAGES = {"nothing": nothing, "flipped data": flip_data, "flipped journal": flip_journal, "torn journal": tear_journal,
           "repeated journal": repeat_journal, "shifted data": shift_data, "a lost file": lose_file, "a cut file": cut_file}


def goes_on(job, damage, again, dice):
    """`again`: the job that resumes, perhaps with other words or on other ranks, to the same output."""
    def case():
        job.reference()
        interrupted(job, dice)
        noted = records(job)
        DAMAGES[damage](job, dice)
        report = job.place.directory / f"{job.output.name}.{damage.replace(' ', '_')}.json"
        done = again.run(["--resume", "--report", report])
        check(done.status == 0 and job.is_whole(), f"{damage}: {done}")
        check(not job.partial.exists() and not job.journal.exists(), f"{damage}: something is left by {done}")
        resumed = json.loads(report.read_text())["bytes_resumed"]
        if damage in ("nothing", "repeated journal"):
            check(resumed > 0, f"{noted} records, and nothing was gone on with: {done}")
        return f"{noted} records, {resumed} bytes stood"
    return case


def stands_between(place):
    """Small data lies closer together than a page: what is noted must stand while that on both sides of it is written."""
    source, layout = place.directory / "small", place.directory / "small.json"
    source.mkdir()
    with h5py.File(source / "rank_0.h5", "w") as file:
        for number in range(60):
            file[f"w{number:02}"] = np.full(1 + number * 37 % 1500, 1 + number, "f4")
    checkpoints.write_layout(layout, {"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [1]}, "files": "rank_{card}.h5",
                                      "default": "replicate"})
    job = Job(place, "ckpt-merge", ["--layout", layout, source], "small.h5")

    def case():
        job.reference()
        for first in range(3):
            job.clear()
            done = job.run(["--threads", "1"], {"at": "fsync 2 5"})  # the first is of the job's description
            check(done.status == 1 and records(job) == 60, f"expected a run that fails when all is written: {done}")
            for path in journals(job):
                content = path.read_bytes()
                noted = [content[at:at + RECORD] for at in range(0, len(content), RECORD)]
                path.write_bytes(b"".join(noted[first::3]))
            done = job.run(["--resume"])
            check(done.status == 0 and job.is_whole(), f"every third record, from {first} on: {done}")
        return "each third of it stood"
    return case


def refuses(job, change, text, dice):
    def case():
        job.reference()
        interrupted(job, dice)
        more = change(job) or []
        done = job.run(["--resume", *more])
        check(done.status == 1 and text in done.errors, f"expected '{text}': {done}")
        check(job.partial.exists() and records(job), f"what was left has gone: {done}")
        done = job.run(["--force", *more])
        check(done.status == 0, f"{done}")
    return case


def touch_source(job):
    os.utime(job.place.job / "rank_1.h5")


def storage_lies(place, number):
    """One bit of a piece of data changes on its way to the disk: only reading it back can tell, or ckpt-verify later."""
    def case():
        job = place.split()
        job.clear()
        fault = {"at": f"pwrite {number} flip", "for": "rank_1"}
        done = job.run(["--threads", "1", "--verify", "reread"], fault)
        check(done.status == 1 and "rank_1.h5" in done.errors and "does not give back" in done.errors, f"{done}")
        check(not job.output.exists(), f"published: {done}")
        done = job.run(["--threads", "1", "--force"], fault)
        check(done.status == 0, f"{done}")
        verify = subprocess.run([place.bin / "ckpt-verify", job.output], capture_output=True, text=True, check=False)
        check(verify.returncode == 1 and "rank_1.h5" in verify.stdout, f"ckpt-verify: {verify}")
    return case


def memory_lies(job, number, size=512, what="in parameter", unseen=lambda job: None):
    """One bit changes between reading and writing, in one of the copies of 512 bytes that a row of a piece is when it is
    put into its chunk; or two copies are exchanged, or one is made twice. `unseen`: checks what is then written."""
    def case():
        fault = {"at": f"memcpy {number} {size}"}
        for verify in ("written", "reread"):
            job.clear()
            done = job.run(["--threads", "1", "--verify", verify], fault)
            job.check_message(done, 1, "are not those that were read", what)
        job.clear()
        done = job.run(["--threads", "1", "--verify", "none"], fault)
        check(done.status == 0, f"{done}")
        check(not job.is_whole(), "nothing was changed: this test tests nothing")
        unseen(job)
        job.clear()
        return "found before it was written"
    job.reference()
    return case


def stray_rows(job):
    """Of a job of `Place.tables`, whose row of key k begins with the number k: on each server the keys whose row is
    another key's, and the rows that are there."""
    found = []
    for file in sorted(job.output.glob("server_*.h5")):
        with h5py.File(file) as opened:
            keys, first = opened["embedding/keys"][:], opened["embedding/value"][:, 0].astype("u8")
        found.append((keys[keys != first], first[keys != first]))
    return [stray for stray in found if len(stray[0])]


def is_swapped(job):
    """Two rows of one server: no sum that does not look at key and row together would tell."""
    [(keys, rows)] = stray_rows(job)
    check(len(keys) == 2 and list(keys) == list(rows)[::-1], f"rows {rows} are under the keys {keys}")


def is_doubled(job):
    """One row of a server stands twice, another nowhere: as many as there were."""
    [(keys, rows)] = stray_rows(job)
    check(len(keys) == 1, f"rows {rows} are under the keys {keys}")


def main():
    options = arguments(__doc__, ("--seed", {"type": int, "default": 1}))
    dice = random.Random(options.seed)
    with temporary_directory() as directory:
        place = Place(options, directory)
        cases = {}
        for job in (place.merge(), place.split(), place.reshard()):
            for damage in DAMAGES:
                cases[f"{job.name}, {damage}"] = goes_on(job, damage, job, dice)
        cases["small data between"] = stands_between(place)
        other = place.reshard()
        other.words += ["--memory", "1MiB", "--threads", "3"]  # other chunks
        cases["other chunks"] = goes_on(place.reshard(), "nothing", other, dice)
        two = place.split(ranks=2)
        two.output, two.partial, two.journal = place.split().output, place.split().partial, place.split().journal
        cases["two ranks"] = goes_on(place.split(), "nothing", two, dice)
        cases["a source that has changed"] = refuses(place.merge(), touch_source, "before rank_1.h5 changed", dice)
        cases["other parameters"] = refuses(place.merge(), lambda job: ["--drop", "moments.*"], "other parameters", dice)
        cases["other dtypes"] = refuses(place.merge(), lambda job: ["--cast", "bf16"], "other dtypes", dice)
        for damage in DAMAGES:
            cases[f"cast, {damage}"] = goes_on(place.reshard("--cast", "bf16", output="cast"), damage,
                                               place.reshard("--cast", "bf16", output="cast"), dice)
        for job, number in ((place.merge("merged.h5", "--exchange", "mpi", ranks=2), 40),
                            (place.reshard("--exchange", "mpi", ranks=2), 400)):
            cases[f"{job.name}, memory that lies"] = memory_lies(job, number)
        cases["cast, memory that lies"] = memory_lies(
            place.reshard("--exchange", "mpi", "--cast", "f64", output="wide", ranks=2), 400)  # f64 loses no bit
        cases["tables, memory that lies"] = memory_lies(place.tables(), 4000, 108, "for these keys")
        cases["tables, two rows swapped"] = memory_lies(place.tables(), 4000, "108 swap", "for these keys", is_swapped)
        cases["tables, a row doubled and one lost"] = memory_lies(place.tables(), 4000, "108 double", "for these keys", is_doubled)
        for damage in DAMAGES:
            cases[f"tables, {damage}"] = goes_on(place.tables(), damage, place.tables(), dice)
        kept = ["--keep", "embedding: slot >= 30000 or click < 9000"]
        for damage in DAMAGES:
            cases[f"kept rows, {damage}"] = goes_on(place.tables(*kept, output="kept"), damage,
                                                    place.tables(*kept, output="kept", memory="1MiB"), dice)
            cases[f"layers, {damage}"] = goes_on(place.layered(), damage, place.layered(memory="1MiB"), dice)
        delta = ["--delta", place.directory / "delta"]
        cases["other deltas"] = refuses(place.tables(output="lone"), lambda job: delta, "other deltas", dice)
        cases["other rows to keep"] = refuses(place.tables(), lambda job: kept, "other rows to keep", dice)
        cases["tables, other batches"] = goes_on(place.tables(), "nothing", place.tables(memory="2MiB"), dice)
        for number in (2, 3):
            cases[f"a storage that lies at piece {number}"] = storage_lies(place, number)
        run_cases(cases)


if __name__ == "__main__":
    main()
