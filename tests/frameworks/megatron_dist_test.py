"""Megatron-core's torch_dist checkpoints: a GPT on CPU with Adam's state, saved by dist_checkpointing, rewritten by ckpt-reshard, and loaded by
dist_checkpointing on other tensor and pipeline ranks, bit for bit what it loads of its own."""
import argparse
import json
import os
import queue

import jobs
import numpy as np
import torch
from torch.distributed.checkpoint import FileSystemReader

from megatron_test import STEPS, Job
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.dist_checkpointing.mapping import ShardedObject
from megatron.core.dist_checkpointing.strategies import filesystem_async

filesystem_async._results_queue = queue.Queue()  # of the process itself: another would begin by importing all of this again
torch.cuda.synchronize = lambda *_, **__: None
ITERATION = 10


def sharded(job):
    """As Megatron-LM hands it to dist_checkpointing: what is no ShardedTensor or ShardedObject goes to common.pt."""
    state = job.state()
    groups = {str(i): {key: value for key, value in group.items() if key != "params"} for i, group in enumerate(job.optimizer.param_groups)}
    return {"model": state["model"], "optimizer": {"state": state["optimizer"], "param_groups": groups}, "checkpoint_version": 3.0,
            "rng_state": ShardedObject("rng_state", [{"torch": torch.get_rng_state(), "seen": {1, 2}}], (1,), (0,), torch.distributed.get_rank()),
            "args": argparse.Namespace(params_dtype=torch.bfloat16, mask=[1, 2]), "iteration": ITERATION}


def first_job(rank, place):
    job = Job(tp=2, pp=1, seed=1)
    for step in range(STEPS):
        job.train_step(step)
    if rank == 0:
        os.makedirs(place)
    torch.distributed.barrier()
    dist_checkpointing.save(sharded(job), str(place))
    return [job.train_step(step) for step in (STEPS, STEPS + 1)]


def arrays(node, path=""):
    """Tensors by their paths, as bytes, and all else as text."""
    if isinstance(node, (dict, argparse.Namespace)):
        items = (node if isinstance(node, dict) else vars(node)).items()
        return {name: value for key, item in items for name, value in arrays(item, f"{path}/{key}").items()}
    if isinstance(node, (list, tuple)):
        return {name: value for i, item in enumerate(node) for name, value in arrays(item, f"{path}/{i}").items()}
    if torch.is_tensor(node):
        return {path: node.detach().contiguous().reshape(-1).view(torch.uint8).numpy().copy()}
    return {path: np.frombuffer(repr(node).encode(), np.uint8)}


def other_job(rank, tp, pp, places):
    """What it loads of each place; and the next losses, of the last."""
    job = Job(tp, pp, seed=2)
    job.make_moments()
    found = []
    for place in places:
        loaded = dist_checkpointing.load(sharded(job), str(place))
        found.append(arrays(loaded))
    assert loaded["iteration"] == ITERATION and loaded["rng_state"][0]["seen"] == {1, 2}
    if parallel_state.get_pipeline_model_parallel_world_size() > 1:
        return found, []
    job.model.load_state_dict(loaded["model"])
    kept = job.optimizer.state_dict()
    for number, state in loaded["optimizer"]["state"].items():
        kept["state"][number].update(state, step=torch.tensor(float(STEPS)))
    job.optimizer.load_state_dict(kept)
    return found, [job.train_step(step) for step in (STEPS, STEPS + 1)]


def torch_dist():
    """tp 2 × dp 2, to three files and to one, on tp 2 × pp 2 and on one process"""
    place = jobs.scratch()
    losses = jobs.run_job(4, first_job, place / "iter_0000010")[0]
    jobs.program("reshard", "--cards", 3, "--format", "dcp", place / "iter_0000010", "-o", place / "three")
    jobs.program("merge", "--format", "dcp", place / "three", "-o", place / "one")
    assert json.loads((place / "one" / "metadata.json").read_text())["sharded_backend"] == "torch_dist"
    places = [place / name for name in ("iter_0000010", "three", "one")]
    names = [FileSystemReader(each).read_metadata().state_dict_metadata.keys() for each in places]
    assert names[0] == names[1] == names[2], f"others than Megatron's: {(names[1] | names[2]) ^ names[0]}"
    for world, tp, pp in ((4, 2, 2), (1, 1, 1)):
        for found, next_losses in jobs.run_job(world, other_job, tp, pp, places):
            for other in found[1:]:
                jobs.same_bytes(other, found[0], f"loaded by tp {tp}, pp {pp}")
    jobs.close(next_losses, losses, "the next steps")


if __name__ == "__main__":
    jobs.main({"torch_dist": torch_dist})
