"""Megatron's `--ckpt-format torch`: for each tensor-parallel rank a file of the model, and beside it one with all of data parallelism's
optimizer, end to end in backward order, each parameter at a multiple of 64 elements."""
import pathlib
import sys

import numpy as np

from common import tensor, up_to_multiple
from megatron_optimizer import STATES, forward_order

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import torch_file  # noqa: E402

NAMESPACE = torch_file.of_class("argparse", "Namespace")
DTYPES = tuple(torch_file.function("torch", name) for name in ("bfloat16", "float32"))
FILES = ("model_optim_rng.pt", "distrib_optim.pt")


def flat(state, tp, rank):
    pieces, end = [], 0
    for name, shape, cut in reversed(forward_order(0, 1)):
        start = up_to_multiple(end, 64)
        piece = cut(tensor(f"{state}.{name}", shape), tp, rank).reshape(-1)
        pieces += [np.zeros(start - end, np.float32), piece]
        end = start + piece.size
    return np.concatenate(pieces)


def card(tp, rank, generator):
    """What stands in its two files. `generator`: the state of the one of random numbers."""
    model = {name: cut(tensor(f"model.{name}", shape), tp, rank) for name, shape, cut in forward_order(0, 1)}
    whole = {"args": NAMESPACE(), "checkpoint_version": 3.0, "iteration": 1000, "model": model, "rng_state": [{"torch": np.arange(3, dtype="<f4") + generator}]}
    return whole, {"buckets_coalesced": True, 0: {DTYPES: {state: flat(state, tp, rank) for state in STATES}}}


def write(path, tp, source=False):
    """A source's cards have generators of their own; where it goes, all have the first one's."""
    for rank in range(tp):
        folder = pathlib.Path(path) / f"mp_rank_{rank:02}"
        folder.mkdir(parents=True)
        for name, tree in zip(FILES, card(tp, rank, rank if source else 0)):
            torch_file.save(folder / name, tree)
