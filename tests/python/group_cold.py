"""Sources that the system has not in memory: they are read past it (on a file system that allows that)."""
import json
import os
import sys

import h5py
import numpy as np

import checkpoints
import naive
from group_random import compare, each_case
from programs import check

ROWS, COLUMNS = 2100, 4096  # a tensor of 34 MB: of several blocks on each card


PEAK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peak.py")
ALLOWANCE = 64 << 20  # the programs themselves, and what of the files the system maps for them
NOT_HERE = "skipped: this file system keeps files in memory"


def cold(context):
    if can_be_cold(context):
        each_case(context, "cold", from_storage)
    else:
        print(NOT_HERE)


def can_be_cold(context):
    os.makedirs(context.path("probe"))
    path = context.path("probe/file")
    with open(path, "wb") as file:
        file.write(bytes(1 << 20))
    forget(context.path("probe"))
    return not is_in_memory(path)


def forget(directory):
    """Asks the system to drop what it has of the files in memory."""
    for name in os.listdir(directory):
        file = os.open(os.path.join(directory, name), os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def read_whole(directory):
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), "rb") as file:
            file.read()


def from_storage(context, case, source, target):
    a = checkpoints.write_layout(context.path("a.json"), source)
    b = checkpoints.write_layout(context.path("b.json"), target)
    checkpoints.write(context.path("source"), source, naive.spread(source, case.logical))
    forget(context.path("source"))
    memory = case.random.choice(["40MiB", "512MiB"])
    context.programs.reshard(a, b, context.path("source"), context.path("target"), "--memory", memory,
                             ranks=case.random.choice([0, 0, 0, 2]))
    compare(naive.spread(target, case.logical), checkpoints.read(context.path("target"), target), "target")
    forget(context.path("target"))
    context.programs.merge(b, context.path("target"), context.path("merged.h5"), "--memory", memory)
    compare({0: case.logical}, {0: checkpoints.read_file(context.path("merged.h5"))}, "merged")


def layout(path, cards, dimension):
    """A tensor behind an odd one, cut over a dimension."""
    split = [None, None]
    split[dimension] = "card"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [cards]}, "files": "rank_{card}.h5",
                   "parameters": [{"name": "w", "split": split}], "default": "replicate"}, file)
    return path


def write_columns(directory, whole, cards):
    os.makedirs(directory)
    for card, part in enumerate(np.split(whole, cards, axis=1)):
        with h5py.File(os.path.join(directory, f"rank_{card}.h5"), "w") as file:
            file["odd"] = np.arange(1001, dtype="u1")
            file["w"] = np.ascontiguousarray(part)


def is_in_memory(path):
    """Whether the middle of a file can be read without the storage, as far as the file system tells."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.preadv(file, [bytearray(1)], os.path.getsize(path) // 2, os.RWF_NOWAIT)
        return True
    except OSError as refusal:
        return not isinstance(refusal, BlockingIOError)
    finally:
        os.close(file)


def can_read_directly(path):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
        return True
    except OSError:
        return False


def past_memory(context):
    """What has been read past the system's memory is right, and is not in that memory afterwards."""
    whole = np.arange(ROWS * COLUMNS, dtype="f4").reshape(ROWS, COLUMNS)
    source, target = context.path("long"), context.path("long_target")
    write_columns(source, whole, 4)
    a, b = layout(context.path("long_a.json"), 4, 1), layout(context.path("long_b.json"), 3, 0)
    first = os.path.join(source, "rank_0.h5")
    forget(source)
    is_tested = not is_in_memory(first) and can_read_directly(first)
    for ranks, exchange, memory in ((0, "direct", "64MiB"), (0, "direct", "512MiB"), (2, "mpi", "128MiB"), (2, "direct", "128MiB")):
        how = f"long arrays, {ranks} ranks, {exchange}, {memory}"
        forget(source)
        context.programs.reshard(a, b, source, target, "--memory", memory, "--threads", 2, "--exchange", exchange, "--force", ranks=ranks)
        for card, part in enumerate(np.split(whole, 3)):
            with h5py.File(os.path.join(target, f"rank_{card}.h5")) as file:
                check(np.array_equal(file["w"][()], part), f"{how}: card {card} has other elements")
        if is_tested:
            check(not is_in_memory(first), f"{how}: the source came into the system's memory")
    read_together(context, b, a, target, is_tested)
    verify_long(context, a, b, source, target, is_tested)
    if is_tested:
        hold_to_dry_run(context, a, b, source)
    else:
        print(NOT_HERE)


def read_together(context, rows, columns, source, is_tested):
    """Two processes that both need each block of the source find in the system's memory what the other has read."""
    forget(source)
    context.programs.reshard(rows, columns, source, context.path("long_columns"), "--memory", "128MiB", "--force", ranks=2)
    if is_tested:
        check(is_in_memory(os.path.join(source, "rank_0.h5")), "two processes read each block of the source past the system's memory")


def hold_to_dry_run(context, a, b, source):
    """A dry run tells of the memory for what is read past the system's, and the job takes no more."""
    peaks, report = context.path("long_peaks"), context.path("long.json")
    words = [a, b, source, context.path("long_again"), "--memory", "512MiB", "--threads", 2, "--force"]
    told = {}
    for state in ("warm", "cold"):
        if state == "cold":
            forget(source)
        else:
            read_whole(source)
        context.programs.reshard(*words, "--dry-run", "--report", report)
        with open(report, encoding="utf-8") as file:
            told[state] = json.load(file)["staging_bytes"]
    check(told["warm"] < told["cold"] <= 512 << 20, f"dry runs tell of {told} bytes")
    os.makedirs(peaks)
    context.programs.reshard(*words, before=[sys.executable, "-S", "-E", PEAK, peaks])
    (peak,) = (int(open(os.path.join(peaks, name), encoding="utf-8").read()) << 10 for name in os.listdir(peaks))
    check(peak <= told["cold"] + ALLOWANCE, f"the job held {peak} bytes, the dry run told of {told['cold']}")


def verify_long(context, a, b, source, target, is_tested):
    both = ["--from", a, source, "--to", b, target]
    for words, directories in ((both, [source, target]), ([target], [target])):
        for directory in directories:
            forget(directory)
        context.programs.run("ckpt-verify", *words, "--memory", "256MiB", "--threads", 2)
        for path in (os.path.join(directory, "rank_0.h5") for directory in directories):
            check(not is_tested or not is_in_memory(path), f"ckpt-verify {words[0]}: {path} came into the system's memory")
    damaged = os.path.join(target, "rank_0.h5")
    with open(damaged, "r+b") as file:
        file.seek(os.path.getsize(damaged) // 2)
        file.write(b"\xa5\x5a")
    forget(target)
    for words in (both, [target]):
        context.programs.run("ckpt-verify", *words, "--threads", 2, expect=1)
