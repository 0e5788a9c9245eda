#!/usr/bin/python3
"""Outputs that share blocks with their source, on file systems made for it: the same bytes as without, found by a kernel
that says which blocks are shared, and independent of the source afterwards."""
import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import struct
import subprocess

import h5py
import numpy as np
from harness import Job, arguments, check, checkpoints, run_cases, temporary_directory

CLONE_NEWNS = 0x20000
FIEMAP, EXTENT_SHARED, EXTENT_LAST = 0xC020660B, 0x2000, 0x1
MADE_BY = {"xfs": ["mkfs.xfs", "-q"], "btrfs": ["mkfs.btrfs", "-q"]}
CARDS, ROWS = 4, 512  # of each card
DATASETS = {"rows": 1024, "other": 1024, "wide": 1500}  # columns of f32; a card's rows are whole blocks, one row is not always
EXDEV, ENOSPC, EOPNOTSUPP = 18, 28, 95


def extents(path):
    """(offset, bytes, where on the disk, whether shared) of a file's data, which is on the disk then."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        at, found = 0, []
        while True:
            room = bytearray(struct.pack("=QQIIII", at, 2**64 - 1 - at, 0, 0, 512, 0) + bytes(512 * 56))
            fcntl.ioctl(file.fileno(), FIEMAP, room)
            count = struct.unpack_from("=I", room, 20)[0]
            for n in range(count):
                logical, physical, length, _, _, flags = struct.unpack_from("=QQQQQI", room, 32 + 56 * n)
                found.append((logical, length, physical, bool(flags & EXTENT_SHARED)))
            if count == 0 or flags & EXTENT_LAST:
                return found
            at = found[-1][0] + found[-1][1]


def shared_bytes(output):
    paths = [output] if output.is_file() else [path for path in output.rglob("*") if path.is_file()]
    return sum(bytes_ for path in paths for _, bytes_, _, is_shared in extents(path) if is_shared)


def piece(seed, rows=ROWS, columns=DATASETS["rows"]):
    return np.random.default_rng(seed).integers(0, 2**32, (rows, columns), "u4").view("f4")


class Sources:
    """Checkpoints on the file system that is tried, and the jobs on them."""

    def __init__(self, options, directory):
        self.bin, self.interpose, self.directory, self.way_on = options.bin.resolve(), options.interpose.resolve(), directory, "--resume"
        self.cards = directory / "cards"
        self.cards.mkdir()
        for card in range(CARDS):  # as h5py places data: at no multiple of a block
            with h5py.File(self.cards / f"rank_{card}.h5", "w") as file:
                file["small"] = np.arange(5, dtype="f4")
                for number, (name, columns) in enumerate(DATASETS.items()):
                    file[name] = piece(card + CARDS * number, columns=columns)
                    file[name].attrs["a"] = 1
        self.layouts = {}
        for cards in (1, 2, CARDS):
            layout = {"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [cards]}, "files": "rank_{card}.h5", "default": "replicate",
                      "parameters": [{"name": list(DATASETS), "split": ["tp"]}]}
            self.layouts[cards] = checkpoints.write_layout(directory / f"{cards}.json", layout)
        os.sync()

    def job(self, verb, words, output, threads=2, **how):
        return Job(self, f"ckpt-{verb}", ["--threads", threads, *words], output, **how)

    def merge(self, output="merged.h5", *more, **how):
        return self.job("merge", ["--layout", self.layouts[CARDS], *more, self.cards], output, **how)

    def reshard(self, *more, **how):
        return self.job("reshard", ["--from", self.layouts[CARDS], "--to", self.layouts[2], *more, self.cards], "two", **how)


def report_of(job, more=(), faults=None, is_good=True):
    report = job.place.directory / "report.json"
    done = job.run(["--report", report, *more], faults)
    check(not is_good or done.status == 0, f"{done}")
    return done, json.loads(report.read_text())


def alike(job, least=0.95):
    """The bytes of the same job with blocks of its own; of its data, this part at least is shared."""
    def case():
        job.clear()
        _, report = report_of(job, ["--reflink", "off"])
        check(report["bytes_cloned"] == 0, f"cloned with --reflink off: {report['bytes_cloned']}")
        check(shared_bytes(job.output) == 0, "blocks are shared with --reflink off")
        own = checkpoints.digests(job.output)
        job.clear()
        done, report = report_of(job, ["-v"])
        check(checkpoints.digests(job.output) == own, f"other bytes than with --reflink off: {done}")
        cloned, written, shared = report["bytes_cloned"], report["bytes_written"], shared_bytes(job.output)
        check(cloned >= least * written, f"{cloned} of {written} bytes are cloned")
        check(shared >= cloned, f"{cloned} bytes are said to be shared, the system says {shared}")
        check(cloned == 0 or "with its source (--reflink)" in done.errors, f"-v does not tell: {done}")
        job.digests = own
        return f"{cloned / written:.0%} of {written} bytes"
    return case


def placed(place, can_share):
    """Of any number of processes, shared or not: where blocks can be shared, data begins where it begins in a block of the source; else
    at a whole block."""
    def case():
        with h5py.File(place.cards / "rank_0.h5") as file:
            wanted = {name: file[name].id.get_offset() % 4096 for name in DATASETS}
        check(all(wanted.values()), f"the source is aligned: {wanted}")
        if not can_share:
            wanted = dict.fromkeys(wanted, 0)
        merges = [place.merge("alone.h5"), place.merge("two.h5", ranks=2), place.merge("own.h5", "--reflink", "off")]
        digests = [job.reference().digests for job in merges]
        check(digests[0] == digests[1] == digests[2], f"the bytes differ: {digests}")
        with h5py.File(merges[0].output) as file:
            found = {name: file[name].id.get_offset() % 4096 for name in wanted}
            check(found == wanted, f"{found}, expected {wanted}")
            check(file["rows"][ROWS * 3:].tobytes() == piece(3).tobytes(), "the last card's rows are others")
        for job in merges:
            job.clear()
    return case


def independent(place):
    """Whichever side is written to or removed, the other stays."""
    def case():
        job, kept = place.merge("independent.h5"), place.directory / "kept"
        job.clear()
        report_of(job)
        check(shared_bytes(job.output) != 0, "nothing is shared")
        job.digests, sources = checkpoints.digests(job.output), checkpoints.digests(place.cards)
        shutil.copytree(place.cards, kept)
        with open(job.output, "r+b") as file:
            for offset, bytes_, _, _ in extents(job.output):
                os.pwrite(file.fileno(), bytes(4096), offset + bytes_ // 2 // 4096 * 4096)
        check(checkpoints.digests(place.cards) == sources, "the source changed with the output")
        job.clear()
        report_of(job)
        for path in place.cards.iterdir():
            with open(path, "r+b") as file:
                file.write(bytes(os.path.getsize(path)))
        os.sync()
        check(job.is_whole(), "the output changed with the source")
        shutil.rmtree(place.cards)
        os.sync()
        check(job.is_whole(), "the output changed when the source was removed")
        shutil.copytree(kept, place.cards)
        shutil.rmtree(kept)
    return case


def killed(job):
    """Between two clones, and when all is written: what is there is kept and the rest made, to the same bytes."""
    def case():
        job.reference()
        for at in ("ioctl 3", "fsync 1"):
            job.clear()
            done = job.run(faults={"at": f"{at} run kill -KILL $PPID", "rank": "0" if job.ranks else ""})
            check(done.status != 0, f"nobody was killed before {at}: {done}")
            job.check_left(done)
            job.check_again()
    return case


def refused(job, error):
    """A file system that does not, or has no more room for it, from the first or the second time on: the data is copied."""
    def case():
        job.reference()
        for number in (1, 2):
            job.clear()
            done, report = report_of(job, faults={"at": f"ioctl {number} {error}"})
            check(job.is_whole(), f"{done}")
            check((report["bytes_cloned"] == 0) == (number == 1), f"{report['bytes_cloned']} bytes are cloned: {done}")
            check(len(done.errors.splitlines()) <= 1, f"it tells of it unasked: {done}")
    return case


def changed(place, how):
    """A source that changes after its blocks were shared: nothing is published."""
    def case():
        job, file = place.merge("changed.h5"), place.cards / "rank_1.h5"
        job.clear()
        before = file.read_bytes()
        done = job.run(faults={"at": f"fsync 1 run {how.format(file=file, half=len(before) // 2)}"})
        try:
            check(done.status == 1 and not job.output.exists(), f"{done}")
            check(any(text in done.messages[0] for text in ("changed while it was read", "was it truncated?")), f"{done}")
        finally:
            file.write_bytes(before)
            os.sync()
            job.clear()
    return case


def full(place, kind):
    """No room for a copy: the job says so before it begins, or does without; nothing else."""
    def case():
        job = place.merge("full.h5")
        job.bytes = job.reference().output.stat().st_size
        job.clear()
        for way in ("-f", "-u"):  # what was removed is free then: XFS does that after a while
            subprocess.run(["fsfreeze", way, place.directory], check=True)
        filler = place.directory / "filler"
        try:
            with open(filler, "wb") as file, contextlib.suppress(OSError):  # what Btrfs says is free may not be had
                end, step = 0, 4 << 20
                while (room := shutil.disk_usage(place.directory).free) > 3 * step:
                    os.posix_fallocate(file.fileno(), end, step)
                    end += step
            room = shutil.disk_usage(place.directory).free
            done = job.run()
            check(done.status == 75 or room >= job.bytes, f"{kind}, {room} bytes are free: {done}")
            job.check_left(done)
        finally:
            filler.unlink()
            os.sync()
        job.clear()
        job.run()
        check(job.is_whole(), f"{kind}: with room again it made something else")
        return f"{room} bytes free, exit status {done.status}"
    return case


def elsewhere(place, directory):
    """From another file system nothing can be shared."""
    def case():
        job = place.merge("elsewhere.h5")
        job.reference().clear()
        copy = directory / "cards"
        shutil.copytree(place.cards, copy)
        job.words[job.words.index(str(place.cards))] = str(copy)
        _, report = report_of(job)
        check(report["bytes_cloned"] == 0, "blocks are shared between two file systems")
        check(job.is_whole(), "other bytes where nothing is shared")
        shutil.rmtree(copy)
    return case


def cases_of(kind, place, directory):
    numbers = place.directory / "cards.safetensors"
    subprocess.run([place.bin / "ckpt-merge", "-q", "--layout", place.layouts[CARDS], place.cards, "-o", numbers], check=True)
    split = place.job("split", ["--layout", place.layouts[CARDS], numbers], "split")
    again = place.job("merge", ["--drop", "other", numbers], "again.safetensors")
    odd = np.concatenate([np.ones(3, "u1"), np.frombuffer(piece(9).tobytes(), "u1")])
    np.savez(place.directory / "odd.npz", odd=odd, rows=piece(3, 1000, 999))
    os.sync()
    found = {
        "places in blocks": placed(place, True),
        "rows merged": alike(place.merge()),
        "cards joined in pairs": alike(place.reshard()),
        "safetensors cut by rows": alike(split),
        "tensors left out": alike(again),
        "by two processes": alike(place.merge("by_two.h5", ranks=2)),
        "by two processes with messages": alike(place.reshard("--exchange", "mpi", ranks=2), least=0.4),
        "past the page cache": alike(place.merge("past.h5", "--direct-io", "on")),
        "read back": alike(place.merge("reread.h5", "--verify", "reread")),
        "not verified": alike(place.merge("unverified.h5", "--verify", "none")),
        "at any byte": alike(place.job("merge", [place.directory / "odd.npz"], "odd.h5"), least=0),
        "cast": lambda: check(report_of(place.merge("cast.h5", "--cast", "bf16"))[1]["bytes_cloned"] == 0, "cast data is shared"),
        "independent": independent(place),
        "killed": killed(place.merge("killed.h5")),
        "one of two killed": killed(place.reshard(ranks=2)),
        "a source written to": changed(place, "printf x | dd of={file} bs=1 seek={half} conv=notrunc status=none"),
        "a source cut off": changed(place, "truncate -s {half} {file}"),
        "a full disk": full(place, kind),
        "another file system": elsewhere(place, directory),
    }
    for name, error in (("does not share", EOPNOTSUPP), ("has other blocks", 22), ("is another", EXDEV), ("is full", ENOSPC)):
        found[f"one that {name}"] = refused(place.merge("refused.h5", threads=1), error)
    return {f"{kind}: {name}": case for name, case in found.items()}


def mounted(kind, directory):
    """Mounts a new file system of this kind below the directory. Returns why that cannot be done, or nothing."""
    image, mount = directory / f"{kind}.img", directory / kind
    mount.mkdir()
    with open(image, "wb") as file:
        file.truncate(512 << 20)
    for command in ([*MADE_BY[kind], image], ["mount", "-o", "loop", image, mount]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as missing:
            return str(missing)
        if done.returncode:
            return (done.stderr.strip() or "it cannot be made").splitlines()[-1]
    return ""


def main():
    options = arguments(__doc__)
    is_root = os.geteuid() == 0 and ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0
    if is_root:  # what is mounted here is nobody else's
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with temporary_directory(dir="/var/tmp") as name:
        directory, mounts = pathlib.Path(name).resolve(), []
        anywhere = directory / "anywhere"
        anywhere.mkdir()
        system = subprocess.run(["stat", "-f", "-c", "%T", anywhere], capture_output=True, text=True, check=True).stdout.strip()
        cases = {"anywhere: places in blocks": placed(Sources(options, anywhere), system in MADE_BY)}
        try:
            for kind in MADE_BY:
                missing = mounted(kind, directory) if is_root else "only root mounts files"
                if missing:
                    print(f"{kind}: skipped: {missing}", flush=True)
                    continue
                mounts.append(directory / kind)
                cases |= cases_of(kind, Sources(options, directory / kind), directory)
            run_cases(cases)
        finally:
            for mount in mounts:
                subprocess.run(["umount", mount], check=False)


if __name__ == "__main__":
    main()
