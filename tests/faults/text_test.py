#!/usr/bin/python3
"""Jobs of tables, as text and as datasets, killed at each step of their journal: --resume goes on from there, and comes to the same bytes.
Long texts of HDF5, which go from file to file while files are made: killed there, without room, and changed meanwhile."""
import json
import pathlib
import shutil

import h5py
import numpy as np

from harness import Job, Place, arguments, check, checkpoints, run_cases, temporary_directory

KILL = "kill -9 $PPID"


def steps(job):
    """How often a run writes to its journal."""
    log = job.place.directory / f"{job.output.name}.log"
    job.clear()
    done = job.run(["--threads", "1"], {"log": log})
    check(done.status == 0, f"undisturbed: {done}")
    calls = [line for line in log.read_text().splitlines() if line.startswith("pwrite ") and "/.journal/" in line]
    log.unlink()
    return len(calls)


def gone_on_with(job, *more):
    """How many bytes of the earlier run a --resume has found good."""
    report = job.place.directory / f"{job.output.name}.json"
    done = job.run(["--resume", "--report", report, *more])
    check(done.status == 0, f"the run after it failed: {done}")
    check(job.is_whole(), f"the run after it made something else: {done}")
    job.check_nothing_left(done)
    return json.loads(report.read_text())["bytes_resumed"]


def least(job):
    """What a job that has taken its datasets for good alone would tell, and all of the text made anew."""
    whole = job.place.directory / "whole.json"
    job.clear()
    done = job.run(["--report", whole])
    check(done.status == 0, f"undisturbed: {done}")
    text = sum(path.stat().st_size for path in job.output.rglob("part-*"))
    job.clear()
    return json.loads(whole.read_text())["bytes_to_write"] - text if text else 0


def killed(job):
    def case():
        count = steps(job.reference())
        found = []
        for number in range(1, count + 1):
            job.clear()
            done = job.run(["--threads", "1"], {"at": f"pwrite {number} run {KILL}", "for": "/.journal/"})
            check(done.status == -9 and job.partial.exists(), f"journal step {number}: {done}")
            found.append(gone_on_with(job, *(["--threads", "3"] if number % 2 else [])))
        # What is in the journal at a step was written before: the first two are the description, and what it stands for.
        check(found == sorted(found) and found[-1] > found[0], f"it has not gone on from where it was: {found}")
        check(found[-1] > least(job), f"of the text nothing was found good: {found}")
        return f"{count} steps, " + ", ".join(str(bytes_left) for bytes_left in found)
    return case


def damaged(job):
    """A byte of what an earlier run has left is another one: that part is made anew."""
    def case():
        count = steps(job.reference())
        job.clear()
        job.run(["--threads", "1"], {"at": f"pwrite {count} run {KILL}", "for": "/.journal/"})
        kept = job.output.with_name("kept")
        shutil.copytree(job.partial, kept)
        whole = gone_on_with(job)
        job.clear()
        shutil.move(kept, job.partial)
        first = min(path for path in pathlib.Path(job.partial).rglob("part-*") if path.stat().st_size > 100)
        with open(first, "r+b") as file:
            file.seek(50)
            byte = file.read(1)
            file.seek(50)
            file.write(bytes([byte[0] ^ 1]))
        less = gone_on_with(job)
        check(less < whole, f"{less} bytes were taken for good, {whole} where nothing was damaged")
    return case


def changed(job):
    """Another job, or a source that has changed since, does not go on with it."""
    def case():
        job.reference().clear()
        job.run(["--threads", "1"], {"at": f"pwrite 3 run {KILL}", "for": "/.journal/"})
        def refused(done, text):
            check(done.status == 1 and len(done.messages) == 1 and text in done.messages[0], f"expected '{text}': {done}")
            check(job.partial.exists() and not job.output.exists(), f"what was left is not left alone: {done}")
        refused(job.run(["--resume", "--verify", "none"]), "a job with another way of verifying")
        source = min(path for path in job.place.directory.glob("text/000/part-*"))
        text = source.read_bytes()
        source.write_bytes(text)
        refused(job.run(["--resume"]), f"it was left by this job before 000/{source.name} changed")
    return case


def badly_compressed(job):
    """What zlib makes is wrong: nothing is published."""
    def case():
        found = []
        for call in (1, 20, 31):
            job.clear()
            done = job.run(["--threads", "1"], {"deflate": str(call)})
            check(done.status == 1 and len(done.messages) == 1 and not job.output.exists(), f"call {call}: {done}")
            texts = [text for text in ("does not inflate again", "are not the", "lines written are not") if text in done.messages[0]]
            check(texts, f"call {call}, another message: {done}")
            found.append(texts[0])
        return ", ".join(found)
    return case


def without_room(job, least):
    """Nothing is begun where the disk has no room for the lines; `least`: bytes that are enough to begin."""
    def case():
        for free, status in ((least - 65536, 75), (least + 65536, 0)):  # whole blocks
            job.clear()
            done = job.run([], {"free": str(free)})
            check(done.status == status, f"{free} bytes free: {done}")
            if status == 75:
                check(len(done.messages) == 1 and "for the output" in done.messages[0], f"another message: {done}")
                check(not job.partial.exists() and not job.output.exists(), f"something is left: {done}")
        return f"{least} bytes"
    return case


def cataloged_once(job):
    """What becomes text and what is written beside it are one source: its files are opened less often than by two jobs."""
    def case():
        log = job.place.directory / "opens.log"

        def opens(words):
            done = job.run(["--dry-run", *words], {"log": log})
            check(done.status == 0, f"{done}")
            count = sum(line.startswith("open ") and line.endswith("/rows5/server_0.h5") for line in log.read_text().splitlines())
            log.unlink()
            return count
        beside = opens([])
        job.words[1:3] = ["--to", job.place.directory / "rows5.json"]
        job.words = list(map(str, job.words))
        alone = opens([])
        check(0 < beside < 2 * alone, f"opened {beside} times, {alone} times by a job without text")
        return f"opened {beside} times, {alone} by a job without text"
    return case


def long_texts(place, **how):
    """40,000 texts of 4.8 MiB, beside numbers, in each of two files."""
    source = place.directory / "notes.h5"
    if not source.exists():
        with h5py.File(source, "w") as file:
            file["w"] = np.arange(4096, dtype="f4").reshape(64, 64)
            file["notes"] = np.array([f"{i} " * (i % 50) for i in range(40000)], dtype=h5py.string_dtype())
    layout = checkpoints.write_layout(place.directory / "notes2.json", {
        "ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [2]}, "files": "rank_{card}.h5", "default": "replicate",
        "parameters": [{"name": "w", "split": ["tp"]}]})
    return Job(place, "ckpt-split", ["--layout", layout, source], "notes2", **how)


def killed_at_texts(job):
    """While a file is made, before and after its texts are there."""
    def case():
        job.reference()
        log = job.place.directory / "notes.log"
        job.clear()
        job.run(["--threads", "1"], {"log": log})
        count = sum(line.startswith("pwrite ") and "/rank_" in line for line in log.read_text().splitlines()) // max(1, job.ranks)
        log.unlink()
        check(count > 50, f"texts are written in {count} calls of each process")
        for number in (1, 2, count // 4, count // 2, count * 9 // 10):
            job.clear()
            done = job.run(["--threads", "1"], {"at": f"pwrite {number} run {KILL}", "for": "/rank_"})
            check(done.status in (-9, 137) and job.partial.exists(), f"pwrite {number}: {done}")
            done = job.run(["--resume"])
            check(done.status == 0 and job.is_whole(), f"after pwrite {number}: {done}")
            job.check_nothing_left(done)
        return f"{count} calls"
    return case


def texts_without_room(job):
    def case():
        job.reference().clear()
        done = job.run(["--threads", "1"], {"at": "pwrite 20 28", "for": "/rank_"})
        check(done.status == 75 and len(done.messages) == 1 and not job.output.exists(), f"{done}")
        check("No space left on device" in done.messages[0], f"another message: {done}")
        job.check_again()
    return case


def no_free_room_for_texts(job):
    """The room that texts take is looked at before anything is written."""
    def case():
        job.reference()
        whole = sum(file.stat().st_size for file in job.output.glob("rank_*"))
        for free, status in ((whole - (1 << 20), 75), (whole + (1 << 20), 0)):
            job.clear()
            done = job.run([], {"free": str(free)})
            check(done.status == status, f"{free} bytes free: {done}")
            if status == 75:
                check("are free there" in done.messages[0] and not job.partial.exists(), f"another message: {done}")
        return f"{whole} bytes"
    return case


def texts_changed(job):
    """One text has other letters than were counted, and no more of them."""
    def case():
        job.reference().clear()
        source = pathlib.Path(job.words[-1])
        bytes_before = source.read_bytes()
        at = bytes_before.index(b"4949 4949")
        change = f"printf X | dd of={source} bs=1 seek={at} conv=notrunc status=none"
        try:
            done = job.run(["--threads", "1"], {"at": f"pwrite 1 run {change}", "for": "/.journal/"})
        finally:
            source.write_bytes(bytes_before)
        check(done.status == 1 and len(done.messages) == 1 and not job.output.exists(), f"{done}")
        check("notes.h5: its texts are no longer those that were read first" in done.messages[0], f"another message: {done}")
    return case


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory)
        lines, packed, rows, beside = place.text(), place.text(".gz"), place.printed(), place.beside_text()
        spread, notes = place.spread(), long_texts(place)
        run_cases({"lines": killed(lines), "lines, compressed": killed(packed), "rows": killed(rows), "rows of any order": killed(spread),
                   "tables": killed(place.tables()), "whole shards": killed(place.shards()),
                   "beside others": killed(beside),
                   "long texts": killed_at_texts(notes), "long texts, 2 ranks": killed_at_texts(long_texts(place, ranks=2)),
                   "no room for long texts": texts_without_room(notes), "too little free room for long texts": no_free_room_for_texts(notes), "long texts changed": texts_changed(notes),
                   "cataloged once": cataloged_once(place.rows_beside()),
                   "badly compressed": badly_compressed(packed), "no room for lines": without_room(lines, sum(file.stat().st_size for file in place.directory.glob("text/000/*"))),
                   "no room for rows": without_room(rows, 240000 * 2 * (1 + 7 + 9)),
                   "damaged": damaged(lines), "changed": changed(lines)})


if __name__ == "__main__":
    main()
