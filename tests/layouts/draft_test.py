#!/usr/bin/python3
"""ckpt draft on each ready layout's sample: the layout that it drafts from the files, the mesh and the whole
tensors merges and reshards the sample as the ready layout does; what it cannot know it says, and has no rule for.

    draft_test.py --bin DIR [--only NAME]
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

import harness
from harness import Failure, ready_layout

from ready import SAMPLES
from ready_layouts_test import TARGETS

# What is left to the user for other meshes: where the least padding that fits is not the framework's own.
OTHER_MESHES = {"megatron-distributed-optimizer": ["dp=4,tp=1"]}


def draft(workplace, source, *options):
    """The exit status, the layout and what is said."""
    command = [os.path.join(workplace.programs, "ckpt-inspect"), "--draft", *options, source]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise Failure(f"exit {done.returncode}: {' '.join(command)}\n{done.stderr.strip()}")
    return done.returncode, json.loads(done.stdout), done.stderr


def mesh_option(layout):
    mesh = layout["mesh"]
    return ["--mesh", ",".join(f"{axis}={size}" for axis, size in zip(mesh["axes"], mesh["shape"]))]


def complete(name, targets):
    def check(workplace):
        sample, ready = SAMPLES[name], ready_layout(name)
        source, full = workplace.sample(sample.source()), sample.logical()
        status, layout, said = draft(workplace, source, *mesh_option(ready), "--expect", workplace.whole(full))
        if status != 0 or "open:" in said:
            raise Failure(f"the draft is not complete (exit {status}):\n{said}")
        workplace.expect_file("merged", workplace.merge(source, layout), full)
        for target, arrangement in targets:
            to = target if "=" in target else ready_layout(target)
            resharded = workplace.reshard(source, layout, to)
            workplace.expect_cards(f"resharded to {target}", resharded, sample.cards(**arrangement))

    return check


def buckets_without_tensors(workplace):
    """Flat buffers, and shapes without data: they are open with all that is in them, and the programs ask for a rule."""
    sample, ready = SAMPLES["deepspeed-zero2"], ready_layout("deepspeed-zero2")
    source, full = workplace.sample(sample.source()), sample.logical()
    shapes = {name: {"shape": list(array.shape), "dtype": str(array.dtype)} for name, array in full.items()}
    path = workplace.path(".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(shapes, file)
    status, layout, said = draft(workplace, source, *mesh_option(ready), "--expect", path)
    if status != 1 or "single_partition_of_fp32_groups.1" not in said or '"buckets"' not in said:
        raise Failure(f"exit {status}, expected 1 and the buffers named in:\n{said}")
    try:
        workplace.merge(source, layout)
    except Failure as refused:
        if "no rule of" not in str(refused):
            raise
    else:
        raise Failure("a merge takes the draft, although something is open")


def half_a_bucket(workplace):
    """A member that the whole tensors lack: the rest of its buffer is no padding, and proves nothing."""
    sample = SAMPLES["fsdp1"]
    full = {name: array for name, array in sample.logical().items() if name != "layers.1.ffn.weight"}
    source = workplace.sample(sample.source())
    status, layout, said = draft(workplace, source, "--mesh", "dp=4", "--expect", workplace.whole(full))
    names = [bucket["name"] for bucket in layout["buckets"]]
    if status != 1 or "layers.1._flat_param" in names or "layers.0._flat_param" not in names:
        raise Failure(f"exit {status}, buckets {names}\n{said}")


def other_tensors(workplace):
    """Whole tensors that the pieces do not make: what differs gets no rule, whatever fits its shapes."""
    sample = SAMPLES["fsdp2-tp"]
    source, full = workplace.sample(sample.source()), dict(sample.logical())
    moved = "layers.1.feed_forward.w2.weight"
    full[moved] = full[moved][::-1].copy()
    large = "tok_embeddings.weight"
    full[large] = full[large].copy()
    full[large][17, 3] += 1
    status, _, said = draft(workplace, source, *mesh_option(ready_layout("fsdp2-tp")), "--expect", workplace.whole(full))
    if status != 1 or moved not in said or large not in said:
        raise Failure(f"exit {status}, expected 1 and both parameters named in:\n{said}")


def one_element(workplace):
    """A difference that no sample sees: one element of a million."""
    full = {"w": np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32)}
    source = workplace.sample({f"rank_{r}.h5": {"w": full["w"][r * 512:(r + 1) * 512]} for r in range(2)})
    full["w"][700, 901] += 1
    status, layout, said = draft(workplace, source, "--mesh", "tp=2", "--expect", workplace.whole(full))
    if status != 1 or "differ" not in said or "parameters" in layout:
        raise Failure(f"exit {status}, expected 1 and no rule:\n{said}")


def drifted_copies(workplace):
    """Copies whose samples are equal, without whole tensors."""
    copies = [np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32) for _ in range(2)]
    source = workplace.sample({f"rank_{r}.h5": {"w": copies[r]} for r in range(2)})
    if draft(workplace, source)[0] != 0:
        raise Failure("equal copies are not drafted as copies")
    copies[1][700, 901] += 1
    source = workplace.sample({f"rank_{r}.h5": {"w": copies[r]} for r in range(2)})
    status, layout, said = draft(workplace, source)
    if status != 1 or "differ" not in said or "parameters" in layout:
        raise Failure(f"exit {status}, expected 1 and no rule:\n{said}")


def shapes_alone(workplace):
    """Of what is not fused, shapes tell the dimension, and the order of two axes where their pieces are uneven; else that is open."""
    sample = SAMPLES["fsdp2-tp"]
    shapes = {name: {"shape": list(array.shape), "dtype": "f32"} for name, array in sample.logical().items()}
    path = workplace.path(".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(shapes, file)
    status, layout, said = draft(workplace, workplace.sample(sample.source()), *mesh_option(ready_layout("fsdp2-tp")),
                                 "--expect", path, "--unfused", "*")
    rules = json.dumps(layout.get("parameters"))
    if status != 1 or "attention.wq" not in rules or "feed_forward.w1" in rules or '{"split": [["dp", "tp"]]' not in said:
        raise Failure(f"exit {status}, {rules}\n{said}")


def another_dtype(workplace):
    """Whole tensors rounded to half precision prove as much: parts and all."""
    sample, ready = SAMPLES["moe"], ready_layout("moe")
    full = {name: array.astype(np.float16) for name, array in sample.logical().items()}
    source = workplace.sample(sample.source())
    status, layout, said = draft(workplace, source, *mesh_option(ready), "--expect", workplace.whole(full))
    if status != 0:
        raise Failure(f"exit {status}:\n{said}")
    workplace.expect_file("merged", workplace.merge(source, layout), sample.logical())


def without_mesh(workplace):
    """Which cards are equal proves the axes."""
    rows = np.random.default_rng(1).standard_normal((8, 6)).astype(np.float32)
    norm = np.arange(6, dtype=np.float32)
    source = workplace.sample({f"rank_{r}.h5": {"w": rows[r % 4 * 2:r % 4 * 2 + 2], "norm": norm} for r in range(8)})
    status, layout, _ = draft(workplace, source, "--expect", workplace.whole({"w": rows, "norm": norm}))
    if status != 0 or layout["mesh"] != {"axes": ["a0", "a1"], "shape": [2, 4]}:
        raise Failure(f"exit {status}, {layout['mesh']}")


def stages_without_mesh(workplace):
    """What only some cards hold proves axes, too: the stages of a pipeline."""
    sample, ready = SAMPLES["megatron-gpt"], ready_layout("megatron-gpt")
    source, full = workplace.sample(sample.source()), sample.logical()
    status, layout, said = draft(workplace, source, "--expect", workplace.whole(full))
    if status != 0 or layout["mesh"]["shape"] != ready["mesh"]["shape"]:
        raise Failure(f"exit {status}, {layout['mesh']}:\n{said}")
    workplace.expect_file("merged", workplace.merge(source, layout), full)


def zero_biases(workplace):
    """Parameters of zeros, whose bytes prove nothing, are cut as their moments are."""
    random = np.random.default_rng(1)
    full = {"fc.bias": np.zeros(8, "f4"), "m.fc.bias": random.standard_normal(8, "f4")}
    source = workplace.sample({f"rank_{r}.h5": {name: array[r % 2 * 4:r % 2 * 4 + 4] for name, array in full.items()}
                               for r in range(4)})
    options = ["--mesh", "dp=2,tp=2", "--expect"]
    status, layout, said = draft(workplace, source, *options, workplace.whole(full))
    if status != 0 or "fc.bias: taken to be cut" not in said:
        raise Failure(f"exit {status}:\n{said}")
    workplace.expect_file("merged", workplace.merge(source, layout), full)
    del full["m.fc.bias"]
    source = workplace.sample({f"rank_{r}.h5": {"fc.bias": full["fc.bias"][:4]} for r in range(4)})
    status, _, said = draft(workplace, source, *options, workplace.whole(full))
    if status != 1 or '{"split": ["dp"]}, {"split": ["tp"]}' not in said:
        raise Failure(f"exit {status}, expected 1 and both axes in:\n{said}")


# gshard-16x32 has the rules of gshard-4x8; the sample's tensors are so small on its 32 devices that the last hold nothing,
# which no draft guesses.
CASES = {name: complete(name, [target for target in targets if target[0] not in OTHER_MESHES.get(name, [])])
         for name, targets in TARGETS.items() if name != "gshard-16x32"}
CASES.update({"buckets without tensors": buckets_without_tensors, "half a bucket": half_a_bucket,
              "other tensors": other_tensors, "one element": one_element, "drifted copies": drifted_copies,
              "shapes alone": shapes_alone, "another dtype": another_dtype, "without a mesh": without_mesh,
              "stages without a mesh": stages_without_mesh, "zero biases": zero_biases})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="where the programs are")
    parser.add_argument("--only", help="only the cases whose name holds this")
    arguments = parser.parse_args()
    return harness.run_cases(CASES, arguments.bin, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
