#!/usr/bin/python3
"""Runs one case: a folder with

cmd      a bash script, run with -eu in an empty directory; the programs and tests/cli/bin are on PATH, and $RUN stands before
         a program that is to run alone (then it is empty) and as several processes (then it is mpirun)
exit     the expected exit status; without it 0
stdout   the expected lines; one that begins with ~ is a regular expression for the whole line; without it nothing is expected
stderr   the same, with {formats} for the list of all formats, of the lines that our programs write (PROGRAM: …): mpirun and hwloc have words of their own
left     what a failed command may leave of dst* and merged.h5*, a name a line; without it nothing may be left

In any case no *.partial may be left but what `left` names. What messages advise is tried (remedies.py), and messages must be whole sentences (grammar.py).

With --rewrite the folder's exit, stdout and stderr become what is found; regular expressions stay where they still match. Read the
difference before you commit it.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import grammar
import remedies

TIMEOUT_S = 120
HERE = pathlib.Path(__file__).resolve().parent
# More ranks than cores; as root (containers) Open MPI 4 has to be told twice. Each is ignored by the version that does not
# know it. No TCP on one node: Open MPI 5 would complain of network interfaces that cannot reach one another. When a rank has
# failed, mpirun waits a second between its two signals to the others, whether they are there or not: here they get both at once.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl": "^tcp,ofi",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_odls_base_sigkill_timeout": "0", "PRTE_MCA_odls_base_sigkill_timeout": "0"}


def environment(programs, runner):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CKPT_") and name != "COLUMNS"}
    path = os.pathsep.join([str(programs), str(HERE / "bin"), "/usr/bin", os.environ["PATH"]])
    return {**kept, **MPI_ENVIRONMENT, "PATH": path, "RUN": runner, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


def own(lines):
    lines = [re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?=ckpt)", "", line) for line in lines]  # of what a case had put into a file
    return [line for line in lines if re.match(r"ckpt(?:[- ][a-z]+)?: ", line)]


def normal(line):
    """A line without what changes with a new format or on another system: the list of all formats, the first of which is hdf5, is
    {formats}; HDF5 has no version; numbers are shown as by numpy 1."""
    line = re.sub(r"\bhdf5(, [a-z_]+){2,}", "{formats}", line)
    line = re.sub(r"\bHDF5 1\.\d+\.\d+", "HDF5 {version}", line)
    return re.sub(r"\bnp\.(?:float|int)\d+\(([^()]*)\)", r"\1", line)


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def matches(expected, line):
    return re.fullmatch(expected[1:], line) if expected.startswith("~") else expected == line


def differences(what, expected, found):
    if len(expected) == len(found) and all(map(matches, expected, found)):
        return []
    return [f"{what}: expected", *("  " + line for line in expected), "found", *("  " + line for line in found)]


def leftovers(directory, failed, allowed):
    published = [*directory.glob("dst*"), *directory.glob("merged.h5*")] if failed else []
    names = {str(path.relative_to(directory)) for path in [*published, *directory.rglob("*.partial")]}
    return [f"left behind: {name}" for name in sorted(names - set(allowed))]


class Found:
    """What a case did: its status, its lines and what it left behind."""

    def __init__(self, case, programs, runner):
        with tempfile.TemporaryDirectory(prefix="ckpt_cli_") as name:
            directory = pathlib.Path(name)
            done = subprocess.run(["bash", "-eu", str(case / "cmd")], cwd=directory, env=environment(programs, runner),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                  timeout=TIMEOUT_S)
            self.status = done.returncode
            self.lines = {"stdout": done.stdout.splitlines(), "stderr": own(done.stderr.splitlines())}
            self.lines = {what: list(map(normal, lines)) for what, lines in self.lines.items()}
            helper_fails = re.search(r"^Traceback .*\n(?:[ \t].*\n)+(?!BrokenPipeError|[ \t])((?:.*\n){1,9})", done.stderr, re.M)
            self.broken = [f"a helper of this case fails: {helper_fails[1]}"] if helper_fails else []
            self.grammar = grammar.problems(self.lines["stderr"])
            self.left = leftovers(directory, self.status != 0, lines_of(case / "left"))
            self.remedies = remedies.problems(self.lines["stderr"], directory, environment(programs, ""))

    def problems(self, case):
        status = int((lines_of(case / "exit") or ["0"])[0])
        problems = [] if self.status == status else [f"exit status: expected {status}, found {self.status}"]
        for what, lines in self.lines.items():
            problems += differences(what, lines_of(case / what), lines)
        return problems + self.broken + self.grammar + self.left + self.remedies

    def rewrite(self, case):
        files = {"exit": [str(self.status)] if self.status else []}
        for what, lines in self.lines.items():
            patterns = [line for line in lines_of(case / what) if line.startswith("~")]
            files[what] = [next((p for p in patterns if matches(p, line)), line) for line in lines]
        for name, lines in files.items():
            if lines:
                (case / name).write_text("\n".join(lines) + "\n")
            else:
                (case / name).unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of the programs")
    parser.add_argument("--runner", default="", help="what $RUN is, for example 'mpirun -n 2'")
    parser.add_argument("--rewrite", action="store_true", help="make what is found what is expected")
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0
    for case in map(pathlib.Path.resolve, arguments.cases):
        found = Found(case, arguments.programs.resolve(), arguments.runner)
        if arguments.rewrite:
            found.rewrite(case)
        problems = found.problems(case)
        failed += bool(problems)
        print(f"{case.parent.name}/{case.name}: {'FAILED' if problems else 'ok'}", *problems, sep="\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
