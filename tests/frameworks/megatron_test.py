"""A Megatron-core GPT on CPU, saved and loaded by layouts/from_megatron.py: tensor, pipeline and data parallelism,
SwiGLU, grouped queries, a padded vocabulary, and Adam's state.

A job of tp 2, dp 2 trains for two steps; its files go to tp 2, pp 2 and from there to a single process, which takes two
more steps with the losses of the first job.
"""
import contextlib
import json
import warnings

warnings.filterwarnings("ignore")  # of packages that Megatron does without

import jobs
import torch
import torch._dynamo  # noqa: F401  once here, not in every process
from megatron.core import parallel_state, tensor_parallel
from megatron.core.dist_checkpointing.optimizer import get_param_id_to_sharded_param_map, optim_state_to_sharding_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.transformer.transformer_config import TransformerConfig

import from_megatron
import from_torch
from torch_test import rules

torch.cuda.current_device = lambda: torch.device("cpu")  # where Megatron makes its buffers
STEPS, LAYERS, VOCABULARY, LENGTH = 2, 4, 37, 8


class NoRandomStates:
    """In place of the states of CUDA generators; there is no dropout to need them."""

    def is_initialized(self):
        return True

    def fork(self, *_):
        return contextlib.nullcontext()


def prepare():
    tensor_parallel.random._CUDA_RNG_STATE_TRACKER = NoRandomStates()
    tensor_parallel.random._CUDA_RNG_STATE_TRACKER_INITIALIZED = True


def config_of(tp, pp, **more):
    return TransformerConfig(
        num_layers=LAYERS, hidden_size=16, num_attention_heads=4, num_query_groups=2, ffn_hidden_size=24,
        gated_linear_unit=True, activation_func=torch.nn.functional.silu, add_bias_linear=False, hidden_dropout=0.0,
        attention_dropout=0.0, use_cpu_initialization=True, pipeline_dtype=torch.float32,
        masked_softmax_fusion=False, bias_dropout_fusion=False, gradient_accumulation_fusion=False,
        tensor_model_parallel_size=tp, pipeline_model_parallel_size=pp, **more)


def model_of(config, tp, vp_stage=None):
    """This rank's, or a virtual stage of it."""
    padded = -(-VOCABULARY // (4 * tp)) * 4 * tp
    is_first, is_last = parallel_state.is_pipeline_first_stage, parallel_state.is_pipeline_last_stage
    stage = {} if vp_stage is None else {"ignore_virtual": False, "vp_stage": vp_stage}
    return GPTModel(config, get_gpt_layer_local_spec(), padded, LENGTH, share_embeddings_and_output_weights=False,
                    pre_process=is_first(**stage), post_process=is_last(**stage), vp_stage=vp_stage)


class Job:
    def __init__(self, tp, pp, seed):
        parallel_state.initialize_model_parallel(tp, pp)
        prepare()
        torch.manual_seed(seed)
        self.model = model_of(config_of(tp, pp), tp)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2, eps=1e-3)

    def train_step(self, step):
        torch.manual_seed(100 + step)
        tokens = torch.randint(0, VOCABULARY, (3, LENGTH + 1))
        self.optimizer.zero_grad()
        mask = torch.triu(torch.ones(1, 1, LENGTH, LENGTH), 1).bool()
        loss = self.model(tokens[:, :-1], torch.arange(LENGTH).expand(3, -1), mask, labels=tokens[:, 1:]).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def clear_padding(self):
        """Zero the rows beyond the vocabulary, as they are in a file: Megatron's softmax counts and trains them."""
        weight = self.model.output_layer.weight
        start = VOCABULARY - parallel_state.get_tensor_model_parallel_rank() * len(weight)
        for tensor in (weight.data, *(self.optimizer.state[weight][word] for word in ("exp_avg", "exp_avg_sq"))):
            tensor[max(0, start):] = 0

    def make_moments(self):
        """An optimizer without a step has no state to load into."""
        for parameter in self.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimizer.step()

    def state(self):
        model = self.model.sharded_state_dict()
        optimizer = self.optimizer.state_dict()
        parameters = get_param_id_to_sharded_param_map(model, self.model.parameters())
        optim_state_to_sharding_state(optimizer, parameters, ("step",))
        steps = {str(i): state["step"] for i, state in self.optimizer.state_dict()["state"].items()}
        return {"model": model, "optimizer": optimizer["state"], "step": steps.popitem()[1]}


def first_job(rank, place):
    job = Job(tp=2, pp=1, seed=1)
    for step in range(STEPS):
        job.train_step(step)
    job.clear_padding()
    from_megatron.save(job.state(), place / "first", VOCABULARY)
    return [job.train_step(step) for step in (STEPS, STEPS + 1)]


def other_job(rank, tp, pp, source, place):
    """Load what reshard makes of `source`, save it again, and take the next steps where the model is on one stage."""
    job = Job(tp, pp, seed=2)
    job.make_moments()
    state = job.state()
    from_megatron.write_layout(state, place / "new.json", VOCABULARY)
    if rank == 0:
        jobs.reshard(source, place / "new.json", place / "new")
    torch.distributed.barrier()
    from_megatron.load(state, place / "new", VOCABULARY)
    for values in job.optimizer.state.values():
        values["step"].fill_(state["step"])
    from_megatron.save(job.state(), place / "saved", VOCABULARY)
    return [job.train_step(step) for step in (STEPS, STEPS + 1)] if pp == 1 else []


def gpt():
    """tp 2 × dp 2, to pp 2 × tp 2, to one process"""
    place = jobs.scratch()
    losses = jobs.run_job(4, first_job, place)[0]
    layout = json.loads((place / "first" / "layout.json").read_text())
    by_name = rules(layout)
    assert by_name["decoder.layers.3.mlp.linear_fc1.weight"]["parts"] == {"dim": 0, "count": 2}, layout
    assert by_name["output_layer.weight"]["pad"] == {"0": {"size": VOCABULARY, "multiple_of": 20}}, layout
    assert by_name["decoder.layers.0.self_attention.linear_proj.weight"]["split"] == [None, "tp"], layout
    expected = jobs.merged(place / "first", place / "merged.h5")
    assert len(expected) == 1 + 3 * (LAYERS * 8 + 5), len(expected)
    for directory, world, tp, pp, source in [("stages", 4, 2, 2, "first"), ("single", 1, 1, 1, "stages/saved")]:
        (place / directory).mkdir()
        found = jobs.run_job(world, other_job, tp, pp, place / source, place / directory)[0]
        back = jobs.merged(place / directory / "saved", place / directory / "merged.h5")
        jobs.same_bytes(back, expected, f"loaded by tp {tp}, pp {pp}")
    jobs.close(found, losses, "the next steps")


if __name__ == "__main__":
    jobs.main({"gpt": gpt})
