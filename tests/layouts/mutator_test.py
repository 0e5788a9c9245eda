#!/usr/bin/python3
"""Mistakes in the ready layouts, on the samples that their frameworks would have saved: what tells of them.

Each mistake is drawn from all that a ready layout has room for (mistakes.py). Those that change a name, a shape or a dtype of what comes
out must be told of with --expect; those that change values of a master copy and not of the model's, or of both in different ways, by
`equals`; each at all by ckpt-verify against the whole model. What is told of with none of these is counted.

    mutator_test.py --bin DIR [--seed N] [--draw N | --all] [--only LAYOUT] [--list]
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys

import numpy as np

import harness
import mistakes
from harness import Failure, common

from ready import SAMPLES
from ready_layouts_test import TARGETS

# Before the names of master copies, and of the model's own copies. A rule that both follow has both wrong in the same way.
MASTERS = {"megatron-gpt": ("optimizer.fp32.", ""), "deepspeed-zero1": ("fp32.", "module."), "deepspeed-zero2": ("fp32.", "module.")}


def without_equals(layout):
    # A rule that says nothing else is of a bucket's members: it would match nothing.
    rules = [{key: value for key, value in rule.items() if key != "equals"}
             for rule in layout["parameters"] if set(rule) != {"name", "equals"}]
    return {**layout, "parameters": rules}


class Subject:
    """A ready layout with its sample, and what is right."""

    def __init__(self, name, workplace):
        self.name = name
        self.workplace = workplace
        self.layout = harness.ready_layout(name)
        self.source = workplace.sample(SAMPLES[name].source())
        self.full = SAMPLES[name].logical()
        self.whole = workplace.whole(self.full)
        self.reference = workplace.path(".json")
        with open(self.reference, "w", encoding="utf-8") as file:
            json.dump({name: {"shape": list(np.shape(array)), "dtype": str(np.asarray(array).dtype)}
                       for name, array in self.full.items()}, file)
        self.warnings = self.merge(without_equals(self.layout)).warnings
        self.check_right()

    def check_right(self):
        for what, done in {"the ready layout": self.merge(self.layout), "with --expect": self.expect(self.layout),
                           "ckpt-verify": self.verify(self.layout)}.items():
            if done.status != 0:
                raise Failure(f"{what} fails: {done.said}")

    def run(self, program, *arguments):
        command = [os.path.join(self.workplace.programs, program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        lines = done.stderr.splitlines()
        return Done(done.returncode, [line for line in lines if ": warning: " in line], done.stderr.strip())

    def merge(self, layout, *options):
        merged = self.workplace.path(".h5")
        done = self.run("ckpt-merge", "--layout", self.workplace.layout(layout), self.source, "-o", merged, "--no-fsync", *options)
        return done._replace(merged=merged)

    def expect(self, layout):
        return self.merge(layout, "--expect", self.reference, "--dry-run")

    def verify(self, layout):
        return self.run("ckpt-verify", "--from", self.workplace.layout(layout), self.source, self.whole)

    def unequal_masters(self, found):
        """Pairs of which the silent result's master copy, rounded, is not its model's copy."""
        if self.name not in MASTERS:
            return []
        masters, copies = MASTERS[self.name]
        pairs = {name: copies + name.removeprefix(masters) for name in found if name.startswith(masters)}
        return [name for name, other in pairs.items()
                if other in found and found[name].astype(found[other].dtype).tobytes() != found[other].tobytes()]


class Done(collections.namedtuple("Done", "status warnings said merged", defaults=[None])):
    """What a program did."""


class Tally:
    """How many mistakes of a kind were told of, and by what."""

    def __init__(self):
        self.of_kind = collections.defaultdict(collections.Counter)

    def count(self, kind, told_by):
        self.of_kind[kind][told_by] += 1

    def mistakes(self):
        return sum(counts.total() - counts["harmless"] for counts in self.of_kind.values())

    def lines(self):
        columns = ("error", "warning", "shapes", "equals", "values", "harmless")
        yield " ".join(f"{word:>10}" for word in ("", *columns))
        total = collections.Counter()
        for kind, counts in sorted(self.of_kind.items()):
            total.update(counts)
            yield f"{kind:>16} " + " ".join(f"{counts[column]:>10}" for column in columns)
        yield f"{'all':>16} " + " ".join(f"{total[column]:>10}" for column in columns)
        wrong = self.mistakes()
        alone = total["error"] + total["warning"]
        yield (f"{wrong} mistakes: {alone} ({100 * alone / wrong:.0f} %) are told of with nothing, {total['shapes']} more with --expect, "
               f"{total['equals']} more by equals, and the last {total['values']} by ckpt-verify against the whole model")


def judge(subject, wrong):
    """What tells of a mistake first: the programs with nothing, --expect, equals, or only a comparison of values."""
    plain = subject.merge(without_equals(wrong))
    if plain.status != 0:
        return "error"
    found = common.read_file(plain.merged)
    differing = common.differences(found, subject.full)
    if not differing:
        return "harmless"
    changes_model = any(": missing" in line or ": not expected" in line or ": found " in line for line in differing)
    expected = subject.expect(without_equals(wrong))
    if changes_model != (expected.status == 1):
        raise Failure(f"--expect: exit {expected.status} where it changes {differing[:3]}: {expected.said}")
    unequal = subject.unequal_masters(found)
    equals = subject.merge(wrong)
    if (unequal and equals.status == 0) or (not unequal and not changes_model and equals.status != 0):
        raise Failure(f"equals: exit {equals.status} where {unequal[:3]} differ: {equals.said}")
    if subject.verify(wrong).status == 0:
        raise Failure(f"ckpt-verify does not tell of {differing[:3]}")
    if set(plain.warnings) - set(subject.warnings):
        return "warning"
    return "shapes" if changes_model else "equals" if equals.status != 0 else "values"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="where ckpt-merge and ckpt-verify are")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--draw", type=int, default=64, help="how many mistakes")
    parser.add_argument("--all", action="store_true", help="every mistake there is room for")
    parser.add_argument("--only", help="of this ready layout")
    parser.add_argument("--list", action="store_true", help="a line for each mistake")
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(TARGETS)
    drawn = [(name, *mistake) for name in names for mistake in mistakes.all_of(harness.ready_layout(name))]
    if not arguments.all:
        drawn = random.Random(arguments.seed).sample(drawn, min(arguments.draw, len(drawn)))
    tally, failed = Tally(), 0
    with harness.Workplace(arguments.bin) as workplace:
        subjects = {}
        for name, kind, what, wrong in sorted(drawn, key=lambda mistake: mistake[:3]):
            try:
                if name not in subjects:
                    subjects[name] = Subject(name, workplace)
                told_by = judge(subjects[name], wrong)
                tally.count(kind, told_by)
                if arguments.list:
                    print(f"{told_by:>10}  {name}: {what}", flush=True)
            except (Failure, subprocess.TimeoutExpired) as failure:
                failed += 1
                print(f"FAIL  {name}: {what}: {failure}", flush=True)
    print("\n".join(tally.lines()))
    if not arguments.only and tally.mistakes() < min(30, arguments.draw):
        print("FAIL  too few of those drawn were mistakes")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
