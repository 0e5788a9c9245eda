"""Codes of 8-bit floats through maps of names: what the programs make means the numbers that the naive model makes of the numbers, or is refused.

usage: scales_test.py PROGRAMS [SEED]
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dequantise as reference
import model
from dequantise_programs_test import Typed, write
from mistakes_test import is_move
from model_test import FAMILIES, MAPS_OF

BLOCKS = [(1, 1), (2, 2), (4, 2), (2, 4), (1, 3), (128, 128)]


def is_matrix(name, shape):
    return len(shape) == 2 and name.endswith("weight") and not any(word in name for word in ("embed", "lm_head", "norm", "router", "mlp.gate.", "wte", "wpe", "conv1d"))


def blocks_of(shape, block):
    return (1,) * (len(shape) - 2) + block


def grid(shape, block):
    return tuple(-(-extent // size) for extent, size in zip(shape, blocks_of(shape, block)))


def quantised(shapes, block, random):
    """Codes with scales in place of matrices; and what they mean."""
    stored, meant = {}, {}
    for name, shape in shapes.items():
        if not is_matrix(name, shape):
            meant[name] = random.normal(size=shape).astype(np.float32)
            stored[name] = meant[name]
            continue
        codes = random.integers(0, 126, shape).astype(np.uint8) | random.integers(0, 2, shape).astype(np.uint8) << 7
        scales = random.normal(size=grid(shape, block)).astype(np.float32)
        stored[name], stored[name + "_scale_inv"] = Typed("F8_E4M3", codes), scales
        meant[name] = numbers(codes, scales, block)
    return stored, meant


def numbers(codes, scales, block):
    return reference.e4m3(codes) * reference.spread(scales, codes.shape, blocks_of(codes.shape, block))


def plain(stored):
    return {name: value.array if isinstance(value, Typed) else value for name, value in stored.items()}


class Programs:
    def __init__(self, folder, place):
        self.merge, self.place = Path(folder) / "ckpt-merge", place

    def convert(self, ready, side, config, stored, expected):
        """What ckpt-merge makes, or None and why."""
        (self.place / "config.json").write_text(json.dumps(config))
        write(self.place / "in.safetensors", stored)
        write(self.place / "like.safetensors", expected)
        done = subprocess.run([self.merge, "-q", "--names", f"{ready}#{side}", "--expect", self.place / "like.safetensors",
                               self.place / "in.safetensors", "-o", self.place / "out.safetensors", "--force"], capture_output=True, text=True, check=False)
        return (model.read_safetensors(self.place / "out.safetensors") if done.returncode == 0 else None), done.stderr


def main():
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 37)
    counts = {"moved": 0, "refused": 0}
    with tempfile.TemporaryDirectory(prefix="ckpt-names-") as place:
        programs = Programs(sys.argv[1], Path(place))
        for family, maps in MAPS_OF.items():
            for ready in maps:
                data = model.ready_map(ready)
                if not is_move(model.inherited(data, model.READY)):
                    continue
                block = BLOCKS[random.integers(len(BLOCKS))]
                one = model.read_json(FAMILIES / f"{family}.json")
                config = {**one["config"], "model_type": family, "quantization_config": {"quant_method": "fp8", "weight_block_size": block}}
                stored, meant = quantised(one["tensors"], block, random)
                trainer = data["sides"][0]
                there = model.convert(data, config, "hf", meant)
                expected = {}
                flags = model.convert(data, config, "hf", {name: np.full(value.shape, float(name + "_scale_inv" in stored)) for name, value in meant.items()})
                for name, value in there.items():
                    if flags[name].any():
                        expected[name] = Typed("F8_E4M3", np.zeros(value.shape, np.uint8))
                        expected[name + "_scale_inv"] = np.zeros(grid(value.shape, block), np.float32)
                    else:
                        expected[name] = value.astype(np.float32)
                made, why = programs.convert(ready, "hf", config, stored, expected)
                what = f"{family} through {ready}, blocks of {block}"
                if made is None:
                    assert "whole blocks of codes" in why, f"{what}: {why}"
                    counts["refused"] += 1
                    continue
                for name, value in there.items():
                    found = numbers(made[name], made[name + "_scale_inv"], block) if flags[name].any() else made[name]
                    assert np.array_equal(found, value.astype(np.float32)), f"{what}: {name}"
                typed = {name: Typed("F8_E4M3", value) if name in expected and isinstance(expected[name], Typed) else value for name, value in made.items()}
                back, why = programs.convert(ready, trainer, config, typed, stored)
                assert back is not None, f"{what}, back: {why}"
                for name, value in plain(stored).items():
                    assert np.array_equal(back[name], value), f"{what}, back: {name}"
                counts["moved"] += 1
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    assert counts["moved"] >= 5, "too few maps move codes"


if __name__ == "__main__":
    main()
