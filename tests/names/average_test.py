"""`--average` against exact sums of fractions: sources in several formats, cut in several ways, with dtypes of their own, by one
process and by three; every byte must be the reference's.

usage: average_test.py PROGRAMS [MPIEXEC WORDS...]
"""
import json
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

import dequantise as reference
from dequantise_programs_test import Typed, write

RANDOM = np.random.default_rng(37)
SHAPES = {"w.cut": (12, 20), "w.rows": (7, 9), "norm": (5,), "deep": (2, 3, 4, 5), "scalar": (), "none": (0, 4), "odd name/é": (3, 3)}
DTYPES = {"w.cut": "BF16", "w.rows": "F16", "norm": "F32", "deep": "BF16", "scalar": "F32", "none": "F32", "odd name/é": "F64"}
POSITIONS = np.arange(24, dtype=np.int64).reshape(4, 6)
LAYOUT = {"mesh": {"axes": ["tp"], "shape": [2]}, "parameters": [{"name": "w.cut", "split": [None, "tp"]}, {"name": "positions", "split": ["tp"]}], "default": "replicate"}
ROWS = {"mesh": {"axes": ["a"], "shape": [3]}, "parameters": [{"name": "w.rows", "split": ["a"], "uneven": "balanced"}, {"name": "w.cut", "split": ["a"]}], "default": "replicate"}


def to_bf16(number):
    """The bits of the bf16 next to a number of f64, ties to even."""
    bits = int(np.float64(number).view(np.uint64))
    single = np.float32(number)
    if not np.isfinite(single) or single == 0 or abs(number) < 2.0 ** -126:
        return int(reference.to_bf16(np.array([single]))[0])
    kept, lost = bits >> 45, bits & ((1 << 45) - 1)
    kept += lost > 1 << 44 or (lost == 1 << 44 and kept & 1)
    return int(reference.to_bf16(np.array([np.uint64(kept << 45).view(np.float64)], np.float32))[0])


def encoded(word, numbers):
    numbers = np.asarray(numbers, np.float64)
    if word == "BF16":
        return np.array([to_bf16(x) for x in numbers.ravel()], np.uint16).reshape(numbers.shape)
    with np.errstate(over="ignore"):
        return numbers.astype({"F16": np.float16, "F32": np.float32, "F64": np.float64}[word])


def decoded(word, array):
    if word == "BF16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def source(dtypes):
    """Random tensors; some elements nearly cancel, some are special."""
    tensors = {}
    for name, shape in SHAPES.items():
        numbers = RANDOM.normal(size=shape) * np.exp2(RANDOM.integers(-12, 3, shape))
        if name == "w.cut":
            numbers[0] = [0.0, -0.0, np.inf, np.nan] * 5
            numbers[1] = 1 + np.arange(20) / 128
        tensors[name] = (dtypes[name], encoded(dtypes[name], numbers))
    return tensors


def exact(terms):
    """Σ weight · number, rounded once to f64."""
    plain = sum(weight * number for weight, number in terms)
    if not np.isfinite(plain):
        return np.nan if np.isnan(plain) else plain
    if all(weight * number == 0 and np.signbit(weight * number) for weight, number in terms):
        return -0.0
    return float(sum(Fraction(weight) * Fraction(number) for weight, number in terms))


def average(weights, sources, dtypes):
    result = {}
    for name, shape in SHAPES.items():
        numbers = [decoded(*each[name]).ravel() for each in sources]
        with np.errstate(invalid="ignore"):
            sums = [exact([(w, float(x[i])) for w, x in zip(weights, numbers)]) for i in range(numbers[0].size)]
        result[name] = encoded(dtypes[name], np.array(sums, np.float64).reshape(shape))
    return result


def read(path):
    raw = Path(path).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    kinds = {"BF16": np.uint16, "F16": np.float16, "F32": np.float32, "F64": np.float64, "I64": np.int64}
    return {name: np.frombuffer(raw[8 + length:], np.uint8)[slice(*at["data_offsets"])].view(kinds[at["dtype"]]).reshape(at["shape"])
            for name, at in header.items() if name != "__metadata__"}


def check(found, expected, what):
    assert set(found) == {*expected, "positions"}, (what, sorted(found))
    assert (found["positions"] == POSITIONS).all(), what
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes(), f"{what}: {name}: {found[name]} instead of {array}"


class Programs:
    def __init__(self, directory, launch):
        self.ckpt, self.launch = str(Path(directory) / "ckpt"), launch

    def __call__(self, *words, fails=False, launch=()):
        done = subprocess.run([*launch, self.ckpt, *map(str, words)], capture_output=True, text=True)
        assert (done.returncode != 0) == fails, f"{words}: {done.stderr}"
        return done.stderr + done.stdout


def main():
    run = Programs(sys.argv[1], sys.argv[2:])
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for stem, ending, layout in (("two", "safetensors", LAYOUT), ("torch", "pt", LAYOUT), ("three", "h5", ROWS)):
            (home / f"{stem}.json").write_text(json.dumps({"ckpt_layout": 1, "files": f"rank_{{card}}.{ending}", **layout}))
        wide = {**DTYPES, "w.cut": "F32", "deep": "F64"}
        sources = [source(dtypes) for dtypes in (DTYPES, DTYPES, wide, DTYPES)]
        for i, tensors in enumerate(sources):
            write(home / f"{i}.safetensors", {**{n: Typed(*each) for n, each in tensors.items()}, "positions": Typed("I64", POSITIONS)})
        run("split", home / "0.safetensors", "--to", home / "two.json", "-o", home / "0")
        run("split", home / "1.safetensors", "--to", home / "three.json", "-o", home / "1")
        run("merge", home / "2.safetensors", "-o", home / "2.h5")
        run("split", home / "3.safetensors", "--to", home / "torch.json", "-o", home / "3")
        for each in ("0", "3"):
            (home / each / "checkpoint.json").unlink()  # so that it carries no layout
        weights = [0.3, -0.1, 1 / 3, RANDOM.random()]
        words = [f"0.3={home / '0'}:{home / 'two.json'}", f"-0.1={home / '1'}", f"1/3={home / '2.h5'}", f"{weights[3]!r}={home / '3'}"]
        average_of = ["--average", *words, "--layout", home / "torch.json"]
        expected = average(weights, sources, DTYPES)

        for launch in ((), run.launch):
            for memory in ("1MiB", "512MiB"):
                run("merge", *average_of, "-o", home / "out.safetensors", "--force", "--memory", memory, launch=launch)
                check(read(home / "out.safetensors"), expected, f"merge {launch} {memory}")
        run("verify", *average_of, home / "out.safetensors")
        run("reshard", *average_of, "--to", home / "three.json", "-o", home / "cut", launch=run.launch)
        run("merge", home / "cut", "-o", home / "back.safetensors")
        check(read(home / "back.safetensors"), expected, "reshard")
        run("verify", home / "cut", *average_of)

        once = (home / "out.safetensors").read_bytes()
        run("merge", "--average", words[0], words[3], words[2], words[1], "--layout", home / "torch.json", "-o", home / "turned.safetensors")
        check(read(home / "turned.safetensors"), expected, "in another order")
        run("merge", *average_of, "-o", home / "out.safetensors", "--resume")
        assert (home / "out.safetensors").read_bytes() == once
        cast = dict.fromkeys(DTYPES, "F16")
        run("merge", *average_of, "--cast", "f16", "-o", home / "cast.safetensors")
        check(read(home / "cast.safetensors"), average(weights, sources, cast), "cast, rounded once")
        run("verify", *average_of, home / "cast.safetensors")

        damaged = {**{n: Typed(*each) for n, each in sources[1].items()}, "positions": Typed("I64", POSITIONS + 1)}
        write(home / "other.safetensors", damaged)
        said = run("merge", "--average", f"1={home / '0.safetensors'}", f"1={home / 'other.safetensors'}", "-o", home / "x.h5", fails=True)
        assert "'positions'" in said and "--drop positions" in said, said
        said = run("verify", "--average", f"0.3={home / '0.safetensors'}", f"0.7={home / '1.safetensors'}", home / "out.safetensors", fails=True)
        assert "w.cut" in said, said
    print("every byte is the reference's")


if __name__ == "__main__":
    main()
