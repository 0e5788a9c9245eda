"""PyTorch jobs, saved and loaded by layouts/from_torch.py: FSDP2, tensor parallelism, both, HSDP and FSDP1.

Each case trains a model for two steps on some ranks and saves it; the merged file must hold the bytes of full_tensor().
A job of other ranks loads what ckpt-reshard makes of it and takes two more, with the losses of a single process.
"""
import json
import logging
import math
import warnings

import jobs
import torch_names  # noqa: F401
import torch
import torch._dynamo  # FSDP imports it, for ten seconds: once here, not in every process
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import from_torch

warnings.filterwarnings("ignore")  # of deprecated FSDP1
logging.getLogger("torch.distributed.tensor._redistribute").setLevel(logging.ERROR)
BATCH, STEPS, WIDTH, HIDDEN = 12, 2, 10, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(7, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(WIDTH, 3)
        self.register_buffer("seen", torch.tensor(0))

    def forward(self, x):
        self.seen += 1
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def new_model(seed):
    torch.manual_seed(seed)
    return Model()


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def train_step(model, optimizer, step):
    """One step on the same batch on every rank, so that the mean of gradients is the unsharded one."""
    torch.manual_seed(100 + step)
    x, y = torch.randn(BATCH, 7), torch.randn(BATCH, 3)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


# --- ways to shard the model -----------------------------------------------------------------------------------------

def fsdp2(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def tensor_parallel(model, mesh):
    plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    return model


def shard(model, kind, sizes):
    if kind == "fsdp2":
        return fsdp2(model, init_device_mesh("cpu", sizes, mesh_dim_names=("dp",)))
    if kind == "hsdp":
        return fsdp2(model, init_device_mesh("cpu", sizes, mesh_dim_names=("replicate", "shard")))
    if kind == "tp":
        return tensor_parallel(model, init_device_mesh("cpu", sizes, mesh_dim_names=("tp",)))
    if kind == "fsdp2-tp":
        mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("dp", "tp"))
        return fsdp2(tensor_parallel(model, mesh["tp"]), mesh["dp"])
    assert kind in ("fsdp1", "fsdp1-flat"), kind
    for i, block in enumerate(model.blocks):
        model.blocks[i] = FullyShardedDataParallel(block, device_id=torch.device("cpu"))
    return FullyShardedDataParallel(model, device_id=torch.device("cpu"))


class Job:
    """A model, sharded, with its optimizer and the state that from_torch saves."""

    def __init__(self, kind, sizes, seed):
        self.flat = kind == "fsdp1-flat"
        self.model = new_model(seed)
        if kind != "single":
            self.model = shard(self.model, kind, sizes)
        self.optimizer = optimizer_of(self.model)

    def state(self):
        if self.flat:
            return from_torch.flat_state(self.model, self.optimizer)
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "steps": STEPS}

    def load(self, state, directory):
        from_torch.load(state, directory)
        if not self.flat:
            set_state_dict(self.model, self.optimizer, model_state_dict=state["model"],
                           optim_state_dict=state["optimizer"])
        assert self.flat or state["steps"] == STEPS, state["steps"]


def full_tensor(dtensor):
    """full_tensor(), by way of others for dtypes that gloo does not send."""
    def gathered(local):
        return DTensor.from_local(local, dtensor.device_mesh, dtensor.placements, run_check=False, shape=dtensor.shape,
                                  stride=dtensor.stride()).full_tensor()

    local = dtensor.to_local().contiguous()
    if dtensor.dtype.is_complex:
        return torch.complex(gathered(local.real.contiguous()), gathered(local.imag.contiguous()))
    narrow = {1: torch.uint8, 2: torch.int16}.get(dtensor.dtype.itemsize)
    if narrow is None:
        return dtensor.full_tensor()
    return gathered(local.view(narrow).int()).to(narrow).view(dtensor.dtype)


def whole(state):
    """Every tensor of a state, unsharded, by name."""
    found = {}
    for name, leaf in from_torch.tensors_of(state).items():
        if isinstance(leaf, from_torch.Flat):
            pieces = [torch.empty_like(leaf.tensor) for _ in leaf.ranks]
            dist.all_gather(pieces, leaf.tensor.detach())
            flat, start = torch.cat(pieces), 0
            for member, shape in leaf.members:
                found[member] = flat[start:start + math.prod(shape)].reshape(shape)
                start += math.prod(shape)
        elif isinstance(leaf, DTensor):
            found[name] = full_tensor(leaf.detach())
        elif hasattr(leaf, "local_shards"):
            pieces = [None] * dist.get_world_size()
            dist.all_gather_object(pieces, from_torch.local_of(leaf))
            found[name] = torch.cat(pieces)
        else:
            found[name] = leaf
    return {name: from_torch.raw(tensor.detach()).copy() for name, tensor in found.items()}


# --- the jobs --------------------------------------------------------------------------------------------------------

def first_job(rank, kind, sizes, place):
    job = Job(kind, sizes, seed=1)
    for step in range(STEPS):
        train_step(job.model, job.optimizer, step)
    state = job.state()
    from_torch.save(state, place / "old")
    return whole(state)


def second_job(rank, kind, sizes, place, source):
    job = Job(kind, sizes, seed=2)
    train_step(job.model, job.optimizer, 50)  # an optimizer without a step has no state to load into
    state = job.state()
    from_torch.write_layout(state, place / "new.json")
    if rank == 0:
        jobs.reshard(source, place / "new.json", place / "new")
    if dist.is_initialized():
        dist.barrier()
    job.load(state, place / "new")
    loaded = whole(job.state())
    return loaded, [train_step(job.model, job.optimizer, step) for step in (STEPS, STEPS + 1)]


def unsharded_losses():
    job = Job("single", (), seed=1)
    return [train_step(job.model, job.optimizer, step) for step in range(STEPS + 2)][STEPS:]


def round_trip(kind, sizes, other_kind, other_sizes):
    place = jobs.scratch()
    expected = jobs.run_job(math.prod(sizes), first_job, kind, sizes, place)[0]
    layout = json.loads((place / "old" / "layout.json").read_text())
    jobs.same_bytes(jobs.merged(place / "old", place / "merged.h5"), expected, f"merged from {kind} on {sizes}")
    world = math.prod(other_sizes)
    loaded, losses = jobs.run_job(world, second_job, other_kind, other_sizes, place, place / "old")[0]
    jobs.same_bytes(loaded, expected, f"loaded by {other_kind} on {other_sizes}")
    jobs.close(losses, unsharded_losses(), "the next steps")
    return layout


def rules(layout):
    return {name: rule for rule in layout["parameters"]
            for name in ([rule["name"]] if isinstance(rule["name"], str) else rule["name"])}


def fsdp2_uneven():
    """FSDP2 on 4 ranks, rows that do not divide, to 3"""
    layout = round_trip("fsdp2", (4,), "fsdp2", (3,))
    assert rules(layout)["model/embed.weight"]["split"] == ["dp"], layout
    assert not any("boxes" in rule for rule in layout["parameters"]), layout


def fsdp2_with_empty_shards():
    """FSDP2 on 6 ranks, 3 rows: three ranks hold nothing; to a single process"""
    round_trip("fsdp2", (6,), "single", ())


def tensor_parallel_case():
    """tensor parallelism on 4 ranks to 2"""
    layout = round_trip("tp", (4,), "tp", (2,))
    assert rules(layout)["model/blocks.0.down.weight"]["split"] == [None, "tp"], layout


def fsdp2_over_tp():
    """FSDP2 over tensor parallelism on 2 × 2 ranks (_StridedShard) to 3 × 2"""
    layout = round_trip("fsdp2-tp", (2, 2), "fsdp2-tp", (3, 2))
    assert rules(layout)["model/blocks.0.up.weight"]["split"] == [["tp", "dp"]], layout
    assert rules(layout)["model/blocks.0.down.weight"]["split"] == ["dp", "tp"], layout


def hsdp():
    """HSDP on 2 × 2 ranks to FSDP2 over tensor parallelism on 2 × 2"""
    layout = round_trip("hsdp", (2, 2), "fsdp2-tp", (2, 2))
    assert rules(layout)["model/blocks.0.up.weight"]["split"] == ["shard"], layout


def fsdp1_sharded():
    """FSDP1, its sharded state, on 3 ranks to FSDP2 on 2"""
    round_trip("fsdp1", (3,), "fsdp2", (2,))


def fsdp1_flat():
    """FSDP1, its flat parameters and moments, on 4 ranks to 3"""
    layout = round_trip("fsdp1-flat", (4,), "fsdp1-flat", (3,))
    assert len(layout["buckets"]) == 9, layout  # model, exp_avg, exp_avg_sq of three units


CASES = [fsdp2_uneven, fsdp2_with_empty_shards, tensor_parallel_case, fsdp2_over_tp, hsdp, fsdp1_sharded, fsdp1_flat]

if __name__ == "__main__":
    jobs.main({case.__name__: case for case in CASES})
