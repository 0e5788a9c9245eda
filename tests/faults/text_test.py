#!/usr/bin/python3
"""Jobs of tables, as text and as datasets, killed at each step of their journal: --resume goes on from there, and comes to the same bytes."""
import json
import pathlib
import shutil

from harness import Place, arguments, check, run_cases, temporary_directory

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


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory)
        lines, packed, rows, beside = place.text(), place.text(".gz"), place.printed(), place.beside_text()
        spread = place.spread()
        run_cases({"lines": killed(lines), "lines, compressed": killed(packed), "rows": killed(rows), "rows of any order": killed(spread),
                   "tables": killed(place.tables()), "whole shards": killed(place.shards()),
                   "beside others": killed(beside),
                   "cataloged once": cataloged_once(place.rows_beside()),
                   "badly compressed": badly_compressed(packed), "no room for lines": without_room(lines, sum(file.stat().st_size for file in place.directory.glob("text/000/*"))),
                   "no room for rows": without_room(rows, 240000 * 2 * (1 + 7 + 9)),
                   "damaged": damaged(lines), "changed": changed(lines)})


if __name__ == "__main__":
    main()
