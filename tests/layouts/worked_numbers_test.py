#!/usr/bin/python3
"""The worked examples of the layout language, by their own numbers: a file is split, each card compared with what is
written here, and the cards are merged, or resharded and merged, to the file again.

    worked_numbers_test.py --bin DIR [--only NAME]
"""
import argparse
import sys

import numpy as np

import harness
from harness import Failure

import common


def mesh(**axes):
    return {"axes": list(axes), "shape": list(axes.values())}


def layout(mesh_of, *rules, **keys):
    keys.setdefault("default", "replicate")
    return {"ckpt_layout": 1, "mesh": mesh_of, "parameters": list(rules), **keys}


def counting(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def cards(*datasets):
    return {f"rank_{card}.h5": held for card, held in enumerate(datasets)}


def numbers(*values):
    return np.array(values, dtype=np.float32)


def round_trip(full, one, expected, *others):
    """full -> cards in layout `one`, which must be as expected -> merged, and -> cards in each other layout -> merged.
    others: (layout, what the cards must hold)."""

    def check(workplace):
        split = workplace.split(workplace.whole(full), one)
        workplace.expect_cards("split", split, expected)
        workplace.expect_file("split and merged", workplace.merge(split, one), full)
        for other, held in others:
            resharded = workplace.reshard(split, one, other)
            workplace.expect_cards(f"resharded to {other['mesh']}", resharded, held)
            workplace.expect_file(f"resharded to {other['mesh']}, merged", workplace.merge(resharded, other), full)

    return check


def lengths(rule, mesh_of, size, expected, **keys):
    """A 1-D parameter w of `size` elements: the cards hold this many of it, one after the other from the first."""
    full = {"w": counting(size)}
    ends = np.cumsum(expected)
    held = [{"w": full["w"][end - length:end]} for end, length in zip(ends, expected)]
    return round_trip(full, layout(mesh_of, {"name": "w", **rule}, **keys), cards(*held))


def second_tutorial():
    """The tutorial's worked example: phase one has [2, 8] on each of 4 cards, phase two [4, 8] on each of 2."""
    full = {"model_parallel_weight": counting(8, 8), "moments.model_parallel_weight": counting(8, 8) / 1000,
            "learning_rate": numbers(0.01), "momentum": numbers(0.9)}

    def on(count):
        rules = [{"name": "moments.{param}", "like": "{param}"}, {"name": "model_parallel_weight", "split": ["card"]}]
        held = [{name: np.split(array, count)[card] if array.ndim == 2 else array for name, array in full.items()}
                for card in range(count)]
        return layout(mesh(card=count), *rules), cards(*held)

    return round_trip(full, *on(4), on(2))


def vocabulary():
    """50257 rows padded to a multiple of 128 for each of 8 cards: 6400 each, 51200 stored; merged, the first 50257."""
    full = {"embedding": counting(50257, 2)}
    rule = {"name": "embedding", "split": ["tp"], "pad": {"0": {"size": 50257, "multiple_of": 128}}}
    stored = np.concatenate([full["embedding"], np.zeros((943, 2), np.float32)])
    assert len(stored) == 8 * 6400
    held = [{"embedding": stored[card * 6400:(card + 1) * 6400]} for card in range(8)]
    # Three cards: ceil(50257 / 384) x 128 = 16768 rows each.
    wider = np.concatenate([full["embedding"], np.zeros((3 * 16768 - 50257, 2), np.float32)])
    of_three = [{"embedding": wider[card * 16768:(card + 1) * 16768]} for card in range(3)]
    return round_trip(full, layout(mesh(tp=8), rule), cards(*held), (layout(mesh(tp=3), rule), cards(*of_three)))


def pad_edge():
    full = {"w": numbers(1, 2, 3, 4, 5)}
    rule = {"name": "w", "split": ["tp"], "pad": {"0": {"size": 5, "multiple_of": 1, "fill": "edge"}}}
    held = [{"w": numbers(1, 2)}, {"w": numbers(3, 4)}, {"w": numbers(5, 5)}]
    return round_trip(full, layout(mesh(tp=3), rule), cards(*held))


def pipeline():
    """8 layers on 4 stages of 2 virtual chunks -> 2 stages -> 1; a layer's tensor holds its own number."""
    def weight(layer):
        return np.full((2, 3), layer, np.float32)

    def on(stages, virtual, blocks):
        index = {"in": "layers.{i}.w", "axis": "pp", "total": 8, "numbering": "local", "virtual": virtual}
        held = [{f"layers.{local}.w": weight(layer) for local, layer in enumerate(block)} for block in blocks]
        return layout(mesh(pp=stages), indices=[index]), cards(*held)

    full = {f"layers.{layer}.w": weight(layer) for layer in range(8)}
    return round_trip(full, *on(4, 2, [(0, 4), (1, 5), (2, 6), (3, 7)]), on(2, 1, [(0, 1, 2, 3), (4, 5, 6, 7)]),
                      on(2, 2, [(0, 1, 4, 5), (2, 3, 6, 7)]), on(1, 1, [range(8)]))


def uneven_stages():
    """counts [3, 1, 4]; with global numbering the names stay as they are."""
    full = {f"layers.{layer}.w": numbers(layer) for layer in range(8)}
    blocks = [(0, 1, 2), (3,), (4, 5, 6, 7)]

    def on(numbering):
        index = {"in": "layers.{i}.w", "axis": "pp", "total": 8, "numbering": numbering, "counts": [3, 1, 4]}
        held = [{f"layers.{layer if numbering == 'global' else local}.w": numbers(layer)
                 for local, layer in enumerate(block)} for block in blocks]
        return layout(mesh(pp=3), indices=[index]), cards(*held)

    return round_trip(full, *on("global"), on("local"))


def bucket(dp, members, **keys):
    return layout(mesh(dp=dp), buckets=[{"name": "flat", "axis": "dp", "members": members, **keys}])


def small_bucket():
    """a5 b7 c2 on 4 cards: a0-3 | a4 b0-2 | b3-6 | c0 c1 0 0; on 3: a0-4 | b0-4 | b5 b6 c0 c1 0."""
    full = {"a": numbers(*range(10, 15)), "b": numbers(*range(20, 27)), "c": numbers(30, 31)}
    members = [{"name": "a", "shape": [5]}, {"name": "b", "shape": [7]}, {"name": "c", "shape": [2]}]
    four = cards({"flat": numbers(10, 11, 12, 13)}, {"flat": numbers(14, 20, 21, 22)},
                 {"flat": numbers(23, 24, 25, 26)}, {"flat": numbers(30, 31, 0, 0)})
    three = cards({"flat": numbers(10, 11, 12, 13, 14)}, {"flat": numbers(20, 21, 22, 23, 24)},
                  {"flat": numbers(25, 26, 30, 31, 0)})
    return round_trip(full, bucket(4, members), four, (bucket(3, members), three))


def aligned_bucket():
    """w2 [70], b1 [10], w1 [100] with align 64 and multiple_of 128 on dp 3: at 0, 128 and 192, 384 in all."""
    full = {"w2": counting(70) + 1000, "b1": counting(10) + 2000, "w1": counting(100) + 3000}
    stored = np.zeros(384, np.float32)
    stored[0:70], stored[128:138], stored[192:292] = full["w2"], full["b1"], full["w1"]
    members = [{"name": name, "shape": [len(array)]} for name, array in full.items()]
    return round_trip(full, bucket(3, members, align=64, multiple_of=128),
                      cards(*({"flat": piece} for piece in np.split(stored, 3))))


def two_axes():
    """[["tp", "dp"]] on dp 2 x tp 2: cards 0..3 are (dp, tp) = 00 01 10 11 and hold rows 0-1, 4-5, 2-3, 6-7."""
    full = {"w": counting(8, 3)}
    held = [{"w": full["w"][first:first + 2]} for first in (0, 4, 2, 6)]
    return round_trip(full, layout(mesh(dp=2, tp=2), {"name": "w", "split": [["tp", "dp"]]}), cards(*held))


def ceil_of_ceil():
    """4096 rows by tp 8, then by dp 30 with ceil: of each 512, 28 ranks hold 18, one 8, the last none."""
    full = {"w": counting(4096, 2)}
    held = []
    for dp in range(30):
        for tp in range(8):
            piece = full["w"][512 * tp:512 * (tp + 1)][18 * dp:18 * (dp + 1)]
            assert len(piece) == (18 if dp < 28 else 8 if dp == 28 else 0)
            held.append({"w": piece})
    rule = {"name": "w", "split": [["tp", "dp"]], "uneven": "ceil"}
    whole = layout(mesh(card=4), {"name": "w", "split": ["card"]})
    return round_trip(full, layout(mesh(dp=30, tp=8), rule), cards(*held),
                      (whole, cards(*({"w": piece} for piece in np.split(full["w"], 4)))))


def padding_goes(rule, merged_size, stored):
    """3584 over 24 cards of 150 each, 3600 stored; what was padding must not come back as data."""
    full = {"w": counting(merged_size)}
    padded = np.concatenate([full["w"], np.full(stored - merged_size, 7, np.float32)])

    def check(workplace):
        source = workplace.sample(cards(*({"w": piece} for piece in np.split(padded, 24))))
        of_24 = layout(mesh(dp=24), {"name": "w", **rule})
        workplace.expect_file("merged", workplace.merge(source, of_24), full)
        back = workplace.reshard(source, of_24, layout(mesh(dp=16), {"name": "w", "split": ["dp"]}))
        workplace.expect_cards("on 16", back, cards(*({"w": piece} for piece in np.split(full["w"], 16))))

    return check


def replicated_stays():
    """A replicated buffer of one element stays one element, a 0-d one stays 0-d, whatever the cards."""
    full = {"scale": numbers(3), "step": np.asarray(np.int64(5)), "on": np.asarray(True)}
    return round_trip(full, layout(mesh(dp=8)), cards(*([full] * 8)), (layout(mesh(dp=3)), cards(*([full] * 3))))


def missing_shard(workplace):
    """A missing last shard is an error that names it, never a shorter tensor."""
    of_four = layout(mesh(dp=4), {"name": "w", "split": ["dp"], "uneven": "ceil"})
    source = workplace.sample(cards(*({"w": piece} for piece in common.chunk(counting(10), 4)[:3])))
    try:
        workplace.merge(source, of_four)
    except Failure as failure:
        if "exit 1" not in str(failure) or "rank_3.h5" not in str(failure):
            raise
        return
    raise Failure("merged without rank_3.h5")


def absent_when_empty(workplace):
    """A shard that is empty may be absent where the rule gives the shape; without it, it may as well be lost."""
    full = {"w": counting(6, 2)}
    held = cards(*({"w": piece} if piece.size else {} for piece in common.chunk(full["w"], 4)))
    rule = {"name": "w", "split": ["dp"], "uneven": "ceil"}
    sample = workplace.sample(held)
    merged = workplace.merge(sample, layout(mesh(dp=4), {**rule, "shape": [6, 2]}))
    workplace.expect_file("merged", merged, full)
    try:
        workplace.merge(sample, layout(mesh(dp=4), rule))
    except Failure as failure:
        if "exit 1" not in str(failure) or "may be empty, or lost" not in str(failure):
            raise
        return
    raise Failure("merged without knowing whether rank_3.h5 has lost its shard")


def transposed_flat():
    """[2, 3] stored transposed, then flattened and cut over 4: t = 0 3 | 1 4 | 2 5 | 0 0 of the padding."""
    full = {"w": counting(2, 3)}
    rule = {"name": "w", "permute": [1, 0], "flat": {"axis": "dp"}, "shape": [2, 3]}
    held = [{"w": numbers(0, 3)}, {"w": numbers(1, 4)}, {"w": numbers(2, 5)}, {"w": numbers(0, 0)}]
    return round_trip(full, layout(mesh(dp=4), rule), cards(*held))


def fused_parts():
    full = {"gate_up": counting(8)}
    rule = {"name": "gate_up", "split": ["tp"], "parts": {"dim": 0, "count": 2}}
    held = [{"gate_up": numbers(0, 1, 4, 5)}, {"gate_up": numbers(2, 3, 6, 7)}]
    four = [{"gate_up": numbers(i, 4 + i)} for i in range(4)]
    return round_trip(full, layout(mesh(tp=2), rule), cards(*held), (layout(mesh(tp=4), rule), cards(*four)))


def every_head_cut():
    """[heads 2, qkv 3, head_dim 4] along dim 0, each head's q, k and v cut over 2 cards: parts with many sizes."""
    full = {"qkv": counting(24)}
    rule = {"name": "qkv", "split": ["tp"], "parts": {"dim": 0, "sizes": [4] * 6}}
    parts = full["qkv"].reshape(6, 2, 2)
    held = [{"qkv": parts[:, card].reshape(-1)} for card in range(2)]
    return round_trip(full, layout(mesh(tp=2), rule), cards(*held))


def whole_heads_uneven():
    """5 heads of [3, 2] on 4 cards, whole heads each: sizes."""
    full = {"qkv": counting(30, 2)}
    rule = {"name": "qkv", "split": ["tp"], "sizes": {"0": [12, 6, 6, 6]}}
    held = [{"qkv": full["qkv"][first:last]} for first, last in ((0, 12), (12, 18), (18, 24), (24, 30))]
    return round_trip(full, layout(mesh(tp=4), rule), cards(*held))


CASES = {
    "tutorial, 4 cards of [2, 8] to 2 of [4, 8]": second_tutorial(),
    "ceil 10 over 4": lengths({"split": ["x"], "uneven": "ceil"}, mesh(x=4), 10, [3, 3, 3, 1]),
    "balanced 10 over 4": lengths({"split": ["x"], "uneven": "balanced"}, mesh(x=4), 10, [3, 3, 2, 2]),
    "ceil 6 over 4": lengths({"split": ["x"], "uneven": "ceil"}, mesh(x=4), 6, [2, 2, 2, 0]),
    "ceil 5 over 2 x 2": lengths({"split": [["a", "b"]], "uneven": "ceil"}, mesh(a=2, b=2), 5, [2, 1, 1, 1]),
    "sizes 3 1 4": lengths({"split": ["x"], "sizes": {"0": [3, 1, 4]}}, mesh(x=3), 8, [3, 1, 4]),
    "parts": fused_parts(),
    "parts with many sizes": every_head_cut(),
    "sizes of whole heads": whole_heads_uneven(),
    "vocabulary 50257": vocabulary(),
    "pad with the edge": pad_edge(),
    "pipeline 4 x 2 to 2 to 1": pipeline(),
    "stages of 3, 1 and 4 layers": uneven_stages(),
    "bucket a5 b7 c2": small_bucket(),
    "bucket with align": aligned_bucket(),
    "two axes on one dimension": two_axes(),
    "4096 by tp 8, dp 30": ceil_of_ceil(),
    "3584 over 24, padded": padding_goes({"split": ["dp"], "pad": {"0": {"size": 3584, "multiple_of": 1}}}, 3584, 3600),
    "3584 over 24, flat": padding_goes({"flat": {"axis": "dp"}, "shape": [3584]}, 3584, 3600),
    "transposed and flat": transposed_flat(),
    "replicated stays as it is": replicated_stays(),
    "a missing last shard": missing_shard,
    "an empty shard that is absent": absent_when_empty,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="where ckpt-merge, ckpt-split and ckpt-reshard are")
    parser.add_argument("--only", help="only the cases whose name holds this")
    arguments = parser.parse_args()
    return harness.run_cases(CASES, arguments.bin, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
