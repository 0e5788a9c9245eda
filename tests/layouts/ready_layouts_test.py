#!/usr/bin/python3
"""Each ready layout against its framework: a sample in that framework's form, made without the layout, is merged and
compared with the whole tensors; resharded, it is what the framework itself would have saved on the other cards.

    ready_layouts_test.py --bin DIR [--only NAME]
"""
import argparse
import glob
import os
import sys

import harness
from harness import Failure, ready_layout

import megatron_legacy as samples
import numpy as np
import tables_test
from ready import SAMPLES

# For each ready layout what it is resharded to: another layout or what stands after --to-mesh, and the arrangement of
# the framework's cards that must come out.
TARGETS = {
    "tutorial": [("tutorial.to-2", {"rows": 2, "columns": 1}), ("x=2,y=1", {"rows": 2, "columns": 1}),
                 ("x=1,y=4", {"rows": 1, "columns": 4})],
    "data-parallel": [("dp=3", {"dp": 3}), ("dp=6", {"dp": 6})],
    "mindspore-hybrid": [("dp=7", {"dp": 7, "mp": 8}), ("mp=7", {"dp": 8, "mp": 7})],
    "gpipe": [("gpipe.to-2-stages", {"balance": (6, 4)})],
    "gshard-4x8": [("y=7", {"shape": (4, 7), "physical": None}), ("x=7,y=4", {"shape": (7, 4), "physical": None})],
    "gshard-16x32": [("y=28", {"shape": (16, 28), "physical": None})],
    "megatron-gpt": [("megatron-gpt.to-pp2-tp4", {"pp": 2, "dp": 1, "tp": 4, "chunks": 1}),
                     ("tp=1,dp=1", {"pp": 4, "dp": 1, "tp": 1, "chunks": 2}),
                     ("pp=1", {"pp": 1, "dp": 2, "tp": 2, "chunks": 2})],
    "megatron-distributed-optimizer": [
        ("dp=3", {"pp": 2, "dp": 3, "tp": 2}), ("dp=4,tp=1", {"pp": 2, "dp": 4, "tp": 1}),
        ("dp=1,tp=4", {"pp": 2, "dp": 1, "tp": 4}),
        ("megatron-distributed-optimizer.to-pp1-dp3", {"pp": 1, "dp": 3, "tp": 2})],
    "deepspeed-zero1": [("dp=3", {"dp": 3}), ("dp=7", {"dp": 7}), ("dp=1", {"dp": 1})],
    "deepspeed-zero2": [("dp=3,tp=4", {"dp": 3, "tp": 4}), ("dp=2,tp=1", {"dp": 2, "tp": 1})],
    "deepspeed-zero3": [("dp=3", {"dp": 3}), ("dp=7", {"dp": 7}), ("dp=1", {"dp": 1})],
    "fsdp1": [("dp=3", {"dp": 3}), ("dp=7", {"dp": 7})],
    "fsdp2": [("dp=3", {"dp": 3}), ("dp=11", {"dp": 11})],
    "fsdp2-tp": [("dp=3,tp=4", {"dp": 3, "tp": 4}), ("dp=5,tp=1", {"dp": 5, "tp": 1})],
    "moe": [("edp=2,ep=2,tp=1", {"pp": 2, "edp": 2, "ep": 2, "tp": 1}),
            ("ep=8", {"pp": 2, "edp": 1, "ep": 8, "tp": 2}), ("pp=1", {"pp": 1, "edp": 1, "ep": 4, "tp": 2})],
    "hf-tp-plan": [("tp=2", {"tp": 2}), ("tp=8", {"tp": 8}), ("tp=1", {"tp": 1})],
}


def case(name, targets):
    def check(workplace):
        layout, sample = ready_layout(name), SAMPLES[name]
        source = workplace.sample(sample.source())
        full = sample.logical()
        merged = workplace.merge(source, layout)
        workplace.expect_file("merged", merged, full)
        for target, arrangement in targets:
            expected = sample.cards(**arrangement)
            by_layout = None if "=" in target else ready_layout(target)
            resharded = workplace.reshard(source, layout, by_layout or target)
            workplace.expect_cards(f"resharded to {target}", resharded, expected)
            workplace.expect_file(f"resharded to {target} and merged", workplace.merge(resharded), full)
            if by_layout:
                workplace.expect_cards(f"merged and split to {target}", workplace.split(merged, by_layout), expected)

    return check


def every_layout_is_tested(workplace):
    """A layout that stands there untested would be copied as if it were right."""
    del workplace
    files = {os.path.basename(path)[:-5] for path in glob.glob(os.path.join(harness.READY, "*.json"))} - {"schema"}
    tested = set(TARGETS) | {target for targets in TARGETS.values() for target, _ in targets if "=" not in target}
    small, large = ready_layout("gshard-4x8"), ready_layout("gshard-16x32")
    if any(small[key] != large[key] for key in small.keys() | large.keys() if key != "mesh"):
        raise Failure("gshard-16x32.json differs from gshard-4x8.json in more than its mesh")
    tested |= {"megatron-legacy", "paddle-text", *tables_test.SYSTEMS}
    if files != tested:
        raise Failure(f"layouts without a test or tests without a layout: {files ^ tested}")


def tensors(node, path=""):
    """Of a torch file, by their paths; what has no number of elements is left out."""
    if isinstance(node, dict):
        return {name: array for key, item in node.items() for name, array in tensors(item, f"{path}/{key}").items()}
    return {path: node} if isinstance(node, np.ndarray) else {}


def megatron_legacy(workplace):
    source, layout = workplace.path(), ready_layout("megatron-legacy")
    samples.write(source, 2, source=True)
    for tp in (1, 4):
        to, expected = workplace.reshard(source, layout, f"tp={tp}"), workplace.path()
        samples.write(expected, tp)
        for rank in range(tp):
            for name in samples.FILES:
                path = os.path.join(f"mp_rank_{rank:02}", name)
                found, want = (tensors(samples.torch_file.load(os.path.join(place, path))) for place in (to, expected))
                other = [each for each in found.keys() | want.keys() if each not in found or each not in want or
                         found[each].shape != want[each].shape or found[each].tobytes() != want[each].tobytes()]
                if other or not want:
                    raise Failure(f"tp={tp}, {path}: other tensors: {sorted(other)[:5]}")


CASES = {"every layout is tested": every_layout_is_tested, "megatron-legacy": megatron_legacy}
CASES.update({name: case(name, targets) for name, targets in TARGETS.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="where ckpt-merge, ckpt-split and ckpt-reshard are")
    parser.add_argument("--only", help="only the cases whose name holds this")
    arguments = parser.parse_args()
    return harness.run_cases(CASES, arguments.bin, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
