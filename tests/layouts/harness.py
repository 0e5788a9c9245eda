"""Runs the programs on a case and says what is wrong, for the tests of the ready layouts and of the worked numbers."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "samples"))

import common  # noqa: E402  (found through the path above)

READY = os.path.join(HERE, "..", "..", "layouts")


class Failure(Exception):
    pass


def ready_layout(name):
    with open(os.path.join(READY, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


class Place:
    """The programs, and a temporary directory to run them in."""

    def __init__(self, programs):
        self.programs = programs
        self.directory = tempfile.mkdtemp(prefix="ckpt-layouts-")
        self.made = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory)

    def path(self, ending=""):
        self.made += 1
        return os.path.join(self.directory, f"{self.made:03}{ending}")


class Workplace(Place):
    """And the comparisons."""

    def layout(self, layout):
        path = self.path(".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(layout, file)
        return path

    def run(self, program, *arguments):
        command = [os.path.join(self.programs, program), *arguments, "-q", "--no-fsync"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                              check=False)
        if done.returncode != 0:
            raise Failure(f"exit {done.returncode}: {' '.join(command)}\n{done.stdout.strip()}")

    def merge(self, source, layout=None):
        """The merged datasets. Without a layout, by the one that the checkpoint carries."""
        path = self.path(".h5")
        self.run("ckpt-merge", *(["--layout", self.layout(layout)] if layout else []), source, "-o", path)
        return path

    def split(self, merged, layout):
        path = self.path()
        self.run("ckpt-split", "--layout", self.layout(layout), merged, "-o", path)
        return path

    def reshard(self, source, layout, target):
        """target: a layout, or what stands after --to-mesh."""
        path = self.path()
        to = ["--to-mesh", target] if isinstance(target, str) else ["--to", self.layout(target)]
        self.run("ckpt-reshard", "--from", self.layout(layout), *to, source, "-o", path)
        return path

    def sample(self, files):
        path = self.path()
        common.write_cards(path, files)
        return path

    def whole(self, datasets):
        path = self.path(".h5")
        common.write_file(path, datasets)
        return path

    def expect_file(self, what, path, expected):
        lines = common.differences(common.read_file(path), expected)
        if lines:
            raise Failure(what + ":\n  " + "\n  ".join(lines[:12]) + ("\n  …" if len(lines) > 12 else ""))

    def expect_cards(self, what, directory, expected):
        found = {name for name in os.listdir(directory) if name.endswith(".h5")}
        if found != set(expected):
            raise Failure(f"{what}: files {sorted(found)}, expected {sorted(expected)}")
        for name in sorted(expected):
            self.expect_file(f"{what}, {name}", os.path.join(directory, name), expected[name])


def run_cases(cases, programs, only):
    """cases: {name: function of a Workplace}. Prints a line for each, returns the exit status."""
    chosen = {name: case for name, case in cases.items() if not only or only in name}
    if not chosen:
        print(f"no case is named like {only!r}; there are: {', '.join(cases)}")
        return 2
    failed = 0
    for name, case in chosen.items():
        with Workplace(programs) as workplace:
            try:
                case(workplace)
                print(f"ok    {name}", flush=True)
            except (Failure, subprocess.TimeoutExpired) as failure:
                failed += 1
                print(f"FAIL  {name}\n  {failure}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} passed")
    return 1 if failed else 0
