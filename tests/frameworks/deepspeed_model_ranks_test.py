"""DeepSpeed under tensor parallelism: what a job of some model ranks saved, with a layout of the weights' splits alone, is resumed from by
jobs of other model and data ranks, with the same state bit for bit and the next step's loss."""
import json
import os

os.environ["DS_ACCELERATOR"] = "cpu"

import jobs  # noqa: E402  (the accelerator is chosen first)
import deepspeed  # noqa: E402
import from_torch  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from deepspeed_directories_test import STEPS, TAG, state_of, take_step  # noqa: E402
from deepspeed_test import optimizer_of  # noqa: E402

SHAPES = {"embedding": (13, 6), "qkv": (24, 6), "up": (16, 6), "up_bias": (16,), "down": (6, 16), "norm": (6,)}
SPLITS = {"qkv": 0, "up": 0, "up_bias": 0, "down": 1}  # of qkv each third
PARTS = {"qkv": 3}


def cut(name, whole, rank, of):
    """A model rank's piece."""
    if name not in SPLITS:
        return whole
    parts = np.split(np.asarray(whole), PARTS.get(name, 1), axis=SPLITS[name])
    return np.concatenate([np.split(part, of, axis=SPLITS[name])[rank] for part in parts], axis=SPLITS[name])


def joined(name, pieces):
    if name not in SPLITS:
        return pieces[0]
    cuts = [np.split(piece, PARTS.get(name, 1), axis=SPLITS[name]) for piece in pieces]
    return np.concatenate([piece for part in zip(*cuts) for piece in part], axis=SPLITS[name])


class Sum(torch.autograd.Function):
    """The sum over the model ranks, forwards or backwards."""
    @staticmethod
    def forward(context, value, group, is_forwards):
        context.group, context.is_forwards = group, is_forwards
        return reduced(value, group) if is_forwards else value.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient if context.is_forwards else reduced(gradient, context.group), None, None


def reduced(value, group):
    total = value.clone()
    dist.all_reduce(total, group=group)
    return total


class Ranks:
    """Which rank is which, as DeepSpeed asks its `mpu`: model ranks are the fastest."""
    def __init__(self, tp):
        world, rank = dist.get_world_size(), dist.get_rank()
        self.tp, self.rank = tp, rank
        models = [dist.new_group(list(range(first, first + tp))) for first in range(0, world, tp)]
        data = [dist.new_group(list(range(first, world, tp))) for first in range(tp)]
        self.model_group, self.data_group = models[rank // tp], data[rank % tp]

    def get_model_parallel_rank(self):
        return self.rank % self.tp

    def get_model_parallel_world_size(self):
        return self.tp

    def get_model_parallel_group(self):
        return self.model_group

    def get_data_parallel_rank(self):
        return self.rank // self.tp

    def get_data_parallel_world_size(self):
        return dist.get_world_size() // self.tp

    def get_data_parallel_group(self):
        return self.data_group


class Net(torch.nn.Module):
    def __init__(self, ranks, seed):
        super().__init__()
        self.ranks = ranks
        generator = np.random.default_rng(seed)
        for name, shape in SHAPES.items():
            whole = generator.standard_normal(shape).astype("f4") / 4
            self.register_parameter(name, torch.nn.Parameter(torch.tensor(cut(name, whole, ranks.get_model_parallel_rank(), ranks.tp))))

    def forward(self, tokens):
        hidden = torch.nn.functional.embedding(tokens, self.embedding) * self.norm
        shared = Sum.apply(hidden, self.ranks.model_group, False)
        query, key, value = (shared @ self.qkv.T).chunk(3, -1)
        mixed = (query * key.sigmoid() * value).sum(-1, keepdim=True)
        inner = torch.relu(shared @ self.up.T + self.up_bias)
        hidden = hidden + Sum.apply(inner @ self.down.T + mixed, self.ranks.model_group, True)
        return hidden @ self.embedding.T


def new_engine(tp, stage, dtype, seed):
    ranks = Ranks(tp)
    model = Net(ranks, seed)
    config = {"train_micro_batch_size_per_gpu": 4, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
              "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0}, "bf16": {"enabled": dtype == torch.bfloat16}}
    optimizer = optimizer_of(model)
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config, mpu=ranks, dist_init_required=False)[0]


def state_in(engine, stage):
    """What the engine says of itself; without ZeRO what its optimizer does, whose numbers are those of its groups in their order."""
    if stage > 0:
        return state_of(engine, stage)
    said = engine.optimizer.state_dict()
    kept = said.get("optimizer_state_dict", said)
    names = [name for name in SHAPES if len(SHAPES[name]) > 1] + [name for name in SHAPES if len(SHAPES[name]) == 1]
    found = dict(engine.module.state_dict())
    found |= {f"{word}/{names[i]}": value for i, state in kept["state"].items() for word, value in state.items() if word != "step"}
    found |= {f"fp32/{name}": value for name, value in zip(names, (each for group in said.get("fp32_groups", []) for each in group))}
    return {name: from_torch.raw(value.detach().cpu()).copy() for name, value in found.items()}


def by_weights(merged):
    """What was merged without ZeRO, by the names of `state_in`."""
    names = [[name for name in SHAPES if (len(SHAPES[name]) == 1) == is_flat] for is_flat in (False, True)]
    found = {}
    for path, value in merged.items():
        *folders, last = path.split("/")
        if folders[1:2] == ["fp32_groups"]:
            found[f"fp32/{names[int(folders[2])][int(last)]}"] = value
        elif folders and last != "step":
            found[f"{last}/{(names[0] + names[1])[int(folders[-1])]}"] = value
        elif not folders:
            found[path] = value
    return found


def train(rank, place, tp, stage, dtype):
    engine = new_engine(tp, stage, dtype, 1)
    for step in range(STEPS):
        take_step(engine, step)
    engine.save_checkpoint(str(place), tag=TAG)
    return state_in(engine, stage), take_step(engine, STEPS)


def resume(rank, place, tp, stage, dtype):
    engine = new_engine(tp, stage, dtype, 2)
    path, _ = engine.load_checkpoint(str(place))
    assert path is not None and engine.global_steps == STEPS
    return state_in(engine, stage), take_step(engine, STEPS)


def whole(found, tp):
    """The state of the job, of what its first data rank's model ranks have."""
    states = [state for state, _ in found[:tp]]
    return {name: joined(name.split("/")[-1], [state[name] for state in states]) for name in states[0]}


def module_layout(tp):
    rules = [{"name": name, "split": [None] * dim + ["tp"], **({"parts": {"dim": dim, "count": PARTS[name]}} if name in PARTS else {})}
             for name, dim in SPLITS.items()]
    return {"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [tp]}, "parameters": rules, "default": "replicate"}


def check(stage, dtype, tp, dp, *others):
    place = jobs.scratch()
    run = place / "run"
    found = jobs.run_job(tp * dp, train, run, tp, stage, dtype)
    expected, loss = whole(found, tp), found[0][1]
    layout = place / "module.json"
    layout.write_text(json.dumps(module_layout(tp)))
    jobs.program("merge", "--layout", layout, run, "-o", place / "merged.h5")
    merged = {name: value for name, value in jobs.datasets(place / "merged.h5").items()
              if not name.startswith(("step/", "frozen_param_fragments/"))}
    merged = merged if stage > 0 else by_weights(merged)
    jobs.same_bytes(merged, expected, f"merged from ZeRO-{stage} of tp {tp}, dp {dp}")
    for other_tp, other_dp in others:
        to = place / f"tp{other_tp}-dp{other_dp}"
        jobs.program("reshard", "--layout", layout, "--to-mesh", f"tp={other_tp},dp={other_dp}", run / TAG, "-o", to)
        resumed = jobs.run_job(other_tp * other_dp, resume, to, other_tp, stage, dtype)
        jobs.same_bytes(whole(resumed, other_tp), expected, f"resumed on tp {other_tp}, dp {other_dp}")
        if dtype == torch.float32:  # sums over other ranks round otherwise
            jobs.close([resumed[0][1]], [loss], "the next loss")


def zero0():
    """without ZeRO, fp32: tp 2 × dp 2 to tp 1 × dp 1, and to tp 4 × dp 1"""
    check(0, torch.float32, 2, 2, (1, 1), (4, 1))


def zero0_half():
    """without ZeRO, bf16, which has master weights: tp 1 × dp 2 to tp 2 × dp 1"""
    check(0, torch.bfloat16, 1, 2, (2, 1))


def zero1():
    """ZeRO-1, fp32: tp 2 × dp 2 to tp 1 × dp 2, and to tp 4 × dp 1"""
    check(1, torch.float32, 2, 2, (1, 2), (4, 1))


def zero2():
    """ZeRO-2, bf16: tp 1 × dp 2 to tp 2 × dp 2"""
    check(2, torch.bfloat16, 1, 2, (2, 2))


def zero3():
    """ZeRO-3, fp32: tp 2 × dp 2 to tp 1 × dp 3, and to tp 4 × dp 1"""
    check(3, torch.float32, 2, 2, (1, 3), (4, 1))


def zero3_half():
    """ZeRO-3, bf16: tp 1 × dp 3 to tp 2 × dp 2"""
    check(3, torch.bfloat16, 1, 3, (2, 2))


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (zero0, zero0_half, zero1, zero2, zero3, zero3_half)})
