"""What ckpt-merge writes as safetensors, read by the safetensors package and by transformers; and back."""
import os

os.environ["HF_HUB_OFFLINE"] = "1"

import jobs  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import Shard  # noqa: E402
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM  # noqa: E402

import from_torch  # noqa: E402
from torch_forms_test import DTYPES, random_tensor, spread  # noqa: E402


def raw(tensors):
    return {name: from_torch.raw(tensor) for name, tensor in tensors.items()}


def save_spread(rank, tensors, place):
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("dp",))
    rows = {name: spread(tensor, mesh, Shard(0)) for name, tensor in tensors.items() if tensor.dim()}
    from_torch.save(tensors | rows, place)


def merged_from_four(tensors, place):
    """One safetensors file of what four ranks saved as HDF5."""
    jobs.run_job(4, save_spread, tensors, place / "four")
    jobs.program("merge", "--layout", place / "four" / "layout.json", place / "four", "-o", place / "model.safetensors")
    return place / "model.safetensors"


def dtypes():
    """the package reads every dtype that both have, bf16 and fp8 included, and its files are read again"""
    place = jobs.scratch()
    tensors = {str(dtype)[6:]: random_tensor(7, 4, dtype=dtype) for dtype in [*DTYPES, torch.int64, torch.uint8]}
    tensors |= {"scalar": torch.tensor(2.5, dtype=torch.bfloat16), "rows.of none": torch.zeros(0, 3)}
    path = merged_from_four(tensors, place)
    found = safetensors.torch.load_file(path)
    assert all(found[name].dtype == tensor.dtype for name, tensor in tensors.items()), found
    jobs.same_bytes(raw(found), raw(tensors), "safetensors.torch")
    safetensors.torch.save_file(tensors, place / "theirs.safetensors", {"format": "pt"})
    jobs.program("merge", place / "theirs.safetensors", "-o", place / "back.h5")
    jobs.same_bytes(jobs.datasets(place / "back.h5"), raw(tensors), "the package's file as HDF5")
    layout = place / "four" / "layout.json"
    jobs.program("split", "--layout", layout, place / "theirs.safetensors", "-o", place / "split")
    for rank in range(4):
        jobs.same_bytes(jobs.datasets(place / "split" / f"rank_{rank}.h5"),
                        jobs.datasets(place / "four" / f"rank_{rank}.h5"), f"split for rank {rank}")


def small_llama(dtype):
    torch.manual_seed(3)
    config = LlamaConfig(vocab_size=29, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False, dtype=dtype)
    return config, LlamaForCausalLM(config).to(dtype).eval()


def same_when_loaded(config, model, place):
    config.save_pretrained(place)
    loaded, told = AutoModelForCausalLM.from_pretrained(place, output_loading_info=True)
    assert not any(told.values()), told
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.bfloat16}
    tokens = torch.arange(20).reshape(2, 10)
    with torch.no_grad():
        assert torch.equal(loaded.eval()(tokens).logits, model(tokens).logits)
    jobs.same_bytes(raw(loaded.state_dict()), raw(model.state_dict()), "transformers")


def transformers_loads():
    """a bf16 Llama, sharded over four ranks, merged, loaded by from_pretrained: the same logits"""
    config, model = small_llama(torch.bfloat16)
    place = jobs.scratch()
    merged_from_four(model.state_dict(), place)
    same_when_loaded(config, model, place)


def several_files():
    """an f32 Llama, sharded over four ranks, merged as bf16 into several files with an index: as model.bfloat16() is"""
    config, model = small_llama(torch.float32)
    place = jobs.scratch()
    jobs.run_job(4, save_spread, model.state_dict(), place / "four")
    jobs.program("merge", "--layout", place / "four" / "layout.json", "--cast", "bf16", "--shard-size", "3KB",
                 place / "four", "-o", place / "model")
    names = sorted(path.name for path in (place / "model").glob("model-*.safetensors"))
    assert len(names) > 2 and all(f"-of-{len(names):05}." in name for name in names), names
    config.dtype = torch.bfloat16
    same_when_loaded(config, model.bfloat16(), place / "model")




if __name__ == "__main__":
    jobs.main({"dtypes": dtypes, "transformers": transformers_loads, "several files": several_files})
