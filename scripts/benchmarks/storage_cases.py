"""Beside what the storage and the processor allow: sources that are not in memory, outputs that are on the disk at the end, and as
many copies at once as we have threads."""
import contextlib
import mmap
import os
import threading
import time
from dataclasses import dataclass, replace

import measure
from jobs import COLUMNS, GPT64, MAIN, merging, splitting
from measure import Side
from rows import Case, Row, copies_at_once, cp, data_text, each_time, versus
from workspace import Workspace

BLOCK, PAGE = 4 << 20, 4096
READING = "reading alone"
WRITING = "writing alone"
COPYING = "copying past the page cache"
SHARE = 1 / 0.85  # of what the disk can do


@dataclass(frozen=True)
class Measured:
    model: str
    source: str     # the meshes
    target: str
    side: object    # (space, output) -> its command
    is_one_file: bool = False

    def prepare(self, space):
        """The source's directory, our side, and what checks its output."""
        side = self.side(space, space.path("merged.h5" if self.is_one_file else "out"))
        return space.checkpoint(self.model, self.source), side, space.checker(self.model, self.target, side.output)

    def case(self, run, text):
        return Case(run, lambda quick: [(self.model, self.source)], text)


JOBS = {
    "64-56": Measured("gpt", GPT64, MAIN.target, MAIN.side),
    "merge": Measured("gpt", GPT64, "whole", lambda space, output: merging(space, "gpt", GPT64, output), is_one_file=True),
    "split": Measured("gpt", "card=1", MAIN.target, splitting),
    "columns": Measured("columns", COLUMNS.source, COLUMNS.target, COLUMNS.side),
}


def seconds_of(threads, items, each):
    """Seconds in which so many threads do `each(item, room)` with the items in turn. `room`: a block of each thread's own memory, in huge
    pages. Raises the OSError of one that failed: what it left out took no time."""
    left, lock, failed = list(reversed(items)), threading.Lock(), []

    def work():
        room = mmap.mmap(-1, 2 * BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        room.madvise(mmap.MADV_HUGEPAGE)
        view = memoryview(room)[:BLOCK]
        try:
            while True:
                with lock:
                    if not left:
                        return
                    item = left.pop()
                each(item, view)
        except OSError as problem:
            failed.append(problem)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    begin = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failed:
        raise failed[0]
    return time.monotonic() - begin


def open_all(stack, paths, flags):
    """The files, which the stack closes."""
    files = []
    for path in paths:
        files.append(os.open(path, flags))
        stack.callback(os.close, files[-1])
    return files


def read_all(paths, threads):
    """Seconds of reading the files past the system's memory, in long pieces, by so many threads."""
    with contextlib.ExitStack() as stack:
        files = open_all(stack, paths, os.O_RDONLY | os.O_DIRECT)
        pieces = [(file, at) for file in files for at in range(0, os.fstat(file).st_size, BLOCK)]
        return seconds_of(threads, pieces, lambda piece, room: os.preadv(piece[0], [room], piece[1]))


def device_seconds(files):
    """The least that reading these files takes, past the system's memory; None where it does not allow that."""
    try:
        return min(read_all(files, threads) for threads in (1, 2, 4, 8) for _ in range(2))
    except OSError:
        return None


def beside_the_disk(row):
    """Of the same runs: beside the limit."""
    if row.limit_seconds is None:
        return []
    ratio = row.seconds / row.limit_seconds
    return [replace(row, variant="by the disk", rival=READING, rival_seconds=row.limit_seconds, ratio=ratio, low=None, high=None,
                    best_ratio=None, limit="", limit_seconds=None, phases={}, goal=f"≤ {SHARE:.3g}", met=ratio <= SHARE,
                    definition="the same runs: their median wall / the best of reading alone, which writes nothing; thrown away where "
                    "those were")]


def cold(name, goal):
    job = JOBS[name]

    def run(case, space, options):
        source, side, check = job.prepare(space)
        files = tuple(sorted(path for path in source.iterdir() if path.suffix == ".h5"))
        rival = replace(cp(source, space.path("rival")), cold=files)
        row = versus(case, space, options, replace(side, cold=files), ("cold cp -r", rival),
                     check, goal, bytes=space.bytes_of(job.model, job.source), definition="")
        row.limit, row.limit_seconds = READING, device_seconds(files)
        row.definition = (f"{data_text(space, job.model, job.source)}, of which the system has nothing in memory: wall of "
                          f"{side.command[0].name} / wall of cp -r in the same state; the limit is reading alone, past the system's memory, "
                          "in pieces of 4 MiB, by the best of 1 to 8 threads")
        return [row, *beside_the_disk(row)]
    return job.case(run, f"{name}, source not in memory: wall / wall of cp -r of the source, not in memory either")


def write_all(paths, sizes, threads, flag):
    """Seconds of writing new files of these sizes in long pieces, by so many threads, until they are on the disk."""
    data = mmap.mmap(-1, BLOCK)
    data.write(os.urandom(BLOCK))
    view = memoryview(data)

    def write(item, _):
        path, size = item
        with contextlib.ExitStack() as stack:
            file, = open_all(stack, [path], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | flag)
            os.posix_fallocate(file, 0, size)
            for at in range(0, size, BLOCK):
                os.pwrite(file, view[:min(BLOCK, (size - at) // PAGE * PAGE)], at)
            os.fsync(file)

    return seconds_of(threads, list(zip(paths, sizes)), write)


def copy_all(paths, folder, threads):
    """Seconds of copying the files past the system's memory in pieces of 2 MiB, until the copies are on the disk."""
    size = 2 << 20

    def copy(piece, room):
        source, target, at = piece
        found = os.preadv(source, [room[:size]], at)
        os.pwrite(target, room[:-(-found // PAGE) * PAGE], at)

    with contextlib.ExitStack() as stack:
        sources = open_all(stack, paths, os.O_RDONLY | os.O_DIRECT)
        targets = open_all(stack, [folder / path.name for path in paths], os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        pieces = []
        for source, target in zip(sources, targets):
            os.posix_fallocate(target, 0, os.fstat(source).st_size)
            pieces += [(source, target, at) for at in range(0, os.fstat(source).st_size, size)]
        seconds = seconds_of(threads, pieces, copy)
        begin = time.monotonic()
        for target in targets:
            os.fsync(target)
        return seconds + time.monotonic() - begin


def copying_seconds(folder, files):
    """The least that such a copy takes; 0 where the file system has no direct I/O."""
    found = []
    for threads in (2, 4):
        for _ in range(2):
            folder.mkdir()
            os.sync()
            try:
                found.append(copy_all(files, folder, threads))
            except OSError:
                return 0
            finally:
                measure.remove(folder)
    return min(found)


def writing_seconds(folder, sizes):
    """The least that writing files of these sizes takes until they are on the disk, through the system's memory and past it."""
    folder.mkdir()
    paths, found = [folder / str(n) for n in range(len(sizes))], []
    for flag in (0, os.O_DIRECT):
        for threads in (1, 2, 4):
            try:
                found.append(write_all(paths, sizes, threads, flag))
            except OSError:  # the file system has no direct I/O
                continue
            finally:
                measure.remove(folder)
                folder.mkdir()
                os.sync()
    measure.remove(folder)
    return min(found)


def copied_and_synced(source, output):
    """cp, and then the wait for the disk that we have in us."""
    return Side(["sh", "-c", 'cp -r --reflink=never "$1" "$2" && find "$2" -type f -exec sync {} +', "sh", source, output], output)


def durable(name):
    """Ours as users run it, with fsync."""
    job = JOBS[name]

    def state(case, space, options, files, text):
        source, side, check = job.prepare(space)
        command = [word for word in side.command if word != "--no-fsync"]
        rival = replace(copied_and_synced(source, space.path("rival")), cold=files)
        result = measure.compare(replace(side, command=command, cold=files), rival, options.pairs, check)
        bytes_moved = space.bytes_of(job.model, job.source)
        what = f"{data_text(space, job.model, job.source)}, {text}, until all is on the disk: {{}} of {command[0].name} / that of cp -r and sync"
        rows = list(each_time(case, result, (1.0, None, 1.2), text, what, rival="cp -r, sync", bytes=bytes_moved))
        sizes = [path.stat().st_size for path in source.iterdir() if path.suffix == ".h5"]
        limits = {WRITING: writing_seconds(space.path("limit"), sizes), READING: (device_seconds(files) or 0) if files else 0,
                  COPYING: copying_seconds(space.path("limit"), files) if files else 0}
        limit = max(limits, key=limits.get)
        seconds, ratio = limits[limit], result.seconds / limits[limit]
        return [*rows, Row(case, variant=f"{text}, by the disk", goal="≤ 1.1", met=ratio <= 1.1, seconds=result.seconds, rival=limit,
                           rival_seconds=seconds, ratio=ratio, bytes=bytes_moved, peak_bytes=result.peak_bytes, is_quiet=result.is_quiet,
                           definition="the same runs: their median wall / the best of writing alone until all is on the disk, or of a copy "
                           "that does nothing else where the source must be read, too: a disk reads and writes by turns")]

    def run(case, space, options):
        source = space.checkpoint(job.model, job.source)
        files = tuple(sorted(path for path in source.iterdir() if path.suffix == ".h5"))
        return [*state(case, space, options, (), "source in memory"), *state(case, space, options, files, "source not in memory")]
    return job.case(run, f"{name}, until the output is on the disk, source in memory and not: by wall, processor and system time / cp -r and sync")


CHURNED = 20 << 30  # bytes of page cache
STATES = {"held": "memory held between runs", "fresh": "memory as earlier runs leave it",
          "worn": f"the same after {CHURNED >> 30} GiB of files were written and removed"}


def churn(space):
    """Wears the machine's memory: fills much of the page cache with files, and removes them."""
    path, data, size = space.path("churn"), os.urandom(BLOCK), min(1 << 30, os.sysconf("SC_PHYS_PAGES") * PAGE // 8)
    for _ in range(CHURNED // size):
        with open(path, "wb") as file:
            for _ in range(size // BLOCK):
                file.write(data)
        path.unlink()


def beside_copies(name, goal, goal_as_it_is):
    """In three states of the machine: memory held between the runs; as it comes; and after much of it was page cache."""
    job = JOBS[name]

    def run(case, space, options):
        source, side, check = job.prepare(space)

        def row(goal, state):
            return versus(case, space, options, side, copies_at_once(source, space.path("rival")), check, goal, variant=state,
                          bytes=space.bytes_of(job.model, job.source),
                          definition=f"{data_text(space, job.model, job.source)}: wall of {side.command[0].name} with its default threads / "
                          f"wall of as many copies at once as there are processors, each of its share of the source; {STATES[state]}")

        yield row(goal, "held")
        with measure.memory_as_it_is():
            yield row(goal_as_it_is, "fresh")
            if not space.quick:
                churn(space)
            yield row(goal_as_it_is, "worn")
    return job.case(lambda *words: list(run(*words)),
                    f"{name}: wall / wall of as many cp at once as there are processors, in three states of the machine's memory")


@contextlib.contextmanager
def file_system(space, kind, room):
    """A workspace on a new file system of this kind, in a file of the space."""
    image, mount = space.path(f"{kind}.img"), space.path(kind)
    mount.mkdir()
    with open(image, "wb") as file:
        file.truncate(room)
    measure.run([f"mkfs.{kind}", "-q", image])
    measure.run(["mount", "-o", "loop", image, mount])
    try:
        inner = Workspace(space.programs, mount, space.quick)
        yield inner
        inner.close()
    finally:
        measure.run(["umount", mount])
        image.unlink()


def reflink(case, space, options):
    """A merge of which all but the ends of tensors can be shared with the source."""
    model, mesh = "blocks", "card=8"
    rows = []
    with file_system(space, "xfs", 3 * space.file_bytes(model, mesh) + (1 << 30)) as on_xfs:
        output, rival = on_xfs.path("merged.h5"), on_xfs.path("rival")
        source, check = on_xfs.checkpoint(model, mesh), on_xfs.checker(model, "whole", output)
        side, size = merging(on_xfs, model, mesh, output), on_xfs.bytes_of(model, mesh)
        what = f"{data_text(on_xfs, model, mesh)} cut by rows over 8 cards, merged on a loop-mounted XFS, {{}}: wall of ckpt-merge / wall of {{}}"
        rows.append(versus(case, on_xfs, options, side, ("cp -r", cp(source, rival)), check, 0.6,
                           ("cp --reflink=always", Side(["cp", "-r", "--reflink=always", source, rival], rival)), bytes=size,
                           definition=what.format("source in memory", "cp -r --reflink=never of the source")))
        durable = replace(side, command=[word for word in side.command if word != "--no-fsync"])
        row = versus(case, on_xfs, options, durable, ("cp -r, sync", copied_and_synced(source, rival)), check, 0.6, bytes=size,
                     definition=what.format("until all is on the disk", "cp -r --reflink=never and sync"))
        rows.append(replace(row, variant="on the disk"))
        files = tuple(sorted(source.glob("*.h5")))
        row = versus(case, on_xfs, options, replace(side, cold=files), ("cold cp -r", replace(cp(source, rival), cold=files)), check, 1.0,
                     bytes=size, definition=what.format("source not in memory", "cp -r --reflink=never in the same state"))
        return [*rows, replace(row, variant="cold")]


CASES = {
    "reflink": Case(reflink, lambda quick: [], "a merge of rows that shares blocks with its source on XFS (needs root) / cp -r --reflink=never"),
    **{f"cold-{name}": cold(name, goal) for name, goal in (("64-56", 0.8), ("merge", 0.8), ("split", 0.8), ("columns", 1.0))},
    **{f"durable-{name}": durable(name) for name in ("64-56", "merge", "split")},
    **{f"threads-{name}": beside_copies(name, *goals)
       for name, goals in (("64-56", (1.15, 1.25)), ("merge", (1.15, 1.25)), ("split", (1.15, 1.25)), ("columns", (1.5, 1.5)))},
}
