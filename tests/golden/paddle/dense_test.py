#!/usr/bin/python3
"""What PaddlePaddle 3.3.1 itself saved (paddle.save in its protocols, distributed checkpoints of four processes, and variables of static
graphs, whose programs here have lost their operators): merged to its truth, resharded to 3, 5 and 8 cards and merged again, and written as
.pdparams, which a reader of its own reads (paddle_files.py)."""
import argparse
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import paddle_files

HERE = pathlib.Path(__file__).parent


def check(is_right, what):
    if not is_right:
        sys.exit(f"FAILED: {what}")


def truth_of(file):
    return {name.replace("%", "/"): array for name, array in np.load(file).items()}


def flattened(value, name=""):
    """{path: array} of dicts and lists."""
    if isinstance(value, paddle_files.Array):
        return {name or "tensor": paddle_files.numpy_of(value)}
    if isinstance(value, dict):
        items = [(key, each) for key, each in value.items() if key != "StructuredToParameterName@@"]
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    else:
        return {}
    return {path: array for key, each in items for path, array in flattened(each, f"{name}/{key}" if name else str(key)).items()}


def read(file):
    file = str(file)
    return flattened(paddle_files.safetensors(file) if file.endswith(".safetensors") else paddle_files.load(file))


def compare(found, expected, what):
    check(found.keys() == expected.keys(), f"{what}: {sorted(found.keys() ^ expected.keys())} on one side only")
    for name, array in expected.items():
        check(found[name].shape == array.shape and found[name].tobytes() == np.ascontiguousarray(array).tobytes(), f"{what}: {name} differs")


def run(options, *words):
    done = subprocess.run([os.path.join(options.bin, words[0]), *map(str, words[1:])], capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr}")


def case(options, place, source, expected):
    what = str(source.relative_to(HERE))
    ending = ".pdparams" if any(array.dtype == "c16" for array in expected.values()) else ".safetensors"  # which has no such numbers
    merged = place / f"whole{ending}"
    run(options, "ckpt-merge", "-q", source, "-o", merged)
    compare(read(merged), expected, f"{what} merged")
    run(options, "ckpt-merge", "-q", source, "-o", place / "merged.pdparams")
    compare(read(place / "merged.pdparams"), expected, f"{what} as .pdparams")
    run(options, "ckpt-verify", place / "merged.pdparams")
    run(options, "ckpt-verify", merged, place / "merged.pdparams")
    for cards in (3, 5, 8):
        run(options, "ckpt-reshard", "-q", "--cards", cards, "--format", "paddle", source, "-o", place / str(cards))
        run(options, "ckpt-merge", "-q", place / str(cards), "-o", place / f"{cards}{ending}")
        compare(read(place / f"{cards}{ending}"), expected, f"{what} on {cards} cards")


def dense_cases():
    for file in sorted((HERE / "dense").rglob("*.pd*")):
        kind = "truth_opt.npz" if file.suffix == ".pdopt" else "truth_params.npz"
        truth = file.parent / kind if (file.parent / kind).exists() else file.parent / "truth.npz"
        expected = truth_of(truth)
        if file.suffix in (".pdckpt", ".pdtensor"):  # no truth of its own, but that of the reader
            expected = read(file)
        yield file, expected


def distributed_cases():
    for truth in sorted((HERE / "distributed").rglob("truth.npz")):
        yield truth.parent, truth_of(truth)


def static_cases():
    directory = HERE / "static"
    truth = truth_of(directory / "truth.npz")
    parameters = {name: array for name, array in truth.items() if name in ("fc_0.w_0", "fc_0.b_0")}
    yield directory / "persistables", truth
    yield directory / "combined", truth
    yield directory / "combined" / "__all__", truth
    yield directory / "inference" / "infer.pdiparams", parameters
    yield directory / "pir" / "infer.pdiparams", {name: truth_of(directory / "pir" / "truth.npz")[name] for name in parameters}


class Claimed:
    """Pickles as an array of a shape that its bytes need not fill."""

    def __init__(self, shape, data):
        self.shape, self.data = shape, data

    def __reduce__(self):
        reconstruct, arguments, _ = np.zeros(1, np.float32).__reduce__()
        return reconstruct, arguments, (1, self.shape, np.dtype(np.float32), False, self.data)


def refused(options, place, source, words):
    """Asks for one error, soon, and no output."""
    out = place / "refused.safetensors"
    done = subprocess.run([os.path.join(options.bin, "ckpt-merge"), "-q", source, "-o", out], capture_output=True, text=True, timeout=20)
    check(done.returncode == 1 and words in done.stderr and not out.exists(), f"{source}: {done.returncode}, {done.stderr}, expected {words}")


def hostile_cases(options, place):
    pieces = {"w@@.0": np.ones(3, np.float32), "w@@.1": np.ones(2, np.float32)}
    for count in (0, 4, 6, 1 << 40):
        info = {"UnpackBigParamInfor@@": {"w": {"OriginShape": (count,), "slices": list(pieces)}}}
        file = place / f"big_{count}.pdparams"
        file.write_bytes(pickle.dumps({**pieces, **info}, protocol=2))
        refused(options, place, file, "by its shape")
    for protocol in (2, 4):
        for shape in ((4,), (1 << 40,), (2,), (3, 0)):
            file = place / "claimed.pdparams"
            file.write_bytes(pickle.dumps({"w": Claimed(shape, b"\0" * 12)}, protocol=protocol))
            refused(options, place, file, "bytes")
    # A run of elements beyond an array's bytes.
    directory = place / "distributed"
    shutil.copytree(HERE / "distributed" / "flattened", directory)
    file = directory / "0_0.distcp"
    arrays = paddle_files.load(file)
    short = {name: Claimed(array.shape, b"\0" * 4) if isinstance(array, paddle_files.Array) else array for name, array in arrays.items()}
    file.write_bytes(pickle.dumps(short, protocol=4))
    refused(options, place, directory, "is the file damaged")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    for source, expected in [*dense_cases(), *distributed_cases(), *static_cases()]:
        with tempfile.TemporaryDirectory() as place:
            case(options, pathlib.Path(place), source, expected)
    with tempfile.TemporaryDirectory() as place:
        hostile_cases(options, pathlib.Path(place))


if __name__ == "__main__":
    main()
