"""Save the state of a Megatron-core job as one HDF5 file for each rank, with the layout of the files; load it back.

Copy this file and from_torch.py into your project; besides torch and megatron-core they need numpy and h5py.

    import from_megatron

    state = {"model": model.sharded_state_dict()}                     # any nested dicts with Megatron's ShardedTensors
    from_megatron.save(state, "step1000", vocab_size=50257)           # step1000/rank_N.h5 and step1000/layout.json
    …
    from_megatron.load(state, "step1000", vocab_size=50257)           # in place

For a job of other tp, pp or dp, write its layout there and let the programs turn one into the other:

    from_megatron.write_layout(state, "new.json", vocab_size=50257)
    ckpt-reshard --from step1000/layout.json --to new.json step1000 -o step1000-new

Optimizer state is a dict of ShardedTensors, too: `optimizer.sharded_state_dict(model_state)` of those that are not
distributed, or `optim_state_to_sharding_state` for any of torch's.

- A name is the ShardedTensor's key, with the global number of a layer after `layers.`, of an expert after `experts.`.
- What is cut in pieces of several matrices (gate and up of SwiGLU) becomes `parts`.
- `vocab_size`: the rows beyond it pad the vocabulary and are not data; they differ with tp. Without it they are data.
- ShardedObjects (`_extra_state`, generator states) are not saved. Plain tensors and numbers are, as from_torch.py says.
"""
import re
from dataclasses import dataclass

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.dist_checkpointing.mapping import ShardedObject, ShardedTensor, ShardedTensorFactory

import from_torch
from from_torch import Cut, Piece


def save(state, directory, vocab_size=None, first=()):
    from_torch.save(held_by(state, vocab_size), directory, first)


def load(state, directory, vocab_size=None):
    """Fill the tensors of `state`, which the files must hold as it does; plain numbers stay."""
    from_torch.load(held_by(state, vocab_size), directory)


def layout_of(state, vocab_size=None, first=()):
    return from_torch.layout_of(held_by(state, vocab_size), first)


def write_layout(state, path, vocab_size=None, first=()):
    from_torch.write_layout(held_by(state, vocab_size), path, first)


@dataclass
class Held:
    """The boxes of one logical tensor on this rank: one, or one of each matrix that a fused tensor is made of."""
    shards: list
    mesh: tuple
    vocab_size: int | None = None

    def shape(self):
        one = self.shards[0]
        return tuple(one.global_shape[one.prepend_axis_num:])

    def fused(self):
        """The dimension along which the boxes lie; 0 if there is one."""
        offsets = [shard.global_offset for shard in self.shards]
        differ = [dim for dim, at in enumerate(zip(*offsets)) if len(set(at)) > 1]
        if len(differ) > 1:
            raise ValueError(f"{self.shards[0].key}: found boxes at {offsets} on one rank, expected them in a row")
        return differ[0] - self.shards[0].prepend_axis_num if differ else 0

    def local(self):
        return torch.cat([shard.data.detach() for shard in self.shards], self.fused()) if self.shape() else (
            self.shards[0].data.detach())

    def fill(self, tensor):
        pieces = tensor.chunk(len(self.shards), self.fused()) if self.shape() else [tensor]
        for shard, piece in zip(self.shards, pieces):
            shard.data.detach().copy_(piece)

    def piece(self):
        one, cuts, box = self.shards[0], [], []
        for dim, (n, start) in enumerate(zip(one.local_shape, one.global_offset[one.prepend_axis_num:])):
            chunks = len(self.shards) if dim == self.fused() else 1
            box.append((start, start + n * chunks))
            size = self.shape()[dim] // (n * chunks) if n else 1
            if size > 1 or chunks > 1:
                cuts.append(Cut(dim, size, start // n % size, "tp" if size > 1 else "", chunks))
        pad = self.vocab_size if one.allow_shape_mismatch else None
        return Piece(self.shape(), from_torch.word_of(one.data), tuple(box), tuple(cuts), self.mesh, pad=pad)


def held_by(state, vocab_size=None):
    """Name -> Held of the ShardedTensors of nested dicts and lists; plain tensors and numbers by their paths."""
    mesh, found, plain = mesh_of_job(), {}, {}

    def visit(node, path):
        if isinstance(node, ShardedTensorFactory):
            visit(node.build(), path)
        elif isinstance(node, ShardedTensor):
            found.setdefault(name_of(node), []).append(node)
        elif isinstance(node, (dict, list, tuple)):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                visit(value, (*path, str(key)))
        elif not isinstance(node, ShardedObject) and any(True for _ in from_torch.leaves(node)):
            plain["/".join(path)] = node

    visit(state, ())
    for name, shards in found.items():
        shards.sort(key=lambda shard: shard.global_offset)
    return plain | {name: Held(shards, mesh, vocab_size) for name, shards in found.items()}


def name_of(shard):
    """The key, with the indices of the axes that Megatron puts in front: layers, then experts."""
    name = shard.key
    for word, index in zip(("layers.", "experts."), shard.global_offset[:shard.prepend_axis_num]):
        name, count = re.subn(rf"(^|\.){word}", rf"\g<0>{index}.", name, count=1)
        if not count:
            name = f"{name}.{index}"
    return name


def mesh_of_job():
    """The ranks as pipeline stages × data parallelism (contexts in it) × tensor parallelism."""
    here = (parallel_state.get_pipeline_model_parallel_rank(),
            parallel_state.get_data_parallel_rank(with_context_parallel=True),
            parallel_state.get_tensor_model_parallel_rank())
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, here)
    ranks = sorted(range(len(everyone)), key=everyone.__getitem__)
    return ("pp", "dp", "tp"), tuple(1 + max(axis) for axis in zip(*everyone)), tuple(ranks)
