#!/usr/bin/python3
"""The order of calls by which an output is published: files, their directories, the name, the directory that holds the name."""
import json
import pathlib

from harness import Place, arguments, check, run_cases, temporary_directory


def calls(job, *more):
    """[(call, path below the place)] of a run, in order."""
    log = job.place.directory / "log"
    job.clear()
    done = job.run(more, {"log": log})
    check(done.status == 0, f"{done}")
    lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
    log.unlink()
    return [(call, str(pathlib.Path(path).relative_to(job.place.directory))) for call, path in lines if path != str(log)]


def last(found, call, path):
    check((call, path) in found, f"no {call} of {path}")
    return len(found) - 1 - found[::-1].index((call, path))


def synced(job, directories):
    """Each file after its last byte, then its directories, then the name, then what holds the name."""
    found = calls(job)
    name = job.partial.name
    renamed = last(found, "renameat2", name)
    account = (f"{name}.lock", f"{name}.journal", f"{name}/.journal")  # of the unfinished output, gone with it
    files = {path for call, path in found if call == "pwrite" and path.startswith(name) and not path.startswith(account)}
    flushed = [last(found, "fsync", path) for path in files]
    for path, moment in zip(files, flushed):
        check(last(found, "pwrite", path) < moment < renamed, f"{path} is not flushed between its last byte and the name")
    for directory in directories:
        moment = last(found, "fsync", directory)
        check(max(flushed) < moment < renamed, f"{directory} is not flushed between its files and the name")
    check(last(found, "fsync", ".") > renamed, "what holds the name is not flushed after it")
    check(all(call in ("fsync", "open", "pread") for call, path in found[renamed + 1:]), "something is written after the name")
    return f"{len(files)} files"


def unsynced(job):
    found = calls(job, "--no-fsync")
    check(not [call for call in found if call[0] == "fsync"], "--no-fsync, and yet there is an fsync")
    last(found, "renameat2", job.partial.name)


def in_folders(place):
    layout = json.loads(place.target.read_text())
    layout["files"] = "group_{dp}/rank_{card}.h5"
    place.target.write_text(json.dumps(layout))
    job = place.split(ranks=2)
    return synced(job, [f"{job.partial.name}/group_0", job.partial.name])


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=64)
        merge, split = place.merge(), place.split()
        run_cases({"a file": lambda: synced(merge, []), "a directory": lambda: synced(split, [split.partial.name]),
                   "files in folders, 2 ranks": lambda: in_folders(place), "--no-fsync": lambda: unsynced(split)})


if __name__ == "__main__":
    main()
