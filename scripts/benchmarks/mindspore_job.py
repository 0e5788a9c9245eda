"""Checkpoints as MindSpore saves them, and what its own transform_checkpoints does with them; run by a Python that has it.

  mindspore_job.py make FORMAT DIRECTORY [--quick]        FORMAT: ckpt, safetensors; of 8 ranks, with src.ckpt and dst.ckpt, the
                                                          strategies of 8 ranks (dp 2 x mp 4) and of 4 (dp 1 x mp 4)
  mindspore_job.py run FORMAT CARDS SOURCE OUTPUT         says on its last line how many seconds it took, imports not counted
  mindspore_job.py same FORMAT OURS THEIRS                a file, or rank_N/ of two directories, hold the same
"""
import argparse
import os
import pathlib
import sys
import time

os.environ["GLOG_v"] = "3"  # errors only
sys.dont_write_bytecode = True

import mindspore as ms  # noqa: E402
import numpy as np  # noqa: E402
from mindspore.train.node_strategy_pb2 import ParallelStrategyMap  # noqa: E402

RANKS, MODEL_PARALLEL = 8, 4
SIZES = {False: (1536, 9), True: (64, 2)}  # width and layers: 85 M parameters, 1.0 GB with two moments in float32


def parameters(quick):
    """name -> (shape, the dimension that the mp axis cuts, or None); moments are cut over dp, too."""
    width, layers = SIZES[quick]
    shapes = {}
    for layer in range(layers):
        block = f"backbone.blocks.{layer}"
        shapes[f"{block}.norm.gamma"] = ((width,), None)
        shapes[f"{block}.up.weight"] = ((2 * width, width), 0)
        shapes[f"{block}.down.weight"] = ((width, 2 * width), 1)
    return shapes


def strategy(data_parallel, quick, path):
    """As MindSpore's compiler writes it: optimizer state is cut again over the replicas."""
    saved = ParallelStrategyMap(current_stage=2)
    operator = saved.parallel_strategy_item.add(node_name="MatMul-op0")
    operator.parallel_strategys.stage = 0
    for name, (shape, dim) in parameters(quick).items():
        for state in ("", "adam_m.", "adam_v."):
            is_cut_again = state and data_parallel > 1 and dim is not None
            layout = saved.parallel_layout_item.add(param_name=state + name).parallel_layouts
            layout.dev_matrix.add(dim=[data_parallel, MODEL_PARALLEL])
            layout.tensor_map.add(dim=[0 if d == dim else -1 for d in range(len(shape))])
            layout.param_split_shape.add()
            layout.indices_offset.add()
            layout.field = 0
            layout.opt_weight_shard_step = MODEL_PARALLEL if is_cut_again else 0
            layout.opt_weight_shard_size = -1 if is_cut_again else 0
    path.write_bytes(saved.SerializeToString())


def piece(whole, dim, rank, is_cut_again):
    data, model = divmod(rank, MODEL_PARALLEL)
    if dim is None:
        return whole
    part = np.split(whole, MODEL_PARALLEL, dim)[model]
    return np.split(part, RANKS // MODEL_PARALLEL, 0)[data] if is_cut_again else part


def make(form, directory, quick):
    random = np.random.default_rng(1)
    wholes = {state + name: (random.random(shape, np.float32), dim, bool(state))
              for name, (shape, dim) in parameters(quick).items() for state in ("", "adam_m.", "adam_v.")}
    for rank in range(RANKS):
        place = directory / "run" / f"rank_{rank}"
        place.mkdir(parents=True)
        items = [{"name": name, "data": ms.Tensor(np.ascontiguousarray(piece(whole, dim, rank, again)))}
                 for name, (whole, dim, again) in wholes.items()]
        ms.save_checkpoint(items, str(place / f"net_rank_{rank}-1_10.{form}"), format=form)
    strategy(2, quick, directory / "src.ckpt")
    strategy(1, quick, directory / "dst.ckpt")


def run(form, cards, source, output):
    target = str(source / "dst.ckpt") if cards == "4" else None
    start = time.perf_counter()
    ms.transform_checkpoints(str(source / "run"), str(output), "own", str(source / "src.ckpt"), target, output_format=form)
    print(time.perf_counter() - start)


def loaded(path, form):
    if path.is_dir():
        (path,) = path.glob(f"*.{form}")
    return {name: parameter.asnumpy() for name, parameter in ms.load_checkpoint(str(path), format=form).items()}


def same(form, ours, theirs):
    """Of a merged checkpoint ours is a file."""
    for rank in sorted(theirs.glob("rank_*")):
        found, expected = loaded(ours / rank.name if ours.is_dir() else ours, form), loaded(rank, form)
        wrong = [name for name in found.keys() | expected.keys()
                 if name not in found or name not in expected or found[name].tobytes() != expected[name].tobytes()]
        if wrong or not expected:
            sys.exit(f"mindspore_job: {rank.name}: of {len(expected)} tensors {len(wrong)} differ: {sorted(wrong)[:5]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "run", "same"])
    parser.add_argument("form", choices=["ckpt", "safetensors"])
    parser.add_argument("words", nargs="+")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.action == "make":
        return make(options.form, pathlib.Path(options.words[0]), options.quick)
    if options.action == "run":
        return run(options.form, options.words[0], *map(pathlib.Path, options.words[1:]))
    return same(options.form, *map(pathlib.Path, options.words))


if __name__ == "__main__":
    main()
