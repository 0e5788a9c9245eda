"""The programs' likeness where a map has one mistake: of those that fit every shape at least 95 % are told, with nothing written; right maps pass.

    likeness_test.py --bin DIR [--mistakes N | --all] [--seed N] [--square] [--list]
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import model
import mutations
from mistakes_test import is_move, same
from model_test import MAPS_OF


class Family:
    """A trainer's checkpoint, and a directory of the model some steps before."""

    def __init__(self, name, ready, square, place, programs):
        self.config, self.right = mutations.family_of(name, square)
        self.data, self.place, self.programs = model.inherited(model.ready_map(ready), model.READY), place, programs
        self.name = f"{name} through {ready}"
        noise = np.random.default_rng(11)
        before = {key: value + np.float32(mutations.MOVED) * value.std() * noise.standard_normal(value.shape).astype(np.float32)
                  for key, value in self.right.items()}
        self.there = model.convert(self.data, self.config, "hf", self.right)
        (place / "like").mkdir(parents=True)
        (place / "like" / "config.json").write_text(json.dumps(self.config))
        model.write_safetensors(place / "like" / "model.safetensors", before)
        model.write_safetensors(place / "in.safetensors", self.there)

    def mistakes(self):
        """Maps with one mistake in a rule that is used."""
        sides = self.data["sides"]
        rules = model.Conversion(model.Map(self.data, self.config), sides[0], self.there, model.shapes_of(self.right)).by_rule
        used = {number - 1: self.data["tensors"][number - 1] for number in rules}
        for at, rule in used.items():
            for mutant in mutations.mutations(rule, sides, list(self.data["sizes"])):
                yield self.with_rules({at: mutant})
        for pair in mutations.exchanged_names(list(used.values()), sides):
            yield self.with_rules({at: mutant for at, rule in used.items() for mutant in pair if mutant[sides[0]] == rule[sides[0]]})

    def with_rules(self, rules):
        return {**{key: value for key, value in self.data.items() if key != "base"},
                "tensors": [rules.get(at, rule) for at, rule in enumerate(self.data["tensors"])]}, [rules[at] for at in rules]

    def convert(self, data):
        """What ckpt-merge --like makes, or None, and its messages."""
        (self.place / "map.json").write_text(json.dumps(data))
        shutil.rmtree(self.place / "out", ignore_errors=True)
        done = subprocess.run([self.programs / "ckpt-merge", "-q", "--like", self.place / "like", "--names", self.place / "map.json",
                               self.place / "in.safetensors", "-o", self.place / "out"],
                              env={**os.environ, "CKPT_NAMES": str(model.READY)}, capture_output=True, text=True, check=False)
        left = [path.name for path in self.place.iterdir() if path.name.startswith("out")]
        if done.returncode not in (0, 1, 2) or left != (["out"] if done.returncode == 0 else []):
            raise AssertionError(f"exit {done.returncode}, left {left}: {done.stderr}")
        return (model.read_safetensors(self.place / "out" / "model.safetensors") if done.returncode == 0 else None), done.stderr


def families(square, place, programs):
    for name, maps in MAPS_OF.items():
        for ready in maps:
            if is_move(model.inherited(model.ready_map(ready), model.READY)):
                yield Family(name, ready, square, place / f"{name}.{ready}", programs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mistakes", type=int, default=100)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--square", action="store_true")
    parser.add_argument("--list", action="store_true", help="those that are not told, and what is said of the others")
    given = parser.parse_args()
    counts = {"refused": 0, "the same": 0, "told": 0, "with the change that mends it": 0, "not told": 0}
    with tempfile.TemporaryDirectory(prefix="ckpt-names-") as place:
        cases = []
        for family in families(given.square, Path(place), Path(given.bin)):
            made, said = family.convert(family.data)
            assert same(made, family.right) and not said, f"{family.name}: a false alarm: {said}"
            cases += [(family, *mistake) for mistake in family.mistakes()]
        for family, data, rules in cases if given.all else random.Random(given.seed).sample(cases, given.mistakes):
            made, said = family.convert(data)
            words = [{side: rule[side] for side in data["sides"]} for rule in rules]
            if made is not None:
                what = "the same" if same(made, family.right) else "not told"
            else:
                what = "told" if "as if elements were in other places" in said else "refused"
            counts[what] += 1
            counts["with the change that mends it"] += what == "told" and ("which gives" in said or "is its name right" in said)
            if given.list and what in ("told", "not told"):
                print(f"{what}: {family.name}: {words}\n    {said.strip()}")
    print("  " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    # Of all, two are not told: gpt_oss' sinks have a number for each head, too few to tell chance from likeness. A small sample may have one.
    assert counts["not told"] <= max(1, 0.05 * (counts["told"] + counts["not told"])), "too few are told"


if __name__ == "__main__":
    np.seterr(all="raise")
    sys.exit(main())
