#!/usr/bin/python3
"""Whole jobs over NCCL on one GPU: what they write is what --exchange direct writes, and whatever fails ends all ranks.

Several ranks share the GPU as one_gpu.sh says. The files are small: a message takes milliseconds that way. With --emulated the
programs are those that are linked with the emulated GPU: each rank has one, which fails as it is told.
"""
import argparse
import contextlib
import filecmp
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from programs import MPI_ENVIRONMENT, Programs, check  # noqa: E402

ONE_GPU = str(HERE / "one_gpu.sh")
MAKE_SAMPLE = HERE.parent.parent / "scripts" / "make_sample"
WATCHDOG_S = 5


def make_sample(*words):
    subprocess.run([sys.executable, MAKE_SAMPLE, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def same(expected, found):
    """Whether two outputs, files or directories, are the same bytes."""
    if expected.is_file():
        return filecmp.cmp(expected, found, shallow=False)
    names = sorted(path.name for path in expected.iterdir())
    return (names == sorted(path.name for path in found.iterdir()) and
            filecmp.cmpfiles(expected, found, names, shallow=False)[0] == names)


class RealGpu:
    """One GPU, which all ranks share."""
    before = [ONE_GPU]
    runs = [(ranks, memory) for ranks in [1, 2, 4] for memory in ["16MiB", "512MiB"]]
    ranks = 2  # of jobs that fail
    stall_s = 5
    start_s = 50  # of a job that fails by itself: until it does
    deaths = [{}]
    hungry = ["--memory", "8GiB", "--device-memory", "8GiB"]

    def __init__(self, programs):
        self.programs = programs

    @contextlib.contextmanager
    def no_memory(self):
        """The environment of a job for which the GPU has little memory left."""
        program = self.programs.path("gpu_probe")
        with subprocess.Popen([program, "hold", "3000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            yield {}
            holder.stdin.close()

    def faults(self):
        """What is only to be had from a GPU that fails as it is told."""
        return []

    def hangs(self):
        return []


class EmulatedGpus:
    """An emulated GPU for each rank."""
    before = []
    stall_s = 1
    start_s = 10
    runs = [(2, "16MiB"), (2, "48MiB"), (3, "16MiB"), (8, "16MiB")]
    ranks = 3
    deaths = [{}, {"EMULATED_GPU": "peers=silent"}]  # NCCL tells the others of a rank that has gone, or does not
    hungry = ["--memory", "64MiB", "--device-memory", "64MiB"]

    @contextlib.contextmanager
    def no_memory(self):
        yield {"EMULATED_GPU": "rank=1 memory=30000000"}

    def faults(self):
        """(what, the emulated GPU's plan, a part of the one message)."""
        return [
            ("no GPU", "rank=2 fail=cudaGetDeviceCount", "no CUDA-capable device"),
            ("one GPU for all", "devices=1", "would share a GPU"),
            ("a broken device", "rank=1 fail=cudaLaunchKernel:4", "an illegal memory access"),
            ("a broken link", "rank=2 fail=ncclCommGetAsyncError:20", "remote process exited"),
            ("a process that cannot join", "rank=0 fail=ncclCommInitRankConfig", "unhandled system error"),
            ("a silent process", "rank=1 hang=ncclGroupEnd:2", f"no progress for {self.stall_s} s")]

    def hangs(self):
        """The same of what the watchdog ends. On a busy machine a second process may say it, too, before it is killed."""
        return [
            ("a device that stands still", "rank=1 hang=cudaMemcpyAsync:3", f"no progress for {self.stall_s} s"),
            ("a link that cannot be given up", "rank=1 hang=ncclGroupEnd:2 fail=ncclCommAbort",
             f"no progress for {self.stall_s} s")]


class Jobs:
    def __init__(self, programs, gpu, folder):
        self.programs, self.gpu, self.folder = programs, gpu, folder
        make_sample("-o", folder / "c64", "--mesh", "dp=8,tp=8", "--bytes", 30_000_000)
        make_sample("-o", folder / "c56", "--mesh", "dp=7,tp=8", "--bytes", 30_000_000, "--layout-only")
        self.merged = folder / "merged-direct.h5"
        self.list = {
            "64-56": ("ckpt-reshard", "--from", folder / "c64.json", "--to", folder / "c56.json", folder / "c64"),
            "64-1": ("ckpt-merge", "--layout", folder / "c64.json", folder / "c64"),
            "1-56": ("ckpt-split", "--layout", folder / "c56.json", self.merged)}

    def run(self, name, output, *more, **how):
        program, *words = self.list[name]
        self.programs.run(program, *words, "-o", output, "--no-fsync", *more, **how)

    def over_nccl(self, name, output, *more):
        """The command of a job that is to fail."""
        program, *words = self.list[name]
        words += ["-o", output, "--no-fsync", "--exchange", "nccl", "--stall-timeout", self.gpu.stall_s, *more]
        return self.programs.command(program, words, ranks=self.gpu.ranks, before=self.gpu.before)

    def all_equal_direct(self):
        for name, ending in [("64-1", ".h5"), ("64-56", ""), ("1-56", "")]:
            expected = self.merged if name == "64-1" else self.folder / f"{name}-direct{ending}"
            self.run(name, expected, "--exchange", "direct")
            for ranks, memory in self.gpu.runs:
                output = self.folder / f"{name}-{ranks}-{memory}{ending}"
                self.run(name, output, "--exchange", "nccl", "--memory", memory, ranks=ranks, before=self.gpu.before)
                check(same(expected, output), f"{name} on {ranks} ranks with {memory} differs from direct")

    def ends(self, what, command, output, expected=None, disturb=None, environment=None, most=1):
        """The job fails in time, with one message (at `most` so many), and publishes nothing."""
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                   env={**os.environ, **MPI_ENVIRONMENT, **(environment or {})})
        if disturb:
            disturb(process, output)
        start = time.monotonic()
        try:
            _, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.communicate()
            check(False, f"{what}: no end in 60 s")
        check(process.returncode != 0, f"{what}: the job ended as if nothing had failed\n{errors}")
        check("MISUSE" not in errors, f"{what}: the emulated GPU was misused\n{errors}")
        check(not output.exists(), f"{what}: something was published")
        end_s = self.gpu.stall_s + WATCHDOG_S + (0 if disturb else self.gpu.start_s)
        check(time.monotonic() - start < end_s, f"{what}: it took {time.monotonic() - start:.1f} s to end")
        if expected:
            check(1 <= errors.count(expected) <= most, f"{what}: expected '{expected}', {most} times at most\n{errors}")

    def faults_end_all(self):
        with self.gpu.no_memory() as environment:
            output = self.folder / "no-memory"
            hungry = self.over_nccl("64-56", output, *self.gpu.hungry)
            self.ends("no device memory", hungry, output, "out of memory", environment=environment)
        hidden = self.folder / "c64" / "rank_3.h5"
        hidden.rename(hidden.with_suffix(".away"))
        output = self.folder / "no-file"
        self.ends("a missing file", self.over_nccl("64-56", output), output, "rank_3.h5")
        hidden.with_suffix(".away").rename(hidden)
        for number, environment in enumerate(self.gpu.deaths):
            output = self.folder / f"no-rank-{number}"
            self.ends("a killed rank", self.over_nccl("64-56", output, "--memory", "2MiB"), output, disturb=kill_one,
                      environment=environment)
        for most, faults in [(1, self.gpu.faults()), (self.gpu.ranks, self.gpu.hangs())]:
            for what, plan, expected in faults:
                output = self.folder / what.replace(" ", "-")
                self.ends(what, self.over_nccl("64-56", output, "--memory", "2MiB"), output, expected,
                          environment={"EMULATED_GPU": plan}, most=most)
        noisy = self.folder / "noisy"
        self.programs.run_command(["env", "NCCL_DEBUG=INFO", *self.over_nccl("64-56", noisy)])
        check(same(self.folder / "64-56-direct", noisy), "with NCCL_DEBUG=INFO the output differs")


def kill_one(process, output):
    """Kills a rank in the middle of the job: when the output has begun to grow."""
    partial = pathlib.Path(f"{output}.partial")
    until = time.monotonic() + 30
    while not partial.exists() and time.monotonic() < until:
        time.sleep(0.01)
    check(partial.exists(), "a killed rank: the job did not begin to write")
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    os.kill(int(children[-1]), signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="where the programs are")
    parser.add_argument("--emulated", action="store_true", help="they are linked with the emulated GPU")
    options = parser.parse_args()
    programs = Programs(options.bin)
    gpu = EmulatedGpus() if options.emulated else RealGpu(programs)
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(programs, gpu, pathlib.Path(folder))
        jobs.all_equal_direct()
        jobs.faults_end_all()
    print("jobs over NCCL: all equal to direct, all faults ended")


if __name__ == "__main__":
    main()
