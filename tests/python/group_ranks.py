"""Random tensors that each rank saved its pieces of, as DTensors of random meshes and placements or as FSDP1's shards, into every format and onto
the cards of random layouts, exactly."""
import pathlib
import random

import numpy as np
import rank_directory
import torch_file
import torch_oracle
from group_zero import to_others
from programs import Failure
from random_trees import LOADED_BY_ALL, numpy_type

NAMES = ["layers.0.wq", "layers.0.wo", "norm.weight", "größe", "state/0/exp_avg", "a name"]
MORE = {"epoch": 7, "note": "a run", "lr": [0.5, 0.25]}


def ranks(context):
    context.each(one_case, range(context.options.seed, context.options.seed + context.options.cases))


def one_case(context, seed):
    choice = random.Random(f"ranks {seed}")
    tensors = random_tensors(choice, seed)
    mesh = rank_directory.Mesh(**{axis: choice.randint(1, 3) for axis in ("pp", "dp", "tp")[choice.randint(0, 2):]})
    count = int(np.prod(mesh.sizes))
    is_sharded = choice.random() < 0.3
    cuts = {name: random_cut(choice, tensor.shape, mesh, is_sharded) for name, tensor in tensors.items()}
    if count == 1 or not any(cuts.values()):
        return  # plain files, which do not say how they are cut
    source = pathlib.Path(context.path("source"))
    source.mkdir()
    for rank in range(count):
        torch_file.save(source / f"model_world_size_{count}_rank_{rank}.pt", saved(rank, mesh, tensors, cuts, is_sharded))
    more, processes = choice.choice([([], 0), (["--memory", "1MiB", "--threads", "3"], 0), (["--exchange", "mpi"], 2)])
    try:
        to_others(context, source, tensors, choice, more, processes)
    except (Failure, torch_oracle.Bad) as problem:
        raise Failure(f"{problem}\n\nseed {seed}: {dict(zip(mesh.names, mesh.sizes))}; again with: --group ranks --seed {seed} --cases 1 "
                      "--keep") from None


def random_tensors(choice, seed):
    """Arrays in `numpy_type`s, of types that all formats have."""
    source, found = np.random.default_rng(seed), {}
    for name in choice.sample(NAMES, choice.randint(1, len(NAMES))):
        dtype = numpy_type(choice.choice(LOADED_BY_ALL))
        shape = tuple(choice.choice([1, 2, 3, 5, 6, 7, 8]) for _ in range(choice.randint(0, 3)))
        data = source.integers(0, 256, int(np.prod(shape, dtype=int)) * dtype.itemsize, dtype="u1")
        found[name] = (data % 2 if dtype.kind == "b" else data).view(dtype).reshape(shape)
    return found


def random_cut(choice, shape, mesh, is_sharded):
    """A placement for each axis of the mesh; of shards only that it is one. Nothing for a tensor that every rank saves whole."""
    if not shape or choice.random() < 0.2:
        return None
    if is_sharded:
        return "rows"
    dims = [choice.choice([None, *range(len(shape))]) for _ in mesh.sizes]
    return tuple(random_placement(choice, dims, axis, mesh) for axis in range(len(dims)))


def random_placement(choice, dims, axis, mesh):
    if dims[axis] is None:
        return rank_directory.placement("Replicate")
    behind = [mesh.sizes[other] for other in range(axis + 1, len(dims)) if dims[other] == dims[axis]]
    if behind and axis + 1 + len(behind) == len(dims) and len(behind) == 1 and choice.random() < 0.5:  # as FSDP2 over tensor parallelism
        return rank_directory.placement("_StridedShard", dim=dims[axis], split_factor=behind[0])
    return rank_directory.placement("Shard", dim=dims[axis])


def typed(array):
    """The name of its elements' type, and the array that torch_file takes for it."""
    if array.dtype.names:
        return array.dtype.names[0], array.view(array.dtype[0])
    return next(name for name in LOADED_BY_ALL if numpy_type(name) == array.dtype), array


def saved(rank, mesh, tensors, cuts, is_sharded):
    tree = dict(MORE)
    for name, tensor in tensors.items():
        dtype, array = typed(tensor)
        *folders, last = name.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        if not cuts[name]:
            node[last] = rank_directory.tensor_of(array.copy(), dtype)
        elif is_sharded:
            node[last] = rank_directory.sharded(array, rank, int(np.prod(mesh.sizes)), dtype)
        else:
            node[last] = rank_directory.dtensor(array, mesh, rank, cuts[name], dtype)
    return tree
