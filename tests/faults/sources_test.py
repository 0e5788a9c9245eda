#!/usr/bin/python3
"""Sources that change while they are read, and processes that are lost, each at a chosen call: the error names the file, the
others end, and nothing wrong is published."""
import os
import shutil

import numpy as np

from harness import Job, Place, arguments, check, run_cases, temporary_directory
from group_cold import forget  # by harness on the path

BOUND_S = 15  # within which a lost process ends the others; mpirun takes two of them


def changed(job, change, at, *texts, file=None):
    """Runs the job on a source whose file is changed by a shell command before a call, and puts the file right again."""
    file = file or job.place.job / "rank_3.h5"
    kept = job.place.directory / "kept.h5"

    def case():
        job.clear()
        shutil.copy2(file, kept)
        try:
            done = job.run(["--threads", "1"], {"at": f"{at} run {change.format(file=file)}", "for": file.name})
        finally:
            shutil.copy2(kept, file)
        job.check_message(done, 1, file.name, *texts)
        check(not job.partial.exists(), f"a .partial that nobody can go on with is left: {done}")
    return case


def untold(job):
    """A file system that does not say what of a file it has in memory, as those of networks do not: it is read as usual."""
    def case():
        job.clear()
        log = job.place.directory / "calls.log"
        forget(job.place.job)
        done = job.run(faults={"nowait": "refused", "log": log})
        check(done.status == 0 and job.is_whole(), f"{done}")
        asked = {call.rpartition("/")[2] for call in log.read_text().splitlines() if call.startswith("preadv2 ")}
        files = {path.name for path in job.place.job.glob("rank_*.h5")}
        check(files & asked, f"of none of {sorted(files)} it was asked what is in memory, but of {sorted(asked)}")
    return case


def lost(job, at, rank):
    """The rank is killed before a call; with the other one the job ends, and another run makes it."""
    def case():
        job.clear()
        done = job.run(faults={"at": f"{at} run kill -KILL $PPID", "rank": rank})
        check(done.status != 0, f"nobody was killed: {done}")
        check(done.seconds < BOUND_S, f"it took {done.seconds:.1f} s to end: {done}")
        job.check_left(done)
        job.check_again()
    return case


def replaced(place):
    """A source with checksums that is damaged, of which a job is killed before it has come to the end of the damaged array. Then a sound copy
    of the same time takes its place, and the job is resumed: nothing of the damaged array may be left in the output."""
    def case():
        arrays = {name: np.random.default_rng(seed).bytes(size) for seed, (name, size) in enumerate({"a": 6 << 20, "b": 24 << 20}.items())}
        source = place.directory / "summed.npz"
        np.savez(source, **{name: np.frombuffer(data, "u1") for name, data in arrays.items()})
        sound, times = source.read_bytes(), (0, source.stat().st_mtime_ns)
        os.utime(source, ns=times)
        at = sound.index(arrays["b"][:64])
        source.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1:])
        os.utime(source, ns=times)
        job = Job(place, "ckpt-merge", ["-q", "--threads", "1", source], "summed.safetensors")
        done = job.run(faults={"at": "pwrite 12 run kill -KILL $PPID", "for": "summed.safetensors.partial"})
        check(done.status == -9 and job.partial.exists(), f"it was not killed: {done}")
        source.write_bytes(sound)
        os.utime(source, ns=times)
        done = job.run(["--resume"])
        check(done.status == 0, f"it was not resumed: {done}")
        check(all(data in job.output.read_bytes() for data in arrays.values()), "the output has bytes of the damaged source")
    return case


def overflowing(place, word, number, option, before=""):
    """Of numbers that become infinite tells the job that goes on, too, though an earlier one has written and recorded them."""
    def case():
        source = place.directory / f"{word}.npz"
        np.savez(source, large=np.full(3 << 20, number, "f4"), small=np.ones(4 << 20, "f4"))
        job = Job(place, "ckpt-merge", ["--threads", "1", option, f"{before}{source}"], f"{word}.safetensors")
        done = job.run(faults={"at": "fsync 2 run kill -KILL $PPID"})
        check(done.status == -9 and job.partial.exists(), f"it was not killed: {done}")
        done = job.run(["--resume", "--strict"])
        check(done.status == 1 and done.errors.count("infinite now") == 1, f"it does not tell of what overflowed: {done}")
    return case


def source_cases(place):
    merge, reshard, exchange = place.merge(), place.reshard(), place.reshard("--exchange", "mpi", ranks=2)
    tables, shards, lines = place.tables(), place.shards(), place.text()
    for job in (merge, reshard, exchange):
        job.reference()
    cut = "truncate -s 8192 {file}"
    return {
        # The first mapping only asks what of it the system has in memory.
        "cut off before it is mapped": changed(reshard, cut, "mmap 2", "ended while it was read"),
        "cut off before it is read": changed(merge, cut, "pread 60", "was it truncated?"),
        "cut off, on 2 ranks": changed(exchange, cut, "pread 60"),
        "longer": changed(merge, "truncate -s +1 {file}", "pread 60", "it was changed while it was read"),
        "touched": changed(merge, "touch {file}", "pread 60", "it was changed while it was read"),
        "touched, on 2 ranks": changed(exchange, "touch {file}", "pread 60", "it was changed while it was read"),
        "too large, cast": overflowing(place, "narrow", 7e4, "--cast=f16"),
        "too large, averaged": overflowing(place, "doubled", 3e38, "--average", "2="),
        "replaced": changed(merge, "cp {file} {file}.new; mv {file}.new {file}", "pread 60", "it was changed while it was read"),
        "a table's, touched": changed(tables, "touch {file}", "pread 12", "it was changed while it was read",
                                      file=place.directory / "servers" / "server_1.h5"),
        "a table's rows by shard, touched": changed(shards, "touch {file}", "pread 6", "it was changed while it was read",
                                                    file=place.directory / "by_shard" / "server_1.h5"),
        "text, touched": changed(lines, "touch {file}", "pread 1", "changed while it was read",
                                 file=place.directory / "text" / "000" / "part-001-00007"),
        "of a file system that does not say what is in memory": untold(merge),
        "damaged, and replaced after a kill": replaced(place),
        "removed": changed(merge, "rm {file}", "pread 60", "it was changed while it was read"),
    }


def lost_cases(place):
    direct, exchange = place.reshard(ranks=2), place.reshard("--exchange", "mpi", ranks=2)
    for job in (direct, exchange):
        job.reference()
    calls = {"the catalog": ("pread 3", 1), "making files": ("pwrite 2", 0), "reading": ("pread 80", 0),
             "the move": ("pwrite 90", 1), "flushing": ("fsync 1", 1), "publishing": ("renameat2 1", 0)}
    cases = {}
    for i, (phase, (call, rank)) in enumerate(calls.items()):
        cases[f"a rank lost in {phase}"] = lost((direct, exchange)[i % 2], call, rank)
    return cases


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory)
        run_cases(source_cases(place) | lost_cases(place))


if __name__ == "__main__":
    main()
