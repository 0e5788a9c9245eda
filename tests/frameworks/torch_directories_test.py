"""Directories that say themselves how they are cut, as torch and Megatron write them, become one file by one command: no layout is given."""
import json
import os

import jobs
from torch_names import IS_2_4
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType, fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import from_torch
from torch_forms_test import DTYPES, fused, random_tensor, spread
from torch_test import whole

if not IS_2_4:
    from torch.distributed.checkpoint import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.filesystem import SerializationFormat

RANKS = 4


class Model(torch.nn.Module):
    """Layers whose sizes no number of ranks divides."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second, self.norm = torch.nn.Linear(7, 10), torch.nn.Linear(10, 7), torch.nn.LayerNorm(7)
        self.register_buffer("rope", torch.arange(7.0))

    def forward(self, x):
        return self.norm(self.second(torch.relu(self.first(x))))


def trained(made):
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-3)
    for parameter in made.parameters():
        parameter.grad = parameter.detach().clone()  # FSDP2 of torch 2.4 runs no model on a CPU
    optimizer.step()
    return optimizer


def tensors_in(node):
    """Without numbers and texts, which become attributes."""
    if isinstance(node, dict):
        return {key: tensors_in(value) for key, value in node.items() if isinstance(value, (dict, list)) or torch.is_tensor(value)}
    return [tensors_in(value) for value in node if isinstance(value, dict)] if isinstance(node, list) else node


def fsdp2(mesh, tensor_parallel=None):
    made = Model()
    if tensor_parallel is not None:
        parallelize_module(made, tensor_parallel, {"first": ColwiseParallel(), "second": RowwiseParallel()})
    fully_shard(made, mesh=mesh)
    return made, trained(made)


def save_dcp(rank, place):
    """FSDP2 by itself, with tensor parallelism, several files a rank, safetensors inside, and tensors of every form."""
    one = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("dp",))
    two = init_device_mesh("cpu", (2, RANKS // 2), mesh_dim_names=("dp", "tp"))
    made, optimizer = fsdp2(one)
    weights, moments = get_state_dict(made, optimizer)
    forms = {str(dtype)[6:]: spread(random_tensor(7, 8, dtype=dtype), two, Shard(1), Shard(0)) for dtype in DTYPES}
    forms |= {"rows twice": spread(random_tensor(11, 2), two, Shard(0), Shard(0)), "short": spread(random_tensor(2, 3), one, Shard(0)),
              "turned": spread(random_tensor(6, 4), one, Shard(0)).t(), "plain": random_tensor(3, 4), "plain turned": random_tensor(3, 4).t(),
              "replicated": spread(random_tensor(5), one, Replicate()), "scalar": torch.tensor(2.5), "empty": torch.empty(0, 3)}
    state = {"model": weights, "optim": moments, "forms": forms, "step": 7, "note": "a run", "betas": (0.9, 0.999), "deep": {"lr": 0.5}}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(place / "plain"))
    dcp.save(state, storage_writer=dcp.FileSystemWriter(place / "two_files", thread_count=2))
    dcp.save(state, storage_writer=dcp.FileSystemWriter(place / "many_files", single_file_per_rank=False))
    flat = get_optimizer_state_dict(made, optimizer, options=StateDictOptions(flatten_optimizer_state_dict=True))
    dcp.save(weights | flat, storage_writer=dcp.FileSystemWriter(place / "flat"))
    saved = {"state": whole(tensors_in({key: state[key] for key in ("model", "optim", "forms")})), "weights": whole(weights),
             "flat": whole(tensors_in(flat))}
    if IS_2_4:
        return saved
    beside = {key: value for key, value in state.items() if key != "forms"}  # not all of which that serialisation has
    dcp.save(beside, storage_writer=dcp.FileSystemWriter(place / "safetensors", serialization_format=SerializationFormat.SAFETENSORS))
    both, of_both = fsdp2(two["dp"], two["tp"])
    state_of_both = dict(zip(("model", "optim"), get_state_dict(both, of_both)))
    dcp.save(state_of_both, storage_writer=dcp.FileSystemWriter(place / "two_axes"))
    dcp.save(weights, storage_writer=HuggingFaceStorageWriter(place / "hugging_face", save_distributed=True))
    return saved | {"two_axes": whole(tensors_in(state_of_both))}


def dotted(tensors):
    return {name.replace("/", "."): array for name, array in tensors.items()}


def merged(source, expected, what):
    """by one command, into HDF5 and into safetensors; and by its own layout as text"""
    target = source.with_suffix(".h5")
    jobs.program("merge", source, "-o", target)
    jobs.same_bytes(jobs.datasets(target), expected, what)
    jobs.program("verify", source, target)
    layout = source.with_suffix(".json")
    layout.write_text(jobs.program("inspect", "--as-layout", source))
    jobs.program("verify", "--from", layout, source, target)
    return target


def distributed_checkpoint():
    """torch.distributed.checkpoint: FSDP2, tensor parallelism, several files a rank, both serialisations, the flattened optimizer"""
    place = jobs.scratch()
    saved = jobs.run_job(RANKS, save_dcp, place)[0]
    state = dotted(saved["state"])
    for name in ("plain", "two_files", "many_files"):
        merged(place / name, state, name)
    merged(place / "flat", dotted(saved["weights"] | saved["flat"]), "the flattened optimizer")
    if not IS_2_4:
        merged(place / "safetensors", {name: array for name, array in state.items() if not name.startswith("forms.")}, "safetensors")
        merged(place / "two_axes", dotted(saved["two_axes"]), "FSDP2 and tensor parallelism")
        merged(place / "hugging_face", saved["weights"], "safetensors of each rank")
    for cards in (3, 6):
        jobs.program("reshard", "--cards", cards, place / "plain", "-o", place / f"cards{cards}")
        jobs.program("verify", place / f"cards{cards}", place / "plain.h5")


def save_rank_files(rank, place):
    """The files of verl and accelerate, each rank's DTensors by torch.save; and FSDP1's sharded state."""
    two = init_device_mesh("cpu", (2, RANKS // 2), mesh_dim_names=("dp", "tp"))
    made, optimizer = fsdp2(two["dp"], None if IS_2_4 else two["tp"])  # which has no state of both
    weights, moments = get_state_dict(made, optimizer)
    weights |= {"strided": spread(random_tensor(11, 4), two, Shard(0), Shard(0)),
                "fused": spread(random_tensor(12, 4), two["tp"], Shard(1)) if IS_2_4 else fused(random_tensor(12, 4), two["tp"], 3)}
    for kind, state in (("model", weights), ("optim", moments), ("extra_state", {"rng": torch.full((16,), rank, dtype=torch.uint8)})):
        torch.save(state, place / "ranks" / f"{kind}_world_size_{RANKS}_rank_{rank}.pt")
    made = FullyShardedDataParallel(Model(), device_id=torch.device("cpu"), use_orig_params=True)
    optimizer = trained(made)
    with FullyShardedDataParallel.state_dict_type(made, StateDictType.SHARDED_STATE_DICT):
        sharded, moments1 = made.state_dict(), FullyShardedDataParallel.optim_state_dict(made, optimizer)
    gather_as_on_gpus()
    full = FullyShardedDataParallel.full_optim_state_dict(made, optimizer)  # rank 0 alone has it
    if rank == 0:
        torch.save(full, place / "full_optimizer.pt")
    torch.save(sharded, place / "fsdp1" / f"model_{rank}.pt")
    torch.save(moments1, place / "fsdp1_optimizer" / f"optim_{rank}.pt")
    return {"model": whole(weights), "optim": whole(tensors_in(moments)), "fsdp1": whole(sharded),
            "fsdp1_optimizer": whole(tensors_in(moments1))}


def rank_files():
    """each rank's file of DTensors, of three kinds in one directory, and of FSDP1"""
    place = jobs.scratch()
    for name in ("ranks", "fsdp1", "fsdp1_optimizer"):
        (place / name).mkdir()
    saved = jobs.run_job(RANKS, save_rank_files, place)[0]
    expected = {f"{kind}/{name}": array for kind in ("model", "optim") for name, array in saved[kind].items()}
    target = place / "ranks.h5"
    jobs.program("merge", place / "ranks", "-o", target)
    found = jobs.datasets(target)
    assert found.pop("extra_state/rng").shape == (16,)
    jobs.same_bytes(found, expected, "DTensors of dp=2, tp=2")
    jobs.program("reshard", "--to-mesh", "dp=1,tp=3", place / "ranks", "--drop", "model/fused", "--format", "hdf5", "-o", place / "other")
    jobs.program("verify", "--drop", "model/fused", place / "other", target)
    merged(place / "fsdp1", saved["fsdp1"], "FSDP1's sharded state")
    assert any(name.endswith("/exp_avg") for name in saved["fsdp1_optimizer"]), saved["fsdp1_optimizer"].keys()
    merged(place / "fsdp1_optimizer", saved["fsdp1_optimizer"], "FSDP1's sharded optimizer")
    full = whole(tensors_in(torch.load(place / "full_optimizer.pt", weights_only=False)))
    jobs.same_bytes(full, saved["fsdp1_optimizer"], "what torch says of it")
    jobs.program("merge", place / "full_optimizer.pt", "-o", place / "full.h5")
    jobs.same_bytes(jobs.datasets(place / "full.h5"), full, "FSDP1's full optimizer")
    jobs.program("merge", "--format", "torch", place / "fsdp1_optimizer", "-o", place / "of_shards.pt")
    for file in ("full_optimizer.pt", "of_shards.pt"):
        states = jobs.run_job(2, resume_fsdp1, place / file)
        jobs.same_bytes(states[0], full, f"{file}, loaded on 2 ranks")


def gather_as_on_gpus():
    """FSDP1 gathers each state in one buffer, whose copies on the host it keeps: where it is there already, all would be the last one."""
    cpu = torch.Tensor.cpu
    torch.Tensor.cpu = lambda tensor, *_, **__: cpu(tensor).clone()


def resume_fsdp1(rank, file):
    """The full state of a new job's optimizer that has loaded a file."""
    gather_as_on_gpus()
    made = FullyShardedDataParallel(Model(), device_id=torch.device("cpu"), use_orig_params=True)
    optimizer = trained(made)
    with FullyShardedDataParallel.state_dict_type(made, StateDictType.FULL_STATE_DICT):
        state = FullyShardedDataParallel.optim_state_dict_to_load(made, optimizer, torch.load(file, weights_only=False))
        optimizer.load_state_dict(state)
        return whole(tensors_in(FullyShardedDataParallel.optim_state_dict(made, optimizer)))


def save_megatron(rank, place):
    torch.cuda.synchronize = lambda *_, **__: None
    torch.cuda.current_device = lambda: "cpu"
    from megatron.core import dist_checkpointing, parallel_state
    from megatron.core.dist_checkpointing import ShardedTensor
    from megatron.core.dist_checkpointing.mapping import ShardedObject
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=1)
    tp, dp = parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_data_parallel_rank()
    weight = random_tensor(8, 6, dtype=torch.bfloat16)
    half = slice(4 * tp, 4 * tp + 4)
    layers = {f"layers.{i}": ShardedTensor.from_rank_offsets("layers.weight", (weight * (i + 1))[half].contiguous(), (0, i, 4), (1, tp, 2),
                                                             prepend_axis_num=1, replica_id=dp) for i in range(4)}
    state = {"model": layers | {"norm": ShardedTensor.from_rank_offsets("norm.weight", torch.ones(6), replica_id=(0, tp, dp)),
                                "rng": ShardedObject("rng_state", [{"torch": torch.get_rng_state()}], (1, 2), (0, tp), replica_id=dp)},
             "iteration": 10}
    target = place / "iter_0000010"
    if rank == 0:
        os.makedirs(target)
    torch.distributed.barrier()
    dist_checkpointing.save(state, str(target))
    if rank == 0:
        (place / "latest_checkpointed_iteration.txt").write_text("10")
    return {"layers.weight": from_torch.raw(torch.stack([weight * (i + 1) for i in range(4)])).copy(),
            "norm.weight": from_torch.raw(torch.ones(6)).copy()}


def megatron():
    """Megatron's torch_dist: layers stacked, several of them in one file; by the iteration that the run names, too"""
    place = jobs.scratch()
    (place / "run").mkdir()
    expected = jobs.run_job(RANKS, save_megatron, place / "run")[0]
    merged(place / "run" / "iter_0000010", expected, "torch_dist")
    jobs.program("merge", place / "run", "-o", place / "latest.h5")
    jobs.same_bytes(jobs.datasets(place / "latest.h5"), expected, "the run's latest")


def index():
    """safetensors in several files with their index, by the directory and by the index itself"""
    from safetensors.torch import save_file
    place = jobs.scratch()
    (place / "model").mkdir()
    tensors = {f"layers.{i}.weight": random_tensor(5, 3 + i) for i in range(5)}
    weight_map = {}
    for i, name in enumerate(tensors):
        file = f"model-0000{i % 2 + 1}-of-00002.safetensors"
        weight_map[name] = file
    for file in set(weight_map.values()):
        save_file({name: tensors[name] for name in tensors if weight_map[name] == file}, place / "model" / file, {"format": "pt"})
    (place / "model" / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}))
    expected = {name: from_torch.raw(tensor) for name, tensor in tensors.items()}
    target = merged(place / "model", expected, "by the directory")
    jobs.program("verify", place / "model" / "model.safetensors.index.json", target)
    jobs.program("inspect", "--expect", place / "model", target)


if __name__ == "__main__":
    cases = {"distributed checkpoint": distributed_checkpoint, "rank files": rank_files}
    jobs.main(cases if IS_2_4 else cases | {"megatron": megatron, "index": index})
