"""Likeness between real steps of training: what a few steps of AdamW change is never taken for elements in wrong places, whether norms are still 1 and
biases still 0 or not; and weights of an exchanged map are told beside it. The reference and ckpt-merge --like judge the same pairs.
"""
import shutil
import subprocess
import sys

import jobs
import torch
import transformers

sys.path.insert(0, str(jobs.ROOT / "tests" / "names"))
import likeness  # noqa: E402
import model as naive  # noqa: E402

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
SMALL = {"num_hidden_layers": 2, "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 40,
         "vocab_size": 61, "tie_word_embeddings": False}
FAMILIES = {"llama": {"attention_bias": True, "mlp_bias": True}, "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}}


def saved(model):
    place = jobs.scratch()
    model.save_pretrained(place)
    return place, naive.read_json(place / "config.json"), naive.read_safetensors(place / "model.safetensors")


def merge_like(place, names, tensors):
    """What ckpt-merge --like says of a trainer's tensors; nothing if it has written them."""
    trainer = jobs.scratch()
    naive.write_safetensors(trainer / "run.safetensors", tensors)
    command = [jobs.PROGRAMS / "ckpt-merge", "-q", "--like", place, "--names", names, trainer / "run.safetensors", "-o", trainer / "out"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert (done.returncode == 0) == (trainer / "out").is_dir() and done.returncode in (0, 1), done.stderr
    shutil.rmtree(trainer)
    return done.stderr


def train(model, optimizer, steps, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        starts = torch.randint(0, 61, (4, 1), generator=generator)
        tokens = (starts + torch.arange(16) * 7) % 61  # something to learn
        optimizer.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()


def family(name, lr):
    """Steps 0, 10, 60 and 70 of one training, each pair of neighbours."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(name, **SMALL, **FAMILIES[name]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    place, config, step = saved(model)
    for number, steps in enumerate((10, 50, 10)):
        train(model, optimizer, steps, number)
        next_place, config, later = saved(model)
        typical = likeness.typical_of(later, step)
        told = likeness.told(later, step)
        assert told is not None and told == [], f"{name}, lr {lr}: a false alarm after {steps} steps, typically {typical}: {told}"
        said = merge_like(place, name, naive.convert(naive.ready_map(name), config, "hf", later))
        assert not said, f"{name}, lr {lr}: a false alarm of the program after {steps} steps: {said}"
        print(f"  {name}, lr {lr}, {steps} steps: typical correlation {typical:.4f}, nothing told")
        exchanged(name, config, later, step, place)
        step, place = later, next_place


def exchanged(name, config, later, step, place):
    """Two mistakes that fit: k for v, and the rows of the queries in another order."""
    ready = naive.ready_map(name)
    there = naive.convert(ready, config, "hf", later)
    for old, new in ((("k_proj.weight [g d, h]", "v_proj.weight [g d, h]"), ("v_proj.weight [g d, h]", "k_proj.weight [g d, h]")),
                     (("[g (q d | d | d), h]",), ("[g (d q | d | d), h]",))):
        text = naive.json.dumps(naive.inherited(ready, naive.READY)).replace(old[0], "\0")
        for one, other in zip(old[1:], new[1:]):
            text = text.replace(one, other)
        made = naive.convert(naive.json.loads(text.replace("\0", new[0])), config, "megatron", there, naive.shapes_of(later))
        told = likeness.told(made, step)
        assert told and all("q_proj" in each or "k_proj" in each or "v_proj" in each for each in told), f"{name}: {old} told as {told}"
        (place / "map.json").write_text(text.replace("\0", new[0]))
        said = merge_like(place, place / "map.json", there)
        assert "as if elements were in other places" in said and ("which gives" in said or "is its name right" in said), f"{name}: {old}: {said}"
        (place / "map.json").unlink()


def fine_tuned():
    """Pairs of steps of one training"""
    for name in FAMILIES:
        for lr in (1e-4, 1e-3):
            family(name, lr)


if __name__ == "__main__":
    jobs.main({"fine_tuned": fine_tuned})
