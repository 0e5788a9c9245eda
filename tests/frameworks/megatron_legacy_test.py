"""What Megatron saves with --ckpt-format torch, as its torch_dist: a GPT on CPU under the real distributed optimizer, whose buffers
megatron-core itself saves; rewritten by ckpt-reshard, and loaded by dist_checkpointing on other tensor and pipeline ranks, bit for bit what it
loads of a torch_dist checkpoint that it has saved itself."""
import argparse
import json
import re

import jobs
import torch
from torch.distributed.checkpoint import FileSystemReader

from megatron_dist_test import arrays
from megatron_test import LAYERS, LENGTH, STEPS, VOCABULARY, Job, config_of, model_of, prepare
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.dist_checkpointing.mapping import ShardedObject
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer


def on_host(make):
    """Of what the optimizer makes on a GPU."""
    return lambda *what, **how: make(*what, **{**how, **({"device": "cpu"} if how.get("device") == "cuda" else {})})


# The optimizer asks for parameters on a GPU, keeps flags there, and gathers its state there.
type_name = torch.Tensor.type
torch.Tensor.type = lambda tensor, *to, **how: type_name(tensor, *to, **how) if to or how else type_name(tensor).replace("torch.", "torch.cuda.", 1)
torch.Tensor.cuda = lambda tensor, *_, **__: tensor
torch.tensor, torch.zeros = on_host(torch.tensor), on_host(torch.zeros)
torch.cuda.synchronize = torch.cuda.current_stream = lambda *_, **__: None
# Torch's own Adam, here in the place of a fused one, counts its steps in tensors that Megatron does not save.
set_states = DistributedOptimizer._set_main_param_and_optimizer_states
DistributedOptimizer._set_main_param_and_optimizer_states = lambda optimizer, parameter, states: set_states(
    optimizer, parameter, {**states, "step": torch.full((), STEPS)})

ITERATION = 10
FORM = {"distrib_optim_sharding_type": "fully_reshardable", "singleton_local_shards": False, "chained_optim_avoid_prefix": True,
        "non_homogeneous_layers": True}


class DistributedJob(Job):
    def __init__(self, tp, pp, seed):
        super().__init__(tp, pp, seed)
        self.parallel = DistributedDataParallel(
            self.model.config, DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=False), self.model)
        self.parallel.broadcast_params()
        self.optimizer = get_megatron_optimizer(
            OptimizerConfig(optimizer="adam", lr=1e-2, adam_eps=1e-3, use_distributed_optimizer=True, clip_grad=0.0), [self.parallel])

    def train_step(self, step):
        torch.manual_seed(100 + step)
        tokens = torch.randint(0, VOCABULARY, (3, LENGTH + 1))
        self.parallel.zero_grad_buffer()
        self.optimizer.zero_grad()
        mask = torch.triu(torch.ones(1, 1, LENGTH, LENGTH), 1).bool()
        loss = self.parallel(tokens[:, :-1], torch.arange(LENGTH).expand(3, -1), mask, labels=tokens[:, 1:]).mean()
        loss.backward()
        self.parallel.finish_grad_sync()
        self.optimizer.step()
        return loss.item()

    def make_moments(self):
        """An optimizer without a step has no state to load into."""
        self.optimizer.step()

    def parts(self):
        """The modules by what Megatron calls them."""
        return {"model": self.model}

    def sharded(self, form, is_loading=False, has_random=True):
        model = {part: module.sharded_state_dict(metadata=form) for part, module in self.parts().items()}
        whole = model if len(model) > 1 else model["model"]
        random = {"rng_state": ShardedObject("rng_state", random_states(), *of_ranks(), replica_id=parallel_state.get_data_parallel_rank())}
        return {**model, "optimizer": self.optimizer.sharded_state_dict(whole, is_loading, metadata=form), **(random if has_random else {})}

    def common(self):
        return {"args": argparse.Namespace(params_dtype=torch.float32, mask=[1, 2]), "checkpoint_version": 3.0, "iteration": ITERATION,
                "opt_param_scheduler": {"max_lr": 1e-2, "num_steps": 3 * STEPS}}


class VirtualJob(DistributedJob):
    """Each of two stages has two chunks of a layer."""
    def __init__(self, seed):
        parallel_state.initialize_model_parallel(2, 2, virtual_pipeline_model_parallel_size=2)
        prepare()
        torch.manual_seed(seed)
        config = config_of(2, 2, virtual_pipeline_model_parallel_size=2)
        self.chunks = [model_of(config, 2, vp_stage=chunk) for chunk in range(2)]
        wrapped = [DistributedDataParallel(config, DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=False), chunk)
                   for chunk in self.chunks]
        self.optimizer = get_megatron_optimizer(
            OptimizerConfig(optimizer="adam", lr=1e-2, adam_eps=1e-3, use_distributed_optimizer=True, clip_grad=0.0), wrapped)

    def parts(self):
        return {f"model{i}": chunk for i, chunk in enumerate(self.chunks)}


def random_states():
    """As a rank that nobody else is like."""
    return [{"torch_rng_state": torch.full((16,), torch.distributed.get_rank() % 2 + 10 * parallel_state.get_pipeline_model_parallel_rank(), dtype=torch.uint8),
             "seen": {1, 2}}]


def of_ranks():
    """How many pipeline and tensor ranks there are, and which of them this is."""
    return ((parallel_state.get_pipeline_model_parallel_world_size(), parallel_state.get_tensor_model_parallel_world_size()),
            (parallel_state.get_pipeline_model_parallel_rank(), parallel_state.get_tensor_model_parallel_rank()))


def save_legacy(job, place):
    """As Megatron-LM's training does: a folder for each tensor and pipeline rank, written by the first of its data ranks."""
    stage = f"_{parallel_state.get_pipeline_model_parallel_rank():03}" if parallel_state.get_pipeline_model_parallel_world_size() > 1 else ""
    folder = place / f"mp_rank_{parallel_state.get_tensor_model_parallel_rank():02}{stage}"
    is_first = parallel_state.get_data_parallel_rank() == 0
    if is_first:
        folder.mkdir(parents=True)
        parts = {part: module.state_dict() for part, module in job.parts().items()}
        torch.save({**job.common(), **parts, "optimizer": job.optimizer.state_dict(), "rng_state": random_states()}, folder / "model_optim_rng.pt")
    job.optimizer.save_parameter_state(str(folder / "distrib_optim.pt"))


def first_job(rank, place):
    job = DistributedJob(tp=2, pp=1, seed=1)
    for step in range(STEPS):
        job.train_step(step)
    save(job, rank, place)
    return [job.train_step(step) for step in (STEPS, STEPS + 1)]


def save(job, rank, place):
    """In both forms, with the names of each stage's parameters."""
    save_legacy(job, place / "legacy")
    if rank == 0:
        (place / "own").mkdir()
    if parallel_state.get_tensor_model_parallel_rank() == 0 and parallel_state.get_data_parallel_rank() == 0:
        for chunk, module in enumerate(job.parts().values()):
            names = [name for name, _ in module.named_parameters()]
            file = f"names{parallel_state.get_pipeline_model_parallel_rank()}{f'_{chunk}' if chunk else ''}.json"
            (place / file).write_text(json.dumps(names[::-1]))
    torch.distributed.barrier()
    dist_checkpointing.save({**job.common(), **job.sharded(FORM)}, str(place / "own"), content_metadata=FORM)


def staged_job(rank, place, is_virtual=False):
    """A stage alone cannot train: gradients are random ones, the same where weights are."""
    job = VirtualJob(seed=1) if is_virtual else DistributedJob(tp=2, pp=2, seed=1)
    torch.manual_seed(10 + parallel_state.get_pipeline_model_parallel_rank())
    for module in job.parts().values():
        for parameter in module.parameters():
            parameter.main_grad.copy_(torch.randn(parameter.shape))
    job.optimizer.step()
    save(job, rank, place)


def other_job(rank, tp, pp, places, saved_by):
    """What it loads of each place; and the next losses, of the last."""
    job = DistributedJob(tp, pp, seed=2)
    job.make_moments()
    found = []
    for place in places:
        form = dist_checkpointing.load_content_metadata(str(place))
        loaded = dist_checkpointing.load(job.sharded(form, True, has_random=(tp, pp) == saved_by), str(place))
        if (tp, pp) == saved_by:
            assert torch.equal(loaded["rng_state"][0]["torch_rng_state"], random_states()[0]["torch_rng_state"]), loaded["rng_state"]
        found.append(arrays(loaded))
    if pp > 1:
        return found, []
    job.model.load_state_dict(loaded["model"])
    job.optimizer.load_state_dict(loaded["optimizer"])
    for states in job.optimizer.chained_optimizers[0].optimizer.state.values():
        states["step"] = states["step"].clone()  # it gives all parameters one
    return found, [job.train_step(step) for step in (STEPS, STEPS + 1)]


def write_layout(place, stages=1):
    """The ready layout, for this model: its parameters in the order of the buffer, and a vocabulary that is full."""
    layout = json.loads((jobs.ROOT / "layouts" / "megatron-legacy.json").read_text())
    del layout["parameters"][0]["pad"]
    layout["parameters"].append({"name": ["model/*layernorm.bias", "model/embedding.position_embeddings.weight"]})
    bucket = layout["buckets"][0]
    bucket["name"] = [name.replace("bfloat16", "float32") for name in bucket["name"]]
    bucket["members"]["params"] = json.loads((place / "names0.json").read_text())
    if stages > 1:
        add_stages(layout, place)
    (place / "legacy.json").write_text(json.dumps(layout))
    return place / "legacy.json"


def add_stages(layout, place):
    """Two, which count their layers each by itself."""
    layout["mesh"] = {"axes": ["pp", "dp", "tp"], "shape": [2, 1, 2]}
    for file in layout["files"]:
        file["path"] = file["path"].replace("{tp:02}", "{tp:02}_{pp:03}")
    layout["indices"] = [{"in": "model/decoder.layers.{i}.*", "axis": "pp", "total": LAYERS, "numbering": "local"}]
    first, last = {"pp": 0}, {"pp": "last"}
    layout["parameters"][:0] = [
        {"name": "model/embedding.word_embeddings.weight", "split": ["tp"], "at": first},
        {"name": "model/embedding.position_embeddings.weight", "at": first},
        {"name": "model/decoder.final_layernorm.*", "at": last}, {"name": "model/output_layer.weight", "split": ["tp"], "at": last}]
    bucket = layout["buckets"][0]
    others = [re.sub(r"layers\.(\d+)", lambda found: f"layers.{int(found[1]) + LAYERS // 2}", name)
              for name in json.loads((place / "names1.json").read_text())]
    layout["buckets"] = [{**bucket, "at": first}, {**bucket, "at": last, "members": {**bucket["members"], "params": others}}]


def legacy():
    """tp 2 × dp 2, as one file and as four, on tp 2 × pp 2 and on one process"""
    place = jobs.scratch()
    losses = jobs.run_job(4, first_job, place)[0]
    layout = write_layout(place)
    jobs.program("merge", "--layout", layout, "--format", "torch_dist", place / "legacy", "-o", place / "one")
    jobs.program("reshard", "--from", layout, "--to-mesh", "tp=4", "--format", "torch_dist", place / "legacy", "-o", place / "four")
    places = [place / name for name in ("own", "four", "one")]
    jobs.close(loaded_alike(places, (2, 1)), losses, "the next steps")


def stages():
    """tp 2 × pp 2, as one file, on the same ranks and on one process"""
    place = jobs.scratch()
    jobs.run_job(4, staged_job, place)
    jobs.program("merge", "--layout", write_layout(place, 2), "--format", "torch_dist", place / "legacy", "-o", place / "one")
    loaded_alike([place / "own", place / "one"], (2, 2))


def add_virtual_stages(layout, place):
    """Two stages of two chunks, whose layers are counted one after the other; a bucket for each chunk's state."""
    layout["mesh"] = {"axes": ["pp", "dp", "tp"], "shape": [2, 1, 2]}
    for file in layout["files"]:
        file["path"] = file["path"].replace("{tp:02}", "{tp:02}_{pp:03}")
    layout["indices"] = [{"in": "model{chunk}/decoder.layers.{i}.*", "axis": "pp", "total": LAYERS, "numbering": "local", "virtual": 2, "restart": True}]
    first, last = {"pp": 0}, {"pp": "last"}
    for rule in layout["parameters"]:
        names = rule["name"] if isinstance(rule["name"], list) else [rule["name"]]
        rule["name"] = [name.replace("model/", "model?/") for name in names]
    layout["parameters"][:0] = [
        {"name": "model0/embedding.word_embeddings.weight", "split": ["tp"], "at": first}, {"name": "model0/embedding.position_embeddings.weight", "at": first},
        {"name": "model1/decoder.final_layernorm.*", "at": last}, {"name": "model1/output_layer.weight", "split": ["tp"], "at": last}]
    form = layout["buckets"][0]
    layout["buckets"] = []
    for stage, chunk in ((stage, chunk) for stage in range(2) for chunk in range(2)):
        names = json.loads((place / f"names{stage}{f'_{chunk}' if chunk else ''}.json").read_text())
        counted = [re.sub(r"layers\.0", f"layers.{2 * chunk + stage}", name) for name in names]
        for stored in form["name"]:
            members = [{"name": f"{stored.rsplit('/', 1)[1]}/{name}", "like": f"model{0 if '.layers.' in name else chunk}/{name}"} for name in counted]
            layout["buckets"].append({**form, "name": stored.replace("distrib_optim/0", f"distrib_optim/{chunk}"), "at": [first, last][stage],
                                      "members": members})


def virtual_stages():
    """tp 2 × pp 2 of two virtual stages each, as one file, on as many ranks and on one process"""
    place = jobs.scratch()
    jobs.run_job(4, staged_job, place, True)
    layout = write_layout(place, 1)
    whole = json.loads(layout.read_text())
    add_virtual_stages(whole, place)
    layout.write_text(json.dumps(whole))
    jobs.program("merge", "--layout", layout, "--rename", "model{c}/{x}=model/{x}", "--format", "torch_dist", place / "legacy", "-o", place / "one")
    loaded_alike([place / "own", place / "one"], (2, 2))


def loaded_alike(places, saved_by):
    """Each has the names of the first, and what is loaded of them on several ranks is the same; gives the next losses of one process."""
    names = [FileSystemReader(each).read_metadata().state_dict_metadata.keys() for each in places]
    for other in names[1:]:
        assert other == names[0], f"others than Megatron's: {other ^ names[0]}"
    for world, tp, pp in ((4, *saved_by), (4, 2, 2), (1, 1, 1)) if saved_by != (2, 2) else ((4, 2, 2), (1, 1, 1)):
        for found, next_losses in jobs.run_job(world, other_job, tp, pp, places, saved_by):
            for other in found[1:]:
                jobs.same_bytes(other, found[0], f"loaded by tp {tp}, pp {pp}")
    return next_losses


if __name__ == "__main__":
    jobs.main({"legacy": legacy, "stages": stages, "virtual stages": virtual_stages})
