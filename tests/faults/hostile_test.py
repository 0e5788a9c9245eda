#!/usr/bin/python3
"""What a hostile checkpoint or layout tries (SECURITY.md): to reach files outside, to hang, to take all memory, to command
the terminal."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys

import h5py
import numpy as np
from harness import HERE, Failure, Place, arguments, check, run_cases, temporary_directory

sys.path.insert(0, str(HERE.parent / "unit" / "tensor"))
from fingerprint_model import fingerprint  # noqa: E402

BOUND_S = 20
MEMORY_BYTES = 4 << 30  # of addresses; what is refused here would want more, or wait for ever


def run(place, name, *words):
    limits = [(resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, BOUND_S)]
    try:
        return subprocess.run([place.bin / name, *words], capture_output=True, timeout=BOUND_S, check=False,
                              preexec_fn=lambda: [resource.setrlimit(what, (most, most)) for what, most in limits])
    except subprocess.TimeoutExpired as late:
        raise Failure(f"hangs: {late}") from None


def sealed(text):
    """A manifest's text, but for its last }, with the checksum without which it would not be looked into."""
    text += ' "checksum": "'
    return f'{text}{fingerprint(text.encode(), 0, f"manifest of {len(text)} bytes")}"\n}}\n'


def tree(place):
    return sorted(str(path) for path in place.directory.rglob("*"))


def refused(place, done, status, text):
    said = done.stderr.decode(errors="replace")
    check(done.returncode == status and said.count(": error: ") == 1 and text in said,
          f"expected {status} and one message with '{text}', found {done.returncode}:\n{said}")
    check(not place.merge().output.exists() and not place.merge().partial.exists(), "something is left")


def merge(place, source, layout=True):
    return run(place, "ckpt-merge", *(["--layout", place.layout] if layout else []), source, "-o", place.merge().output)


def copied(place, name):
    directory = place.directory / name
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(place.job, directory)
    return directory


def no_files(place):
    """In a file's place: what never ends, what waits for ever, what leads nowhere."""
    def zeros(path):
        path.symlink_to("/dev/zero")

    def circle(path):
        path.symlink_to(path.name)
    for make, text in ((zeros, "is no regular file"), (os.mkfifo, "is no regular file"), (os.mkdir, "is a directory"),
                       (circle, "Too many levels of symbolic links")):
        directory = copied(place, "odd")
        (directory / "rank_1.h5").unlink()
        make(directory / "rank_1.h5")
        refused(place, merge(place, directory), 1, text)


def manifests(place):
    def endless(path):
        path.symlink_to("/dev/zero")

    def huge(path):
        path.touch()
        os.truncate(path, 1 << 40)

    def deep(path):
        path.write_text(sealed("[" * 10_000))

    def unsealed(path):
        path.write_text("[" * 10_000_000)
    for make, status, text in ((endless, 1, "is no regular file"), (os.mkfifo, 1, "is no regular file"),
                               (huge, 1, "larger than"), (unsealed, 1, "not as it was written"), (deep, 2, "nested deeper")):
        directory = copied(place, "odd")
        make(directory / "checkpoint.json")
        refused(place, merge(place, directory, layout=False), status, text)


def paths_outside(place):
    """Templates of files, given and carried, to be read and to be written."""
    layout = json.loads(place.layout.read_text())
    for template in ("../{card}.h5", "/tmp/{card}.h5", "a/../../{card}.h5", "checkpoint.json", "./{card}"):
        directory = copied(place, "odd")
        layout["files"] = template
        (directory / "checkpoint.json").write_text(sealed(f'{{"layout": {json.dumps(layout)},'))
        (place.directory / "odd.json").write_text(json.dumps(layout))
        before = tree(place)
        refused(place, merge(place, directory, layout=False), 2, template)
        done = run(place, "ckpt-split", "--layout", place.directory / "odd.json", place.whole, "-o", place.directory / "outside")
        refused(place, done, 2, template)
        check(tree(place) == before, f"{template}: something was made")


def paths_inside(place):
    """Whatever is written lies in DST.partial until it is DST."""
    job, log = place.reshard(), place.directory / "log"
    done = job.run(faults={"log": log})
    check(done.status == 0, f"{done}")
    writes = [line.split(" ", 1) for line in log.read_text().splitlines()]
    for call, path in writes:
        check(call not in ("pwrite", "write", "ftruncate", "mkdir") or path.startswith(str(job.partial)), f"{call} of {path}")


def data_outside(place):
    """Links and data that lead out of the file."""
    (place.directory / "secret").write_bytes(bytes(1 << 20))

    def link(file):
        file["w"] = h5py.ExternalLink(str(place.whole), "/step")

    def raw(file):
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_external(str(place.directory / "secret").encode(), 0, 16)
        h5py.h5d.create(file.id, b"w", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((16,)), creation)

    def virtual(file):
        layout = h5py.VirtualLayout((4,), "u1")
        layout[:] = h5py.VirtualSource(str(place.whole), "w", (4,))
        file.create_virtual_dataset("w", layout)
    for make, text in ((link, "link to another file"), (raw, "external"), (virtual, "in the same tree")):
        path = place.directory / "apart" / "outside.h5"
        path.parent.mkdir(exist_ok=True)
        with h5py.File(path, "w") as file:
            make(file)
        refused(place, run(place, "ckpt-merge", path, "-o", place.merge().output), 1, text)


def terminal(place):
    """Names that clear the screen, end a line or turn it round are shown without doing it, wherever they are shown."""
    names = {b"w\x1b[2J": rb"w\x1b[2J", b"w\x07": rb"w\x07", "w\u009b2J".encode(): rb"w\u{9b}2J", b"w\x9b2J": rb"w\x9b2J",
             b"w\nckpt-merge: wrote": rb"w\x0ackpt-merge: wrote", b"w\x7f": rb"w\x7f", "w\u202e5h".encode(): rb"w\u{202e}5h",
             "w\u2028".encode(): rb"w\u{2028}", "w\u200b".encode(): rb"w\u{200b}", b"w\xc3": rb"w\xc3", rb"w\x9c": rb"w\x5cx9c"}
    controls = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\udc80-\udcff]")

    def check_said(what, shown=b""):
        text = what.stdout + what.stderr
        check(shown in text, f"expected {shown} in {what}")
        check(not controls.search(text.decode(errors="surrogateescape")), f"a control character: {what}")
        for line in text.splitlines():
            check(not line.startswith(b"ckpt-merge: wrote"), f"a forged line: {what}")

    one = place.directory / "one.json"
    for name, shown in names.items():
        is_text = name == name.decode(errors="ignore").encode()
        path = place.directory / "names.h5"
        with h5py.File(path, "w") as file:
            file[name] = np.zeros(4, "u1")
            file[name].attrs[b"a" + name] = b"v" + name
        for options in ([], ["--json"], ["--layout", one], ["--layout", one, "--param", "w*"]):
            one.write_text(json.dumps({"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [1]}, "default": "replicate"}))
            said = run(place, "ckpt-inspect", *options, path)
            check(said.returncode == 0, f"{said}")
            check_said(said, b"" if "--json" in options else shown)
            if "--json" in options:
                found = json.loads(said.stdout)["parameters"][0]
                check(bytes.fromhex(found.get("name_hex", found["name"].encode().hex())) == name, f"{name} is lost: {said}")
        one.write_text(json.dumps({"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [1]}}))
        failed = run(place, "ckpt-merge", "--layout", one, path, "-o", place.merge().output)
        check(failed.returncode != 0, f"{failed}")
        check_said(failed, shown if is_text else b"")
        check_said(run(place, "ckpt-merge", "--log-level", "trace", path, "-o", os.fsencode(place.merge().output) + name,
                       "--dry-run", "-v"))
        check_said(run(place, "ckpt-inspect", path, "--param", b"no" + name), b"no" + shown)


def many_parts(place):
    """A fused dimension of a million parts on 256 cards, which a list of its pieces would need 8 GiB for."""
    path = place.directory / "fused.h5"
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    with h5py.File(path, "w") as file:
        h5py.h5d.create(file.id, b"w", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((1 << 28,)), creation)
        file["z"] = np.zeros(4, "u1")
    layout = place.directory / "fused.json"
    layout.write_text(json.dumps({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [256]},
                                  "parameters": [{"name": "w", "split": ["x"], "parts": {"dim": 0, "count": 1 << 20}}]}))
    refused(place, run(place, "ckpt-split", "--layout", layout, path, "-o", place.merge().output), 2,
            "matches parameter 'z'")


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=64)
        run_cases({case.__name__: (lambda case=case: case(place))
                   for case in (no_files, manifests, paths_outside, paths_inside, data_outside, terminal, many_parts)})


if __name__ == "__main__":
    main()
