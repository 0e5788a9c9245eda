"""Jobs to be disturbed: a small checkpoint, the three programs on it, what they write when nobody disturbs them, and what
may be left when somebody does."""
import argparse
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "python"))
import checkpoints  # noqa: E402
import group_paddle  # noqa: E402
import group_tables  # noqa: E402
import h5py  # noqa: E402
import numpy as np  # noqa: E402
from programs import MPI_ENVIRONMENT, Failure, check  # noqa: E402

# Open MPI 4 takes more than a second to find that its ofi transport is of no use here.
ENVIRONMENT = {**MPI_ENVIRONMENT, "OMPI_MCA_btl": "^tcp,ofi", "CKPT_MEMORY": "64MiB"}
LIMIT_S = 60  # nothing here takes a tenth of this: a job that does hangs
GOES_ON = "go on with --resume, or start anew with --force"


def arguments(description, *more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of the programs")
    parser.add_argument("--interpose", type=pathlib.Path, required=True, help="the library made of interpose.c")
    for name, options in more:
        parser.add_argument(name, **options)
    return parser.parse_args()


class Done:
    def __init__(self, command, status, errors, seconds):
        self.command, self.status, self.errors, self.seconds = command, status, errors, seconds
        self.messages = [line for line in errors.splitlines() if ": error: " in line]

    def __str__(self):
        return f"{' '.join(self.command)}\nexit status {self.status}, standard error:\n{self.errors}"


class Job:
    """A program and its words; `output` is what it makes."""

    def __init__(self, place, name, words, output, ranks=0):
        self.place, self.words, self.ranks = place, [str(place.bin / name), *map(str, words)], ranks
        self.name = ", ".join([name, *(form for form in ("safetensors", "dcp", "servers", "shards") if form in output), *([f"{ranks} ranks"] if ranks else [])])
        self.write_to(place.directory / f"{ranks}_{output}")

    def write_to(self, output):
        self.output, self.partial = output, pathlib.Path(f"{output}.partial")
        self.lock = pathlib.Path(f"{self.partial}.lock")
        is_file = output.suffix in (".h5", ".safetensors")
        self.journal = pathlib.Path(f"{self.partial}.journal") if is_file else self.partial / ".journal"
        return self

    def command(self, more=(), faults=None, output=None):
        """`faults`: variables of interpose.c, without FAULT_."""
        variables = {f"FAULT_{key.upper()}": value for key, value in (faults or {}).items()}
        variables |= {"FAULT_UNDER": self.place.directory, "LD_PRELOAD": self.place.interpose}
        wrapper = ["env", *(f"{key}={value}" for key, value in variables.items())]
        launcher = ["mpirun", "-n", str(self.ranks)] if self.ranks else []
        return [*launcher, *wrapper, *self.words, "-o", str(output or self.output), *map(str, more)]

    def start(self, more=(), faults=None):
        return Running(self.command(more, faults), {**os.environ, **ENVIRONMENT})

    def run(self, more=(), faults=None):
        return self.start(more, faults).finish()

    def clear(self):
        for path in (self.output, self.partial, self.journal, self.lock):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.exists():
                path.unlink()

    def reference(self):
        """The digests of what an undisturbed run makes, and how long it takes."""
        self.clear()
        done = self.run()
        check(done.status == 0, f"undisturbed: {done}")
        self.digests = checkpoints.digests(self.output)
        self.seconds = done.seconds
        return self

    def is_whole(self):
        return self.output.exists() and checkpoints.digests(self.output) == self.digests

    def check_nothing_left(self, done):
        left = [path.name for path in (self.partial, self.journal, self.lock) if path.exists()]
        check(not left, f"{', '.join(left)} left after success: {done}")

    def check_left(self, done):
        """Whole or absent, and said so."""
        check(not self.output.exists() or self.is_whole(), f"a wrong output was left by {done}")
        if done.status == 0:
            check(self.output.exists(), f"no output, but success: {done}")
            self.check_nothing_left(done)

    def check_message(self, done, status, *texts):
        """Failed with this status and one message that holds the texts; what it says is left is what is left."""
        check(done.status == status, f"expected exit status {status}: {done}")
        check(len(done.messages) == 1, f"expected one message: {done}")
        for text in texts:
            check(text in done.messages[0], f"expected '{text}': {done}")
        check(not self.output.exists(), f"an output after a failure: {done}")
        check(not self.lock.exists(), f"the lock is left: {done}")
        says_so = f"{self.partial} holds what was written so far: {GOES_ON}" in done.messages[0]
        check(says_so == self.partial.exists(), f".partial {'is' if self.partial.exists() else 'is not'} there: {done}")

    def check_again(self):
        """What was left is gone on with, to the same bytes; several ranks by one more, each with another part."""
        again = copy.copy(self)
        again.ranks += 1 if self.ranks else 0
        done = again.run([self.place.way_on, *(["--force"] if self.output.exists() else [])])
        check(done.status == 0, f"the run after it failed: {done}")
        check(self.is_whole(), f"the run after it made something else: {done}")
        self.check_nothing_left(done)


def lives(process):
    """Whether it runs, or could: it is no zombie."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Running:
    def __init__(self, command, environment):
        self.command, self.start = command, time.monotonic()
        self.is_mpirun = pathlib.Path(command[0]).name == "mpirun"
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    def processes(self):
        """The ids of the program's own processes, those of mpirun's children where there is an mpirun."""
        if not self.is_mpirun:
            return [self.process.pid]
        found = []
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                pass
        return sorted(found)

    def finish(self):
        """The status is None where all processes of the program have ended, and mpirun waits for itself alone (Open MPI 4.1: a
        process that ends while it connects can leave a lock in PMIx held)."""
        while True:
            left = LIMIT_S - (time.monotonic() - self.start)
            try:
                _, errors = self.process.communicate(timeout=max(0.1, min(left, LIMIT_S / 6)))
                return Done(self.command, self.process.returncode, errors, time.monotonic() - self.start)
            except subprocess.TimeoutExpired:
                is_over = self.is_mpirun and not any(map(lives, self.processes()))
                if left > 0 and not is_over:
                    continue
            for each in [*self.processes(), self.process.pid]:
                os.kill(each, signal.SIGKILL)
            _, errors = self.process.communicate()
            check(is_over, f"{' '.join(self.command)}\nhangs: it ran longer than {LIMIT_S} s\n{errors}")
            return Done(self.command, None, errors, time.monotonic() - self.start)


class Place:
    """A temporary directory with a checkpoint of four cards, the same merged, and the jobs on them."""

    def __init__(self, options, directory, hidden=256):
        self.bin, self.interpose = options.bin.resolve(), options.interpose.resolve()
        self.directory = pathlib.Path(directory).resolve()
        sizes = ["--layers", "2", "--hidden", str(hidden)]
        for name, mesh, more in (("job", "dp=2,tp=2", []), ("b3", "dp=1,tp=4", ["--layout-only"])):
            self.make_sample(name, "--mesh", mesh, *sizes, *more)
        said = subprocess.run([self.bin / "ckpt-merge", "--help"], check=True, capture_output=True, text=True).stdout
        self.way_on = "--resume" if "--resume" in said else "--force"
        self.job, self.layout, self.target = (self.directory / name for name in ("job", "job.json", "b3.json"))
        self.whole = self.directory / "whole.h5"
        subprocess.run([self.bin / "ckpt-merge", "-q", "--layout", self.layout, self.job, "-o", self.whole], check=True)

    def within(self, name):
        """The same, with a directory below it for what is written."""
        place = copy.copy(self)
        place.directory = self.directory / name
        place.directory.mkdir()
        return place

    def make_sample(self, name, *words):
        subprocess.run([ROOT / "scripts" / "make_sample", "-o", self.directory / name, *words], check=True,
                       stdout=subprocess.DEVNULL)

    def merge(self, output="merged.h5", *more, **how):
        return Job(self, "ckpt-merge", ["--layout", self.layout, *more, self.job], output, **how)

    def tables(self, *more, memory="16MiB", output="servers5", **how):
        """A table of 60,000 rows on three servers, to five: in several batches."""
        source = self.directory / "servers"
        layouts = {count: self.directory / f"servers{count}.json" for count in (3, 5)}
        if not source.exists():
            rows = {key: {"value": np.arange(key, key + 27, dtype="f4")} for key in range(7, 60007)}
            source_place = group_tables.servers_of(("u8", rows), "paddle", 3)
            group_tables.write(source, {"embedding": ("u8", rows)}, {"embedding": source_place}, {"w": np.arange(1000, dtype="f4")})
            for count, path in layouts.items():
                checkpoints.write_layout(path, group_tables.layout("paddle", count))
        return Job(self, "ckpt-reshard", ["--from", layouts[3], "--to", layouts[5], "--memory", memory, *more, source], output, **how)

    def shards(self, *more, **how):
        """The same table grouped by shard, to servers that its shards are dealt to in turn."""
        datasets, layouts = self.directory / "by_shard", {}
        for place, count in (("paddle", 3), ("deeprec", 5)):
            path = self.directory / f"{place}{count}.json"
            layouts[place] = checkpoints.write_layout(path, group_tables.layout(place, count, "shard"))
        if not datasets.exists():
            servers = self.tables().words
            subprocess.run([*servers[:3], "-q", "--to", layouts["paddle"], servers[-1], "-o", datasets], check=True)
        return Job(self, "ckpt-reshard", ["--to", layouts["deeprec"], "--memory", "16MiB", *more, datasets], "shards5", **how)

    def layered(self, *more, **how):
        """The same table with a delta that changes every third row and has new ones."""
        delta = self.directory / "delta"
        if not delta.exists():
            self.tables()
            rows = {key: {"value": np.arange(key + 1, key + 28, dtype="f4")} for key in range(9, 70000, 3)}
            group_tables.write(delta, {"embedding": ("u8", rows)}, {"embedding": group_tables.servers_of(("u8", rows), "paddle", 3)})
        return self.tables("--delta", delta, *more, output="layered", **how)

    def text_layout(self, name, shards, ending="", **more):
        """Tables of text on two servers; `more`: what else the layout has."""
        accessor = {"class": "SparseAccessor", "embedx_dim": 8, "embed_rule": "SparseAdaGradSGDRule", "embedx_rule": "SparseAdaGradSGDRule"}
        layout = group_paddle.layout(accessor, shards, 2, ending)
        return checkpoints.write_layout(self.directory / f"{name}.json", {**layout, **more, "tables": layout["tables"] + more.get("tables", [])})

    def text(self, ending="", memory="16MiB", **how):
        """240,000 lines in twelve shards, to 30: groups of two files and five."""
        source, layout = self.text_source()
        target = self.text_layout(f"text30{ending}", 30, ending)
        return Job(self, "ckpt-reshard", ["--from", layout, "--to", target, "--memory", memory, source], f"lines30{ending.replace('.', '_')}", **how)

    def text_source(self):
        source = self.directory / "text"
        layout = self.text_layout("text", 12)
        if not source.exists():
            lines = {key: f"{key} 7 0 0.25 {key % 97} {key % 89} 0.5 1e-05 " + " ".join(["0.015625"] * 8) + " 3\n"
                     for key in range(11, 2400011, 10)}
            group_paddle.write(source, lines, group_paddle.by_shard(lines, 12), 2, "")
        return source, layout

    def printed(self, **how):
        """The same as datasets, which become text."""
        source, layout = self.text_source()
        datasets = self.directory / "grouped"
        grouped = group_tables.layout("paddle", 2, "shard")
        grouped["tables"][0] |= {"place": [{"mod": 12}, {"blocks": "ceil"}]}
        del grouped["tables"][0]["fields"], grouped["parameters"]
        if not datasets.exists():
            path = checkpoints.write_layout(self.directory / "grouped.json", grouped)
            subprocess.run([self.bin / "ckpt-reshard", "-q", "--from", layout, "--to", path, source, "-o", datasets], check=True)
        return Job(self, "ckpt-reshard", ["--to", layout, datasets], "printed", **how)

    def spread(self, **how):
        """The same to another number of shards: all of it is read for each range of shards whose tails have room."""
        datasets = self.printed().words[-1]
        return Job(self, "ckpt-reshard", ["--to", self.text_layout("text7", 7), "--memory", "16MiB", datasets], "spread", **how)

    def beside_text(self, **how):
        """Lines and rows that become text, a table of datasets and a dense parameter, in one job."""
        self.tables()
        source, _ = self.text_source()
        both = self.directory / "both"
        if not both.exists():
            shutil.copytree(source, both)
            for file in (self.directory / "servers").iterdir():
                with h5py.File(shutil.copy(file, both), "r+") as opened:
                    opened.move("embedding", "other")
        of_others = group_tables.layout("paddle", 3)
        of_others["tables"][0]["name"] = "other"
        more = {key: of_others[key] for key in ("files", "tables", "parameters")}
        layouts = {}
        for servers, shards in ((3, 12), (5, 30)):
            path = self.text_layout(f"both{servers}", shards, **more)
            with open(path) as file:
                layout = json.load(file)
            layout["mesh"]["shape"] = [servers]
            layouts[servers] = checkpoints.write_layout(path, layout)
        # The text of two servers lies as that of three would: files are found by their shards.
        return Job(self, "ckpt-reshard", ["--from", layouts[3], "--to", layouts[5], "--memory", "16MiB", both], "beside", **how)

    def rows_beside(self, **how):
        """All of that as datasets; the rows of one table become text."""
        words = self.beside_text().words
        layout, datasets = self.directory / "rows5.json", self.directory / "rows5"
        if not datasets.exists():
            with open(words[4]) as file:
                rows = json.load(file)
            rows["tables"][0] = {**group_tables.layout("paddle", 5, "shard")["tables"][0], "name": "embedding*",
                                 "place": [{"mod": 30}, {"blocks": "ceil"}]}
            del rows["tables"][0]["fields"]
            checkpoints.write_layout(layout, rows)
            subprocess.run([*words[:4], layout, "-q", words[-1], "-o", datasets], check=True)
        return Job(self, "ckpt-reshard", ["--to", words[4], datasets], "rows_beside", **how)

    def split(self, **how):
        return Job(self, "ckpt-split", ["--layout", self.target, self.whole], "split", **how)

    def reshard(self, *more, output="resharded", **how):
        return Job(self, "ckpt-reshard", ["--from", self.layout, "--to", self.target, *more, self.job], output, **how)

    def averaged(self, **how):
        words = [f"0.3={self.job}:{self.layout}", f"0.7={self.whole}", "--only", "*", "--drop", "rng_state", "--to", self.target]
        return Job(self, "ckpt-reshard", ["--average", *words], "averaged", **how)


def run_cases(cases, at_once=1):
    """Runs functions by name, tells of each, and ends the program with 1 when one has failed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs of a shell's background would inherit that it is ignored

    def run(name):
        start = time.monotonic()
        try:
            said, is_good = cases[name]() or "ok", True
        except Failure as failure:
            said, is_good = f"FAILED: {failure}", False
        print(f"{name}: {said} ({time.monotonic() - start:.1f} s)", flush=True)
        return is_good
    with ThreadPoolExecutor(at_once) as threads:
        good = list(threads.map(run, cases))
    sys.exit(0 if all(good) else 1)


def temporary_directory(**how):
    return tempfile.TemporaryDirectory(prefix="ckpt_faults_", **how)
