"""Megatron's GPT: layers numbered within their stage, QKV fused for each query group, gate over up, padded words."""
import numpy as np

from common import rows, tensor

VOCABULARY, LAYERS, HIDDEN, INNER = 50257, 8, 8, 24
HEADS, GROUPS, HEAD_DIM = 16, 4, 2
STATES = {"": np.float16, "optimizer.fp32.": np.float32, "optimizer.exp_avg.": np.float32,
          "optimizer.exp_avg_sq.": np.float32}


def content(state, name, shape, dtype):
    """The model's own copy of a weight is its master copy, rounded."""
    return tensor((state or "optimizer.fp32.") + name, shape, np.float32).astype(dtype)


def fused_qkv(state, layer, dtype, width, tp, rank):
    """A rank's rows: for each of its query groups the queries, then the one key and the one value."""
    shape = (HEAD_DIM,) + width
    queries = content(state, f"{layer}.q", (HEADS,) + shape, dtype)
    keys = content(state, f"{layer}.k", (GROUPS,) + shape, dtype)
    values = content(state, f"{layer}.v", (GROUPS,) + shape, dtype)
    pieces = []
    for group in range(rank * GROUPS // tp, (rank + 1) * GROUPS // tp):
        pieces += list(queries[group * HEADS // GROUPS:(group + 1) * HEADS // GROUPS])
        pieces += [keys[group], values[group]]
    return np.concatenate(pieces)


def padded_vocabulary(tp):
    size = VOCABULARY
    while size % (128 * tp) != 0:
        size += 1
    return size


def vocabulary_rows(state, name, dtype, tp, rank, garbage):
    full = content(state, name, (VOCABULARY, HIDDEN), dtype)
    if tp is None:
        return full
    padding = np.full((padded_vocabulary(tp) - VOCABULARY, HIDDEN), 7 if garbage else 0, dtype)
    return rows(np.concatenate([full, padding]), tp, rank)


def transformer_layer(state, dtype, layer, number, tp, rank):
    def full(name, *shape):
        return content(state, f"{layer}.{name}", shape, dtype)
    gate, up = full("gate", INNER, HIDDEN), full("up", INNER, HIDDEN)
    held = {
        "input_layernorm.weight": full("norm", HIDDEN),
        "self_attention.linear_qkv.weight": fused_qkv(state, layer, dtype, (HIDDEN,), tp, rank),
        "self_attention.linear_qkv.bias": fused_qkv(state, f"{layer}.bias", dtype, (), tp, rank),
        "self_attention.linear_proj.weight": rows(full("proj", HIDDEN, HEADS * HEAD_DIM), tp, rank, dim=1),
        "self_attention.linear_proj.bias": full("proj.bias", HIDDEN),
        "pre_mlp_layernorm.weight": full("norm2", HIDDEN),
        "mlp.linear_fc1.weight": np.concatenate([rows(gate, tp, rank), rows(up, tp, rank)]),
        "mlp.linear_fc2.weight": rows(full("fc2", HIDDEN, INNER), tp, rank, dim=1),
        "mlp.linear_fc2.bias": full("fc2.bias", HIDDEN),
    }
    return {f"{state}decoder.layers.{number}.{name}": array for name, array in held.items()}


def stage_layers(stage, stages, chunks):
    per_chunk = LAYERS // (stages * chunks)
    return [chunk * (LAYERS // chunks) + stage * per_chunk + i for chunk in range(chunks) for i in range(per_chunk)]


def first_stage(state, dtype, tp, rank, garbage):
    return {
        f"{state}embedding.word_embeddings.weight": vocabulary_rows(state, "embedding", dtype, tp, rank, garbage),
        f"{state}embedding.position_embeddings.weight": content(state, "positions", (32, HIDDEN), dtype),
    }


def last_stage(state, dtype, tp, rank, garbage):
    return {
        f"{state}decoder.final_layernorm.weight": content(state, "final", (HIDDEN,), dtype),
        f"{state}output_layer.weight": vocabulary_rows(state, "output", dtype, tp, rank, garbage),
    }


def logical():
    held = {"rng_state": tensor("rng 0", (16,), np.uint8), "iteration": np.asarray(np.int64(5000))}
    for state, dtype in STATES.items():
        held.update(first_stage(state, dtype, None, 0, False))
        held.update(last_stage(state, dtype, None, 0, False))
        for layer in range(LAYERS):
            held.update(transformer_layer(state, dtype, layer, layer, 1, 0))
    return held


def cards(pp=4, dp=2, tp=2, chunks=2, source=False):
    files = {}
    for card in range(pp * dp * tp):
        stage, rank = card // (dp * tp), card % tp
        held = {"rng_state": tensor(f"rng {card if source else 0}", (16,), np.uint8),
                "iteration": np.asarray(np.int64(5000))}
        for state, dtype in STATES.items():
            if stage == 0:
                held.update(first_stage(state, dtype, tp, rank, source))
            if stage == pp - 1:
                held.update(last_stage(state, dtype, tp, rank, source))
            for number, layer in enumerate(stage_layers(stage, pp, chunks)):
                held.update(transformer_layer(state, dtype, layer, number, tp, rank))
        files[f"rank_{card:03}.h5"] = held
    return files
