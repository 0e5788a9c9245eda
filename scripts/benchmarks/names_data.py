"""Checkpoints of a Llama in safetensors, by NumPy alone: a Hugging Face directory, and the layout of its training by Megatron.

  names_data.py model DIRECTORY [--quick]       weights in bfloat16, with config.json
  names_data.py fp8 DIRECTORY [--quick]         the same shapes in fp8, with scales by block of 128 x 128
  names_data.py averaged DIRECTORY [--quick]    0.safetensors to 3.safetensors: bfloat16, steps of one training
  names_data.py same FILE FILE                  the same tensors, but for their order
  names_data.py decoded DIRECTORY FILE          the numbers in bfloat16 of fp8 with its scales
"""
import functools
import json
import pathlib
import sys
import zlib

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

RANKS = 8
# hidden, intermediate, layers, heads, groups, head size, vocabulary: 697 M parameters, 1.4 GB in bfloat16
SIZES = {False: (2048, 5632, 12, 16, 8, 128, 32000), True: (256, 512, 2, 16, 8, 16, 1024)}
BLOCK = 128


def config(quick):
    hidden, wide, layers, heads, groups, head, words = SIZES[quick]
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": hidden,
            "intermediate_size": wide, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": groups,
            "head_dim": head, "vocab_size": words, "tie_word_embeddings": False, "hidden_act": "silu", "rms_norm_eps": 1e-6}


def shapes(quick):
    hidden, wide, layers, heads, groups, head, words = SIZES[quick]
    yield "model.embed_tokens.weight", (words, hidden)
    for layer in range(layers):
        at = f"model.layers.{layer}."
        for name, rows in (("q", heads * head), ("k", groups * head), ("v", groups * head)):
            yield f"{at}self_attn.{name}_proj.weight", (rows, hidden)
        yield f"{at}self_attn.o_proj.weight", (hidden, heads * head)
        for name in ("gate", "up"):
            yield f"{at}mlp.{name}_proj.weight", (wide, hidden)
        yield f"{at}mlp.down_proj.weight", (hidden, wide)
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{at}{name}.weight", (hidden,)
    yield "model.norm.weight", (hidden,)
    yield "lm_head.weight", (words, hidden)


def write(path, tensors):
    """`tensors`: name, dtype, shape, and the bytes when they are asked for."""
    header, at = {}, 0
    for name, dtype, shape, count, _ in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for *_, make in tensors:
            file.write(make())


def bfloat16(values):
    bits = values.view("<u4")
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()


@functools.cache
def pool():
    return np.random.default_rng(7).standard_normal((1 << 22) + 27, "f4") * np.float32(0.02)


def normal(seed, count):
    """From a place of the pool on, again and again: to make all of them takes minutes."""
    return np.resize(np.roll(pool(), seed * 7919 % pool().size), count)


def weights(name, shape, step):
    """Norms lie around 1; a step moves each weight by a tenth of its spread."""
    seed, count = zlib.crc32(name.encode()), int(np.prod(shape))
    made = normal(seed, count)
    if step:
        made = made + normal(seed + step, count) / np.float32(10)
    return made + np.float32(1) if len(shape) == 1 else made


def model(path, quick, step=0):
    """Of a step, less than half of the layers."""
    taken = [(name, shape) for name, shape in shapes(quick) if not step or not name.startswith("model.layers.") or int(name.split(".")[2]) < 4]
    write(path, [(name, "BF16", shape, 2 * int(np.prod(shape)), lambda n=name, s=shape: bfloat16(weights(n, s, step))) for name, shape in taken])


def fp8(path, quick):
    """Codes of either sign but those of NaN."""
    tensors = []
    for number, (name, shape) in enumerate(shapes(quick)):
        random = np.random.default_rng(number)  # of its codes, some again and again
        if len(shape) == 1 or "layers" not in name:
            tensors.append((name, "BF16", shape, 2 * int(np.prod(shape)), lambda n=name, s=shape: bfloat16(weights(n, s, 0))))
            continue
        blocks = tuple(-(-size // BLOCK) for size in shape)
        tensors.append((name, "F8_E4M3", shape, int(np.prod(shape)),
                        lambda r=random, s=shape: np.resize(r.integers(0, 126, 99991, "u1") | r.integers(0, 2, 99991, "u1") << 7, s).tobytes()))
        tensors.append((name + "_scale_inv", "F32", blocks, 4 * int(np.prod(blocks)),
                        lambda r=random, s=blocks: (r.random(s, "f4") / 1000 + np.float32(1e-4)).tobytes()))
    write(path, tensors)


def megatron(files, quick):
    """How Megatron cuts such a model over RANKS tensor-parallel ranks."""
    padded = {"pad": {"0": {"size": SIZES[quick][-1]}}}
    rules = [("*word_embeddings.weight", 0, padded), ("output_layer.weight", 0, padded), ("*linear_qkv.weight", 0, {}),
             ("*linear_proj.weight", 1, {}), ("*linear_fc1.weight", 0, {"parts": {"dim": 0, "count": 2}}), ("*linear_fc2.weight", 1, {})]
    return {"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [RANKS]}, "files": files, "names": "llama.megatron", "default": "replicate",
            "parameters": [{"name": name, "split": [None] * dim + ["tp"], **more} for name, dim, more in rules]}


def tensors(path):
    data = np.memmap(path, "u1", "r")
    size = int(data[:8].view("<u8")[0])
    header = json.loads(bytes(data[8:8 + size]))
    header.pop("__metadata__", None)
    return {name: (said["dtype"], said["shape"], data[slice(*(8 + size + at for at in said["data_offsets"]))]) for name, said in header.items()}


def same(a, b):
    a, b = tensors(a), tensors(b)
    if a.keys() != b.keys():
        sys.exit(f"names_data: other names: {sorted(a.keys() ^ b.keys())[:4]}")
    for name, (dtype, shape, data) in a.items():
        if (dtype, shape) != b[name][:2] or not np.array_equal(data, b[name][2]):
            sys.exit(f"names_data: {name} differs")


def decoded(stored, numbers):
    """In float32, by the definition of E4M3."""
    codes, numbers = tensors(pathlib.Path(stored) / "model.safetensors"), tensors(numbers)
    code = np.arange(256)
    exponent, digits = code >> 3 & 15, code & 7
    values = np.where(exponent == 0, digits * 2.0**-9, (8 + digits) * 2.0**(exponent - 10)) * np.where(code < 128, 1, -1)
    for name, (dtype, shape, data) in numbers.items():
        scales = codes[name + "_scale_inv"][2].view("<f4").reshape([-(-size // BLOCK) for size in shape])
        scales = scales.repeat(BLOCK, 0)[:shape[0]].repeat(BLOCK, 1)[:, :shape[1]]
        if dtype != "BF16" or bfloat16(values.astype("f4")[codes[name][2]].reshape(shape) * scales) != data.tobytes():
            sys.exit(f"names_data: {name} differs")


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    quick, (what, *paths) = len(words) + 1 < len(sys.argv), words
    if what in ("same", "decoded"):
        return {"same": same, "decoded": decoded}[what](*paths)
    directory = pathlib.Path(paths[0])
    directory.mkdir()
    if what == "averaged":
        for step in range(4):
            model(directory / f"{step}.safetensors", quick, step + 1)
        return None
    scales = {"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [BLOCK, BLOCK]}}
    (directory / "config.json").write_text(json.dumps({**config(quick), **(scales if what == "fp8" else {})}))
    return {"model": model, "fp8": fp8}[what](directory / "model.safetensors", quick)


if __name__ == "__main__":
    main()
