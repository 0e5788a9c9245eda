"""The models whose checkpoints are benchmarked: names, shapes, and which part of a tensor each card stores.

No numpy here: the process that starts and times the programs imports this, and is to stay small (measure.py says why).
"""
import json
import math
from dataclasses import dataclass, field

MOMENTS = ("exp_avg", "exp_avg_sq")
WIDTH = 3584  # = 7 * 512 = 8 * 448: 512, 448, 64, 56, 8 and 7 cards all divide it


@dataclass(frozen=True)
class Mesh:
    """Axes and sizes, major first: Mesh.of("dp=8,tp=8")."""
    axes: tuple
    shape: tuple

    @staticmethod
    def of(text):
        pairs = [part.split("=") for part in text.split(",")]
        return Mesh(tuple(axis for axis, _ in pairs), tuple(int(size) for _, size in pairs))

    @property
    def cards(self):
        return math.prod(self.shape)

    def size(self, axis):
        """1 for an axis that the mesh does not have: what is cut over it stays whole."""
        return self.shape[self.axes.index(axis)] if axis in self.axes else 1

    def position(self, card, axis):
        if axis not in self.axes:
            return 0
        at = self.axes.index(axis)
        return card // math.prod(self.shape[at + 1:]) % self.shape[at]


@dataclass(frozen=True)
class Param:
    """A float32 tensor. axes: what each dimension is cut over, or None; parts: sizes of dimension 0's fused parts."""
    name: str
    shape: tuple
    axes: tuple = ()
    parts: tuple = ()

    def intervals(self, dim, mesh, card):
        """The [low, high) of this dimension that the card stores, in the order in which it stores them."""
        axis = self.axes[dim] if dim < len(self.axes) else None
        sizes = self.parts if self.parts and dim == 0 else (self.shape[dim],)
        pieces = mesh.size(axis)
        result, start = [], 0
        for size in sizes:
            assert size % pieces == 0, (self.name, size, pieces)
            low = start + size // pieces * mesh.position(card, axis)
            result.append((low, low + size // pieces))
            start += size
        return result

    def stored_shape(self, mesh):
        whole = (None,) * (len(self.shape) - len(self.axes))
        return tuple(n // mesh.size(axis) for n, axis in zip(self.shape, self.axes + whole))


@dataclass(frozen=True)
class Model:
    parameters: list
    rules: list = field(default_factory=list)  # the layout's, the same on every mesh

    def stored_bytes(self, mesh):
        """Tensor bytes of all cards' files together; a replica counts once for each card that holds it."""
        return sum(4 * math.prod(param.stored_shape(mesh)) for param in self.parameters) * mesh.cards

    def layout(self, mesh):
        return {"ckpt_layout": 1, "mesh": {"axes": mesh.axes, "shape": mesh.shape}, "files": "rank_{card}.h5",
                "parameters": self.rules, "default": "replicate"}

    def write_layout(self, mesh, path):
        path.write_text(json.dumps(self.layout(mesh), indent=1) + "\n", encoding="utf-8")


def gpt(hidden, layers, vocab):
    """A GPT and two Adam moments: weights cut in both dimensions, over dp and tp; fused qkv, gate/up; whole norms."""
    ffn = hidden // 2 * 5
    qkv = (hidden, hidden // 4, hidden // 4)
    weights = [Param("embedding.weight", (vocab, hidden), ("tp", "dp"))]
    for layer in range(layers):
        at = f"layers.{layer}"
        weights += [Param(f"{at}.input_norm.weight", (hidden,)),
                    Param(f"{at}.attention.qkv.weight", (sum(qkv), hidden), ("tp", "dp"), qkv),
                    Param(f"{at}.attention.qkv.bias", (sum(qkv),), ("tp",), qkv),
                    Param(f"{at}.attention.proj.weight", (hidden, hidden), ("dp", "tp")),
                    Param(f"{at}.mlp_norm.weight", (hidden,)),
                    Param(f"{at}.mlp.up_gate.weight", (2 * ffn, hidden), ("tp", "dp"), (ffn, ffn)),
                    Param(f"{at}.mlp.down.weight", (hidden, ffn), ("dp", "tp"))]
    weights.append(Param("final_norm.weight", (hidden,)))
    moments = [Param(f"moments.{moment}.{weight.name}", weight.shape, weight.axes, weight.parts)
               for moment in MOMENTS for weight in weights]
    fused = {"dim": 0, "sizes": qkv}
    rules = [{"name": [f"moments.{moment}.{{param}}" for moment in MOMENTS], "like": "{param}"},
             {"name": "embedding.weight", "split": ["tp", "dp"]},
             {"name": "*.qkv.weight", "split": ["tp", "dp"], "parts": fused},
             {"name": "*.qkv.bias", "split": ["tp"], "parts": fused},
             {"name": "*.up_gate.weight", "split": ["tp", "dp"], "parts": {"dim": 0, "count": 2}},
             {"name": ["*.proj.weight", "*.down.weight"], "split": ["dp", "tp"]}]
    return Model([*weights, *moments, Param("learning_rate", ())], rules)


def columns(rows, count):
    """Every tensor cut over its last dimension: 3584-wide rows, so 224 bytes of each on every one of 64 cards."""
    return Model([Param(f"layers.{i}.weight", (rows, WIDTH), (None, "card")) for i in range(count)],
                 [{"name": "*", "split": [None, "card"]}])


def rows(width, count):
    """Every tensor cut over its first dimension, of 3584."""
    return Model([Param(f"layers.{i}.weight", (WIDTH, width), ("card",)) for i in range(count)],
                 [{"name": "*", "split": ["card"]}])


def many(count):
    """Very many small tensors, as tables of small experts and their moments are, and each tenth of 14 KiB."""
    return Model([Param(f"layers.{i // 10}.w{i % 10}", (56, 1 if i % 10 else 64), ("card",)) for i in range(count)],
                 [{"name": "*", "split": ["card"]}])


def tiny(count):
    """Next to no data: what the number of files costs. 49,152 rows = 3 * 16,384 = 4 * 12,288."""
    return Model([Param(f"layers.{i}.weight", (49_152, 2), ("card",)) for i in range(count)],
                 [{"name": "*", "split": ["card"]}])


FULL = {
    "gpt": lambda: gpt(1792, 5, 10752),      # 2.0 GiB
    "small": lambda: gpt(448, 5, 2688),      # 0.13 GiB
    "columns": lambda: columns(7488, 20),    # 2.0 GiB
    "rows": lambda: rows(1880, 40),          # 1.0 GiB
    "blocks": lambda: rows(2048, 73),        # 2.0 GiB; on 8 cards each piece is of whole blocks
    "metadata": lambda: rows(8, 1000),       # 1,000 datasets a card, of 224 bytes each on 512 cards
    "one-mib": lambda: rows(8, 9),
    "many": lambda: many(100_000),           # 164 MiB
    "many-tenth": lambda: many(10_000),
    "many-30000": lambda: many(30_000),
    "many-on-8": lambda: many(12_500),       # 100,000 datasets on 8 cards
    "tiny": lambda: tiny(10),
}
QUICK = {
    "gpt": lambda: gpt(448, 1, 896),
    "small": lambda: gpt(448, 1, 896),
    "columns": lambda: columns(128, 2),
    "rows": lambda: rows(64, 4),
    "blocks": lambda: rows(512, 4),
    "metadata": lambda: rows(8, 20),
    "one-mib": lambda: rows(8, 9),
    "many": lambda: many(1000),
    "many-tenth": lambda: many(100),
    "many-30000": lambda: many(300),
    "many-on-8": lambda: many(125),
    "tiny": lambda: tiny(2),
}


def model(name, quick):
    return (QUICK if quick else FULL)[name]()
