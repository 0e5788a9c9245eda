"""`--dequantize` against the reference in dequantise.py: every family, random, whole and cut, by one process and by three.

usage: dequantise_programs_test.py PROGRAMS [MPIEXEC WORDS...]
"""
import json
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dequantise as reference
import model

WORDS = {"uint8": "U8", "int8": "I8", "int32": "I32", "float32": "F32", "float16": "F16", "uint16": "BF16"}
RANDOM = np.random.default_rng(20260)


class Typed:
    """An array of codes, with the word of safetensors for what they are."""
    def __init__(self, word, array):
        self.word, self.array = word, np.ascontiguousarray(array)


def typed(value):
    return value if isinstance(value, Typed) else Typed(WORDS[value.dtype.name], np.ascontiguousarray(value))


def write(path, tensors):
    header, at, data = {}, 0, b""
    for name, value in tensors.items():
        one = typed(value)
        raw = one.array.tobytes()
        header[name] = {"dtype": one.word, "shape": list(value.array.shape if isinstance(value, Typed) else value.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data += raw
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def fp8(*shape):
    codes = RANDOM.integers(0, 256, shape).astype(np.uint8)
    return np.where(codes & 127 == 127, 0x38, codes).astype(np.uint8)


def scale(*shape, dtype=np.float32):
    return np.asarray(np.exp(RANDOM.normal(size=shape) - 4), dtype)


def exponents(*shape):
    return RANDOM.integers(100, 140, shape).astype(np.uint8)


def bytes_(*shape):
    return RANDOM.integers(0, 256, shape).astype(np.uint8)


def words(*shape):
    return RANDOM.integers(-2**31, 2**31, shape, dtype=np.int64).astype(np.int32)


def blocks(shape, block=128):
    grid = [*shape[:-2], *(-(-extent // block) for extent in shape[-2:])]
    codes, scales = fp8(*shape), scale(*grid)
    spread = scales.repeat(block, -2)[..., :shape[-2], :].repeat(block, -1)[..., :shape[-1]]
    return codes, scales, reference.e4m3(codes) * spread


def families():
    """The tensors as they are stored, and the weights that they mean."""
    stored, meant = {}, {}
    for name, shape in (("block", (300, 257)), ("experts", (3, 130, 256)), ("long", (2, 70001))):
        codes, scales, meant[f"{name}.weight"] = blocks(shape)
        stored |= {f"{name}.weight": Typed("F8_E4M3", codes), f"{name}.weight_scale_inv": scales}
    codes, scales = fp8(200, 130), exponents(2, 2)
    stored |= {"deepseek.weight": Typed("F8_E4M3", codes), "deepseek.scale": Typed("F8_E8M0", scales), "deepseek.bias": scale(200)}
    meant |= {"deepseek.weight": reference.fp8_blocks(codes, scales), "deepseek.bias": stored["deepseek.bias"]}
    codes, scales = fp8(17, 30), scale(17, 1)
    stored |= {"channel.weight": Typed("F8_E4M3", codes), "channel.weight_scale": scales, "channel.input_scale": scale()}
    meant["channel.weight"] = reference.fp8_channel(codes, scales)
    codes, scales = fp8(9, 5), scale()
    stored |= {"tensor.weight": Typed("F8_E4M3", codes), "tensor.weight_scale": scales}
    meant["tensor.weight"] = reference.fp8_channel(codes, scales)
    codes, scales = fp8(70, 96), exponents(70, 3)
    stored |= {"mx.weight": Typed("F8_E4M3", codes), "mx.weight_scale": scales}
    meant["mx.weight"] = reference.mxfp8(codes, scales)
    codes, scales = bytes_(3, 70, 5, 16), exponents(3, 70, 5)
    stored |= {"oss.gate_up_proj_blocks": codes, "oss.gate_up_proj_scales": scales}
    meant["oss.gate_up_proj"] = reference.mxfp4(codes, scales)
    codes, scales, second = bytes_(33, 40), fp8(33, 5) & 127, np.float32(0.0123)
    stored |= {"opt.weight": codes, "opt.weight_scale": Typed("F8_E4M3", scales), "opt.weight_scale_2": np.asarray(second)}
    meant["opt.weight"] = reference.nvfp4(codes, scales, second)
    stored |= {"ct.weight_packed": codes, "ct.weight_scale": Typed("F8_E4M3", scales), "ct.weight_global_scale": np.asarray([second])}
    meant["ct.weight"] = reference.nvfp4(codes, scales, second, inverse=True)
    inputs, outputs, group = 160, 88, 32
    codes, zeros, scales = words(inputs // 8, outputs), words(inputs // group, outputs // 8), scale(inputs // group, outputs, dtype=np.float16)
    for name, index in (("plain", np.arange(inputs) // group), ("acted", RANDOM.permutation(np.arange(inputs) // group))):
        stored |= {f"{name}.qweight": codes, f"{name}.qzeros": zeros, f"{name}.scales": scales, f"{name}.g_idx": index.astype(np.int32)}
        meant[f"{name}.weight"] = reference.gptq(codes, zeros, scales, index)
    index = np.arange(inputs) // group
    codes, few, scales_of_odd = words(inputs // 8, 77), words(inputs // group, 10), scale(inputs // group, 77, dtype=np.float16)
    stored |= {"odd.qweight": codes, "odd.qzeros": few, "odd.scales": scales_of_odd, "odd.g_idx": index.astype(np.int32)}
    meant["odd.weight"] = reference.gptq(codes, few, scales_of_odd, index)
    codes = words(inputs, outputs // 8)
    stored |= {"awq.qweight": codes, "awq.qzeros": zeros, "awq.scales": scales}
    meant["awq.weight"] = reference.awq(codes, zeros, scales, group)
    shape, table = (30, 50), np.sort(RANDOM.normal(size=16)).astype(np.float32)
    codes, outer_table = bytes_(750, 1), RANDOM.normal(size=256).astype(np.float32)
    for name, nested in (("nf4", False), ("nested", True)):
        count = -(-math.prod(shape) // 64)
        absmax = bytes_(count) if nested else scale(count)
        state = {"shape": shape, "blocksize": 64, "quant_type": "nf4", "dtype": "bfloat16"}
        parts = {"weight": codes, "weight.absmax": absmax, "weight.quant_map": table}
        if nested:
            outer = scale(1)
            parts |= {"weight.nested_absmax": outer, "weight.nested_quant_map": outer_table}
            state |= {"nested_blocksize": 256, "nested_offset": 0.04, "nested_dtype": "float32"}
        meant[f"{name}.weight"] = reference.bitsandbytes_4bit(codes, absmax, table, shape, nested=(outer_table, outer, 256, 0.04) if nested else None)
        parts["weight.quant_state.bitsandbytes__nf4"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
        stored |= {f"{name}.{part}": value for part, value in parts.items()}
    codes, scales = RANDOM.integers(-128, 128, (21, 19)).astype(np.int8), scale(21)
    stored |= {"int8.weight": codes, "int8.SCB": scales}
    meant["int8.weight"] = reference.bitsandbytes_int8(codes, scales)
    return stored, meant


def bits(values, dtype):
    if dtype == "bf16":
        return reference.to_bf16(values)
    with np.errstate(over="ignore"):
        return values.astype({"f16": np.float16, "f32": np.float32}[dtype])


def index_of(place, stored):
    """A directory of two files; each family has tensors in both."""
    names = list(stored)
    files = {"model-00001-of-00002.safetensors": names[0::2], "model-00002-of-00002.safetensors": names[1::2]}
    place.mkdir()
    for file, of_file in files.items():
        write(place / file, {name: stored[name] for name in of_file})
    (place / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {name: file for file, each in files.items() for name in each}}))


def layout(split, cards):
    return json.dumps({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [cards]}, "files": "rank_{card}.safetensors",
                       "parameters": [{"name": "*.weight*", "split": split, "uneven": "ceil"}], "default": "replicate"})


TURNED = {"block", "experts", "long", "deepseek", "tensor"}  # as codes


def through_map(family, stored, meant, place, programs, check):
    """A map between the model's names and others, in which matrices lie transposed."""
    def of_family(tensors):
        return {name: value for name, value in tensors.items() if name.split(".")[0] == family and not name.endswith(("bias", "input_scale"))}

    tensors, values = of_family(stored), of_family(meant)
    rules, sizes = [], {}
    for weight, value in values.items():
        axes = [f"a{len(sizes) + i}" for i in range(value.ndim)]
        sizes |= dict(zip(axes, value.shape))
        rules.append({"model": f"{weight} [{', '.join(axes)}]", "turned": f"turned.{weight} [{', '.join([*axes[:-2], axes[-1], axes[-2]])}]"})
    (place / "map.json").write_text(json.dumps({"ckpt_names": 1, "sides": ["model", "turned"], "sizes": sizes, "tensors": rules}))
    write(place / "model.safetensors", tensors)
    line = [programs / "ckpt-merge", "-q", "--force", "--names", place / "map.json", place / "model.safetensors", "-o", place / "turned.safetensors"]
    alone = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=120)
    if family in TURNED:
        assert alone.returncode == 0 and len(model.read_safetensors(place / "turned.safetensors")) == len(tensors), (family, alone.stderr)
    else:
        assert alone.returncode == 1 and alone.stderr.count("--dequantize bf16 makes") == 1, (family, alone.stderr)
        assert family in ("channel", "mx") or f"weight '{next(iter(values))}': it is " in alone.stderr, (family, alone.stderr)
    line[1:1] = ["--dequantize", "bf16"]  # as the message says
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (family, done.stderr)
    check(place / "turned.safetensors", {f"turned.{name}": np.ascontiguousarray(np.swapaxes(value, -1, -2)) for name, value in values.items()}, "bf16", f"{family} through a map")


def main():
    programs, mpiexec = Path(sys.argv[1]).resolve(), sys.argv[2:]

    def run(program, *line, launcher=()):
        done = subprocess.run([*launcher, str(programs / program), "--log-level", "error", *map(str, line)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{program} {' '.join(map(str, line))}: status {done.returncode}\n{done.stdout}{done.stderr}"

    def check(path, meant, dtype, what):
        found = model.read_safetensors(path)
        assert sorted(found) == sorted(meant), sorted(set(found) ^ set(meant))
        for name, values in meant.items():
            expected = values if name.endswith(".bias") else bits(values, dtype)
            assert found[name].shape == expected.shape and found[name].dtype == expected.dtype, (what, name, found[name].shape, expected.shape)
            assert found[name].tobytes() == expected.tobytes(), f"{what}: {name} differs in {np.sum(found[name] != expected)} of {expected.size}"

    with tempfile.TemporaryDirectory(prefix="ckpt_dequantise_") as name:
        place = Path(name)
        stored, meant = families()
        index_of(place / "hf", stored)
        for dtype in ("bf16", "f16", "f32"):
            run("ckpt-merge", "--dequantize", dtype, place / "hf", "-o", place / f"{dtype}.safetensors")
            check(place / f"{dtype}.safetensors", meant, dtype, f"whole, {dtype}")
        if mpiexec:
            run("ckpt-merge", "--dequantize", "bf16", "--exchange", "mpi", "--memory", "32MiB", place / "hf", "-o", place / "mpi.safetensors", launcher=mpiexec)
            check(place / "mpi.safetensors", meant, "bf16", "three processes")
        for split, cards in ((["x", None], 3), ([None, "x"], 5)):  # through blocks, words and groups
            matrices = {one: values for one, values in meant.items() if values.ndim == 2}
            (place / "cut.json").write_text(layout(split, cards))
            words = ["--to", place / "cut.json", *(f"--only={one}" for one in matrices)]
            run("ckpt-split", "--dequantize", "bf16", *words, place / "hf", "-o", place / "cut", "--force")
            run("ckpt-merge", place / "cut", "-o", place / "again.safetensors", "--force")
            check(place / "again.safetensors", matrices, "bf16", f"cut by {split}")

        # Codes that are cut, with their scales, over cards.
        codes, scales, values = blocks((512, 384))
        write(place / "fp8.safetensors", {"w.weight": Typed("F8_E4M3", codes), "w.weight_scale_inv": scales})
        for split, cards in ((["x", None], 4), ([None, "x"], 3)):
            (place / "cut.json").write_text(layout(split, cards))
            run("ckpt-split", "--to", place / "cut.json", place / "fp8.safetensors", "-o", place / "cut", "--force")
            run("ckpt-merge", "--dequantize", "bf16", place / "cut", "-o", place / "again.safetensors", "--force")
            check(place / "again.safetensors", {"w.weight": values}, "bf16", f"codes cut by {split}")

        # Through a map that turns each weight: numbers go, and so do 8-bit floats with scales that can be turned; all else is refused, whole families by name.
        for family in sorted({weight.split(".")[0] for weight in meant}):
            through_map(family, stored, meant, place, programs, check)
    print(f"{len(meant)} weights: ok")


if __name__ == "__main__":
    main()
