"""Save the state of a PyTorch job as one HDF5 file for each rank, with the layout that says how they are cut; load it.

Copy this file into your project; besides torch it needs numpy and h5py.

    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    import from_torch

    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "step": step}
    from_torch.save(state, "step1000")            # step1000/rank_N.h5 and step1000/layout.json
    …
    from_torch.load(state, "step1000")            # into the tensors of `state`, cut as they are in this job
    set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)

For a job with other ranks or another sharding, write that job's layout and let the programs turn one into the other:

    from_torch.write_layout(state, "new.json")                                # in the new job
    ckpt-reshard --from step1000/layout.json --to new.json step1000 -o step1000-new

All ranks call each function. The state is nested dicts, lists and tuples; a tensor's name is its path, joined by '/'.
- DTensor (FSDP2, tensor parallelism, both, HSDP) and FSDP1's ShardedTensor are saved as the ranks hold them.
- FSDP1's flat parameters: `flat_state(model, optimizer)`.
- A plain tensor must be the same on all ranks that have it. What may differ (generator states) is named in `first`:
  each rank saves and loads its own, and resharding takes the first rank's. A tensor that you have cut by hand belongs
  into `DTensor.from_local`.
- Python's numbers are saved; None, text and other settings are not, and stay as they are in the loading job.
"""
import fnmatch
import hashlib
import itertools
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial

NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64}
# Floats without a numpy dtype: bits of exponent and of mantissa.
NARROW = {torch.bfloat16: (8, 7), torch.float8_e4m3fn: (4, 3), torch.float8_e5m2: (5, 2)}


@dataclass(frozen=True)
class Cut:
    """One axis of a tensor's own mesh that shards dimension `dim`; this rank is at `coordinate`."""
    dim: int
    size: int
    coordinate: int
    axis: str = ""
    chunks: int = 1  # the split factor of _StridedShard: each of so many chunks is cut


@dataclass(frozen=True)
class Piece:
    """What a rank says of a tensor; `box` is what it holds, [start, stop) in each logical dimension."""
    shape: tuple
    dtype: str
    box: tuple
    cuts: tuple = ()
    mesh: tuple = ()  # names, sizes, ranks
    digest: str = ""  # of a plain tensor's bytes
    members: tuple = ()
    align: int = 1
    pad: int | None = None  # the rows that are data, where dimension 0 is padded beyond them

    def stored(self):
        return tuple(stop - start for start, stop in self.box)


@dataclass
class Flat:
    """This rank's equal slice of several parameters laid end to end; `ranks` hold the slices in this order."""
    tensor: torch.Tensor
    members: list  # (name, logical shape), in order
    ranks: list
    align: int = 1  # elements; each member starts at a multiple of it

    def local(self):
        return self.tensor.detach()

    def fill(self, tensor):
        self.tensor.detach().copy_(tensor)

    def piece(self):
        mesh = (("dp",), (len(self.ranks),), tuple(self.ranks))
        cut = Cut(0, len(self.ranks), self.ranks.index(rank_of_job()))
        members = tuple((name, tuple(shape)) for name, shape in self.members)
        return Piece((), word_of(self.tensor), ((0, self.tensor.numel()),), (cut,), mesh, "", members, self.align)


# --- what a job calls ------------------------------------------------------------------------------------------------

def save(state, directory, first=()):
    """Write this rank's tensors, and on rank 0 the layout when all ranks are done. `first`: patterns of names of plain
    tensors that may differ between ranks."""
    directory, layout = Path(directory), layout_of(state, first)

    def begin():
        directory.mkdir(parents=True, exist_ok=True)
        if rank_of_job() == 0:
            (directory / "layout.json").unlink(missing_ok=True)

    together(begin)
    together(lambda: write_file(directory / f"rank_{rank_of_job()}.h5", tensors_of(state)))
    together(lambda: rank_of_job() == 0 and write_json(layout, directory / "layout.json"))


def load(state, directory):
    """Fill the tensors of `state` from this rank's file, which must be cut as they are; numbers are replaced in their
    dicts and lists."""
    together(lambda: read_file(Path(directory) / f"rank_{rank_of_job()}.h5", state))


def layout_of(state, first=()):
    """The layout of `state`, a dict, on every rank."""
    mine = together(lambda: {name: piece_of(leaf) for name, leaf in tensors_of(state).items()})
    world = world_of_job()
    everyone = [mine]
    if world > 1:
        everyone = [None] * world if rank_of_job() == 0 else None
        dist.gather_object(mine, everyone)
    answer = [None]

    def judge():
        if rank_of_job() == 0:
            answer[0] = Layout(everyone, tuple(first)).document()

    together(judge)
    if world > 1:
        dist.broadcast_object_list(answer)
    return answer[0]


def write_layout(state, path, first=()):
    layout = layout_of(state, first)
    together(lambda: rank_of_job() == 0 and write_json(layout, Path(path)))


def flat_state(model, optimizer=None):
    """The flat slices that the ranks hold of a model whose units FSDP1 wrapped with use_orig_params=False."""
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    state = {"model": {}, "optimizer": {}}
    for prefix, unit in model.named_modules():
        handle = getattr(unit, "_handle", None) if isinstance(unit, FSDP) else None
        if handle is None:
            continue
        flat, prefix = handle.flat_param, prefix.replace("_fsdp_wrapped_module", "").replace("..", ".").strip(".")
        if flat._params is not None:
            raise TypeError(f"unit '{prefix}': found use_orig_params=True, expected False; save get_state_dict(model, "
                            "optimizer) instead of flat_state(…)")
        names = [f"{prefix}.{name}" if prefix else name for name in flat._fqns]
        ranks = dist.get_process_group_ranks(handle.process_group)

        def slices(kind, tensor):
            members = [(f"{kind}/{name}", tuple(shape)) for name, shape in zip(names, flat._shapes)]
            return Flat(tensor, members, ranks)

        key = f"{prefix}._flat_param" if prefix else "_flat_param"
        state["model"][key] = slices("model", flat)
        for word, value in (optimizer.state.get(flat, {}) if optimizer else {}).items():
            cut = torch.is_tensor(value) and value.shape == flat.shape
            state["optimizer"].setdefault(word, {})[key] = slices(f"optimizer/{word}", value) if cut else value
    return state


# --- the job's ranks -------------------------------------------------------------------------------------------------

def rank_of_job():
    return dist.get_rank() if dist.is_initialized() else 0


def world_of_job():
    return dist.get_world_size() if dist.is_initialized() else 1


def together(work):
    """Do this on every rank; where one fails, all do, instead of waiting for it."""
    result = problem = None
    try:
        result = work()
    except (ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        problem = error
    if world_of_job() > 1:
        problems = [None] * world_of_job()
        dist.all_gather_object(problems, problem and f"{type(problem).__name__}: {problem}")
        others = [f"rank {rank}: {text}" for rank, text in enumerate(problems) if text]
        if others and problem is None:
            raise RuntimeError(others[0])
    if problem is not None:
        raise problem
    return result


# --- from the state to pieces ----------------------------------------------------------------------------------------

def leaves(node, path=()):
    """(path, leaf) of all tensors and numbers."""
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, (list, tuple)):
        items = enumerate(node)
    else:
        if torch.is_tensor(node) or type(node) in NUMBERS or hasattr(node, "local_shards") or hasattr(node, "piece"):
            yield path, node
        return
    for key, value in items:
        yield from leaves(value, (*path, str(key)))


def tensors_of(state):
    found = {}
    for path, leaf in leaves(state):
        name = "/".join(path)
        if name in found or any(part in ("", ".", "..") for part in name.split("/")):
            raise ValueError(f"'{name}': found twice, or with an empty part; each tensor needs a path of its own")
        found[name] = torch.tensor(leaf, dtype=NUMBERS[type(leaf)]) if type(leaf) in NUMBERS else leaf
    return found


@torch.no_grad()
def local_of(leaf):
    """The tensor that this rank holds of a leaf."""
    if hasattr(leaf, "piece"):
        return leaf.local()
    if isinstance(leaf, DTensor):
        return leaf.to_local().detach()
    if not hasattr(leaf, "local_shards"):
        return leaf.detach()
    shards = leaf.local_shards()
    if len(shards) > 1:
        raise TypeError(f"found a ShardedTensor with {len(shards)} shards on one rank, expected one at most")
    return shards[0].tensor.detach() if shards else torch.empty((0, *leaf.size()[1:]), dtype=leaf.dtype)


def word_of(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def piece_of(leaf):
    if hasattr(leaf, "piece"):
        return leaf.piece()
    local = local_of(leaf)
    dtype = word_of(local)
    if isinstance(leaf, DTensor):
        return piece_of_dtensor(leaf, local, dtype)
    if hasattr(leaf, "local_shards"):
        ranks = dist.get_process_group_ranks(leaf._process_group)
        shards = leaf.local_shards()
        start = shards[0].metadata.shard_offsets if shards else (leaf.size(0), *(0 for _ in leaf.size()[1:]))
        box = tuple((a, a + n) for a, n in zip(start, local.shape))
        mesh = (("dp",), (len(ranks),), tuple(ranks))
        return Piece(tuple(leaf.size()), dtype, box, (Cut(0, len(ranks), ranks.index(rank_of_job())),), mesh)
    digest = hashlib.blake2b(raw(local).tobytes(), digest_size=16).hexdigest()
    return Piece(tuple(local.shape), dtype, tuple((0, n) for n in local.shape), digest=digest)


def piece_of_dtensor(leaf, local, dtype):
    from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset
    mesh = leaf.device_mesh
    # Collectives go by the ranks in their groups, which torch sorts, and not by the coordinates in the mesh.
    here = [mesh.get_local_rank(axis) for axis in range(mesh.ndim)]
    names = mesh.mesh_dim_names or tuple(f"axis{i}" for i in range(mesh.ndim))
    cuts = []
    for axis, placement in enumerate(leaf.placements):
        if isinstance(placement, Partial):
            raise TypeError(f"found placements {leaf.placements}, expected no Partial: redistribute it first")
        if hasattr(placement, "dim"):
            cuts.append(Cut(placement.dim % leaf.ndim, mesh.size(axis), here[axis], names[axis],
                            getattr(placement, "split_factor", 1)))
    _, start = _compute_local_shape_and_global_offset(leaf.shape, mesh.shape, here, leaf.placements)
    box = tuple((int(a), int(a) + n) for a, n in zip(start, local.shape))
    root = mesh._get_root_mesh() if hasattr(mesh, "_get_root_mesh") else mesh
    names = root.mesh_dim_names or tuple(f"axis{i}" for i in range(root.ndim))
    whole = (tuple(names), tuple(root.mesh.shape), tuple(root.mesh.flatten().tolist()))
    return Piece(tuple(leaf.shape), dtype, box, tuple(cuts), whole)


# --- from pieces to rules --------------------------------------------------------------------------------------------

class Layout:
    """The layout of a job, from what each rank says of each tensor. Every rule is held against the shapes that the ranks
    hold."""

    def __init__(self, everyone, first):
        self.first = first
        self.pieces = {}  # name -> {rank: piece}
        for rank, mine in enumerate(everyone):
            for name, piece in mine.items():
                self.pieces.setdefault(name, {})[rank] = piece
        self.find_mesh(len(everyone))

    def find_mesh(self, world):
        """The largest mesh among the tensors'; where several of its kind share the ranks (stages, replicas), they are
        stacked along an axis `group`."""
        meshes = {piece.mesh for held in self.pieces.values() for piece in held.values() if piece.mesh}
        names, sizes, _ = max(meshes, key=lambda m: (len(m[1]), math.prod(m[1]), m), default=(("dp",), (world,), ()))
        alike = sorted(mesh[2] for mesh in meshes if mesh[:2] == (names, sizes)) or [tuple(range(world))]
        ranks = [rank for mesh in alike for rank in mesh]
        if sorted(ranks) != list(range(world)):
            names, sizes, alike, ranks = ("rank",), (world,), [None], list(range(world))
        if len(alike) > 1:
            names, sizes = ("group", *names), (len(alike), *sizes)
        self.axes = dict(zip(names, sizes))
        self.ranks = ranks
        self.at = {rank: dict(zip(names, map(int, np.unravel_index(i, sizes)))) for i, rank in enumerate(ranks)}

    def document(self):
        layout = {"ckpt_layout": 1, "mesh": {"axes": list(self.axes), "shape": list(self.axes.values())}}
        if self.ranks != list(range(len(self.ranks))):
            layout["mesh"]["cards"] = self.ranks
        layout["files"] = "rank_{card}.h5"
        rules, buckets = {}, []
        for name, held in self.pieces.items():
            if any(piece.members for piece in held.values()):
                buckets.append(self.bucket(name, held))
            else:
                rules.setdefault(json.dumps(self.rule(name, held)), []).append(literal(name))
        layout["parameters"] = [{"name": names if len(names) > 1 else names[0], **json.loads(rule)}
                                for rule, names in rules.items()]
        if buckets:
            layout["buckets"] = buckets
        return layout

    def rule(self, name, held):
        shape = self.same(name, held, "shape")
        self.same(name, held, "dtype")
        digests = {piece.digest for piece in held.values()}
        if "" not in digests:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in self.first):
                return {"replicas": "first", **(self.place(held) or {})}
            if len(digests) > 1:
                raise ValueError(f"{name}: found a plain tensor that differs between ranks {differing(held)}, expected "
                                 "the same bytes; make it a DTensor where it is cut, or name it in `first`")
        place, split = self.place(held), self.split(shape, held)
        if place is not None and split is not None:
            return {**split, **self.padding(name, held), **place}
        return {"boxes": {str(rank): piece.box for rank, piece in held.items()}, "shape": shape}

    def padding(self, name, held):
        size = self.same(name, held, "pad")
        return {"pad": {"0": {"size": size, "multiple_of": next(iter(held.values())).stored()[0]}}} if size else {}

    def split(self, shape, held):
        """The keys that give the shapes that the ranks hold; None where there are none."""
        order = {}  # dimension -> [(chunks, axes)] in the order of the mesh
        for index in range(len(next(iter(held.values())).cuts)):
            axes = self.axes_of({rank: piece.cuts[index] for rank, piece in held.items()})
            cut = next(iter(held.values())).cuts[index]
            if axes is None:
                return None
            order.setdefault(cut.dim, []).append((cut.chunks, axes))
        keys, split = {}, [None] * len(shape)
        for dim, steps in order.items():
            if len(steps) == 1 and steps[0][0] > 1:  # rows of each of several chunks: a fused dimension
                keys["parts"] = {"dim": dim, "count": steps[0][0]}
            split[dim] = [axis for _, axes in sorted(steps, key=lambda step: step[0]) for axis in axes]
        if all(piece.stored() == self.stored(shape, split, keys, rank) for rank, piece in held.items()):
            return written_split(split) | keys
        return None

    def stored(self, shape, split, keys, rank):
        sizes = []
        for dim, (n, axes) in enumerate(zip(shape, split)):
            parts = keys["parts"]["count"] if keys.get("parts", {}).get("dim") == dim else 1
            if n % parts:
                return None
            n //= parts
            for axis in axes or ():
                each = -(-n // self.axes[axis])
                n = max(0, min(each, n - self.at[rank][axis] * each))
            sizes.append(n * parts)
        return tuple(sizes)

    def axes_of(self, cuts):
        """The job's axes, major first, that number the ranks as these cuts do; None where there are none."""
        hint, size = next(iter(cuts.values())).axis, next(iter(cuts.values())).size
        choices = [(hint,)] if hint in self.axes else []
        choices += [c for n in range(len(self.axes) + 1) for c in itertools.permutations(self.axes, n)]
        for axes in choices:
            sizes = [self.axes[axis] for axis in axes]
            numbers = {rank: number([self.at[rank][axis] for axis in axes], sizes) for rank in cuts}
            if math.prod(sizes) == size and all(numbers[rank] == cut.coordinate for rank, cut in cuts.items()):
                return axes
        return None

    def place(self, held):
        """Which coordinates hold the tensor, as `at`; {}: all; None: no such rule."""
        seen = {axis: sorted({self.at[rank][axis] for rank in held}) for axis in self.axes}
        if math.prod(len(coordinates) for coordinates in seen.values()) != len(held):
            return None
        some = {axis: c[0] if len(c) == 1 else c for axis, c in seen.items() if len(c) < self.axes[axis]}
        return {"at": some} if some else {}

    def bucket(self, name, held):
        axes, place = self.axes_of({rank: piece.cuts[0] for rank, piece in held.items()}), self.place(held)
        if axes is None or len(axes) != 1 or place is None:
            raise ValueError(f"{name}: found a flat buffer over ranks {list(held)}, expected those of one axis of the "
                             f"mesh {self.axes}")
        members = [{"name": member, "shape": list(shape)} for member, shape in self.same(name, held, "members")]
        return {"name": name, "axis": axes[0], "align": self.same(name, held, "align"), "members": members, **place}

    @staticmethod
    def same(name, held, word):
        values = {rank: getattr(piece, word) for rank, piece in held.items()}
        (rank, one), *others = values.items()
        for other, value in others:
            if value != one:
                raise ValueError(f"{name}: found {word} {one} on rank {rank} and {value} on rank {other}, expected the "
                                 "same; a tensor that you have cut by hand belongs into DTensor.from_local")
        return one


def written_split(split):
    words = [None if not axes else axes[0] if len(axes) == 1 else axes for axes in split]
    while words and words[-1] is None:
        words.pop()
    return {"split": words, "uneven": "ceil"} if words else {}


def number(coordinates, sizes):
    position = 0
    for coordinate, size in zip(coordinates, sizes):
        position = position * size + coordinate
    return position


def differing(held):
    (rank, one), *others = held.items()
    return next((rank, other) for other, piece in others if piece.digest != one.digest)


def literal(name):
    """A pattern that matches this name alone."""
    return "".join(f"[{c}]" if c in "*?[{" else c for c in name)


# --- HDF5 ------------------------------------------------------------------------------------------------------------

def raw(tensor):
    """The tensor's elements in host memory as numpy has them; floats that numpy lacks as unsigned integers."""
    tensor = tensor.cpu().contiguous()
    if tensor.dtype in NARROW:
        tensor = tensor.view(torch.uint16 if tensor.element_size() == 2 else torch.uint8)
    return tensor.resolve_conj().resolve_neg().numpy()


def file_type(dtype):
    """The HDF5 type of a torch dtype: bf16 and fp8 as floats of their own form, as the programs show them."""
    if dtype not in NARROW:
        return h5py.h5t.py_create(raw(torch.empty(0, dtype=dtype)).dtype, logical=True)
    exponent, mantissa = NARROW[dtype]
    bits, made = 1 + exponent + mantissa, h5py.h5t.IEEE_F32LE.copy()
    made.set_fields(bits - 1, mantissa, exponent, 0, mantissa)
    made.set_precision(bits)
    made.set_size(bits // 8)
    made.set_ebias((1 << (exponent - 1)) - 1)
    return made


def write_file(path, tensors):
    partial = path.with_name(path.name + ".partial")
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    with h5py.File(partial, "w") as file:
        for name, leaf in tensors.items():
            local = local_of(leaf)
            kind = file_type(local.dtype)
            space = h5py.h5s.create_simple(tuple(local.shape)) if local.dim() else h5py.h5s.create(h5py.h5s.SCALAR)
            made = h5py.h5d.create(file.id, name.encode(), kind, space, lcpl=links)
            if local.numel():
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, raw(local), mtype=kind)
    os.replace(partial, path)


def read_file(path, state):
    with h5py.File(path, "r") as file:
        tensors = tensors_of(state)
        missing = [name for name in tensors if name not in file]
        if missing:
            raise ValueError(f"{path}: found no {missing[0]} ({len(missing)} of {len(tensors)} missing), expected all")
        read_node(file, state, ())


@torch.no_grad()
def read_node(file, node, path):
    """Fill the tensors below; gives the node with its numbers replaced."""
    name = "/".join(path)
    if isinstance(node, dict):
        node.update({key: read_node(file, value, (*path, str(key))) for key, value in node.items()})
    elif isinstance(node, (list, tuple)):
        values = [read_node(file, value, (*path, str(i))) for i, value in enumerate(node)]
        if isinstance(node, list):
            node[:] = values
        elif any(value is not old for value, old in zip(values, node)):
            return type(node)(*values) if hasattr(node, "_fields") else type(node)(values)
    elif type(node) in NUMBERS:
        return read_array(file, name, (), NUMBERS[type(node)]).item()
    elif any(True for _ in leaves(node)):
        local = local_of(node)
        (node.fill if hasattr(node, "piece") else local.copy_)(read_array(file, name, tuple(local.shape), local.dtype))
    return node


def read_array(file, name, shape, dtype):
    stored, kind = file[name].id, file_type(dtype)
    if tuple(stored.shape) != shape or stored.get_type() != kind:
        raise ValueError(f"{file.filename}: {name}: found {file[name].dtype} {list(stored.shape)}, expected "
                         f"{dtype} {list(shape)}; reshard to the layout that write_layout(…) gives in this job")
    array = np.empty(shape, raw(torch.empty(0, dtype=dtype)).dtype)
    if array.size:
        stored.read(h5py.h5s.ALL, h5py.h5s.ALL, array, mtype=kind)
    return torch.from_numpy(array).view(dtype) if dtype in NARROW else torch.from_numpy(array)


def write_json(layout, path):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(layout, indent=1) + "\n")
    os.replace(partial, path)
