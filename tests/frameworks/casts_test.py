"""What --cast makes of numbers is what torch makes of them, bit for bit: of all numbers of the small types, and of random bits of the others;
of f64 in f16 NumPy, as torch rounds to f32 first. A NaN stays one. CKPT_CAST_NUMBERS: how many random ones."""
import os

import jobs
import numpy as np
import torch
from safetensors.torch import load_file, save_file

TYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
BITS = {torch.float64: torch.int64, torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
COUNT = int(os.environ.get("CKPT_CAST_NUMBERS", 10_000_000))


def random_bits(dtype):
    generator = torch.Generator().manual_seed(7)
    halves = torch.randint(-2**31, 2**31, (COUNT * dtype.itemsize // 4,), dtype=torch.int32, generator=generator)
    return halves.view(dtype)


def every(dtype):
    return torch.arange(-2**15, 2**15, dtype=torch.int16).view(dtype)


def cast(numbers, dtype):
    """None where nobody rounds once."""
    if numbers.dtype != torch.float64 or dtype.itemsize > 2:
        return numbers.to(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return torch.from_numpy(numbers.numpy().astype("f2")) if dtype == torch.float16 else None


def check(numbers):
    place = jobs.scratch()
    save_file({"x": numbers}, place / "numbers.safetensors")
    for word, dtype in TYPES.items():
        expected = cast(numbers, dtype)
        if expected is None:
            continue
        jobs.program("merge", "--cast", word, "--no-fsync", place / "numbers.safetensors", "-o", place / f"{word}.safetensors")
        found = load_file(place / f"{word}.safetensors")["x"]
        assert found.dtype == dtype, found.dtype
        is_none = expected.isnan()
        assert torch.equal(found.isnan(), is_none), f"{numbers.dtype} to {word}: other NaNs"
        differ = (found.view(BITS[dtype]) != expected.view(BITS[dtype])) & ~is_none
        assert not differ.any(), f"{numbers.dtype} {numbers[differ][0]} became {found[differ][0]}, torch makes it {expected[differ][0]}"
        print(f"  {numbers.dtype} to {word}: {len(numbers)} numbers, {int(is_none.sum())} of them NaN")


def small_types():
    """all of f16 and bf16"""
    for dtype in (torch.float16, torch.bfloat16):
        check(every(dtype))


def large_types():
    """random bits of f32 and f64"""
    check(random_bits(torch.float32))
    check(random_bits(torch.float64))


if __name__ == "__main__":
    jobs.main({"small types": small_types, "large types": large_types})
