"""Maps of names against forward passes written from the public definitions: Meta's Llama, with pairs turned as complex numbers, MaxText's, with its
kernels of several dimensions, and GPT-NeoX and BLOOM under Megatron's names, with a head's query, key and value side by side, give the logits of
transformers' model; and transformers' names in memory are those that its own save_pretrained turns into files.
"""
import math
import sys

import jobs
import numpy as np
import torch
import transformers

sys.path.insert(0, str(jobs.ROOT / "tests" / "names"))
import model as naive  # noqa: E402

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
LAYERS, HIDDEN, HEADS, GROUPS, HEAD, INNER, VOCABULARY, LENGTH, BASE, EPS = 2, 18, 6, 2, 4, 10, 17, 7, 10000.0, 1e-6
LLAMA = {"num_hidden_layers": LAYERS, "hidden_size": HIDDEN, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": HEAD,
         "intermediate_size": INNER, "vocab_size": VOCABULARY, "tie_word_embeddings": False}
EXPERTS = {"num_hidden_layers": LAYERS, "hidden_size": 24, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 20,
           "vocab_size": VOCABULARY, "moe_intermediate_size": 8, "tie_word_embeddings": False}
TOKENS = np.arange(LENGTH) * 5 % VOCABULARY


def save_small(name, place, more):
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(name, **more)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.normal_(1.0 if tensor.ndim == 1 else 0.0, 0.3)
    model.save_pretrained(place)
    return model


def norm(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def angles():
    return np.outer(np.arange(LENGTH), BASE ** (-np.arange(0, HEAD, 2) / HEAD))


def in_pairs(x):
    """[length, heads, head]: neighbours turned as complex numbers, as Meta's apply_rotary_emb does."""
    turned = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angles())[:, None, :]
    return np.stack([turned.real, turned.imag], -1).reshape(x.shape)


def in_halves(x):
    """The first half of a head against the second, as MaxText's RotaryEmbedding does."""
    first, second = np.split(x, 2, -1)
    sine, cosine = np.sin(angles())[:, None, :], np.cos(angles())[:, None, :]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


def attention(query, key, value, scale):
    """[length, heads or groups, head], causal; each group serves its neighbouring heads."""
    key, value = (np.repeat(x, HEADS // GROUPS, 1) for x in (key, value))
    scores = np.einsum("qhd,khd->hqk", query, key) * scale + np.triu(np.full((LENGTH, LENGTH), -np.inf), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), value)


def logits_of_meta(w):
    x = w["tok_embeddings.weight"][TOKENS]
    for layer in range(LAYERS):
        p = f"layers.{layer}."
        y = norm(x, w[p + "attention_norm.weight"])
        query, key, value = ((y @ w[f"{p}attention.w{c}.weight"].T).reshape(LENGTH, -1, HEAD) for c in "qkv")
        x = x + attention(in_pairs(query), in_pairs(key), value, HEAD ** -0.5).reshape(LENGTH, -1) @ w[p + "attention.wo.weight"].T
        y = norm(x, w[p + "ffn_norm.weight"])
        x = x + (silu(y @ w[p + "feed_forward.w1.weight"].T) * (y @ w[p + "feed_forward.w3.weight"].T)) @ w[p + "feed_forward.w2.weight"].T
    return norm(x, w["norm.weight"]) @ w["output.weight"].T


def logits_of_maxtext(w, rope, scale):
    """Its kernels are multiplied along their first dimension, or all but the last; the second is the layer's."""
    x = w["params-token_embedder-embedding"][TOKENS]
    p = "params-decoder-layers-"
    for layer in range(LAYERS):
        y = norm(x, w[p + "pre_self_attention_layer_norm-scale"][:, layer])
        query, key, value = (np.einsum("lm,mhd->lhd", y, w[f"{p}self_attention-{word}-kernel"][:, layer]) for word in ("query", "key", "value"))
        x = x + np.einsum("lhd,hdm->lm", attention(rope(query), rope(key), value, scale), w[p + "self_attention-out-kernel"][:, layer])
        y = norm(x, w[p + "post_self_attention_layer_norm-scale"][:, layer])
        gate, up, down = (w[f"{p}mlp-{word}-kernel"][:, layer] for word in ("wi_0", "wi_1", "wo"))
        x = x + (silu(y @ gate) * (y @ up)) @ down
    return norm(x, w["params-decoder-decoder_norm-scale"]) @ w["params-decoder-logits_dense-kernel"]


def layer_norm(x, w, name):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w[name + "weight"] + w[name + "bias"]


def linear(x, w, name):
    return x @ w[name + "weight"].T + w[name + "bias"]


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def gelu_by_tanh(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) / 2


def of_heads(x, w, layer, heads, turn, bias):
    """Megatron's attention without groups: each head's query, key and value lie side by side in linear_qkv."""
    p = f"decoder.layers.{layer}.self_attention."
    query, key, value = np.moveaxis(linear(layer_norm(x, w, p + "linear_qkv.layer_norm_"), w, p + "linear_qkv.").reshape(LENGTH, heads, 3, -1), 2, 0)
    scores = np.einsum("qhd,khd->hqk", turn(query), turn(key)) * value.shape[-1] ** -0.5 + bias + np.triu(np.full((LENGTH, LENGTH), -np.inf), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return linear(np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), value).reshape(LENGTH, -1), w, p + "linear_proj.")


def of_mlp(x, w, layer, activation):
    p = f"decoder.layers.{layer}.mlp.linear_"
    return linear(activation(linear(layer_norm(x, w, p + "fc1.layer_norm_"), w, p + "fc1.")), w, p + "fc2.")


def logits_of_neox(w):
    """Attention and MLP side by side; half of each head is turned, its first half against its second."""
    def turn(x):
        turned, rest = np.split(x, 2, -1)
        first, second = np.split(turned, 2, -1)
        angle = np.outer(np.arange(LENGTH), BASE ** (-np.arange(0, turned.shape[-1], 2) / turned.shape[-1]))[:, None, :]
        return np.concatenate([first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle), rest], -1)
    x = w["embedding.word_embeddings.weight"][TOKENS]
    for layer in range(LAYERS):
        x = x + of_heads(x, w, layer, 3, turn, 0) + of_mlp(x, w, layer, gelu)
    return layer_norm(x, w, "decoder.final_layernorm.") @ w["output_layer.weight"].T


def logits_of_bloom(w):
    """Scores fall with the distance, by a slope for each head; the embedding is normalised, and is the output's, too."""
    slopes = 2.0 ** (-8 / 4 * np.arange(1, 5))[:, None, None] * np.arange(LENGTH)
    x = layer_norm(w["embedding.word_embeddings.weight"][TOKENS], w, "embedding.word_embeddings.norm.")
    for layer in range(LAYERS):
        x = x + of_heads(x, w, layer, 4, lambda each: each, slopes)
        x = x + of_mlp(x, w, layer, gelu_by_tanh)
    return layer_norm(x, w, "decoder.final_layernorm.") @ w["embedding.word_embeddings.weight"].T


def by_program(map_name, side, source, expected, place):
    """ckpt-merge makes the same as the naive model of tensors in one file beside the model's config.json."""
    here = jobs.scratch()
    naive.write_safetensors(here / "model.safetensors", source)
    naive.write_safetensors(here / "like.safetensors", expected)
    (here / "config.json").write_text((place / "config.json").read_text())
    out = jobs.scratch() / "out.safetensors"
    jobs.program("merge", "--allow-arithmetic", "--names", f"{map_name}#{side}", "--expect", here / "like.safetensors", here / "model.safetensors", "-o", out)
    jobs.same_bytes(naive.read_safetensors(out), expected, f"ckpt-merge --names {map_name}#{side}")


def same_logits(map_name, logits, family="llama", config=None):
    place = jobs.scratch()
    hf = save_small(family, place, config or LLAMA)
    files, config, ready = naive.read_safetensors(place / "model.safetensors"), naive.read_json(place / "config.json"), naive.ready_map(map_name)
    made = naive.convert(ready, config, "hf", files, arithmetic=True)
    found = logits({name: value.astype(np.float64) for name, value in made.items()})
    with torch.no_grad():
        expected = hf(torch.from_numpy(TOKENS)[None]).logits[0].numpy()
    apart = np.abs(found - expected).max()
    assert expected.std() > 0.05 and apart < 1e-4 * np.abs(expected).max(), f"{map_name}: logits differ by {apart} of {np.abs(expected).max()}"
    by_program(map_name, "hf", files, made, place)
    back = naive.convert(ready, config, ready["sides"][0], made, naive.shapes_of(files), arithmetic=True)
    by_program(map_name, ready["sides"][0], made, back, place)
    print(f"  {map_name}: {len(made)} tensors, logits apart by {apart:.1e} of {np.abs(expected).max():.1f}")


def meta():
    """Meta's Llama"""
    same_logits("meta", logits_of_meta)


def maxtext():
    """MaxText's Llama: pairs or halves, the query divided by the root of the head's size or not"""
    same_logits("maxtext", lambda w: logits_of_maxtext(w, in_pairs, HEAD ** -0.5))
    same_logits("maxtext_scaled", lambda w: logits_of_maxtext(w, in_pairs, 1.0))
    same_logits("maxtext_halves", lambda w: logits_of_maxtext(w, in_halves, 1.0))


def side_by_side():
    """GPT-NeoX and BLOOM under Megatron's names"""
    same_logits("gpt_neox", logits_of_neox, "gpt_neox",
                {"num_hidden_layers": LAYERS, "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": INNER, "vocab_size": VOCABULARY,
                 "rope_parameters": {"rope_type": "default", "rope_theta": BASE, "partial_rotary_factor": 0.5}, "tie_word_embeddings": False})
    same_logits("bloom", logits_of_bloom, "bloom", {"n_layer": LAYERS, "hidden_size": 12, "n_head": 4, "vocab_size": VOCABULARY})


def in_memory():
    """transformers' names in memory, and those of its files"""
    mla = {"num_key_value_heads": 6, "n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1, "q_lora_rank": 5, "kv_lora_rank": 7,
           "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 3, "head_dim": 2}
    linear = {"linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 3, "linear_value_head_dim": 5, "num_hidden_layers": 4,
              "shared_expert_intermediate_size": 10, "num_experts": 4}
    for name, map_name, more in (("qwen3_moe", "hf_memory", {"num_experts": 4, "mlp_only_layers": [0]}), ("deepseek_v3", "hf_memory", mla),
                                 ("qwen3_next", "hf_memory", linear), ("mixtral", "hf_memory_mixtral", {"num_local_experts": 4})):
        place = jobs.scratch()
        model = save_small(name, place, {**EXPERTS, **more})
        memory = {key: value.numpy() for key, value in model.state_dict().items()}
        files, config, ready = naive.read_safetensors(place / "model.safetensors"), naive.read_json(place / "config.json"), naive.ready_map(map_name)
        assert memory.keys() != files.keys(), name
        jobs.same_bytes(naive.convert(ready, config, "hf-memory", memory, naive.shapes_of(files)), files, f"{name}: memory to files")
        jobs.same_bytes(naive.convert(ready, config, "hf", files, naive.shapes_of(memory)), memory, f"{name}: files to memory")
        by_program(map_name, "hf-memory", memory, files, place)
        by_program(map_name, "hf", files, memory, place)


if __name__ == "__main__":
    jobs.main({"meta": meta, "maxtext": maxtext, "side_by_side": side_by_side, "in_memory": in_memory})
