"""Whether tensors are another checkpoint's of the same model, or its elements in other places: a reference for what the programs do with samples.

Training moves weights little, so the correlation of a tensor with the same tensor of another step is near 1, and near 0 where a map exchanged its
elements. Three measures, since one does not see all:

- by tensor, and by blocks of its rows, as a map may move few of them;
- vectors (norms, biases) pooled over layers, as one alone has too few numbers to tell chance from likeness. Biases that began at 0 grow and change as
  long as they are young, so a pool counts only where its spread stayed what it was: elements in other places have the same spread;
- the nearest: a vector that is less than half as far from another vector of its shape in that layer as from its own was exchanged with it. This holds
  for norms near 1, too, whose spread says little.
"""
import re
from collections import defaultdict

import numpy as np

BLOCK = 64  # elements of a block of rows: for fewer, chance alone gives correlations far from 0
POOL = 24  # elements of vectors together
LEAST_MEDIAN = 0.35  # below that the other checkpoint is another training, and nothing tells
LEAST_SHARE, LEAST_SHARE_MOVED = 0.8, 0.35  # of the median; where much moved, some tensors moved far more than others
STEADY = 3.0  # a mean above so many spreads: norms near 1, of which some steps of training change the order
STILL = 0.9  # a median below that: much moved, and vectors, which move more than matrices, are not judged
SAME_SPREAD = 1.5  # times
NEARER = 0.5  # of the distance to one's own


def centred(one, other):
    """Both without their means, as rows of numbers; None where they vary little about a mean, or not at all."""
    pair = [x.reshape(-1).astype(np.float64) for x in (one, other)]
    spreads = [x.std() for x in pair]
    if min(spreads) == 0 or min(abs(x.mean()) / spread for x, spread in zip(pair, spreads)) > STEADY:
        return None
    return [(x - x.mean()) / spread for x, spread in zip(pair, spreads)]


def correlation(one, other):
    pair = centred(one, other)
    return None if pair is None else float((pair[0] * pair[1]).mean())


def blocks(tensor):
    """Slices of rows (a row: all but the last dimension fixed) with at least BLOCK elements; a rest goes to the last."""
    rows = int(np.prod(tensor.shape[:-1]))
    step = -(-BLOCK // max(tensor.shape[-1], 1))
    return [slice(at, at + step if at + 2 * step <= rows else rows) for at in range(0, max(rows - step, 0) + 1, step)]


def by_matrix(found, reference):
    """name -> (correlation of the tensor, least of its blocks)"""
    out = {}
    for name, tensor in found.items():
        if tensor.ndim < 2 or tensor.size < BLOCK or (whole := correlation(tensor, reference[name])) is None:
            continue
        rows, against = (x.reshape(-1, x.shape[-1]) for x in (tensor, reference[name]))
        parts = [correlation(rows[each], against[each]) for each in blocks(tensor)]
        out[name] = whole, min([part for part in parts if part is not None], default=whole)
    return out


def by_pool(found, reference):
    """Name with # for its numbers -> correlation of the small tensors of that name."""
    pools = defaultdict(list)
    for name, tensor in found.items():
        if (tensor.ndim < 2 or tensor.size < BLOCK) and (pair := centred(tensor, reference[name])) is not None:
            pools[re.sub(r"\d+", "#", name)].append((pair[0] * pair[1], tensor.std() / reference[name].std()))
    out = {}
    for name, members in pools.items():
        products, spread = np.concatenate([products for products, _ in members]), np.median([ratio for _, ratio in members])
        if len(products) >= POOL and 1 / SAME_SPREAD < spread < SAME_SPREAD:
            out[name] = float(products.mean())
    return out


def exchanged(found, reference):
    """Vectors that are another's: name -> the name that they have in the reference."""
    layers = defaultdict(list)
    for name, tensor in found.items():
        if tensor.ndim == 1 and tensor.size >= 4:
            layers[re.match(r"(.*\.\d+\.)?", name)[0], tensor.shape].append(name)
    out = {}
    for names in layers.values():
        for name in names:
            own = np.linalg.norm(found[name].astype(np.float64) - reference[name])
            nearest = min((other for other in names if other != name), default=None, key=lambda other: np.linalg.norm(found[name] - reference[other]))
            if nearest and np.linalg.norm(found[name].astype(np.float64) - reference[nearest]) < NEARER * own:
                out[name] = nearest
    return out


def typical_of(found, reference):
    every = [whole for whole, _ in by_matrix(found, reference).values()]
    return float(np.median(every)) if every else 1.0


def told(found, reference, by_blocks=True, typical=None):
    """What is not the other's; None where nothing tells. `typical`: the median, where it is known from more tensors. Without `by_blocks` the first
    measure alone, by tensor."""
    found = {name: tensor for name, tensor in found.items() if name in reference and reference[name].shape == tensor.shape and tensor.ndim}
    typical = typical if typical is not None else typical_of(found, reference)
    if typical < LEAST_MEDIAN:
        return None
    least = (LEAST_SHARE if typical > STILL else LEAST_SHARE_MOVED) * typical
    matrices = by_matrix(found, reference)
    if not by_blocks:
        return [name for name, (whole, _) in matrices.items() if whole < least]

    wrong = [name for name, (whole, part) in matrices.items() if min(part, whole) < least]
    if typical > STILL:
        wrong += [name for name, whole in by_pool(found, reference).items() if whole < least] + list(exchanged(found, reference))
    return wrong
