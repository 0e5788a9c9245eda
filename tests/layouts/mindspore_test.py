#!/usr/bin/python3
"""Checkpoints of MindSpore by its own strategy files alone: real ones (tests/golden/mindspore) are merged to their truth and cut for
other strategies, and each trap that users fall into is right, or an error that says why.

  mindspore_test.py --bin FOLDER_OF_THE_PROGRAMS"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys

import numpy as np

from harness import Place
from mindspore_jobs import (GOLDEN, Cut, read_checkpoint, read_strategy, truth_of, write_json_strategy, write_rank,
                            write_strategy)

SETS = {  # strategies in each form, and whose truth
    "mesh2x4": (["strategy.ckpt", "strategy.json"], "mesh2x4"), "opt_all": (["strategy.ckpt", "strategy.json"], "mesh2x4"),
    "nested": (["strategy.ckpt", "strategy.json"], "nested"), "manual": (["strategy.ckpt", "strategy.json"], "manual"),
    "pipeline": (["src_strategy", "merged.ckpt", "src_strategy_json", "merged.json"], "pipeline"),
    "dedup": (["../mesh2x4/strategy.ckpt", "../mesh2x4/strategy.json"], "mesh2x4")}


class Wrong(Exception):
    pass


class Strategies(Place):
    """A place where checkpoints are merged by strategies."""

    def run(self, program, *arguments, fails=None):
        """What it says; it must succeed, or fail with these words."""
        command = [os.path.join(self.programs, program), *arguments]
        if program != "ckpt-inspect":
            command.append("--progress=none")
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        said = done.stdout + done.stderr
        if (done.returncode != 0) != (fails is not None) or (fails is not None and fails not in said):
            raise Wrong(f"{' '.join(command)}: exit {done.returncode}, expected {fails or 'success'}\n{said}")
        return said

    def merge(self, source, strategy, *options, fails=None):
        path = self.path(".ckpt")
        said = self.run("ckpt-merge", "--layout", strategy, source, "-o", path, *options, fails=fails)
        return (None if fails else read_checkpoint(path)), said


def check_equal(what, found, expected):
    if sorted(found) != sorted(expected):
        raise Wrong(f"{what}: has {sorted(found)}, expected {sorted(expected)}")
    for name, value in expected.items():
        if found[name].tobytes() != value.tobytes() or found[name].shape != value.shape:
            raise Wrong(f"{what}: {name} is {found[name]}, expected {value}")


def check_cards(what, directory, cards, cuts, truth):
    """Each card's file holds what the strategy gives it, and everything else whole."""
    for rank in range(cards):
        (path,) = glob.glob(os.path.join(directory, f"rank_{rank}", "*.ckpt"))
        expected = {name: cuts[name].take(whole, rank) if name in cuts else whole for name, whole in truth.items()}
        check_equal(f"{what}, card {rank}", read_checkpoint(path), expected)


def uneven_cut(whole, cards):
    """Rows dealt out over the cards, as numpy.array_split deals them; a single card's worth of axes."""
    sizes = [len(part) for part in np.array_split(np.arange(whole.shape[0]), cards)]
    return Cut([cards], [[0]] + [[-1]] * (whole.ndim - 1), sizes=sizes)


def check_golden(place):
    for name, (strategies, of) in SETS.items():
        source = os.path.join(GOLDEN, name)
        truth = {**truth_of(of)}
        for strategy in strategies:
            merged, _ = place.merge(source, os.path.join(source, strategy))
            extra = {key: merged[key] for key in merged if key in ("epoch_num", "step_num") and key not in truth}
            check_equal(f"{name} by {strategy}", merged, {**truth, **extra})
        whole = {**truth, **extra}
        strategy = os.path.join(source, strategies[0])
        for cards in (3, 5, 8):
            cuts = {key: uneven_cut(value, cards) for key, value in truth.items() if value.ndim}
            target = write_strategy(place.path(".ckpt"), cuts)
            output = place.path()
            place.run("ckpt-reshard", "--from", strategy, "--to", target, source, "-o", output, "--format", "mindspore")
            check_cards(f"{name} to {cards}", output, cards, cuts, whole)
            back, _ = place.merge(output, target)
            check_equal(f"{name} to {cards} and back", back, whole)


def check_golden_targets(place):
    """From one real strategy to another, whole files and cards."""
    truth = truth_of("mesh2x4")
    for origin, target in (("mesh2x4", "opt_all"), ("opt_all", "mesh2x4")):
        output = place.path()
        folder = os.path.join(GOLDEN, origin)
        strategy = os.path.join(GOLDEN, target, "strategy.ckpt")
        place.run("ckpt-reshard", "--from", os.path.join(folder, "strategy.json"), "--to", strategy, folder, "-o", output)
        (extra,) = ({key: value for key, value in read_checkpoint(path).items() if key in ("epoch_num", "step_num")}
                    for path in glob.glob(os.path.join(folder, "rank_0", "*.ckpt")))
        check_cards(f"{origin} to {target}", output, 8, read_strategy(strategy), {**truth, **extra})


def job(place, wholes, cuts, cards, name="net_rank_{}-1_10.ckpt"):
    directory = place.path()
    for rank in range(cards):
        write_rank(directory, rank, {key: cuts[key].take(whole, rank) if key in cuts else whole
                                     for key, whole in wholes.items()}, name)
    return directory


def numbered(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def check_cuts(place):
    """Cuts that no golden set has."""
    wholes = {"u": numbered(12, 6), "v": numbered(12, 6) + 100, "few": numbered(24), "wide": numbered(24, 2),
              "nested": numbered(24), "lr": np.float32([0.1])}
    cuts = {"u": Cut([2, 3], [[1], [-1]]), "v": Cut([2, 3], [[0], [1]]), "few": Cut([2, 3], [[-1]], shards=3),
            "wide": Cut([6], [[-1], [-1]], field_size=2), "nested": Cut([2, 3], [[0, 1]])}
    merged, _ = place.merge(job(place, wholes, cuts, 6), write_strategy(place.path(".ckpt"), cuts))
    check_equal("nested, field and a partial optimizer's cut", merged, wholes)


def check_no_common_mesh(place):
    """2 x 3 and 3 x 2 in one strategy, with moments, accumulators and optimizer's cuts, as source and as target."""
    cuts = {"u": Cut([2, 3], [[1], [0]]), "u2": Cut([2, 3], [[-1], [0]], shards=-1), "v": Cut([3, 2], [[1], [0]]),
            "w": Cut([3, 2], [[-1], [1]], shards=-1), "one": Cut([6], [[-1]])}
    shapes = {"u": (12, 6), "u2": (8, 9), "v": (24, 6), "w": (4, 6), "one": (5,)}
    wholes, of_state = {"lr": np.float32([0.1])}, {}
    for at, (name, shape) in enumerate(shapes.items()):
        for state in ("", "moments.", "accu_grads."):
            wholes[state + name] = numbered(*shape) + 1000 * len(wholes) + at
            of_state[state + name] = cuts[name]
    of_state["moments.v"] = Cut([2, 3], [[1], [0]])  # cut otherwise than its parameter
    directory = job(place, wholes, of_state, 6)
    strategy = write_strategy(place.path(".ckpt"), of_state)
    merged, _ = place.merge(directory, strategy)
    check_equal("2 x 3 and 3 x 2", merged, wholes)
    merged, _ = place.merge(directory, write_json_strategy(place.path(".json"), of_state, {key: wholes[key].shape for key in of_state}))
    check_equal("2 x 3 and 3 x 2 in JSON", merged, wholes)
    before = {name: Cut([4, 2], [[1], [0]]) for name in ("u", "v", "moments.u", "moments.v")}
    few = {name: wholes[name] for name in before}
    output = place.path()
    place.run("ckpt-reshard", "--from", write_strategy(place.path(".ckpt"), before), "--to", strategy, job(place, few, before, 8),
              "-o", output)
    check_cards("8 to 2 x 3 and 3 x 2", output, 6, {name: of_state[name] for name in few}, few)
    back, _ = place.merge(output, strategy)
    check_equal("and back", back, few)
    alone = write_strategy(place.path(".ckpt"), {"v": before["v"]})
    place.run("ckpt-reshard", "--from", alone, "--to", strategy, job(place, {"v": numbered(8, 8)}, before, 8),  # 8 rows over 3
              "-o", place.path(), fails="8 elements do not divide by 3")


def check_names(place):
    """Which files are taken, and parameters with names that MindSpore's own tools stumble over."""
    cuts = {name: Cut([2], [[0]]) for name in ("a-b-c", "0-b", "x*y")}
    old = {name: numbered(4) for name in cuts}
    new = {name: numbered(4) + 7 for name in cuts}
    strategy = write_strategy(place.path(".ckpt"), cuts)
    directory = job(place, old, cuts, 2, "net-1_9.ckpt")
    for rank in range(2):
        write_rank(directory, rank, {key: cuts[key].take(whole, rank) for key, whole in new.items()}, "net-1_10.ckpt")
    merged, said = place.merge(directory, strategy)
    check_equal("the newest of steps 9 and 10", merged, new)
    if "net-1_10.ckpt" not in said:
        raise Wrong(f"it is not said which step is read: {said}")
    os.remove(os.path.join(directory, "rank_1", "net-1_10.ckpt"))
    place.merge(directory, strategy, fails="card 0 has it beside net-1_9.ckpt")  # which of the two is meant?
    os.remove(os.path.join(directory, "rank_0", "net-1_10.ckpt"))
    merged, _ = place.merge(directory, strategy)
    check_equal("the newest that both ranks have", merged, old)
    write_rank(directory, 0, old, "other-3_1.ckpt")
    write_rank(directory, 1, old, "other-3_1.ckpt")
    place.merge(directory, strategy, fails="several checkpoints")


def check_traps(place):
    cuts = {"w": Cut([4], [[0], [-1]]), "moments.w": Cut([4], [[0], [-1]])}
    wholes = {"w": numbered(8, 4), "moments.w": numbered(8, 4) + 50, "lr": np.float32([0.1])}
    strategy = write_strategy(place.path(".ckpt"), cuts)
    directory = job(place, wholes, cuts, 4)
    path = write_rank(directory, 2, {**{key: cuts[key].take(wholes[key], 2) for key in cuts}, "lr": np.float32([0.2])})
    place.merge(directory, strategy, fails="differ")
    write_rank(directory, 2, {key: cuts[key].take(wholes[key], 2) for key in cuts})
    merged, said = place.merge(directory, strategy)  # the file ends where a record ended, and others have what it lacks
    check_equal("one card lacks its copy", merged, wholes)
    if "remove_redundancy" not in said or "lr" not in said:
        raise Wrong(f"it is not said that copies are missing: {said}")
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 3)
    place.merge(directory, strategy, fails="net_rank_2-1_10.ckpt")
    # Whole tensors on every rank in spite of the strategy: integrated_save.
    whole = job(place, wholes, {}, 4)
    for form in (strategy, write_json_strategy(place.path(".json"), cuts, {key: wholes[key].shape for key in cuts})):
        merged, said = place.merge(whole, form)
        check_equal("integrated_save", merged, wholes)
        if "integrated_save" not in said:
            raise Wrong(f"no word of whole tensors: {said}")
    equal = {**wholes, "w": np.zeros((8, 4), np.float32), "moments.w": np.ones((8, 4), np.float32)}
    merged, _ = place.merge(job(place, equal, cuts, 4), strategy)
    check_equal("pieces that are alike, of one value each", merged, equal)
    # An accumulator whose cut stands in the strategy only.
    unlike = {**cuts, "accu_grads.w": Cut([4], [[0], [-1]])}
    stored = {key: cut for key, cut in unlike.items() if key != "accu_grads.w"}
    place.merge(job(place, {**wholes, "accu_grads.w": numbered(8, 4)}, stored, 4),
                write_strategy(place.path(".ckpt"), unlike), fails="accu_grads.w")
    # Stages of a pipeline.
    pipeline = os.path.join(GOLDEN, "pipeline")
    place.merge(pipeline, os.path.join(pipeline, "src_strategy/strategy_rank_0.ckpt"), fails="of all stages")
    together = place.path()
    shutil.copytree(os.path.join(pipeline, "src_strategy"), together)
    shutil.copy(os.path.join(pipeline, "merged.ckpt"), together)  # the result among the inputs
    merged, _ = place.merge(pipeline, together)
    check_equal("a merged strategy among its stages", {key: merged[key] for key in truth_of("pipeline")}, truth_of("pipeline"))
    # What is no strategy, and what is no checkpoint.
    place.merge(directory, os.path.join(directory, "rank_0/net_rank_0-1_10.ckpt"), fails="a checkpoint")
    place.merge(os.path.join(GOLDEN, "mesh2x4/strategy.ckpt"), strategy, fails="strategy")


def layout_of(place, mesh, rule):
    """A layout for a job that cut its parameters by hand: no strategy describes those."""
    axes, shape = zip(*mesh)
    path = place.path(".json")
    rules = [{"name": "moments.{param}", "like": "{param}"}, {"name": "model_parallel_weight", **rule}]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"ckpt_layout": 1, "mesh": {"axes": axes, "shape": shape}, "files": "rank_{card}/*.ckpt",
                   "parameters": rules, "default": "replicate"}, file)
    return path


def check_tutorial(place):
    """MindSpore's tutorials on hybrid parallel jobs: four cards to one file, that to two and to three, and 64 cards to 56."""
    wholes = {"model_parallel_weight": np.float32([[1, 2, 3, 4], [5, 6, 7, 8]]), "learning_rate": np.float32([0.01]),
              "moments.model_parallel_weight": np.float32([[8, 7, 6, 5], [4, 3, 2, 1]]), "momentum": np.float32([0.9])}
    cut = Cut([2, 2], [[1], [0]])
    four = job(place, wholes, {name: cut for name in wholes if name.endswith("weight")}, 4, "CKP_1-4_32.ckpt")
    merged = place.path(".ckpt")
    place.run("ckpt-merge", "--layout", layout_of(place, [("x", 2), ("y", 2)], {"split": ["x", "y"]}), four, "-o", merged)
    check_equal("the tutorial's four cards", read_checkpoint(merged), wholes)
    for cards, rule, sizes in ((2, {"split": ["x"]}, [1, 1]), (3, {"split": [None, "x"], "uneven": "balanced"}, [2, 1, 1])):
        output = place.path()
        place.run("ckpt-split", "--layout", layout_of(place, [("x", cards)], rule), merged, "-o", output)
        dim = rule["split"].index("x")
        for rank in range(cards):
            expected = {name: np.split(whole, np.cumsum(sizes)[:-1], dim)[rank] if name.endswith("weight") else whole
                        for name, whole in wholes.items()}
            check_equal(f"card {rank} of {cards}", read_checkpoint(f"{output}/rank_{rank}/checkpoint_{rank}.ckpt"), expected)
    wholes = {"w": numbered(112, 16), "moments.w": numbered(112, 16) + 1, "b": numbered(56), "lr": np.float32([0.1])}
    before = {name: Cut([8, 8], [[1], [0]]) for name in ("w", "moments.w")}
    after = {name: Cut([7, 8], [[1], [0]]) for name in ("w", "moments.w")}
    before["b"], after["b"] = Cut([8, 8], [[0]]), Cut([7, 8], [[1]], shards=-1)
    output = place.path()
    place.run("ckpt-reshard", "--from", write_strategy(place.path(".ckpt"), before), "--to",
              write_strategy(place.path(".ckpt"), after), job(place, wholes, before, 64), "-o", output)
    check_cards("64 to 56", output, 56, after, wholes)


def check_formats(place):
    formats = os.path.join(GOLDEN, "formats")
    for name in ("dtypes.ckpt", "write_only.ckpt", "sliced.ckpt", "sliced_async.ckpt", "crc.ckpt"):
        path, back = place.path(".ckpt"), place.path(".ckpt")
        place.run("ckpt-merge", os.path.join(formats, name), "-o", path)
        place.run("ckpt-verify", os.path.join(formats, name), path)
        place.run("ckpt-verify", path)
        place.run("ckpt-merge", path, "-o", back)
        place.run("ckpt-verify", path, back)
    place.run("ckpt-merge", os.path.join(formats, "map.ckpt"), "-o", place.path(".h5"), fails="hash table")
    place.run("ckpt-merge", os.path.join(formats, "map.ckpt"), "-o", place.path(".h5"), "--drop", "table")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    programs = os.path.abspath(parser.parse_args().bin)
    failed = 0
    for check in (check_golden, check_golden_targets, check_cuts, check_no_common_mesh, check_names, check_traps, check_tutorial, check_formats):
        with Strategies(programs) as place:
            try:
                check(place)
            except Wrong as wrong:
                failed += 1
                print(f"{check.__name__}: {wrong}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
