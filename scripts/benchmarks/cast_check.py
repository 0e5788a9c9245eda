"""cast_check.py WHOLE CAST: of two safetensors files, every float32 of the first is the nearest number of the second's type, ties to even, by
NumPy; NaN is NaN."""
import json
import sys

import numpy as np


def tensors(path):
    data = np.memmap(path, "u1", "r")
    size = int(data[:8].view("<u8")[0])
    for name, said in json.loads(bytes(data[8:8 + size])).items():
        if name != "__metadata__":
            yield name, said["dtype"], data[slice(*(8 + size + at for at in said["data_offsets"]))]


def nearest(values, dtype):
    """Their bits."""
    if dtype == "F16":
        with np.errstate(over="ignore"):
            return values.astype("<f2").view("<u2")
    bits = values.view("<u4").astype("<u8")
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("<u2")


def is_nan(bits, dtype):
    return (bits & 0x7fff) > {"F16": 0x7c00, "BF16": 0x7f80}[dtype]


found = {name: (dtype, data.view("<u2")) for name, dtype, data in tensors(sys.argv[2])}
count = 0
for name, _, data in tensors(sys.argv[1]):
    values, (dtype, bits) = data.view("<f4"), found.pop(name)
    wrong = (bits != nearest(values, dtype)) & ~np.isnan(values) | (np.isnan(values) != is_nan(bits, dtype))
    if wrong.any() or len(bits) != len(values):
        sys.exit(f"cast_check: {name}: {wrong.sum()} of {len(values)} elements are wrong, or not as many")
    count += len(values)
if found or not count:
    sys.exit(f"cast_check: {count} elements; of the second file only: {sorted(found)}")
