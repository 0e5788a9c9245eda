"""make.py OUT: what torch itself writes, on two gloo processes, small: a DCP directory (dcp), a rank file of DTensors each (ranks), and
what both hold (truth.npz). Run once with each version of torch that tests/golden/torch has a folder of."""
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh

try:
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
except ImportError:  # before torch 2.5
    from torch.distributed._tensor import Replicate, Shard, distribute_tensor


def work(rank, out, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    rows, columns = torch.arange(15.0).reshape(5, 3), torch.arange(8.0).reshape(2, 4).bfloat16()
    model = {"rows": distribute_tensor(rows, mesh, [Shard(0)]), "columns": distribute_tensor(columns, mesh, [Shard(1)]),
             "same": distribute_tensor(torch.arange(3), mesh, [Replicate()])}
    state = {"model": model, "groups": [{"lr": 0.5, "betas": (0.9, 0.95)}], "step": 7, "turned": rows.t(), "one": torch.tensor(2.5)}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(out / "dcp"))
    (out / "ranks").mkdir(exist_ok=True)
    torch.save(model, out / "ranks" / f"model_world_size_2_rank_{rank}.pt")
    if rank == 0:
        np.savez(out / "truth.npz", **{"model.rows": rows.numpy(), "model.columns": columns.float().numpy(), "model.same": np.arange(3),
                                       "turned": rows.t().numpy(), "one": np.float32(2.5)})
    dist.barrier()
    dist.destroy_process_group()


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with tempfile.TemporaryDirectory() as place:
        mp.spawn(work, (out, f"{place}/store"), 2)


if __name__ == "__main__":
    main()
