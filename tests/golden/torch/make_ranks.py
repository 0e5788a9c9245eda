"""A checkpoint that three ranks of torch saved without collectives, of a tensor that has two rows: make_ranks.py OUT."""
import os
import sys

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

RANKS = 3
TENSORS = {"rows": torch.arange(12, dtype=torch.float32).reshape(4, 3), "two": torch.arange(6, dtype=torch.float32).reshape(2, 3)}


def save(rank, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29633", RANK=str(rank), WORLD_SIZE=str(RANKS))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    dcp.save({name: distribute_tensor(tensor, mesh, [Shard(0)]) for name, tensor in TENSORS.items()}, checkpoint_id=out, use_collectives=False)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(save, (sys.argv[1],), nprocs=RANKS)
    np.savez_compressed(sys.argv[1] + "/truth.npz", **{name: tensor.numpy() for name, tensor in TENSORS.items()})
