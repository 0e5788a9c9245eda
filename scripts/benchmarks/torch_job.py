"""Checkpoints as torch, DeepSpeed and transformers save them, and what their own tools do with them; run by a Python that has them.

  torch_job.py make WHAT DIRECTORY [--quick]    WHAT: dcp, zero (DeepSpeed's ZeRO 2), pretrained; of 8 processes
  torch_job.py run RIVAL SOURCE OUTPUT          says on its last line how many seconds it took, imports not counted
  torch_job.py same FILE FILE                   two files of tensors (.pt or .safetensors), or of a directory, hold the same
"""
import argparse
import contextlib
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
sys.dont_write_bytecode = True

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

RANKS = 8
SIZES = {False: (1536, 9), True: (64, 2)}  # width and layers: 85 M parameters, 1.0 GB with two moments in float32


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def network(quick):
    torch.manual_seed(1)
    width, layers = SIZES[quick]
    return torch.nn.Sequential(*(Block(width) for _ in range(layers))), width


def ranks(count, work, *arguments):
    """work(rank, *arguments) in processes that gloo joins."""
    with tempfile.TemporaryDirectory() as place:
        context = multiprocessing.get_context("fork")
        processes = [context.Process(target=joined, args=(rank, count, place, work, arguments)) for rank in range(count)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    if any(process.exitcode for process in processes):
        sys.exit(f"torch_job: {work.__name__}: exit {[process.exitcode for process in processes]}")


def joined(rank, count, place, work, arguments):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(count))
    dist.init_process_group("gloo", init_method=f"file://{place}/store", rank=rank, world_size=count)
    work(rank, *arguments)
    dist.barrier()
    dist.destroy_process_group()


def sharded_state(quick):
    """What FSDP2 has on this rank: weights and Adam's moments."""
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    made, width = network(quick)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in made:
        fully_shard(block, mesh=mesh)
    fully_shard(made, mesh=mesh)
    optimizer = torch.optim.AdamW(made.parameters(), lr=1e-3)
    made(torch.ones(2, width)).sum().backward()
    optimizer.step()
    return dict(zip(("model", "optim"), get_state_dict(made, optimizer)))


def save_dcp(_, directory, quick):
    import torch.distributed.checkpoint as dcp
    dcp.save(sharded_state(quick), checkpoint_id=directory)


def save_zero(_, directory, quick):
    import deepspeed
    made, width = network(quick)
    config = {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
              "zero_optimization": {"stage": 2}}
    engine, *_ = deepspeed.initialize(model=made, model_parameters=made.parameters(), config=config)
    engine.backward(engine(torch.ones(1, width, dtype=torch.bfloat16)).sum())
    engine.step()
    engine.save_checkpoint(str(directory))


def save_pretrained(directory, quick):
    from transformers import LlamaConfig, LlamaForCausalLM
    width, layers = SIZES[quick]
    config = LlamaConfig(hidden_size=width, intermediate_size=3 * width, num_hidden_layers=layers, num_attention_heads=8, vocab_size=8000,
                         num_key_value_heads=8)
    torch.manual_seed(1)
    LlamaForCausalLM(config).save_pretrained(directory, max_shard_size="3MB" if quick else "150MB")


def make(what, directory, quick):
    if what == "pretrained":
        save_pretrained(directory, quick)
    else:
        ranks(RANKS, {"dcp": save_dcp, "zero": save_zero}[what], directory, quick)


def of_rank(rank, source, output, quick):
    """torch's own way to another number of ranks: every rank makes its shards, loads them and saves."""
    import torch.distributed.checkpoint as dcp
    state = sharded_state(quick)
    dist.barrier()
    start = time.perf_counter()
    dcp.load(state, checkpoint_id=source)
    dcp.save(state, checkpoint_id=output)
    dist.barrier()
    if rank == 0:
        print(time.perf_counter() - start, flush=True)


def run(rival, source, output, quick):
    """The seconds, but of `dcp-7`, which tells them itself."""
    if rival == "dcp-7":
        return ranks(7, of_rank, source, output, quick)
    if rival == "dcp_to_torch_save":
        from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
        start = time.perf_counter()
        dcp_to_torch_save(source, output)
    elif rival == "zero_to_fp32":
        from deepspeed.utils.zero_to_fp32 import convert_zero_checkpoint_to_fp32_state_dict
        start = time.perf_counter()
        with contextlib.redirect_stdout(sys.stderr):
            convert_zero_checkpoint_to_fp32_state_dict(source, output, max_shard_size="100GB", safe_serialization=True)
    elif rival == "save_pretrained":
        from transformers import AutoModelForCausalLM
        start = time.perf_counter()
        AutoModelForCausalLM.from_pretrained(source).save_pretrained(output, max_shard_size="100GB")
    else:
        sys.exit(f"torch_job: found {rival}, expected a rival")
    print(time.perf_counter() - start)


def tensors_of(path, before=""):
    """name -> tensor, of all files in a directory; dicts and lists become paths of names with dots."""
    if path.is_dir():
        return {name: tensor for each in sorted(path.glob("*.safetensors")) for name, tensor in tensors_of(each).items()}
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file
        return {name.removeprefix("fp32/").replace("/", "."): tensor for name, tensor in load_file(path).items()}
    found = {}

    def visit(node, name):
        if torch.is_tensor(node):
            found[name] = node
        elif isinstance(node, (dict, list)):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                visit(value, f"{name}.{key}" if name else str(key))

    visit(torch.load(path, weights_only=True), before)
    return found


def same(ours, theirs):
    """All of theirs is in ours."""
    ours, theirs = tensors_of(ours), tensors_of(theirs)
    missing = theirs.keys() - ours.keys()
    if missing or not theirs:
        sys.exit(f"torch_job: of {len(theirs)} tensors, missing: {sorted(missing)[:5]}")
    wrong = [name for name in theirs if ours[name].dtype != theirs[name].dtype or not torch.equal(ours[name], theirs[name])]
    if wrong:
        sys.exit(f"torch_job: {len(wrong)} tensors differ: {wrong[:5]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "run", "same"])
    parser.add_argument("words", nargs="+")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if options.action == "same":
        return same(*map(pathlib.Path, options.words))
    what, *paths = options.words
    {"make": make, "run": run}[options.action](what, *paths, options.quick)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # what the frameworks keep running is not waited for
