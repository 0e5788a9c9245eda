"""DeepSpeed's own directories, without a layout: what they merge to is what the running job says of itself, and a job of
another number of ranks resumes from what ckpt-reshard makes of them, with the same state and the same next step."""
import os

os.environ["DS_ACCELERATOR"] = "cpu"

import jobs  # noqa: E402  (the accelerator is chosen first)
import deepspeed  # noqa: E402
import torch  # noqa: E402
from deepspeed.accelerator import get_accelerator  # noqa: E402
from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state  # noqa: E402

import from_torch  # noqa: E402
from deepspeed_test import MOMENTS, optimizer_of  # noqa: E402  (it also keeps DeepSpeed from compiling)

STEPS = 2
TAG = "global_step2"
CLIENT_STATE = {"mine": {"epoch": 3, "seen": [1, "two", None]}}


class Net(torch.nn.Module):
    """With all that ZeRO stores in its own way: a tied weight, a frozen one, a buffer, sizes that no number of ranks divides."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(13, 6)
        self.first = torch.nn.Linear(6, 11)
        self.second = torch.nn.Linear(11, 6, bias=False)
        self.norm = torch.nn.LayerNorm(6)
        self.register_buffer("seen", torch.arange(5.0))
        self.head = torch.nn.Linear(6, 13, bias=False)
        self.head.weight = self.embedding.weight
        self.frozen = torch.nn.Parameter(torch.arange(7.0), requires_grad=False)

    def forward(self, tokens):
        hidden = self.norm(self.second(torch.relu(self.first(self.embedding(tokens)))))
        return self.head(hidden) + self.frozen.sum()


def new_engine(stage, dtype, seed, **zero):
    torch.manual_seed(seed)
    model = Net()
    config = {"train_micro_batch_size_per_gpu": 4, "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
              "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0, **zero},
              "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 10}}}
    if dtype == torch.bfloat16:
        config["bf16"] = {"enabled": True}
    if dtype == torch.float16:  # torch's kernels have it on a CPU, too
        get_accelerator().is_fp16_supported = lambda: True
        config["fp16"] = {"enabled": True, "initial_scale_power": 8}
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = optimizer_of(torch.nn.ParameterList(trained))
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config, dist_init_required=False)[0]


def take_step(engine, step):
    """On the same batch on every rank, so that two and four ranks have the same mean of gradients to the bit."""
    torch.manual_seed(100 + step)
    tokens, wanted = torch.randint(13, (4, 5)), torch.randint(13, (4, 5))
    loss = torch.nn.functional.cross_entropy(engine(tokens).float().flatten(0, 1), wanted.flatten())
    engine.backward(loss)
    engine.step()
    return loss.item()


def state_of(engine, stage):
    """What the engine says of itself, by the names of our layout."""
    found = {}
    if stage < 3:  # DeepSpeed links the states of its getters when the first group has stepped, the others not yet
        engine.optimizer._hp_optimizer_states_linked = False
        engine.optimizer._lazy_init_hp_params_optimizer_state()
        found.update(engine.module.state_dict())
    for name, parameter in engine.module.named_parameters():
        if parameter.requires_grad:
            found[name if stage == 3 else f"fp32/{name}"] = safe_get_full_fp32_param(parameter)
            for word in MOMENTS:
                found[f"{word}/{name}"] = safe_get_full_optimizer_state(parameter, word)
    return {name: from_torch.raw(value.detach().cpu()).copy() for name, value in found.items()}


def train(rank, place, stage, dtype, zero):
    engine = new_engine(stage, dtype, 1, **zero)
    for step in range(STEPS):
        take_step(engine, step)
    engine.save_checkpoint(str(place), tag=TAG, client_state=CLIENT_STATE)
    state = state_of(engine, stage)
    loss = take_step(engine, STEPS)
    engine.save_checkpoint(str(place) + "-after", tag="after")
    return state, loss


def resume(rank, place, stage, dtype, zero):
    engine = new_engine(stage, dtype, 2, **zero)
    path, client = engine.load_checkpoint(str(place))
    assert path is not None and client["mine"] == CLIENT_STATE["mine"], (path, client)
    if dtype == torch.float16:  # a new one has seen no step
        assert engine.optimizer.loss_scaler.cur_iter == STEPS, vars(engine.optimizer.loss_scaler)
    assert engine.global_steps == STEPS and engine.lr_scheduler.last_batch_iteration == STEPS - 1
    state = state_of(engine, stage)
    loss = take_step(engine, STEPS)
    engine.save_checkpoint(str(place) + "-after", tag="after")
    return state, loss


def check(stage, dtype, ranks, *others, resumed_with=None, **zero):
    place = jobs.scratch()
    run = place / "run"
    expected, loss = jobs.run_job(ranks, train, run, stage, dtype, zero)[0]
    jobs.program("merge", run, "-o", place / "merged.h5")
    merged = jobs.datasets(place / "merged.h5")
    beside = [name for name in merged if name.startswith(("step/", "frozen_param_fragments/"))]
    beside += ["seen", "frozen"] if stage == 3 else []
    assert sum("step/" not in name for name in beside) == stage - 1, beside
    jobs.same_bytes({name: value for name, value in merged.items() if name not in beside}, expected,
                    f"merged from ZeRO-{stage} of {ranks}, {dtype}")
    for other in others:
        to = place / f"of-{other}"
        jobs.program("reshard", "--cards", other, "--verify", "reread", run / TAG, "-o", to)
        assert (to / "latest").read_text() == TAG
        jobs.program("verify", run, to)
        resumed, next_loss = jobs.run_job(other, resume, to, stage, dtype, resumed_with or zero)[0]
        jobs.same_bytes(resumed, expected, f"resumed on {other}")
        assert next_loss == loss, f"the next step on {other}: found {next_loss}, expected {loss}"
        if ranks % other == 0:
            # Scaled gradients of fp16 are summed with more roundings on more ranks.
            near = ["--tolerance", "1e-3,1e-7"] if dtype == torch.float16 else []
            jobs.program("verify", *near, f"{run}-after", f"{to}-after")
            print(f"  one step on {other}: the same {'values' if near else 'bytes'} as on {ranks}")


def case(text, *arguments, **options):
    def run():
        check(*arguments, **options)
    run.__doc__ = text
    return run


if __name__ == "__main__":
    jobs.main({
        "zero1": case("ZeRO-1, bf16: 4 ranks to 2 and 3", 1, torch.bfloat16, 4, 2, 3),
        "zero1_few": case("ZeRO-1, fp32: 2 ranks to 5, of which the last has padding only", 1, torch.float32, 2, 5),
        "zero1_many": case("ZeRO-1, bf16: 5 ranks to 2", 1, torch.bfloat16, 5, 2),
        "zero2": case("ZeRO-2, fp32: 4 ranks to 2", 2, torch.float32, 4, 2),
        "zero2_few": case("ZeRO-2, bf16: 2 ranks to 5", 2, torch.bfloat16, 2, 5),
        "zero3": case("ZeRO-3, bf16: 4 ranks to 2 and 3", 3, torch.bfloat16, 4, 2, 3),
        "zero3_few": case("ZeRO-3, fp32: 2 ranks to 5", 3, torch.float32, 2, 5),
        "zero3_groups": case("ZeRO-3 whose groups are several by their size, which the new job is told: 4 ranks to 2", 3, torch.float32,
                             4, 2, resumed_with={"sub_group_size": 34}, sub_group_size=20),
        "aligned": case("ZeRO-2, bf16, each parameter at a multiple of 16 bytes: 4 ranks to 3", 2, torch.bfloat16, 4, 3,
                        parameter_alignment=True),
        "half1": case("ZeRO-1, fp16 with a dynamic loss scale: 4 ranks to 2", 1, torch.float16, 4, 2),
        "half2": case("ZeRO-2, fp16: 2 ranks to 3", 2, torch.float16, 2, 3),
        "half3": case("ZeRO-3, fp16: 4 ranks to 2", 3, torch.float16, 4, 2),
    })
