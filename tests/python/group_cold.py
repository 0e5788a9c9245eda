"""Sources that the system has not in memory: they are read past it (on a file system that allows that)."""
import os

import checkpoints
import naive
from group_random import compare, each_case


def cold(context):
    each_case(context, "cold", from_storage)


def forget(directory):
    """Asks the system to drop what it has of the files in memory."""
    for name in os.listdir(directory):
        file = os.open(os.path.join(directory, name), os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


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
