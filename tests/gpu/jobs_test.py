#!/usr/bin/python3
"""Whole jobs over NCCL on one GPU: what they write is what --exchange direct writes, and whatever fails ends all ranks.

Several ranks share the GPU as one_gpu.sh says. The files are small: a message takes milliseconds that way.
"""
import argparse
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
STALL_S = 5
END_S = 5 + STALL_S


def make_sample(*words):
    subprocess.run([sys.executable, MAKE_SAMPLE, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def same(expected, found):
    """Whether two outputs, files or directories, are the same bytes."""
    if expected.is_file():
        return filecmp.cmp(expected, found, shallow=False)
    names = sorted(path.name for path in expected.iterdir())
    return (names == sorted(path.name for path in found.iterdir()) and
            filecmp.cmpfiles(expected, found, names, shallow=False)[0] == names)


class Jobs:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
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
        """The command of a job of 2 ranks that share the GPU."""
        program, *words = self.list[name]
        words += ["-o", output, "--no-fsync", "--exchange", "nccl", "--stall-timeout", STALL_S, *more]
        return self.programs.command(program, words, ranks=2, before=[ONE_GPU])

    def all_equal_direct(self):
        for name, ending in [("64-1", ".h5"), ("64-56", ""), ("1-56", "")]:
            expected = self.merged if name == "64-1" else self.folder / f"{name}-direct{ending}"
            self.run(name, expected, "--exchange", "direct")
            for ranks in [1, 2, 4]:
                for memory in ["16MiB", "512MiB"]:
                    output = self.folder / f"{name}-{ranks}-{memory}{ending}"
                    self.run(name, output, "--exchange", "nccl", "--memory", memory, ranks=ranks, before=[ONE_GPU])
                    check(same(expected, output), f"{name} on {ranks} ranks with {memory} differs from direct")

    def ends(self, what, command, output, expected=None, disturb=None, environment=None):
        """The job fails in time, with one message, and publishes nothing."""
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
        check(not output.exists(), f"{what}: something was published")
        if disturb:
            check(time.monotonic() - start < END_S, f"{what}: it took {time.monotonic() - start:.1f} s to end")
        if expected:
            check(errors.count(expected) == 1, f"{what}: expected '{expected}' once\n{errors}")

    def faults_end_all(self):
        program = self.programs.path("gpu_probe")
        with subprocess.Popen([program, "hold", "3000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            output = self.folder / "no-memory"
            hungry = self.over_nccl("64-56", output, "--memory", "8GiB", "--device-memory", "8GiB")
            self.ends("no device memory", hungry, output, "out of memory")
            holder.stdin.close()
        hidden = self.folder / "c64" / "rank_3.h5"
        hidden.rename(hidden.with_suffix(".away"))
        output = self.folder / "no-file"
        self.ends("a missing file", self.over_nccl("64-56", output), output, "rank_3.h5")
        hidden.with_suffix(".away").rename(hidden)
        output = self.folder / "no-rank"
        self.ends("a killed rank", self.over_nccl("64-56", output, "--memory", "2MiB"), output, disturb=kill_one)
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(Programs(options.bin), pathlib.Path(folder))
        jobs.all_equal_direct()
        jobs.faults_end_all()
    print("jobs over NCCL: all equal to direct, all faults ended")


if __name__ == "__main__":
    main()
