"""One-word mistakes in the ready maps: how many the checks refuse, how many fit, and which of those the likeness to another step tells.

    mutations.py [MAP ...] [--square] [--list]

A mistake that fits moves elements to wrong places without an error, and the way back undoes it: so a round trip is counted, too, as what shows nothing.
"""
import argparse
import re
import sys

import numpy as np

import likeness
import model
from model_test import FAMILIES, MAPS_OF

MOVED = 0.3  # how far the other step's weights are, in spreads


def dims_of(text):
    """(name, dims) of a tensor's text; no dims without brackets."""
    name, _, rest = text.partition(" [")
    return name, [dim.strip() for dim in rest.rstrip("]").split(",")] if rest else []


def joined(name, dims):
    return f"{name} [{', '.join(dims)}]"


def in_a_dim(dim):
    """A dim with two neighbouring words exchanged, an axis on the other side of its bracket, or two pieces exchanged."""
    bracket = re.fullmatch(r"([^()]*)\(([^()]*)\)([^()]*)", dim)
    if not bracket:
        words = dim.split()
        for i in range(len(words) - 1):
            yield " ".join([*words[:i], words[i + 1], words[i], *words[i + 2:]])
        return
    before, inside, after = bracket[1].split(), bracket[2].split("|"), bracket[3].split()
    pieces = [piece.strip() for piece in inside]
    made = lambda b, p, a: " ".join([*b, f"({' | '.join(p)})", *a])  # noqa: E731
    if before:
        yield made(before[:-1], pieces, [before[-1], *after])
    if after:
        yield made([*before, after[0]], pieces, after[1:])
    for i in range(len(before) - 1):
        yield made([*before[:i], before[i + 1], before[i], *before[i + 2:]], pieces, after)
    for i in range(len(pieces) - 1):
        if pieces[i] != pieces[i + 1] and "_" not in (pieces[i], pieces[i + 1]):
            yield made(before, [*pieces[:i], pieces[i + 1], pieces[i], *pieces[i + 2:]], after)
    for i, piece in enumerate(pieces):
        for other in in_a_dim(piece):
            yield made(before, [*pieces[:i], other, *pieces[i + 1:]], after)


def in_a_tensor(text, axes):
    name, dims = dims_of(text)
    for i, dim in enumerate(dims):
        for other in in_a_dim(dim):
            yield joined(name, [*dims[:i], other, *dims[i + 1:]])
    for i in range(len(dims) - 1):
        yield joined(name, [*dims[:i], dims[i + 1], dims[i], *dims[i + 2:]])
    words = re.findall(r"\b[a-z]\w*\b", " ".join(dims))
    for word in dict.fromkeys(words):  # another axis of this map in its place
        other = next((axis for axis in axes if axis not in words), None)
        if other:
            yield joined(name, [re.sub(rf"\b{word}\b", other, dim) for dim in dims])


def mutations(rule, sides, axes):
    for side in sides:
        texts = rule[side] if isinstance(rule[side], list) else [rule[side]]
        for i, text in enumerate(texts):
            for other in in_a_tensor(text, axes):
                yield {**rule, side: [*texts[:i], other, *texts[i + 1:]]}
        for i in range(len(texts) - 1):
            yield {**rule, side: [*texts[:i], texts[i + 1], texts[i], *texts[i + 2:]]}


def exchanged_names(rules, sides):
    """Two rules whose tensors have the same shapes, with the names of one side exchanged."""
    for i, one in enumerate(rules):
        for other in rules[i + 1:]:
            for side in sides[1:]:
                if isinstance(one[side], str) and isinstance(other[side], str) and dims_of(one[side])[1] == dims_of(other[side])[1]:
                    names = [dims_of(rule[side])[0] for rule in (one, other)]
                    axes = [re.findall(r"\{[^}]*\}", name) for name in names]
                    if axes[0] == axes[1]:
                        yield [{**one, side: other[side]}, {**other, side: one[side]}]


def family_of(name, square):
    """Configuration and random tensors; `square`: hidden size, heads and intermediate sizes are all alike, so that shapes say less."""
    family = model.read_json(FAMILIES / f"{name}.json")
    config, random = {**family["config"], "model_type": name}, np.random.default_rng(7)
    alike = {config[key] for key in ("intermediate_size", "moe_intermediate_size") if square and config.get(key)}
    twice = {2 * one for one in alike if name == "gpt_oss"}
    for key in ("intermediate_size", "moe_intermediate_size"):
        if square and config.get(key):
            config[key] = config["hidden_size"]
    tensors = {}
    for tensor, shape in family["tensors"].items():
        if square and ("mlp" in tensor or "block_sparse" in tensor):
            shape = [config["hidden_size"] if n in alike else 2 * config["hidden_size"] if n in twice else n for n in shape]
        tensors[tensor] = random.normal(1.0 if len(shape) == 1 and tensor.endswith("weight") else 0.0, 0.02, shape).astype(np.float32)
    return config, tensors


class Counts:
    def __init__(self):
        self.refused = self.same = self.fit = self.back = self.by_tensor = self.by_blocks = 0
        self.untold, self.alarms = [], []


def part(data, rules):
    return {**{key: value for key, value in data.items() if key not in ("base", "tensors")}, "tensors": rules}


def try_all(ready, family, square):
    """Counts of one map's mutations."""
    config, tensors = family_of(family, square)
    random = np.random.default_rng(11)
    reference = {name: value + np.float32(MOVED) * value.std() * random.standard_normal(value.shape).astype(np.float32) for name, value in tensors.items()}
    data = model.inherited(model.ready_map(ready), model.READY)
    trainer = data["sides"][0]
    there = model.convert(data, config, "hf", tensors, arithmetic=True)
    right = model.Conversion(model.Map(data, config), trainer, there, model.shapes_of(tensors), arithmetic=True)
    counts, sides = Counts(), data["sides"]
    counts.alarms = likeness.told(right.made, reference)
    typical = likeness.typical_of(right.made, reference)
    used = {number: data["tensors"][number - 1] for number in right.by_rule}
    cases = [([number], [mutant]) for number, rule in used.items() for mutant in mutations(rule, sides, list(data["sizes"]))]
    numbers = list(used)
    for pair in exchanged_names([used[number] for number in numbers], sides):
        whose = [number for number in numbers if any(used[number][trainer] == mutant[trainer] for mutant in pair)]
        cases.append((whose, pair))
    for whose, mutants in cases:
        sources = {name: there[name] for number in whose for name in right.by_rule[number][0]}
        expected = {name for number in whose for name in right.by_rule[number][1]}
        count(counts, part(data, mutants), (config, trainer, sources, expected, right.made, reference, typical))
    return counts


def count(counts, data, about):
    config, trainer, sources, expected, right, reference, typical = about
    try:
        made = model.convert(data, config, trainer, sources, {name: right[name].shape for name in expected}, arithmetic=True)
    except model.MapError:
        counts.refused += 1
        return
    if all(np.array_equal(made[name], right[name]) for name in made):
        counts.same += 1
        return
    counts.fit += 1
    back = model.convert(data, config, "hf", made, model.shapes_of(sources), arithmetic=True)
    counts.back += all(np.allclose(back[name], sources[name]) for name in sources)
    judged = {name: reference[name] for name in made}
    counts.by_tensor += bool(likeness.told(made, judged, False, typical))
    if likeness.told(made, judged, True, typical):
        counts.by_blocks += 1
    else:
        counts.untold.append([{side: rule[side] for side in data["sides"]} for rule in data["tensors"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("maps", nargs="*")
    parser.add_argument("--square", action="store_true")
    parser.add_argument("--list", action="store_true", help="those that fit and are not told")
    given = parser.parse_args()
    total, alarms = np.zeros(7, int), 0
    print("map                   mutations  refused  the same  fit  back  told by tensor  by blocks")
    for family, maps in MAPS_OF.items():
        for ready in maps:
            if given.maps and ready not in given.maps:
                continue
            one = try_all(ready, family, given.square)
            row = [one.refused + one.same + one.fit, one.refused, one.same, one.fit, one.back, one.by_tensor, one.by_blocks]
            total += row
            alarms += len(one.alarms)
            print(f"{ready:<20} {row[0]:10} {row[1]:8} {row[2]:9} {row[3]:4} {row[4]:5} {row[5]:15} {row[6]:10}   {family}", flush=True)
            if one.alarms:
                print(f"   FALSE ALARMS: {one.alarms}")
            for untold in one.untold if given.list else []:
                print("   not told:", *untold)
    print(f"{'all':<20} {total[0]:10} {total[1]:8} {total[2]:9} {total[3]:4} {total[4]:5} {total[5]:15} {total[6]:10}")
    sys.exit(0 if total[6] >= 0.95 * total[3] and not alarms else 1)


if __name__ == "__main__":
    main()
