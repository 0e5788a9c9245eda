#!/usr/bin/python3
"""A job reads the manifest of each of its checkpoints once, whoever asks for what it says: it may have gigabytes."""
import os
import shutil
import subprocess
from collections import Counter

from harness import ENVIRONMENT, Job, Place, arguments, check, run_cases, temporary_directory


def reads(job, log, more=()):
    """How often each manifest is opened, by the name of its directory; the output's own is written, too."""
    log.unlink(missing_ok=True)
    done = job.run(more, {"log": log})
    check(done.status == 0, f"{done}")
    opened = Counter(line.split("/")[-2] for line in log.read_text().splitlines()
                     if line.startswith("open ") and line.endswith("/checkpoint.json"))
    log.unlink()
    opened[job.partial.name] -= 1
    return +opened


def once(job, *sources, more=()):
    def case():
        job.clear()
        found = reads(job, job.place.directory / "opens.log", more)
        check(found == Counter(sources), f"{' '.join(job.words)}\nopened {dict(found)}, expected once each: {sources}")
        return ", ".join(f"{count} x {name}" for name, count in found.items())
    return case


def replaced(job, *sources):
    """An output that is replaced is judged several times."""
    def case():
        job.reference()
        found = reads(job, job.place.directory / "opens.log", ["--force"])
        check(found == Counter([*sources, job.output.name]), f"opened {dict(found)}")
    return case


def confirmed(job, *sources):
    """--resume of a job that is done: its output is compared with what the job would write."""
    def case():
        job.reference()
        found = reads(job, job.place.directory / "opens.log", ["--resume"])
        check(found == Counter([*sources, job.output.name]), f"opened {dict(found)}")
    return case


def resumed(job, *sources):
    def case():
        job.reference().clear()
        done = job.run([], {"at": "pwrite 20 run kill -KILL $PPID", "for": ".partial/rank"})
        check(done.status == -9 and job.partial.exists(), f"it was not killed: {done}")
        found = reads(job, job.place.directory / "opens.log", ["--resume"])
        check(found == Counter(sources) and job.is_whole(), f"opened {dict(found)}")
    return case


def verified(place, words, *sources, ranks=0):
    def case():
        log = place.directory / "opens.log"
        launcher = ["mpirun", "-n", str(ranks)] if ranks else []
        faults = {"FAULT_UNDER": place.directory, "FAULT_LOG": log, "LD_PRELOAD": place.interpose}
        command = [*launcher, "env", *(f"{key}={value}" for key, value in faults.items()), place.bin / "ckpt-verify", *words]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, **ENVIRONMENT})
        check(done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}")
        opened = Counter(line.split("/")[-2] for line in log.read_text().splitlines()
                         if line.startswith("open ") and line.endswith("/checkpoint.json"))
        log.unlink()
        check(opened == Counter(sources), f"opened {dict(opened)}, expected once each: {sources}")
    return case


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory)
        source = place.directory / "cut"
        subprocess.run([place.bin / "ckpt-reshard", "-q", "--from", place.layout, "--to", place.target, place.job, "-o", source], check=True)
        other = place.directory / "other"
        shutil.copytree(source, other)
        cases = {}
        for ranks in (0, 2):
            said = f", {ranks} ranks" if ranks else ""
            cases[f"reshard{said}"] = once(Job(place, "ckpt-reshard", ["--to", place.layout, source], "resharded", ranks=ranks), "cut")
            cases[f"layout given{said}"] = once(Job(place, "ckpt-reshard", ["--from", place.target, "--to", place.layout, source], "given", ranks=ranks), "cut")
            cases[f"cards{said}"] = once(Job(place, "ckpt-reshard", ["--to-mesh", "dp=2,tp=1", source], "two_cards", ranks=ranks), "cut")
            cases[f"merge{said}"] = once(Job(place, "ckpt-merge", [source], "merged.h5", ranks=ranks), "cut")
            cases[f"average{said}"] = once(Job(place, "ckpt-reshard", ["--average", f"0.5={source}", f"0.5={other}", "--only", "*", "--drop", "rng_state",
                                                                      "--to", place.target], "mean", ranks=ranks), "cut", "other")
            cases[f"verify{said}"] = verified(place, [source], "cut", ranks=ranks)
            cases[f"verify two{said}"] = verified(place, [source, other], "cut", "other", ranks=ranks)
        cases["replaced"] = replaced(Job(place, "ckpt-reshard", ["--to", place.layout, source], "replaced"), "cut")
        cases["confirmed"] = confirmed(Job(place, "ckpt-reshard", ["--to", place.layout, source], "confirmed"), "cut")
        cases["resumed"] = resumed(Job(place, "ckpt-reshard", ["--threads", "1", "--to", place.layout, source], "resumed"), "cut")
        servers = place.tables().reference()
        cases["tables"] = once(Job(place, "ckpt-reshard", ["--to", servers.words[2], servers.output], "servers3"), servers.output.name)
        lines = place.text().reference()
        cases["text"] = once(Job(place, "ckpt-reshard", ["--to", place.text_source()[1], lines.output], "lines12"), lines.output.name)
        run_cases(cases)


if __name__ == "__main__":
    main()
