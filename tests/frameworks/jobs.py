"""What the tests of real frameworks share: jobs of several processes, the programs, and comparing what they wrote."""
import atexit
import contextlib
import gc
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CKPT_NAMES", str(Path(__file__).resolve().parents[2] / "layouts" / "names"))
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "layouts"))

import h5py  # noqa: E402
import numpy as np  # noqa: E402

JOB_TIMEOUT_S = 240
PROGRAMS = Path(os.environ["CKPT_PROGRAMS"])


def scratch():
    """A directory of this test, removed at its end."""
    directory = Path(tempfile.mkdtemp(prefix="ckpt-frameworks-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def program(name, *arguments):
    """Run one of the programs; gives its standard output."""
    command = [str(PROGRAMS / f"ckpt-{name}"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def merged(saved, into):
    """The datasets of one file made of what a job saved, with the layout that it wrote."""
    program("merge", "--layout", saved / "layout.json", saved, "-o", into)
    return datasets(into)


def reshard(saved, layout, to):
    program("reshard", "--from", saved / "layout.json", "--to", layout, saved, "-o", to)


def run_job(world, work, *arguments):
    """work(rank, *arguments) on each of `world` processes that gloo joins; gives their results by rank."""
    place = scratch()
    context = multiprocessing.get_context("fork")  # the framework is imported once, by this process
    gc.freeze()  # and its objects are nobody's to collect: each process would walk them all, and copy their pages
    processes = [context.Process(target=run_rank, args=(rank, world, place, work, arguments)) for rank in range(world)]
    for process in processes:
        process.start()
    end = time.monotonic() + JOB_TIMEOUT_S
    for process in processes:
        process.join(max(0, end - time.monotonic()))
    late = [rank for rank, process in enumerate(processes) if process.is_alive()]
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # also what a framework started: it would keep the test's output open
            os.killpg(process.pid, signal.SIGKILL)
    problems = [path.read_text() for path in sorted(place.glob("*.problem"))]
    assert not problems and not late, f"ranks {late} were late\n" + "\n".join(problems)
    return [pickle.loads((place / str(rank)).read_bytes()) for rank in range(world)]


def run_rank(rank, world, place, work, arguments):
    import torch
    import torch.distributed as dist
    atexit._clear()  # the parent's directories are the parent's
    os.setpgid(0, 0)
    try:
        torch.set_num_threads(1)
        os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world))
        dist.init_process_group("gloo", init_method=f"file://{place}/store", rank=rank, world_size=world)
        (place / str(rank)).write_bytes(pickle.dumps(work(rank, *arguments)))
        dist.destroy_process_group()
    except BaseException:  # whatever it is, the test prints it
        (place / f"{rank}.problem").write_text(f"rank {rank}:\n{traceback.format_exc()}")
    finally:
        sys.stdout.flush()
        os._exit(0)


def datasets(path):
    """Name -> bytes as unsigned integers of each dataset's element width, with the shape that it has."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            kind = item.id.get_type()
            array = np.empty(item.shape, f"V{kind.get_size()}")
            if array.size:
                item.id.read(h5py.h5s.ALL, h5py.h5s.ALL, array, mtype=kind)
            found[name] = array

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def same_bytes(found, expected, what):
    """Both are name -> numpy array: the same names, shapes and bytes."""
    assert found.keys() == expected.keys(), f"{what}: only on one side: {sorted(found.keys() ^ expected.keys())[:5]}"
    for name, want in expected.items():
        have = found[name]
        assert have.shape == want.shape, f"{what}: {name}: found {have.shape}, expected {want.shape}"
        assert have.tobytes() == np.ascontiguousarray(want).tobytes(), f"{what}: {name}: other bytes"
    print(f"  {what}: {len(expected)} tensors, the same bytes")


def close(found, expected, what):
    """Losses that differ by the order of sums at most."""
    assert len(found) == len(expected) and np.allclose(found, expected, rtol=1e-5, atol=1e-5), (
        f"{what}: found {found}, expected {expected}")
    print(f"  {what}: losses {[round(loss, 5) for loss in found]}, unsharded {[round(loss, 5) for loss in expected]}")


def main(cases):
    for name, case in cases.items():
        start = time.monotonic()
        print(f"{name}: {case.__doc__.strip()}", flush=True)
        case()
        print(f"  {time.monotonic() - start:.1f} s", flush=True)
