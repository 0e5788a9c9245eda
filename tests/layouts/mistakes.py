"""Mistakes that people make in a layout: each function gives those of one kind that a layout (the parsed JSON) has room for, as pairs of
what was done, in words, and the wrong layout."""
import copy
import itertools


def changed(layout, change):
    wrong = copy.deepcopy(layout)
    change(wrong)
    return wrong


def rules(layout):
    return list(enumerate(layout.get("parameters", [])))


def title(rule):
    name = rule["name"]
    return name if isinstance(name, str) else name[0]


def rule_dropped(layout):
    for i, rule in rules(layout):
        yield f"rule {title(rule)} dropped", changed(layout, lambda wrong, i=i: wrong["parameters"].pop(i))


def rule_moved_first(layout):
    """A wide pattern before the narrow ones; one of some names only would change nothing."""
    for i, rule in rules(layout)[1:]:
        if title(rule).startswith("*") and title(rule).count(".") < 2:
            yield f"rule {title(rule)} before all others", changed(
                layout, lambda wrong, i=i: wrong["parameters"].insert(0, wrong["parameters"].pop(i)))


def with_key(layout, i, key, value):
    return changed(layout, lambda wrong: wrong["parameters"][i].update({key: value}))


def without_key(layout, i, key):
    return changed(layout, lambda wrong: wrong["parameters"][i].pop(key))


def dimension(layout):
    """The split is said of the next dimension, or of the one before."""
    for i, rule in rules(layout):
        split = rule.get("split", [])
        if not split:
            continue
        yield f"split of {title(rule)} one dimension later", with_key(layout, i, "split", [None, *split])
        if split[0] is None:
            yield f"split of {title(rule)} one dimension earlier", with_key(layout, i, "split", split[1:])


def axes_order(layout):
    for i, rule in rules(layout):
        split = rule.get("split", [])
        for dim, axes in enumerate(split):
            if isinstance(axes, list) and len(axes) > 1:
                turned = [*split[:dim], axes[::-1], *split[dim + 1:]]
                yield f"axes of {title(rule)} in the other order", with_key(layout, i, "split", turned)
        if sum(axes is not None for axes in split) > 1:
            yield f"axes of {title(rule)} on one another's dimension", with_key(layout, i, "split", split[::-1])


def other_axis(layout):
    axes = layout["mesh"]["axes"]
    for i, rule in rules(layout):
        split = rule.get("split", [])
        for dim, axis in enumerate(split):
            for other in axes:
                if isinstance(axis, str) and other != axis and other not in split:
                    moved = [*split[:dim], other, *split[dim + 1:]]
                    yield f"{title(rule)} split over {other} instead of {axis}", with_key(layout, i, "split", moved)


def not_split(layout):
    """And then what the message about replicas that differ offers."""
    for i, rule in rules(layout):
        if not rule.get("split"):
            continue
        bare = {key: value for key, value in rule.items() if key not in ("split", "uneven", "parts", "pad", "sizes")}
        yield f"{title(rule)} without its split", changed(layout, lambda wrong, i=i, bare=bare: wrong["parameters"].__setitem__(i, bare))
        yield f"{title(rule)} without its split, first replica", changed(
            layout, lambda wrong, i=i, bare=bare: wrong["parameters"].__setitem__(i, {**bare, "replicas": "first"}))


def uneven(layout):
    for i, rule in rules(layout):
        if "uneven" in rule:  # without it the pieces are equal, whatever the word
            for word in sorted({"exact", "ceil", "balanced"} - {rule["uneven"]}):
                yield f"{title(rule)} uneven {word}", with_key(layout, i, "uneven", word)


def parts(layout):
    for i, rule in rules(layout):
        if "parts" in rule:
            yield f"parts of {title(rule)} forgotten", without_key(layout, i, "parts")
            if "count" in rule["parts"]:
                yield f"parts of {title(rule)} doubled", with_key(
                    layout, i, "parts", {**rule["parts"], "count": 2 * rule["parts"]["count"]})
        elif rule.get("split") and "pad" not in rule:
            dim = next(dim for dim, axes in enumerate(rule["split"]) if axes is not None)
            yield f"parts of {title(rule)} invented", with_key(layout, i, "parts", {"dim": dim, "count": 2})


def pad(layout):
    for i, rule in rules(layout):
        if "pad" in rule:
            dim, said = next(iter(rule["pad"].items()))
            yield f"pad of {title(rule)} forgotten", without_key(layout, i, "pad")
            for size in (said["size"] + 1, said["size"] - 1):
                yield f"pad of {title(rule)} of size {size}", with_key(layout, i, "pad", {dim: {**said, "size": size}})


def places(layout):
    for i, rule in rules(layout):
        if "at" in rule:
            yield f"at of {title(rule)} forgotten", without_key(layout, i, "at")
            (axis, where), = rule["at"].items()
            other = 1 if where == 0 else 0
            yield f"{title(rule)} at {axis} {other}", with_key(layout, i, "at", {axis: other})


def like(layout):
    for i, rule in rules(layout):
        if "like" in rule and "equals" not in rule:
            yield f"{title(rule)} not like its weight", without_key(layout, i, "like")


def indices(layout):
    for i, entry in enumerate(layout.get("indices", [])):
        def with_entry(change, i=i):
            return changed(layout, lambda wrong: wrong["indices"][i].update(change))
        what = f"indices {entry['in']}"
        yield what + " forgotten", changed(layout, lambda wrong, i=i: wrong["indices"].pop(i))
        yield what + " numbered the other way", with_entry(
            {"numbering": "global" if entry.get("numbering") == "local" else "local"})
        if "total" in entry:
            size = layout["mesh"]["shape"][layout["mesh"]["axes"].index(entry["axis"])]
            for total in (entry["total"] + size, entry["total"] - size):
                yield what + f" of {total}", with_entry({"total": total})
        if "counts" in entry:
            yield what + " with counts turned", with_entry({"counts": entry["counts"][1:] + entry["counts"][:1]})
        if "virtual" in entry:
            yield what + " not virtual", changed(layout, lambda wrong, i=i: wrong["indices"][i].pop("virtual"))
        elif entry.get("numbering") == "local":
            yield what + " virtual", with_entry({"virtual": 2})
        for axis in layout["mesh"]["axes"]:
            if axis != entry["axis"]:
                yield what + f" over {axis}", with_entry({"axis": axis})


def mesh(layout):
    axes, shape = layout["mesh"]["axes"], layout["mesh"]["shape"]
    for a, b in itertools.combinations(range(len(axes)), 2):
        def swapped(values, a=a, b=b):
            values = list(values)
            values[a], values[b] = values[b], values[a]
            return values
        names = f"{axes[a]} and {axes[b]}"
        yield f"{names} in the mesh's other order", changed(
            layout, lambda wrong: wrong["mesh"].update(axes=swapped(axes), shape=swapped(shape)))
        yield f"sizes of {names} swapped", changed(layout, lambda wrong: wrong["mesh"].update(shape=swapped(shape)))
    cards = layout["mesh"].get("cards")
    if cards:
        yield "cards in order", changed(layout, lambda wrong: wrong["mesh"].pop("cards"))
        yield "two cards swapped", changed(
            layout, lambda wrong: wrong["mesh"].update(cards=[cards[1], cards[0], *cards[2:]]))


def bucket_members(layout):
    def members_of(wrong, i):
        members = wrong["buckets"][i]["members"]
        return members["params"] if isinstance(members, dict) else members
    for i, bucket in enumerate(layout.get("buckets", [])):
        what = f"members of bucket {i}"
        count = len(members_of(layout, i))
        if count > 1:
            yield what + " reversed", changed(layout, lambda wrong, i=i: members_of(wrong, i).reverse())
            yield what + ", the last left out", changed(layout, lambda wrong, i=i: members_of(wrong, i).pop())
        for first in range(count - 1):
            yield what + f", {first} and the next swapped", changed(
                layout, lambda wrong, i=i, f=first: members_of(wrong, i).insert(f, members_of(wrong, i).pop(f + 1)))


def bucket_keys(layout):
    for i, bucket in enumerate(layout.get("buckets", [])):
        for key in ("align", "multiple_of", "multiple_of_each", "last", "at"):
            if key in bucket:
                yield f"{key} of bucket {i} forgotten", changed(layout, lambda wrong, i=i, k=key: wrong["buckets"][i].pop(k))
        for axis in layout["mesh"]["axes"]:
            if axis != bucket["axis"]:
                yield f"bucket {i} over {axis}", changed(layout, lambda wrong, i=i, a=axis: wrong["buckets"][i].update(axis=a))


def shapes(layout):
    for i, rule in rules(layout):
        if len(rule.get("shape", [])) > 1:
            yield f"shape of {title(rule)} transposed", with_key(layout, i, "shape", rule["shape"][::-1])


KINDS = (rule_dropped, rule_moved_first, dimension, axes_order, other_axis, not_split, uneven, parts, pad, places, like, indices, mesh,
         bucket_members, bucket_keys, shapes)


def all_of(layout):
    """Every mistake that a layout has room for: (kind, what was done, wrong layout)."""
    return [(kind.__name__, what, wrong) for kind in KINDS for what, wrong in kind(layout) if wrong != layout]
