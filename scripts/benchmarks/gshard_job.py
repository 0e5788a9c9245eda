"""GShard's 41 B model with Adam's slots and accumulators of gradients, an eighth as wide and with a third of its layers.

  gshard_job.py make  MESH DIRECTORY [--quick]   one HDF5 file for each device
  gshard_job.py check MESH DIRECTORY [--quick]   every byte of what XLA would have there: tiles by ceil, the last short or none

MESH: a layout file, whose devices are permuted, or "X,Y" for devices in their order.
"""
import argparse
import json
import pathlib
from dataclasses import dataclass

import data
from models import Mesh, Param

SLOTS = ("", ".Adam", ".Adam_1", ".grad_accum")


@dataclass(frozen=True)
class Devices(Mesh):
    """Those of a permuted mesh: `order[position]` is the device there."""
    order: tuple

    @staticmethod
    def said_by(text):
        if "," in text:
            shape = tuple(map(int, text.split(",")))
            return Devices(("x", "y"), shape, tuple(range(shape[0] * shape[1])))
        mesh = json.loads(pathlib.Path(text).read_text(encoding="utf-8"))["mesh"]
        return Devices(tuple(mesh["axes"]), tuple(mesh["shape"]), tuple(mesh["cards"]))

    def position(self, card, axis):
        return super().position(self.order.index(card), axis)


@dataclass(frozen=True)
class Tiled(Param):
    def intervals(self, dim, mesh, card):
        axis = self.axes[dim] if dim < len(self.axes) else None
        if axis is None:
            return [(0, self.shape[dim])]
        tile = -(-self.shape[dim] // mesh.size(axis))
        start = min(tile * mesh.position(card, axis), self.shape[dim])
        return [(start, min(start + tile, self.shape[dim]))]


def parameters(quick):
    width, inner, heads, head, vocabulary, layers = (64, 128, 32, 2, 96, 1) if quick else (1536, 6144, 96, 16, 4000, 8)
    weights = [("dense_lm.emb.embedding.var", (vocabulary, width), (None, "y"))]
    for layer in range(layers):
        at = f"dense_lm.dec.layer_{layer:03}."
        weights += [(f"{at}dec_self_attention.w.{name}.var", (width, heads, head), ("x", "y")) for name in ("wq", "wk", "wv")]
        weights += [(f"{at}dec_self_attention.w.wo.var", (heads, head, width), ("y", None, "x")),
                    (f"{at}dense_relu_dense.w.wi.var", (width, inner), ("x", "y")),
                    (f"{at}dense_relu_dense.w.wo.var", (inner, width), ("y", "x")),
                    (f"{at}ln.w.scale.var", (width,), ())]
    return [*(Tiled(name + slot, shape, axes) for name, shape, axes in weights for slot in SLOTS),
            Tiled("dense_lm.beta1_power", ())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "check"])
    parser.add_argument("mesh")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    mesh = Devices.said_by(options.mesh)
    if options.action == "make":
        return data.make(parameters(options.quick), mesh, options.directory)
    return data.check(parameters(options.quick), mesh, [options.directory / f"rank_{card}.h5" for card in range(mesh.cards)], 1)


if __name__ == "__main__":
    main()
