"""Random trees as torch.save takes them, from one seed: dicts and lists in one another, tensors of every type that are views of storages of
their own or of one another's, and between them numbers, texts and objects that only Python knows."""
import collections
import random

import numpy as np
import torch_file
from formats import TORCH
from random_layouts import Case, literal

ELSEWHERE = [*TORCH, "bfloat16", "float8_e4m3fn", "float8_e5m2"]  # types that other formats have
LOADED_BY_ALL = [each for each in ELSEWHERE if not each.startswith(("complex", "float8"))]  # MindSpore refuses a file with others
TYPES = {"torch": [*TORCH, *torch_file.TYPES_OF_BITS], "dcp": [*TORCH, *torch_file.TYPES_OF_BITS], "hdf5": [*ELSEWHERE, "complex32"],
         "mindspore": LOADED_BY_ALL, "safetensors": [each for each in ELSEWHERE if each != "complex128"] + ["float8_e8m0fnu"]}
KEYS = ["weight", "layers.0.wq", "a name", "größe", "重み", "state", 0, 1, 7, "x=1", "exp_avg", "step", "[set]", "tail.", "what?"]
THING, ENUM = torch_file.of_class("mine.objects", "Thing"), torch_file.function("mine.objects", "Choice")


class Chosen:
    def __reduce__(self):
        return ENUM, (3,)


def numpy_type(name):
    """That of a tensor's elements; of those that NumPy has not, a field that is called so."""
    return np.dtype(TORCH[name]) if name in TORCH else np.dtype([(name, torch_file.TYPES_OF_BITS[name])])


def torch_type(dtype):
    return dtype.names[0] if dtype.names else next(name for name, word in TORCH.items() if np.dtype(word) == dtype)


class Tree:
    """`root`: what is to be saved; `tensors`: its tensors by the names that the programs give them, views in `numpy_type`s."""

    def __init__(self, seed, types):
        self.random, self.bytes = random.Random(f"tree {seed}"), np.random.default_rng(seed)
        self.types = self.random.sample(types, min(len(types), 5))
        self.tensors, self.storages = {}, collections.defaultdict(list)
        self.root = {"weights": self.tensor(("weights",)), **self.dict_of((), 0)}

    def chance(self, probability):
        return self.random.random() < probability

    def dict_of(self, path, depth):
        kind = collections.OrderedDict if self.chance(0.3) else dict
        return kind((key, self.node((*path, key), depth + 1)) for key in self.random.sample(KEYS, self.random.randint(1, 5)))

    def node(self, path, depth):
        draw = self.random.random()
        if draw < 0.5:
            return self.tensor(path)
        if draw < 0.62 and depth < 4:
            return self.dict_of(path, depth)
        if draw < 0.72 and depth < 4:
            items = [self.node((*path, number), depth + 1) for number in range(self.random.randint(1, 3))]
            return tuple(items) if self.chance(0.3) and not self.holds_tensors(path) else items
        return self.leaf()

    def holds_tensors(self, path):
        prefix = "/".join(map(str, path)) + "/"
        return any(name.startswith(prefix) for name in self.tensors)

    def leaf(self):
        thing = THING()
        thing.__dict__.update(epoch=7, seen={4, 5}, tensor=self.elements("float32", 3))
        return self.random.choice([0, -5, 255, 70000, 2**40, -2**63, 10**22, 0.1, -1e300, float("nan"), True, False, None, "", "a text", "größe\n",
                                   b"\0bytes", [], (), {}, [1, 2.5, "x", None], (0.9, 0.999), {3, 4}, {"k": [1, {"deep": b"er"}]}, Chosen(), thing,
                                   torch_file.Call(THING, "argument")])

    # --- tensors ---

    def elements(self, name, count):
        dtype = numpy_type(name)
        data = self.bytes.integers(0, 256, count * dtype.itemsize, dtype="u1")
        return (data % 2 if name == "bool" else data).view(dtype)

    def tensor(self, path):
        name = self.random.choice(self.types)
        view = self.random.choice(self.storages[name])[1] if self.storages[name] and self.chance(0.15) else self.view(name)
        self.tensors["/".join(map(str, path))] = view
        return torch_file.OfBits(name, view.view(view.dtype[0])) if view.dtype.names else view

    def view(self, name):
        """All of a storage of its own, or some of one that there is already."""
        shape = tuple(self.random.choice([0, 1, 2, 3, 4, 5, 6, 8]) for _ in range(self.random.randint(0, 3)))
        storage = self.elements(name, int(np.prod(shape, dtype=int)))
        if self.storages[name] and self.chance(0.4):
            storage = self.random.choice(self.storages[name])[0]
        view = self.part(storage, shape)
        self.storages[name].append((storage, view))
        return view

    def part(self, storage, shape):
        if storage.size == np.prod(shape, dtype=int):
            view = storage.reshape(shape)
            return view.T if self.chance(0.2) else view
        low = self.random.randint(0, storage.size)
        kind = self.random.choice(["slice", "step", "expanded", "scalar"]) if storage.size else "slice"
        if kind == "expanded":
            return np.ndarray((3, storage.size - low), storage.dtype, storage, low * storage.itemsize, (0, storage.itemsize))
        if kind == "scalar":
            return storage[min(low, storage.size - 1):].reshape(-1)[:1].reshape(())
        return storage[low::2 if kind == "step" else 1]


class TreeCase(Case):
    """Random layouts for the tensors of a tree."""

    def __init__(self, seed, tier, tensors):
        super().__init__(seed, tier)
        self.logical = dict(tensors)
        self.families = [{"kind": "single", "shape": tensor.shape, "number": number, "names": [name], "pattern": literal(name)}
                         for number, (name, tensor) in enumerate(tensors.items())]

    def draw(self):
        layout = super().draw()
        layout.pop("rename", None)  # a tree keeps what has its name
        return layout
