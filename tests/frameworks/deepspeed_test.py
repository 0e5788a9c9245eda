"""DeepSpeed's own checkpoints through layouts/from_deepspeed.py: ZeRO 1, 2 and 3 on four ranks.

What the files merge to must be what the running job says of itself; an unsharded model that takes weights and moments
from the merged file makes the next steps with the same losses.
"""
import os
import subprocess
import sys

os.environ["DS_ACCELERATOR"] = "cpu"

import jobs  # noqa: E402  (the accelerator is chosen first)
import deepspeed  # noqa: E402
import h5py  # noqa: E402
import torch  # noqa: E402
import torch._dynamo  # noqa: E402, F401  once here, not in every process
import torch.utils.cpp_extension  # noqa: E402, F401
import deepspeed.runtime.zero.muon.original_muon  # noqa: E402, F401
import torch._subclasses.schema_check_mode  # noqa: E402, F401
from deepspeed.utils import logger, safe_get_full_fp32_param, safe_get_full_optimizer_state  # noqa: E402

import from_torch  # noqa: E402
from torch_test import STEPS, new_model  # noqa: E402

sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # it would be compiled, for minutes
logger.setLevel("ERROR")
MOMENTS = ("exp_avg", "exp_avg_sq")
RANKS = 4


def optimizer_of(model):
    decay = [p for p in model.parameters() if p.dim() > 1]
    other = [p for p in model.parameters() if p.dim() == 1]
    return torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}], lr=1e-2)


def loss_of(model, step, dtype):
    torch.manual_seed(100 + step)
    x, y = torch.randn(12, 7), torch.randn(12, 3)
    return torch.nn.functional.mse_loss(model(x.to(dtype)).float(), y)


def train(rank, place, stage, dtype):
    model = new_model(1)
    config = {"train_micro_batch_size_per_gpu": 12, "zero_optimization": {"stage": stage},
              "bf16": {"enabled": dtype == torch.bfloat16}, "zero_allow_untested_optimizer": True,
              "zero_force_ds_cpu_optimizer": False, "gradient_clipping": 0.0}
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer_of(model), config=config,
                                      dist_init_required=False)

    def step(i):
        loss = loss_of(engine, i, dtype)
        engine.backward(loss)
        engine.step()
        return loss.item()

    for i in range(STEPS):
        step(i)
    engine.save_checkpoint(str(place / "deepspeed"), tag="step2")
    expected = {}
    if stage < 3:  # DeepSpeed links the states of its getters when the first group has stepped, the others not yet
        engine.optimizer._hp_optimizer_states_linked = False
        engine.optimizer._lazy_init_hp_params_optimizer_state()
    for name, parameter in engine.module.named_parameters():
        expected[f"fp32/{name}"] = safe_get_full_fp32_param(parameter)
        for word in MOMENTS:
            expected[f"{word}/{name}"] = safe_get_full_optimizer_state(parameter, word)
    if stage < 3:
        expected.update({f"module/{name}": value for name, value in engine.module.state_dict().items()})
    arrays = {name: from_torch.raw(value.detach()).copy() for name, value in expected.items()}
    return arrays, [step(STEPS), step(STEPS + 1)]


def unsharded_losses(path):
    """The losses of the next two steps in plain PyTorch, from a merged file: the second one needs the moments."""
    model = new_model(2)
    optimizer = optimizer_of(model)
    with h5py.File(path) as file:
        for name, parameter in model.named_parameters():
            parameter.data = torch.from_numpy(file[f"fp32/{name}"][...])
            optimizer.state[parameter] = {word: torch.from_numpy(file[f"{word}/{name}"][...]) for word in MOMENTS}
            optimizer.state[parameter]["step"] = torch.tensor(float(file["step/0"][()]))
    losses = []
    for step in (STEPS, STEPS + 1):
        optimizer.zero_grad()
        loss = loss_of(model, step, torch.float32)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def convert(stage, dtype):
    place = jobs.scratch()
    results = jobs.run_job(RANKS, train, place, stage, dtype)
    expected, losses = results[0]
    converter = jobs.ROOT / "layouts" / "from_deepspeed.py"
    command = [sys.executable, converter, place / "deepspeed", place / "old"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    layout = place / "old" / "layout.json"
    merged = jobs.merged(place / "old", place / "merged.h5")
    steps = {name: merged.pop(name) for name in list(merged) if name.startswith("step/")}
    seen = {name: merged.pop(name) for name in list(merged) if name == "module/seen" and stage == 3}
    assert len(steps) == 2 and len(seen) == (stage == 3), (steps, seen)
    jobs.same_bytes(merged, expected, f"merged from ZeRO-{stage} of {RANKS}, {dtype}")
    jobs.program("reshard", "--from", layout, "--to-mesh", "dp=3", place / "old", "-o", place / "three")
    jobs.program("verify", "--from", layout, place / "old", place / "three")
    print("  resharded to 3: the same tensors")
    if dtype == torch.float32:
        jobs.close(losses, unsharded_losses(place / "merged.h5"), "the next steps")


def zero1():
    """ZeRO-1, bf16 weights with fp32 master copies, two parameter groups"""
    convert(1, torch.bfloat16)


def zero2():
    """ZeRO-2, fp32"""
    convert(2, torch.float32)


def zero3():
    """ZeRO-3, fp32: each parameter in pieces, end to end"""
    convert(3, torch.float32)


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (zero1, zero2, zero3)})
