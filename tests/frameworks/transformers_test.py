"""A small Llama as training jobs leave it, FSDP2's and DeepSpeed's directories, becomes files that transformers load, by one command and without
a layout: the same logits."""
import os

os.environ["DS_ACCELERATOR"] = "cpu"

import jobs  # noqa: E402  (the accelerator is chosen first)
import deepspeed  # noqa: E402
import torch  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_optimizer_state_dict  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402

from deepspeed_test import optimizer_of  # noqa: E402  (it also keeps DeepSpeed from compiling)
from safetensors_test import same_when_loaded, small_llama  # noqa: E402

RANKS = 4
TOKENS = torch.arange(20).reshape(2, 10)


def save_fsdp2(rank, place):
    _, model = small_llama(torch.float32)
    for layer in (*model.model.layers, model):
        fully_shard(layer, mesh=init_device_mesh("cpu", (RANKS,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.0)
    model(TOKENS, labels=TOKENS).loss.backward()
    optimizer.step()
    dcp.save({"model": get_model_state_dict(model), "optim": get_optimizer_state_dict(model, optimizer)}, checkpoint_id=place)


def save_zero3(rank, place):
    _, model = small_llama(torch.float32)
    engine = deepspeed.initialize(
        model=model, optimizer=optimizer_of(model), dist_init_required=False,
        config={"train_micro_batch_size_per_gpu": 2, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
                "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0}})[0]
    engine.save_checkpoint(str(place), tag="global_step0")


def loads(save, *choice):
    config, model = small_llama(torch.float32)
    place = jobs.scratch()
    jobs.run_job(RANKS, save, place / "run")
    jobs.program("merge", *choice, "--cast", "bf16", "--shard-size", "3KB", place / "run", "-o", place / "model")
    assert len(list((place / "model").glob("model-*.safetensors"))) > 2
    config.dtype = torch.bfloat16
    same_when_loaded(config, model.bfloat16(), place / "model")


def fsdp2():
    """torch.distributed.checkpoint of FSDP2 on four ranks, with the optimizer"""
    loads(save_fsdp2, "--only", "model.*", "--rename", "model.{x}={x}")


def zero3():
    """DeepSpeed's ZeRO-3 on four ranks"""
    loads(save_zero3, "--drop", "*/*")


if __name__ == "__main__":
    jobs.main({"fsdp2": fsdp2, "zero3": zero3})
