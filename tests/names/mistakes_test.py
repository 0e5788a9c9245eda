"""The programs against the naive model where a map has one mistake: both refuse it, or both give the same bytes.

    mistakes_test.py --bin DIR [--mistakes N]
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import model
import mutations
from model_test import MAPS_OF


def is_move(data):
    return not any(key in rule for rule in data["tensors"] for key in ("times", "plus"))


class Programs:
    def __init__(self, folder, place):
        self.merge, self.place = Path(folder) / "ckpt-merge", place
        self.environment = {**os.environ, "CKPT_NAMES": str(model.READY)}

    def convert(self, data, config, side, tensors, expected):
        """What ckpt-merge makes, or None and its message."""
        for name, text in (("map.json", data), ("config.json", config)):
            (self.place / name).write_text(json.dumps(text))
        model.write_safetensors(self.place / "in.safetensors", tensors)
        (self.place / "out.safetensors").unlink(missing_ok=True)
        model.write_safetensors(self.place / "like.safetensors", expected)
        done = subprocess.run([self.merge, "-q", "--names", f"{self.place}/map.json#{side}", "--expect", self.place / "like.safetensors",
                               self.place / "in.safetensors", "-o", self.place / "out.safetensors"], env=self.environment, capture_output=True,
                              text=True, check=False)
        if done.returncode not in (0, 1, 2) or (done.returncode == 0) != (self.place / "out.safetensors").exists():
            raise AssertionError(f"exit {done.returncode}: {done.stderr}")
        return (model.read_safetensors(self.place / "out.safetensors") if done.returncode == 0 else None), done.stderr


def same(found, expected):
    return found is not None and found.keys() == expected.keys() and all(
        found[name].shape == want.shape and found[name].tobytes() == want.tobytes() for name, want in expected.items())


def mistakes(programs, number, seed):
    """Single rules with one mistake: the model and the programs agree on each."""
    cases = []
    for name, maps in MAPS_OF.items():
        config, tensors = mutations.family_of(name, True)
        for ready in maps:
            data = model.inherited(model.ready_map(ready), model.READY)
            if is_move(data):
                there = model.convert(data, config, "hf", tensors)
                right = model.Conversion(model.Map(data, config), data["sides"][0], there, model.shapes_of(tensors))
                for at, (sources, targets) in right.by_rule.items():
                    cases += [(mutations.part(data, [mutant]), config, {n: there[n] for n in sources}, {n: right.made[n] for n in targets})
                              for mutant in mutations.mutations(data["tensors"][at - 1], data["sides"], list(data["sizes"]))]
    counts = {"refused": 0, "fit": 0}
    for data, config, sources, shapes in random.Random(seed).sample(cases, number):
        try:
            expected = model.convert(data, config, data["sides"][0], sources, model.shapes_of(shapes))
        except model.MapError as why:
            expected, reason = None, why
        found, told = programs.convert(data, config, data["sides"][0], sources, shapes)
        rule = {side: data["tensors"][0][side] for side in data["sides"]}
        if expected is None:
            assert found is None, f"{rule}: taken, and the model refuses it: {reason}"
            assert told.startswith("ckpt-merge: error: "), told
        else:
            assert same(found, expected), f"{rule}: {told or 'other bytes'}"
        counts["fit" if expected else "refused"] += 1
    print(f"  {number} mistakes: {counts['refused']} refused by both, {counts['fit']} with the same bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mistakes", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckpt-names-") as place:
        programs = Programs(given.bin, Path(place))
        mistakes(programs, given.mistakes, given.seed)


if __name__ == "__main__":
    np.seterr(all="raise")
    sys.exit(main())
