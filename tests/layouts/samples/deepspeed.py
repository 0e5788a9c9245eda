"""DeepSpeed's ZeRO. Stages 1 and 2 lay a parameter group end to end, pad it to 2 x dp elements and cut it; what is saved of the fp32
weights is without the padding, of the moments with it. Stage 3 flattens, pads and cuts each parameter by itself, and lays a rank's
pieces of all of them end to end."""
import numpy as np

from common import rows, tensor, up_to_multiple

SCALARS = {"step": np.asarray(np.int32(9)), "loss_scale": np.asarray(np.float32(65536))}
STORED = {"fp32": "single_partition_of_fp32_groups", "exp_avg": "optimizer_state.exp_avg",
          "exp_avg_sq": "optimizer_state.exp_avg_sq"}


def padded(flat, multiple, padding):
    return np.concatenate([flat, np.full(up_to_multiple(flat.size, multiple) - flat.size, padding, flat.dtype)])


def partition(flat, state, dp, data, padding):
    """A rank's piece of a group, as stages 1 and 2 save it."""
    piece = rows(padded(flat, 2 * dp, padding), dp, data)
    is_last = data == dp - 1
    return piece[:piece.size - (-flat.size) % (2 * dp)] if state == "fp32" and is_last else piece


def states_of(name, shape):
    """A parameter's master copy and moments, and what the model itself computes with."""
    held = {f"{state}.{name}": tensor(f"{state}.{name}", shape) for state in STORED}
    held[f"module.{name}"] = held[f"fp32.{name}"].astype(np.float16)
    return held


GROUP = {"wte.weight": (101, 8), "h.0.ln.weight": (8,), "h.0.attn.weight": (24, 8), "h.0.mlp.weight": (29, 8),
         "ln_f.weight": (8,), "temperature": (3,)}


def zero1_logical():
    held = dict(SCALARS)
    for name, shape in GROUP.items():
        held.update(states_of(name, shape))
    return held


def zero1_cards(dp=4, source=False):
    full = zero1_logical()
    files = {}
    for data in range(dp):
        held = {name: array for name, array in full.items() if name.startswith("module.") or name in SCALARS}
        for state, stored in STORED.items():
            flat = np.concatenate([full[f"{state}.{name}"].reshape(-1) for name in GROUP])
            held[stored + ".0"] = partition(flat, state, dp, data, 7 if source else 0)
        files[f"zero_pp_rank_{data}_mp_rank_00.h5"] = held
    return files


def qkv(full, tp, rank):
    return np.concatenate([rows(part, tp, rank) for part in np.split(full, 3)])


def columns(full, tp, rank):
    return rows(full, tp, rank, dim=1)


def whole(full, tp, rank):
    del tp, rank
    return full


ZERO2_GROUPS = [
    {"wte.weight": ((104, 8), rows), "h.0.attn.qkv.weight": ((24, 8), qkv), "h.0.attn.dense.weight": ((8, 8), columns),
     "h.0.mlp.up.weight": ((32, 8), rows), "h.0.mlp.down.weight": ((8, 32), columns), "temperature": ((3,), whole)},
    {"h.0.ln.weight": ((8,), whole), "h.0.attn.qkv.bias": ((24,), qkv), "ln_f.weight": ((7,), whole)},
]


def zero2_logical():
    held = dict(SCALARS)
    for group in ZERO2_GROUPS:
        for name, (shape, _) in group.items():
            held.update(states_of(name, shape))
    return held


def zero2_card(full, dp, data, tp, rank, padding):
    held = dict(SCALARS)
    for number, group in enumerate(ZERO2_GROUPS):
        for name, (_, cut) in group.items():
            held[f"module.{name}"] = cut(full[f"module.{name}"], tp, rank)
        for state, stored in STORED.items():
            pieces = [cut(full[f"{state}.{name}"], tp, rank).reshape(-1) for name, (_, cut) in group.items()]
            held[f"{stored}.{number}"] = partition(np.concatenate(pieces), state, dp, data, padding)
    return held


def zero2_cards(dp=4, tp=2, source=False):
    full = zero2_logical()
    return {f"zero_pp_rank_{data}_mp_rank_{rank:02}.h5": zero2_card(full, dp, data, tp, rank, 7 if source else 0)
            for data in range(dp) for rank in range(tp)}


ZERO3_STORED = {**STORED, "fp32": "fp32_flat_groups"}


def zero3_shapes():
    shapes = {"wte.weight": (101, 8)}
    for i in range(2):
        shapes.update({f"layers.{i}.norm.weight": (8,), f"layers.{i}.attn.qkv.weight": (24, 8),
                       f"layers.{i}.attn.qkv.bias": (24,), f"layers.{i}.mlp.up.weight": (30, 8),
                       f"layers.{i}.mlp.down.weight": (8, 30)})
    shapes.update({"norm.weight": (8,), "temperature": (3,)})
    return shapes


def zero3_logical():
    held = {"step": SCALARS["step"]}
    for name, shape in zero3_shapes().items():
        held.update({f"{state}.{name}": tensor(f"{state}.{name}", shape) for state in ZERO3_STORED})
    return held


def zero3_cards(dp=4, source=False):
    full = zero3_logical()
    files = {}
    for data in range(dp):
        held = {"step": full["step"]}
        for state, stored in ZERO3_STORED.items():
            held[stored + ".0"] = np.concatenate(
                [rows(padded(full[f"{state}.{name}"].reshape(-1), dp, 7 if source else 0), dp, data)
                 for name in zero3_shapes()])
        files[f"zero_pp_rank_{data}_mp_rank_00.h5"] = held
    return files
