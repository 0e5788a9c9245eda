"""MindSpore's checkpoints and strategies, made without MindSpore and without our programs, and what each rank holds by them."""
import json
import os
import sys

import numpy as np

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "mindspore")
sys.path.insert(0, GOLDEN)

import pbdec  # noqa: E402  (found through the path above)

WORDS = {"float32": "Float32", "int32": "Int32", "int64": "Int64", "uint16": "BFloat16"}


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        value, out = value >> 7, out + bytes([value & 127 | 128])
    return out + bytes([value])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def numbers(values):
    return b"".join(field(1, value) for value in values)


def record(name, array, word=None):
    tensor = numbers(array.shape) + field(2, (word or WORDS[array.dtype.name]).encode()) + field(3, array.tobytes())
    return field(1, field(1, name.encode()) + field(2, tensor))


def write_rank(directory, rank, arrays, name="net_rank_{}-1_10.ckpt"):
    """Writes the checkpoint of a rank, and gives its path."""
    path = os.path.join(directory, f"rank_{rank}", name.format(rank))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"".join(record(key, np.ascontiguousarray(value)) for key, value in arrays.items()))
    return path


class Cut:
    """How a strategy cuts one parameter: dev_matrix, a list of axes for each dimension (counted from the right), …"""

    def __init__(self, devices, axes, shards=0, sizes=(), field_size=0):
        self.devices, self.axes, self.shards = devices, axes, shards
        self.sizes, self.field_size = list(sizes), field_size

    def as_protobuf(self):
        if all(len(axes) == 1 for axes in self.axes):
            maps = [[axes[0] for axes in self.axes]]
        else:
            maps = self.axes + ([[]] if len(self.axes) == 1 else [])
        layout = field(1, numbers(self.devices)) + b"".join(field(2, numbers(axes)) for axes in maps)
        layout += field(3, numbers(self.sizes)) + field(4, b"") + field(5, self.field_size)
        return layout + field(6, 1 if self.shards else 0) + field(7, self.shards)

    def as_json(self, shape):
        return {"dev_matrix": self.devices, "tensor_map": [axes[0] for axes in self.axes], "tensor_shape": list(shape),
                "field": self.field_size, "opt_weight_shard_step": 1 if self.shards else 0,
                "opt_weight_shard_size": self.shards}

    def index(self, rank, axes):
        """Where a rank is along some axes of dev_matrix, the first major, and how many places there are."""
        at, count, stride = 0, 1, {}
        step = 1
        for axis in reversed(range(len(self.devices))):
            stride[axis], step = step, step * self.devices[axis]
        for axis in axes:
            size = self.devices[axis]
            at, count = at * size + rank // stride[axis] % size, count * size
        return at, count

    def pieces(self, shape, rank):
        """The slices of the whole tensor, one for each dimension."""
        places, used = [], set()
        for dim, entries in enumerate(self.axes):
            axes = [len(self.devices) - 1 - entry for entry in entries if entry != -1]
            used |= set(axes)
            at, count = self.index(rank, axes)
            if dim == 0 and self.sizes:
                places.append((sum(self.sizes[:at]), self.sizes[at]))
            else:
                places.append((shape[dim] // count * at, shape[dim] // count))
        if self.shards:
            at, count = self.index(rank, [axis for axis in range(len(self.devices)) if axis not in used])
            parts = count if self.shards == -1 else min(self.shards, count)
            start, size = places[0]
            places[0] = (start + size // parts * (at % parts), size // parts)
        return tuple(slice(start, start + size) for start, size in places)

    def take(self, whole, rank):
        if self.field_size:
            ranks = int(np.prod(self.devices))
            return np.concatenate([np.split(part, ranks)[rank] for part in np.split(whole, self.field_size)])
        return whole[self.pieces(whole.shape, rank)]


def write_strategy(path, cuts, stage=0):
    operator = field(2, field(1, b"MatMul") + field(2, field(1, stage)))
    items = [field(3, field(1, name.encode()) + field(2, cut.as_protobuf())) for name, cut in cuts.items()]
    with open(path, "wb") as file:
        file.write(field(1, 2) + operator + b"".join(items))
    return path


def write_json_strategy(path, cuts, shapes):
    layouts = {name: cut.as_json(shapes[name]) for name, cut in cuts.items()}
    operators = {"MatMul": {"stage": 0, "parallel_strategy": []}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"current_stage": 2, "parallel_strategy_item": operators, "parallel_layout_item": layouts}, file)
    return path


def read_strategy(path):
    with open(path, "rb") as file:
        layouts = pbdec.strategy(file.read())[0]
    return {name: Cut(devices, axes, shards, sizes, field_size)
            for name, (devices, axes, shards, sizes, _, field_size) in layouts.items()}


def read_checkpoint(path):
    """The tensors of a .ckpt, and its texts."""
    with open(path, "rb") as file:
        data = file.read()
    tensors = {}
    for tag, kind, dims, runs in pbdec.ckpt(data)[0]:
        content = b"".join(data[offset:offset + length] for offset, length in runs)
        if kind == "str":
            tensors[tag] = content.decode("utf-32-le").rstrip("\0")
        else:
            tensors[tag] = np.frombuffer(content, pbdec.NP[kind]).reshape(dims)
    return tensors


def truth_of(name):
    return dict(np.load(os.path.join(GOLDEN, name, "truth.npz")))
