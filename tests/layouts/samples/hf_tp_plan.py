"""Hugging Face's tensor parallelism (`from_pretrained(tp_plan="auto")`), a LLaMA's plan: "colwise" cuts the rows of a weight and its
bias, "rowwise" the columns of a weight, each in pieces of ceil(n / tp); everything else is whole on every card."""
import numpy as np

from common import chunk, tensor

HIDDEN, HEADS, KEY_HEADS, HEAD_DIM, INNER, VOCABULARY, LAYERS = 16, 8, 4, 4, 22, 50, 2
COLWISE, ROWWISE, WHOLE = "colwise", "rowwise", "whole"


def plan():
    """Each parameter's shape and style."""
    held = {"model.embed_tokens.weight": ((VOCABULARY, HIDDEN), WHOLE), "model.norm.weight": ((HIDDEN,), WHOLE),
            "lm_head.weight": ((VOCABULARY, HIDDEN), COLWISE)}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        for part, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS)):
            held[f"{name}self_attn.{part}_proj.weight"] = ((heads * HEAD_DIM, HIDDEN), COLWISE)
            held[f"{name}self_attn.{part}_proj.bias"] = ((heads * HEAD_DIM,), COLWISE)
        held.update({name + "self_attn.o_proj.weight": ((HIDDEN, HEADS * HEAD_DIM), ROWWISE),
                     name + "mlp.gate_proj.weight": ((INNER, HIDDEN), COLWISE),
                     name + "mlp.up_proj.weight": ((INNER, HIDDEN), COLWISE),
                     name + "mlp.down_proj.weight": ((HIDDEN, INNER), ROWWISE),
                     name + "input_layernorm.weight": ((HIDDEN,), WHOLE),
                     name + "post_attention_layernorm.weight": ((HIDDEN,), WHOLE)})
    return held


STATES = {"": np.float16, "exp_avg.": np.float32, "exp_avg_sq.": np.float32}


def logical():
    held = {"step": np.asarray(np.int64(100))}
    for state, dtype in STATES.items():
        held.update({state + name: tensor(state + name, shape, dtype) for name, (shape, _) in plan().items()})
    return held


def cards(tp=4, source=False):
    del source
    full = logical()
    files = {}
    for rank in range(tp):
        held = {"step": full["step"]}
        for state in STATES:
            for name, (_, style) in plan().items():
                array = full[state + name]
                held[state + name] = array if style == WHOLE else chunk(array, tp, dim=int(style == ROWWISE))[rank]
        files[f"rank_{rank}.h5"] = held
    return files
