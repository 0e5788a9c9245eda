"""Writes checkpoints as DeepSpeed's ZeRO does for any number of ranks, without DeepSpeed or torch: by the rules of its
runtime/zero/stage_1_and_2.py and stage3.py, in NumPy."""
import math
from collections import OrderedDict
from typing import Callable, NamedTuple

import numpy as np

import torch_file
from dcp_directory import Size, made

TAG = "global_step2"
GROUPS = [{"emb.weight": (13, 6), "l1.weight": (10, 6), "l2.weight": (6, 10)}, {"l1.bias": (10,), "ln.weight": (6,), "ln.bias": (6,)}]
MOMENTS = ("exp_avg", "exp_avg_sq")

# What model ranks cut, along which dimension; of the second, each third.
WIDE_GROUPS = [{"emb.weight": (16, 6), "qkv.weight": (24, 6), "l1.weight": (12, 6), "l2.weight": (6, 12)}, {"l1.bias": (12,), "ln.weight": (6,), "ln.bias": (6,)}]
SPLITS = {"emb.weight": 0, "qkv.weight": 0, "l1.weight": 0, "l1.bias": 0, "l2.weight": 1, "out.weight": 0}
PARTS = {"qkv.weight": 3}


STAGE = torch_file.function("deepspeed.runtime.zero.config", "ZeroStageEnum")
ADDRESS = torch_file.of_class("deepspeed.utils.tensor_fragment", "fragment_address")
SCALER = torch_file.of_class("deepspeed.runtime.fp16.loss_scaler", "LossScaler")


def sizes_of(shapes):
    return OrderedDict((name, Size(shape)) for name, shape in shapes.items())


def value(word, name, shape):
    """Master weights whose nearest bfloat16 is a whole number, and what the optimizer keeps."""
    names = [each for group in GROUPS for each in group] + list(PARTS)
    first = 256 * names.index(name) % 1024 // 8
    whole = (np.arange(math.prod(shape)) % 120 + 1 + first).astype("<f4")
    if word == "module":
        return whole.reshape(shape)
    scale = {"fp32": 1 + 2.0 ** -12, "exp_avg": -1 / 3, "exp_avg_sq": 1 / 7}[word]
    return (whole * np.float32(scale)).astype("<f4").reshape(shape)


class Model(NamedTuple):
    """Shapes by name; `value` of a word ("module", "fp32", a moment), a name and its shape: what all ranks together have."""
    groups: list = GROUPS
    tied: dict = {"out.weight": "emb.weight"}
    frozen: dict = {"frozen": (7,)}
    value: Callable = value

    def frozen_value(self, name):
        return np.arange(math.prod(self.frozen[name]), dtype="<f4").reshape(self.frozen[name])


class Job:
    """What a model rank saves: one of several (GROUPS of WIDE_GROUPS) where `model_rank` says which of how many. `client`: what the job adds.
    `is_rewritten`: as of one whose rank 0 says what holds for all."""
    def __init__(self, stage, ranks, precision="bf16", model_rank=None, model=None, client=None, is_rewritten=False):
        self.stage, self.ranks, self.precision, self.is_rewritten = stage, ranks, precision, is_rewritten
        self.model_rank, self.model_ranks = model_rank or (0, 1)
        self.model = model or Model(groups=WIDE_GROUPS if model_rank else GROUPS)
        self.client = client or {"epoch": 3}
        self.groups = [{name: self.cut(name, np.zeros(shape)).shape for name, shape in group.items()} for group in self.model.groups]
        self.weight = torch_file.BFloat16 if precision == "bf16" else lambda array: np.array(array, {"fp16": "<f2", "fp32": "<f4"}[precision])
        self.config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": stage}}

    def cut(self, name, whole):
        """The model rank's piece."""
        if name not in SPLITS:
            return whole
        parts = np.split(whole, PARTS.get(name, 1), axis=SPLITS[name])
        return np.concatenate([np.split(part, self.model_ranks, axis=SPLITS[name])[self.model_rank] for part in parts], axis=SPLITS[name])

    def value(self, word, name):
        shapes = {name: shape for group in self.model.groups for name, shape in group.items()}
        return self.cut(name, self.model.value(word, name, shapes[name]))

    # --- model states ---

    def module(self, rank):
        weights = OrderedDict()
        for name in [*self.model.frozen, *(name for group in self.groups for name in group)]:
            array = self.model.frozen_value(name) if name in self.model.frozen else self.value("module", name)
            weights[name] = self.weight(np.zeros(0) if self.stage == 3 else array)
        weights["buf"] = np.arange(5, dtype="<f4") + (0 if self.is_rewritten else 100 * rank)
        for name, other in self.model.tied.items():
            weights[name] = self.weight(np.zeros(0)) if self.stage == 3 else weights[other]
        return weights

    def fragment(self, rank, name):
        array = self.model.frozen_value(name)
        if self.stage < 3:
            return self.weight(array)
        each = -(-array.size // self.ranks)
        padded = np.zeros(each * self.ranks, array.dtype)
        padded[:array.size] = array.ravel()
        return self.weight(padded[rank * each:(rank + 1) * each])

    def model_states(self, rank):
        has_frozen = self.stage >= 2
        tied = self.model.tied if rank == 0 or self.is_rewritten else {}
        return {"module": self.module(rank), "buffer_names": ["buf"], "optimizer": None if self.stage else self.whole_optimizer(),
                "param_shapes": [sizes_of(group) for group in self.groups] if self.stage else None,
                "frozen_param_shapes": sizes_of(self.model.frozen) if has_frozen else None,
                "shared_params": dict(tied) if self.stage else None,
                "frozen_param_fragments": OrderedDict((name, self.fragment(rank, name)) for name in self.model.frozen) if has_frozen else None,
                "lr_scheduler": {"last_batch_iteration": 1}, "global_steps": 2, "dp_world_size": self.ranks, "mp_world_size": self.model_ranks,
                "ds_config": self.config, "ds_version": "0.19.8", "mine": self.client}

    def whole_optimizer(self):
        names = [name for group in self.groups for name in group]
        state = {i: {"step": np.asarray(2, "<f4"), **{word: self.value(word, each) for word in MOMENTS}} for i, each in enumerate(names)}
        param_groups = [{"lr": 0.001, "params": [names.index(name) for name in group]} for group in self.groups]
        return {"optimizer_state_dict": {"state": state, "param_groups": param_groups},
                "fp32_groups": [[self.value("fp32", each) for each in group] for group in self.groups]}

    # --- an optimizer's file ---

    def slices(self, word, group):
        """Of all ranks; and where each parameter begins."""
        starts, flat = {}, np.concatenate([self.value(word, each).ravel() for each in group])
        for name, shape in group.items():
            starts[name] = sum(math.prod(group[other]) for other in starts)
        each = -(-flat.size // (2 * self.ranks)) * 2
        padded = np.zeros(each * self.ranks, "<f4")
        padded[:flat.size] = flat
        return padded.reshape(self.ranks, each), flat.size, starts

    def pieces(self, word, group):
        rows = []
        for name, shape in group.items():
            each = -(-math.prod(shape) // self.ranks)
            padded = np.zeros(each * self.ranks, "<f4")
            padded[:math.prod(shape)] = self.value(word, name).ravel()
            rows.append(padded.reshape(self.ranks, each))
        return np.concatenate(rows, axis=1)

    def state(self, rank):
        flat = self.pieces if self.stage == 3 else lambda word, group: self.slices(word, group)[0]
        return {"state": {g: {"step": np.asarray(2, "<f4"), **{word: flat(word, group)[rank].copy() for word in MOMENTS}}
                          for g, group in enumerate(self.groups)},
                "param_groups": [{"lr": 0.001, "betas": (0.9, 0.999), "params": [g]} for g in range(len(self.groups))]}

    def optimizer(self, rank):
        said = {"loss_scaler": made(SCALER, cur_scale=1.0, dynamic=False), "overflow": False}
        if self.stage == 3:
            return {"zero_stage": torch_file.Call(STAGE, 3), **said, "partition_count": self.ranks, "optimizer_state_dict": self.state(rank),
                    "fp32_flat_groups": [self.pieces("fp32", group)[rank].copy() for group in self.groups]}
        paddings, masters, addresses = [], [], []
        for group in self.groups:
            rows, size, starts = self.slices("fp32", group)
            first, last = rank * rows.shape[1], (rank + 1) * rows.shape[1]
            paddings.append(min(rows.shape[1], max(0, last - size)))
            masters.append(rows[rank][:rows.shape[1] - paddings[-1]].copy())
            addresses.append(OrderedDict())
            for name, shape in group.items():
                begin, end = max(first, starts[name]), min(last, starts[name] + math.prod(shape))
                if begin < end:
                    addresses[-1][name] = made(ADDRESS, numel=end - begin, start=begin - first)
        return {**said, "base_optimizer_state": self.state(rank), "single_partition_of_fp32_groups": masters, "zero_stage": torch_file.Call(STAGE, self.stage),
                "group_paddings": paddings, "param_alignment_paddings": [[0] * len(group) for group in self.groups],
                "partition_count": [self.ranks] * len(self.groups), "ds_version": "0.19.8", "param_slice_mappings": addresses}

    # --- files ---

    def files(self):
        """Names, and what each holds."""
        for rank in range(self.ranks if self.stage == 3 else 1):
            yield (f"zero_pp_rank_{rank}_" if self.stage == 3 else "") + f"mp_rank_{self.model_rank:02}_model_states.pt", self.model_states(rank)
        for rank in range(self.ranks if self.stage else 0):
            yield (f"{'bf16_' if self.precision == 'bf16' else ''}zero_pp_rank_{rank}_mp_rank_{self.model_rank:02}_optim_states.pt",
                   {"optimizer_state_dict": self.optimizer(rank), "ds_config": self.config, "ds_version": "0.19.8"})

    def write(self, path, edit=lambda name, tree: None):
        (path / TAG).mkdir(parents=True, exist_ok=True)
        for name, tree in self.files():
            edit(name, tree)
            torch_file.save(path / TAG / name, tree)
        (path / "latest").write_text(TAG)

    def whole(self):
        """The tensors, by the names that the programs give them."""
        found = {}
        for word in ("fp32", *MOMENTS):
            for group in self.groups:
                for name in group:
                    found[name if word == "fp32" and self.stage == 3 else f"{word}/{name}"] = self.value(word, name)
        found |= {f"step/{g}": np.asarray(2, "<f4") for g in range(len(self.groups))} | {"buf": np.arange(5, dtype="<f4")}
        if self.stage < 3:
            found |= {name: array for name, array in self.module(0).items() if name != "buf"}
        frozen = {name: self.weight(self.model.frozen_value(name)) for name in self.model.frozen}
        return found | frozen | ({f"frozen_param_fragments/{name}": array for name, array in frozen.items()} if self.stage == 2 else {})
