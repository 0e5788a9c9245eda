"""Merge, split, reshard, compare and read model-parallel checkpoints: the program `ckpt` from Python.

    import ckpt_reshard as ckpt

    ckpt.merge("step_1000", "merged.safetensors", layout="train64.json", cast="bf16", drop=["moments.*"])
    weights = ckpt.tensors("step_1000", layout="train64.json")     # reads names and shapes alone
    weights["layers.0.norm.weight"].numpy()                        # reads this tensor

Options are those of the command line with "_" for "-"; from_ is --from. True stands for an option without a value, a list repeats it. Each
call runs the program as one process of its own, which uses all cores, and raises CkptError when it fails.
"""

import collections.abc
import json
import os
import subprocess
import tempfile
import warnings

from ._program import program
from ._tensor import Tensor

__all__ = ["CkptError", "Tensor", "inspect", "merge", "program", "reshard", "split", "tensors", "verify"]


class CkptError(Exception):
    """What the program says of its failure. Each part is a string, or None where there is none: `kind` ("usage", "layout", "input", "io",
    "peer"), `object`, `found`, `expected`, `remedy`, `file`, `parameter`. `exit_status` is the program's. Of a wrong command line, and of
    inspect and verify, the message alone is known."""

    def __init__(self, message, exit_status, parts=None):
        super().__init__(message)
        self.exit_status = exit_status
        parts = parts or {}
        self.kind, self.object, self.found, self.expected, self.remedy, self.file, self.parameter = map(
            parts.get, ("kind", "object", "found", "expected", "remedy", "file", "parameter"))


def merge(source, output, **options):
    """Write one file that holds every parameter whole; with shard_size a directory of files. Returns the report as a dict."""
    return _job("merge", source, output, options)


def split(source, output, **options):
    """Write one file for each card, as `layout` or `to` says, of a file that holds every parameter whole. Returns the report."""
    return _job("split", source, output, options)


def reshard(source, output, **options):
    """Write the files of other cards: `to` a layout, `to_mesh` or `cards`. Returns the report."""
    return _job("reshard", source, output, options)


def verify(a, b=None, **options):
    """Compare two checkpoints, or one with what its manifest says: a dict with "same" and "differences"."""
    result = _run("verify", ["--json", "--quiet", *_words(options), *map(_path, [a] if b is None else [a, b])])
    if result.returncode not in (0, 1) or not result.stdout:
        raise _error(result)
    return json.loads(result.stdout)


def inspect(path, **options):
    """What a checkpoint holds, as `ckpt inspect --json` describes it."""
    result = _run("inspect", ["--json", *_words(options), _path(path)])
    if result.returncode != 0:
        raise _error(result)
    return json.loads(result.stdout)


def tensors(path, **options):
    """The whole tensors of a checkpoint by name: a mapping to Tensor. Data is read when a Tensor is asked for it."""
    return _Tensors(path, options)


class _Tensors(collections.abc.Mapping):
    def __init__(self, path, options):
        self._tensors = {
            each["name"]: Tensor(each["name"], each["dtype"], tuple(each["shape"]), each["bytes"],
                                 lambda name: _open_tensor(path, name, options))
            for each in inspect(path, **options)["parameters"]}

    def __getitem__(self, name):
        return self._tensors[name]

    def __iter__(self):
        return iter(self._tensors)

    def __len__(self):
        return len(self._tensors)


def _path(path):
    """A path as a word that is no option."""
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def _words(options):
    """{"cast": ["bf16"], "no_fsync": True} → ["--cast=bf16", "--no-fsync"]."""
    for key, value in options.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                yield name
            elif one is not None and one is not False:
                yield f"{name}={os.fspath(one) if isinstance(one, os.PathLike) else one}"


def _command(verb, words):
    # A rank of an MPI job that calls this does so by itself.
    return [program(), verb, *words], {"CKPT_ALONE": "1", **os.environ}


def _run(verb, words):
    command, environment = _command(verb, words)
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)


def _error(result, parts=None):
    lines = (result.stderr or b"").decode(errors="replace").strip().splitlines()
    told = [line.split(": error: ", 1)[1] for line in lines if ": error: " in line]
    message = (parts or {}).get("message") or (told or lines or [f"ended with status {result.returncode}"])[-1]
    return CkptError(message, result.returncode, parts)


def _job(verb, source, output, options):
    with tempfile.TemporaryDirectory(prefix="ckpt-") as folder:
        path = os.path.join(folder, "report.json")
        words = ["--quiet", f"--report={path}", *_words(options), f"--output={os.fspath(output)}", _path(source)]
        result = _run(verb, words)
        report = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
    if result.returncode != 0:
        raise _error(result, report.get("error"))
    for warning in report.get("warnings", []):
        warnings.warn(warning, stacklevel=3)
    return report


def _open_tensor(path, name, options):
    """A process that writes this tensor as a safetensors file to its standard output."""
    literal = "".join(f"[{c}]" if c in "*?[{" else c for c in name)
    command, environment = _command("merge", ["--quiet", *_words(options), f"--only={literal}", "--format=safetensors", "--output=-",
                                              _path(path)])
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end():
        stderr = process.communicate()[1]
        if process.returncode != 0:
            raise _error(subprocess.CompletedProcess(command, process.returncode, None, stderr))

    return process.stdout, end
