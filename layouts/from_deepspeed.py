#!/usr/bin/env python3
"""Turn a DeepSpeed ZeRO checkpoint into one HDF5 file for each rank and the layout that says how they are cut.

  from_deepspeed.py CHECKPOINT OUT [--tag global_step2] [--tp-split '*.dense_h_to_4h.weight=0' …]

CHECKPOINT is what save_checkpoint wrote, with `latest` in it; OUT gets rank_N.h5 and layout.json. Then:

  ckpt-merge --layout OUT/layout.json OUT -o merged.h5

It needs torch, h5py, numpy and from_torch.py beside it, but not DeepSpeed. The names in the result:

  module/NAME                        the model's own weights and buffers (ZeRO-3: buffers and frozen weights)
  fp32/NAME, exp_avg/NAME, …         master weights and whatever the optimizer keeps for each element
  step/G                             what it keeps for each parameter group

Names, shapes and order come from the checkpoint's param_shapes. How tensor parallelism cuts a weight DeepSpeed does not
know: --tp-split PATTERN=DIM, the first that fits; a weight that none fits is the same on all tp ranks.
"""
import argparse
import fnmatch
import json
import math
import pickle
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import torch

import from_torch

COUNTERS = ("global_steps", "global_samples", "skipped_steps")
OPTIMIZER_FILE = re.compile(r"(?:bf16_|fp16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_optim_states\.pt")


class Unknown:
    """An object of a class that we don't need: DeepSpeed's enums, loss scalers, settings."""

    def __init__(self, *_, **__):
        pass

    def __setstate__(self, _):
        pass


class Unpickler(pickle.Unpickler):
    """Calls nothing but what makes tensors and their dicts."""
    MODULES = ("torch", "torch._utils", "torch._tensor", "torch.storage", "torch.serialization")

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict") or (module in self.MODULES and "." not in name):
            return super().find_class(module, name)
        return Unknown


def read(path):
    return torch.load(path, map_location="cpu", weights_only=False, mmap=True,
                      pickle_module=SimpleNamespace(Unpickler=Unpickler, __name__="passive"))


class Checkpoint:
    """The files of one tag, and what they say of the mesh."""

    def __init__(self, directory, tag):
        self.directory = directory / (tag or (directory / "latest").read_text().strip())
        found = {tuple(map(int, match.groups())): path for path in self.directory.iterdir()
                 if (match := OPTIMIZER_FILE.fullmatch(path.name))}
        if not found:
            raise ValueError(f"{self.directory}: found no zero_pp_rank_…_optim_states.pt, expected ZeRO 1, 2 or 3")
        self.dp, self.tp = (1 + max(axis) for axis in zip(*found))
        missing = [(d, t) for d in range(self.dp) for t in range(self.tp) if (d, t) not in found]
        if missing:
            raise ValueError(f"{self.directory}: found no optimizer file of dp, mp rank {missing[0]}")
        self.optimizer_files = found
        self.sharded_weights = (self.directory / "zero_pp_rank_0_mp_rank_00_model_states.pt").exists()

    def model_states(self, dp, tp):
        """ZeRO-3 has them for each rank, ZeRO-1 and 2 for each tp rank."""
        name = f"mp_rank_{tp:02}_model_states.pt"
        return read(self.directory / (f"zero_pp_rank_{dp}_{name}" if self.sharded_weights else name))

    def optimizer(self, dp, tp):
        return read(self.optimizer_files[dp, tp])["optimizer_state_dict"]


class Converter:
    def __init__(self, checkpoint, tp_splits):
        self.checkpoint, self.tp_splits = checkpoint, tp_splits
        self.rules, self.buckets = {}, {}

    # --- how tensor parallelism cuts ---

    def split(self, name):
        for pattern, dim in self.tp_splits if self.checkpoint.tp > 1 else ():
            if fnmatch.fnmatchcase(name, pattern):
                return {"split": [None] * dim + ["tp"]}
        return {}

    def logical(self, name, shape):
        shape = list(shape)
        if split := self.split(name):
            shape[len(split["split"]) - 1] *= self.checkpoint.tp
        return shape

    # --- one rank ---

    def convert(self, out):
        for dp in range(self.checkpoint.dp):
            for tp in range(self.checkpoint.tp):
                model, optimizer = self.checkpoint.model_states(dp, tp), self.checkpoint.optimizer(dp, tp)
                stored = (self.pieces if self.checkpoint.sharded_weights else self.slices)(dp, model, optimizer)
                path = out / f"rank_{dp * self.checkpoint.tp + tp}.h5"
                from_torch.write_file(path, stored)
                with h5py.File(path, "a") as file:
                    file.attrs.update({key: model[key] for key in COUNTERS if isinstance(model.get(key), int)})
        from_torch.write_json(self.layout(), out / "layout.json")

    def slices(self, dp, model, optimizer):
        """ZeRO-1 and 2: each group's parameters end to end, padded, in equal slices over dp."""
        stored = {}
        if dp == 0:
            for name, tensor in model["module"].items():
                if torch.is_tensor(tensor):
                    stored[f"module/{name}"] = tensor
                    self.add(f"module/{name}", {**self.split(name), "at": {"dp": 0}})
        state = group_states(optimizer["base_optimizer_state"])
        if any(any(padding) for padding in optimizer.get("param_alignment_paddings") or ()):
            raise ValueError("found padding between parameters of a group (round_robin_gradients), expected none")
        for g, shapes in enumerate(model["param_shapes"]):
            step = 2 * self.checkpoint.dp
            size = -(-sum(math.prod(shape) for shape in shapes.values()) // step) * step // self.checkpoint.dp
            for word, value in [("fp32", optimizer["single_partition_of_fp32_groups"][g]), *state.get(g, {}).items()]:
                if not self.is_vector(word, value, stored, g):
                    continue
                if value.numel() > size:
                    raise ValueError(f"{word} of group {g}: found {value.numel()} elements on dp rank {dp}, "
                                     f"expected {size}")
                # The last rank's master weights are saved without the padding, its moments with it.
                stored[f"{word}.{g}"] = torch.nn.functional.pad(value.detach(), (0, size - value.numel()))
                members = [{"name": f"{word}/{name}", "shape": self.logical(name, shape), **self.split(name)}
                           for name, shape in shapes.items()]
                self.buckets[f"{word}.{g}"] = {"name": f"{word}.{g}", "axis": "dp", "multiple_of": step,
                                               "members": members}
        return stored

    def pieces(self, dp, model, optimizer):
        """ZeRO-3: of each parameter ceil(n / dp) elements, those of a group end to end."""
        stored = {}
        for name in model.get("buffer_names") or ():
            stored[f"module/{name}"] = model["module"][name]
            self.add(f"module/{name}", {})
        for name, shape in (model.get("frozen_param_shapes") or {}).items():
            self.piece(stored, "module", name, shape, model["frozen_param_fragments"][name], 0)
        state = group_states(optimizer["optimizer_state_dict"])
        for g, shapes in enumerate(model["param_shapes"]):
            for word, value in [("fp32", optimizer["fp32_flat_groups"][g]), *state.get(g, {}).items()]:
                if not self.is_vector(word, value, stored, g):
                    continue
                start = 0
                for name, shape in shapes.items():
                    start = self.piece(stored, word, name, shape, value, start)
        return stored

    def piece(self, stored, word, name, shape, value, start):
        """One parameter's piece, that begins at this element; gives where the next begins."""
        end = start + -(-math.prod(shape) // self.checkpoint.dp)
        if end > value.numel():
            raise ValueError(f"{word} of {name}: found {value.numel()} elements, expected {end} or more")
        stored[f"{word}/{name}"] = value.detach().flatten()[start:end]
        self.add(f"{word}/{name}", {**self.split(name), "flat": {"axis": "dp"}, "shape": self.logical(name, shape)})
        return end

    def is_vector(self, word, value, stored, g):
        """Whether it is kept for each element; what is kept for the group is stored here."""
        if torch.is_tensor(value) and value.dim() == 1:
            return True
        if torch.is_tensor(value) or isinstance(value, (int, float)):
            stored[f"{word}/{g}"] = torch.as_tensor(value)
            self.add(f"{word}/{g}", {})
        return False

    # --- the layout ---

    def add(self, name, rule):
        self.rules[name] = rule

    def layout(self):
        grouped = {}
        for name, rule in self.rules.items():
            grouped.setdefault(json.dumps(rule), []).append(from_torch.literal(name))
        layout = {"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [self.checkpoint.dp, self.checkpoint.tp]},
                  "files": "rank_{card}.h5",
                  "parameters": [{"name": names, **json.loads(rule)} for rule, names in grouped.items()]}
        if self.buckets:
            layout["buckets"] = list(self.buckets.values())
        return layout


def group_states(optimizer):
    """Group -> what the optimizer keeps; elastic checkpoints have a list instead of torch's dict."""
    return dict(enumerate(optimizer)) if isinstance(optimizer, list) else optimizer["state"]


def tp_split(text):
    pattern, _, dim = text.rpartition("=")
    if not pattern or not dim.isdigit():
        raise argparse.ArgumentTypeError(f"found '{text}', expected PATTERN=DIM, such as '*.dense.weight=1'")
    return pattern, int(dim)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tag", help="instead of the one in `latest`")
    parser.add_argument("--tp-split", type=tp_split, action="append", default=[], metavar="PATTERN=DIM")
    options = parser.parse_args()
    try:
        checkpoint = Checkpoint(options.checkpoint, options.tag)
        options.out.mkdir(parents=True)
        Converter(checkpoint, options.tp_split).convert(options.out)
    except (OSError, ValueError) as problem:
        sys.exit(f"from_deepspeed: {problem}")
    print(f"{options.out}: {checkpoint.dp * checkpoint.tp} files and layout.json")


if __name__ == "__main__":
    main()
