"""A naive model of maps of names, the judge of the programs: which element of which tensor is which of the other side.

Written from the language alone (layouts/README.md, "Maps of names"), and shares nothing with the library, which turns rules into
boxes with steps. Here each *element* is asked what it is: its coordinate in each dimension is taken apart into a piece and the values of
the piece's axes, and both sides are joined by what their elements say. So a rule that writes an element twice or never cannot pass.

    model.py MAP CONFIG.json SIDE IN.safetensors OUT.safetensors [--expect REF.safetensors] [--size g=8 ...]
"""
import argparse
import ast
import fnmatch
import itertools
import json
import math
import operator
import re
import struct
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
READY = ROOT / "layouts" / "names"
KEYS = {"ckpt_names", "sides", "for", "sizes", "stack", "states", "drop", "tied", "base", "when", "tensors", "$schema"}
RULE_KEYS = {"when", "times", "plus"}
PADDING, REST = "_", "..."
MISSING = object()


class MapError(Exception):
    """The map, or its use, breaks the language."""


def require(condition, message):
    if not condition:
        raise MapError(message)


# --- expressions: integers of sizes, truths of conditions -------------------------------------------------------------

def exactly(left, right):
    require(right != 0, "division by zero")
    require(Fraction(left, right).denominator == 1, f"{left} / {right} leaves a remainder")
    return left // right


ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: exactly, ast.Mod: operator.mod}
COMPARED = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
            ast.In: lambda one, all_: one in all_, ast.NotIn: lambda one, all_: one not in all_}


def evaluate(text, value_of):
    """The expression's value. Its form is a part of Python's, of which only these nodes are known; nothing is run. A name that is nowhere is
    false in a condition, and MISSING takes every sum that it is in with it."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, str)):
            return node.value
        if isinstance(node, ast.Name):
            return value_of(node.id)
        if isinstance(node, ast.Subscript):
            every, at = value(node.value), value(node.slice)
            return every[at] if isinstance(every, list) and at is not MISSING and 0 <= at < len(every) else MISSING
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            left, right = value(node.left), value(node.right)
            return MISSING if MISSING in (left, right) else ARITHMETIC[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not truth(value(node.operand))
        if isinstance(node, ast.BoolOp):
            return (all if isinstance(node.op, ast.And) else any)(truth(value(each)) for each in node.values)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = value(node.left), value(node.comparators[0])
            return MISSING not in (left, right) and COMPARED[type(node.ops[0])](left, right)
        raise MapError(f"cannot be read: {text}")
    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, TypeError) as error:
        raise MapError(f"cannot be read: {text}") from error


def truth(value):
    return value is not MISSING and bool(value)


# --- a tensor: NAME [DIM, DIM] ----------------------------------------------------------------------------------------

@dataclass
class Dim:
    """before (piece | piece) after; without a bracket one piece, with all the axes before it."""
    before: list
    pieces: list  # of (label or None, axes)
    after: list
    bracket: bool


@dataclass
class Tensor:
    text: str
    name: str
    dims: list  # of Dim, or REST
    carried: list = field(default_factory=list)  # what braces in the name hold: each a list of words

    def bracket(self):
        return next((dim for dim in self.dims if dim != REST and dim.bracket), None)

    def pieces(self):
        """(label, axes in dims and name) of each piece; padding is none."""
        outer = [axis for dim in self.dims for axis in ([REST] if dim == REST else [] if dim.bracket else dim.before)]
        outer += [axis for words in self.carried for axis in axes_of_capture(words)]
        dim = self.bracket()
        if not dim:
            return [(None, outer)]
        outer += dim.before + dim.after
        return [(label, outer + [axis for axis in axes if axis != "1"]) for label, axes in dim.pieces if axes != [PADDING]]


def axes_of_capture(words):
    """{l}: l; {i b}: i and b; {n + m}: m, which begins at the size n."""
    return [words[2]] if len(words) == 3 and words[1] == "+" else words


NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def axes_of(text, where):
    words = text.split()
    for word in words:
        require(NAME.match(word), f"{where}: '{word}' is no axis")
    return words


def parse_dim(text, where):
    text = text.strip()
    if text == REST:
        return REST
    found = re.fullmatch(r"([^()|]*)\(([^()]*)\)([^()|]*)", text)
    if not found:
        require(not re.search(r"[()|]", text) and text, f"{where}: cannot be read: {text}")
        return Dim(axes_of(text, where), [(None, [])], [], False)
    before, inside, after = axes_of(found[1], where), found[2], axes_of(found[3], where)
    pieces = []
    for part in inside.split("|"):
        label, colon, words = part.rpartition(":")
        words = words.strip()
        require(words, f"{where}: an empty piece")
        pieces.append((label.strip() if colon else None, [words] if words in (PADDING, "1") else axes_of(words, where)))
    padding = [i for i, (_, axes) in enumerate(pieces) if axes == [PADDING]]
    require(not padding or (padding == [len(pieces) - 1] and not before and not after), f"{where}: _ is not last and alone in its dim")
    return Dim(before, pieces, after, True)


def parse_tensor(text):
    require(isinstance(text, str), f"cannot be read: {text}")
    found = re.fullmatch(r"(\S+)(?:\s+\[(.*)\])?", re.sub(r"\{[^{}]*\}", lambda hit: hit[0].replace(" ", "\0"), text))
    require(found, f"cannot be read: {text}")
    name = found[1].replace("\0", " ")
    dims = [REST] if found[2] is None else [parse_dim(each, text) for each in found[2].split(",")] if found[2].strip() else []
    require(sum(dim != REST and dim.bracket for dim in dims) <= 1, f"{text}: two brackets")
    require(dims.count(REST) <= 1, f"{text}: two {REST}")
    carried = [hit.split() for hit in re.findall(r"\{([^{}]*)\}", name)]
    for words in carried:
        require(words and all(NAME.match(word) or word == "+" for word in words), f"{text}: cannot be read")
    return Tensor(text, name, dims, carried)


# --- a rule -----------------------------------------------------------------------------------------------------------

@dataclass
class Rule:
    number: int
    sides: dict  # side -> list of Tensor
    when: str | None
    times: str | int | None = None
    plus: str | int | None = None

    def pieces(self, side):
        """(label, set of axes) of each, and where it is: (number of the tensor, number in it)."""
        return [(label, axes, (at, inside)) for at, tensor in enumerate(self.sides[side]) for inside, (label, axes) in enumerate(tensor.pieces())]

    def texts(self):
        return " <-> ".join(", ".join(tensor.text for tensor in tensors) for tensors in self.sides.values())

    def pairs(self, one, other):
        """Piece of `one` side -> the piece of the other, both as (number of the tensor, number in it)."""
        left, right = self.pieces(one), self.pieces(other)
        require(len(left) == len(right), f"rule {self.number}: {len(left)} pieces here, {len(right)} there: {self.texts()}")
        labelled = [sorted(label for label, *_ in pieces if label) for pieces in (left, right)]
        require(labelled[0] == labelled[1] and len(set(labelled[0])) == len(labelled[0]), f"rule {self.number}: labels differ: {self.texts()}")
        by_label = {label: at for label, _, at in right if label}
        plain = iter([at for label, _, at in right if not label])
        return {at: by_label[label] if label else next(plain) for label, _, at in left}


def parse_rule(number, sides, data):
    require(set(data) <= {*sides, *RULE_KEYS}, f"rule {number}: unknown key {sorted(set(data) - {*sides, *RULE_KEYS})}")
    tensors = {}
    for side in sides:
        require(side in data, f"rule {number}: no {side}")
        texts = data[side] if isinstance(data[side], list) else [data[side]]
        require(texts, f"rule {number}: no {side}")
        tensors[side] = [parse_tensor(text) for text in texts]
    return Rule(number, tensors, data.get("when"), data.get("times"), data.get("plus"))


def check_rule(rule, sizes):
    """Pieces and axes; `sizes` has the axes."""
    one, other = rule.sides
    axes = {side: {at: axes for _, axes, at in rule.pieces(side)} for side in rule.sides}
    for side in rule.sides:
        for found in axes[side].values():
            for axis in found:
                require(found.count(axis) == 1, f"rule {rule.number}: axis {axis} twice: {rule.texts()}")
        nobody = [axis for found in axes[side].values() for axis in found if axis != REST and axis not in sizes and not is_text(rule, axis)]
        require(not nobody, f"rule {rule.number}: axis {nobody[:1]} has no size: {rule.texts()}")
    for mine, theirs in rule.pairs(one, other).items():
        left, right = set(axes[one][mine]), set(axes[other][theirs])
        require(left == right, f"rule {rule.number}: axes {sorted(left ^ right)} on one side only: {rule.texts()}")


def is_text(rule, axis):
    """Whether the axis stands in names alone, as the only word of its braces: without a size it is a text."""
    return all(axis not in (*dim.before, *dim.after, *(word for _, words in dim.pieces for word in words))
               for tensors in rule.sides.values() for tensor in tensors for dim in tensor.dims if dim != REST)


# --- a map ------------------------------------------------------------------------------------------------------------

class Map:
    def __init__(self, data, config, given=(), place=READY):
        self.data, self.config, self.given = inherited(data, place), config, dict(given)
        self.sides = self.data["sides"]
        require(len(self.sides) == 2 and len(set(self.sides)) == 2, "two sides are needed")
        self.rules = [parse_rule(number, self.sides, rule) for number, rule in enumerate(self.data["tensors"], 1)]
        self.sizes = Sizes(self)
        for rule in self.rules:
            if self.counts(rule, None):
                check_rule(rule, self.sizes)

    def field(self, name):
        """A field of config.json; null is as if it were not there."""
        for where in (self.config, self.config.get("text_config") or {}):
            if where.get(name) is not None:
                return where[name]
        return MISSING

    def counts(self, rule, values):
        """Whether the rule's `when` holds; with None for values, whether it may hold for some."""
        if rule.when is None:
            return True
        carried = {axis for tensors in rule.sides.values() for tensor in tensors for words in tensor.carried for axis in axes_of_capture(words)}
        if values is None:
            used = [axis for axis in sorted(carried) if re.search(rf"\b{axis}\b", rule.when) and axis in self.sizes]
            every = itertools.product(*(range(self.sizes[axis]) for axis in used))
            return any(self.counts(rule, dict(zip(used, each))) for each in every)
        return truth(evaluate(rule.when, lambda name: values[name] if name in values else self.field(name)))


class Sizes:
    """Axis -> its size, reckoned where it is asked for."""

    def __init__(self, map_):
        self.map, self.open = map_, []

    def __contains__(self, axis):
        return self.get(axis) is not MISSING

    def __getitem__(self, axis):
        found = self.get(axis)
        require(found is not MISSING, f"axis {axis} has no size")
        require(isinstance(found, int) and found >= 0, f"axis {axis}: {found} is no size")
        return found

    def get(self, axis):
        if axis in self.map.given:
            return self.map.given[axis]
        said = self.map.data["sizes"].get(axis, MISSING)
        require(axis not in self.open, f"sizes: {axis} is said by itself")
        self.open.append(axis)
        try:
            for one in said if isinstance(said, list) else [said]:
                found = one if one is MISSING or isinstance(one, int) else evaluate(one, self.name)
                if found is not MISSING:
                    return found
            return MISSING
        finally:
            self.open.pop()

    def name(self, name):
        if name in self.map.data["sizes"] and name not in self.open:
            return self.get(name)
        return self.map.field(name)


def inherited(data, place, seen=()):
    """With what `base` says: one's own rules first, then the base's; one's own words for all else."""
    require(isinstance(data, dict) and set(data) <= KEYS, f"unknown key {sorted(set(data) - KEYS)}")
    require(data.get("ckpt_names") == 1, "ckpt_names is not 1")
    if "base" not in data:
        return {"sizes": {}, **data}
    require(data["base"] not in seen, f"base: {data['base']} is its own")
    base = inherited(read_json(place / f"{data['base']}.json"), place, (*seen, data["base"]))
    merged = {**base, **{key: value for key, value in data.items() if key not in ("base", "tensors")}}
    for key in ("sizes", "stack", "states", "drop"):
        merged[key] = {**base.get(key, {}), **data.get(key, {})}
    merged["tensors"] = data.get("tensors", []) + base["tensors"]
    return merged


# --- conversion -------------------------------------------------------------------------------------------------------

def spelled(tensor, values, sizes):
    """The tensor's name with the values of the axes that it carries."""
    def one(words):
        if len(words) == 3 and words[1] == "+":
            return sizes[words[0]] + values[words[2]]
        if len(words) == 1:
            return values[words[0]]
        number = 0
        for axis in words:
            number = number * sizes[axis] + values[axis]
        return number
    return re.sub(r"\{([^{}]*)\}", lambda hit: str(one(hit[1].split())), tensor.name)


def stacked(tensor, stack):
    """The tensor with the axis of `stack` as its first dimension, in place of the number in its name."""
    for axis, prefix in stack.items():
        if tensor.name.startswith(prefix):
            name = prefix.replace(f"{{{axis}}}.", "").replace(f"{{{axis}}}", "") + tensor.name[len(prefix):]
            return Tensor(tensor.text, name, [Dim([axis], [(None, [])], [], False), *tensor.dims], [words for words in tensor.carried if words != [axis]])
    return tensor


def said_by(tensor, values, shape, sizes):
    """For each element of a tensor of this shape, in its order: the number of its piece (-1: padding), and axis -> value."""
    rest = len(shape) - len(tensor.dims) + 1
    dims = []
    for dim in tensor.dims:
        dims += [Dim([f"{REST}{i}"], [(None, [])], [], False) for i in range(rest)] if dim == REST else [dim]
    require(len(dims) == len(shape), f"{tensor.text}: {list(shape)}, the rule has {len(dims)} dimensions")
    coordinates = np.indices(shape).reshape(len(shape), math.prod(shape))
    piece, found = np.zeros(math.prod(shape), np.int64), {}
    for axis, value in values.items():
        found[axis] = np.full(len(piece), value)
    for dim, extent, at in zip(dims, shape, coordinates):
        size = lambda axis: extent if axis.startswith(REST) else sizes[axis]  # noqa: E731
        inner = lambda axes: [] if axes in ([PADDING], ["1"]) else axes  # noqa: E731
        widths = [math.prod(map(size, inner(axes))) for _, axes in dim.pieces if axes != [PADDING]]
        outside = math.prod(map(size, dim.before + dim.after))
        padded = dim.bracket and dim.pieces[-1][1] == [PADDING]
        wanted = outside * sum(widths)
        require(extent == wanted or (padded and extent > wanted), f"{tensor.text}: {list(shape)}, the rule gives {wanted} for {extent}")
        take_apart(dim.after, at_in := [at], size, found)
        if dim.bracket:
            inside = at_in[0] % sum(widths) if not padded else at_in[0]
            at_in[0] = at_in[0] // sum(widths) if not padded else at_in[0] * 0
            start = 0
            for number, ((_, axes), width) in enumerate(zip(dim.pieces, widths)):
                mine = (inside >= start) & (inside < start + width)
                piece[mine] = number
                take_apart(inner(axes), [inside - start], size, found, mine)
                start += width
            piece[inside >= start] = -1
        take_apart(dim.before, at_in, size, found)
    return piece, found


def take_apart(axes, at, size, found, where=slice(None)):
    """Put the values of `axes`, minor last, of the numbers at[0] into found; at[0] is what is left."""
    for axis in reversed(axes):
        target = found.setdefault(axis, np.full(len(at[0]), -1))
        target[where] = (at[0] % size(axis))[where]
        at[0] = at[0] // size(axis)


def keys_of(piece_axes, piece, found, sizes, pieces, rest):
    """A number for each element that is the same on both sides for the same piece and values, and only then."""
    keys = np.full(len(piece), -1, np.int64)
    for number in set(piece.tolist()) - {-1}:
        mine, key = piece == number, np.zeros(len(piece), np.int64)
        axes = [axis for axis in piece_axes[number] if axis != REST] + ([f"{REST}{i}" for i in range(len(rest))] if REST in piece_axes[number] else [])
        for axis in sorted(axes):
            extent = rest[int(axis[len(REST):])] if axis.startswith(REST) else sizes[axis] if axis in sizes else 1
            key = key * extent + (found[axis] if axis in sizes or axis.startswith(REST) else 0)
        keys[mine] = (key * pieces[1] + pieces[0][number])[mine]
    return keys


class Conversion:
    """From one side's tensors to the other's. `wanted`: name -> shape, or None, of the tensors that the target is to have (as REF of --like)."""

    def __init__(self, map_, source_side, tensors, wanted=None, arithmetic=False, states=True):
        self.map, self.source, self.arithmetic = map_, source_side, arithmetic
        self.target = next(side for side in map_.sides if side != source_side)
        self.wanted, self.tensors, self.made, self.used, self.passed, self.dropped = wanted, dict(tensors), {}, set(), [], []
        self.by_rule = {}  # number of a rule -> what it took and what it made
        self.stack = {side: self.is_stacked(side, names) for side, names in ((self.source, self.tensors), (self.target, wanted or {}))}
        self.drop_and_tie()
        self.sizes = map_.sizes
        groups = self.split_states() if states else {None: self.tensors}
        for state, those in groups.items():
            self.convert(those, state)
        left = sorted(set(self.tensors) - self.used)
        require(not left, f"no rule takes {left[:4]}")
        if wanted is not None:
            self.tie_back()
            missing = sorted(set(wanted) - set(self.made) - {name for name in wanted if self.is_dropped(self.target, name)})
            require(not missing, f"nothing makes {missing[:4]}")

    def said(self, key, side):
        return (self.map.data.get(key) or {}).get(side) or ({} if key == "stack" else [])

    def is_stacked(self, side, names):
        stack = self.said("stack", side)
        stems = [prefix.split("{")[0] for prefix in stack.values()]
        return stack if any(name.find(stem) >= 0 and not name[name.find(stem) + len(stem)].isdigit() for stem in stems for name in names) else {}

    def is_dropped(self, side, name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.said("drop", side))

    def tied(self, side):
        """Second name -> first name."""
        said = self.map.data.get("tied") or []
        found = {}
        for one in said if isinstance(said, list) else [said]:
            if "when" not in one or truth(evaluate(one["when"], self.map.field)):
                for second, first in one.get(side, {}).items():
                    tensor = parse_tensor(second)
                    axes = [axis for words in tensor.carried for axis in axes_of_capture(words)]
                    for values in itertools.product(*(range(self.map.sizes[axis]) for axis in axes)):
                        found[spelled(tensor, dict(zip(axes, values)), self.map.sizes)] = first
        return found

    def drop_and_tie(self):
        for name in [name for name in self.tensors if self.is_dropped(self.source, name)]:
            self.dropped.append(name)
            del self.tensors[name]
        for second, first in self.tied(self.source).items():
            if second in self.tensors:
                value = self.tensors.pop(second)
                require(first not in self.tensors or np.array_equal(self.tensors[first], value), f"{second} differs from {first}, to which it is tied")
                self.tensors.setdefault(first, value)

    def tie_back(self):
        tied = {second: first for second, first in self.tied(self.target).items() if second in self.wanted and first in self.made}
        for second, first in tied.items():
            self.made.setdefault(second, self.made[first])
        for first in set(tied.values()) - set(self.wanted):
            del self.made[first]

    def split_states(self):
        """State -> name -> tensor; None for what no form of `states` takes."""
        groups = {None: {}}
        forms = [re.compile(re.escape(form).replace(r"\{state\}", r"(?P<state>[^./]+)").replace(r"\{name\}", "(?P<name>.+)") + r"\Z")
                 for form in self.said("states", self.source)]
        weights = self.weights_of_source()
        for name, value in self.tensors.items():
            found = None if name in weights else next((hit for form in forms if (hit := form.match(name)) and hit["name"] in weights), None)
            groups.setdefault(found and found["state"], {})[found["name"] if found else name] = value
            if found:
                self.used.add(name)
        return groups

    def weights_of_source(self):
        return {name for rule in self.map.rules for _, sources, _ in self.cases(rule, self.tensors) for name in sources}

    def state_name(self, side, state, name):
        if state is None:
            return name
        forms = [form.replace("{state}", state).replace("{name}", name) for form in self.said("states", side)]
        require(forms, f"{side} has no names of states")
        return next((form for form in forms if self.wanted and form in self.wanted), forms[0])

    def cases(self, rule, names):
        """Each instance of the rule: values of the axes that both sides' names carry, and the names on either side."""
        tensors = {side: [stacked(tensor, self.stack[side]) for tensor in rule.sides[side]] for side in rule.sides}
        sets = [{axis for words in tensor.carried for axis in axes_of_capture(words)} for side in tensors for tensor in tensors[side]]
        common = sorted(set.intersection(*sets))
        texts = [axis for axis in common if axis not in self.map.sizes]
        for values in self.values_of(common, texts, tensors, names):
            if self.map.counts(rule, values):
                yield values, self.names(tensors[self.source], values), self.names(tensors[self.target], values)

    def values_of(self, common, texts, tensors, names):
        numbers = [axis for axis in common if axis not in texts]
        plain = [dict(zip(numbers, each)) for each in itertools.product(*(range(self.map.sizes[axis]) for axis in numbers))]
        if not texts:
            return plain
        regexes = [re.sub(r"\\\{([^{}]*)\\\}", lambda hit: f"(?P<{hit[1]}>.+)" if hit[1] in texts else "[0-9]+", re.escape(tensor.name)) + r"\Z"
                   for tensor in tensors[self.source]]
        found = sorted({tuple(hit[text] for text in texts) for name in names for regex in regexes if (hit := re.match(regex, name))})
        return [{**values, **dict(zip(texts, each))} for each in found for values in plain]

    def names(self, tensors, values):
        """name -> (tensor, number of it in the rule, values of all axes in its name)"""
        found = {}
        for number, tensor in enumerate(tensors):
            axes = [axis for words in tensor.carried for axis in axes_of_capture(words)]
            free = [axis for axis in axes if axis not in values]
            for each in itertools.product(*(range(self.map.sizes[axis]) for axis in free)):
                every = {**{axis: values[axis] for axis in axes if axis in values}, **dict(zip(free, each))}
                found[spelled(tensor, every, self.map.sizes)] = tensor, number, every
        return found

    def convert(self, tensors, state):
        made, taken, lacking_everywhere = {}, set(), {}
        for rule in self.map.rules:
            cases = [(values, sources, targets) for values, sources, targets in self.cases(rule, tensors)
                     if not (set(sources) & taken or set(targets) & set(made)) and self.is_wanted(targets, state)]
            every = {name for _, sources, _ in cases for name in sources}
            there = every & set(tensors)
            if not there:
                lacking_everywhere.update({name: every for *_, targets in cases for name in targets})
                continue
            lacking = sorted(every - there)
            require(not lacking or state is not None, f"rule {rule.number}: {sorted(there)[0]} is there, {lacking[:1]} is not")
            for values, sources, targets in cases:
                if set(sources) <= set(tensors):
                    made.update(self.move(rule, {name: (tensors[name], sources[name]) for name in sources}, targets, state))
                    taken |= set(sources)
                    for done, names in zip(self.by_rule.setdefault(rule.number, ([], [])), (sources, targets)):
                        done += names
        if state is None:
            self.passed = sorted({min(names) for target, names in lacking_everywhere.items() if target not in made and names})
        for name, value in made.items():
            self.made[self.state_name(self.target, state, name)] = value
        self.used |= taken

    def is_wanted(self, targets, state):
        return self.wanted is None or all(self.state_name(self.target, state, name) in self.wanted for name in targets)

    def move(self, rule, sources, targets, state):
        """The elements of one instance: name -> array."""
        first = next(iter(sources.values()))[0]
        if state is not None and first.ndim == 0:  # a step, which each piece has
            require(len({value.tobytes() for value, _ in sources.values()}) == 1, f"{rule.texts()}: states without dimensions differ")
            return {name: first for name in targets}
        pairs = rule.pairs(self.source, self.target)
        order = {piece: number for number, piece in enumerate(pairs)}
        back = {there: order[here] for here, there in pairs.items()}
        rest = self.rest_of(sources)
        keys, values = [], []
        for array, (tensor, number, carried) in sources.values():
            piece, found = said_by(tensor, carried, array.shape, self.sizes)
            axes = [each for _, each in tensor.pieces()]
            keys.append(keys_of(axes, piece, found, self.sizes, ([order[number, i] for i in range(len(axes))], len(order)), rest))
            values.append(array.reshape(-1))
        keys, values = np.concatenate(keys), np.concatenate(values)
        keys, values = keys[keys >= 0], self.reckoned(rule, values[keys >= 0])
        places = np.argsort(keys, kind="stable")
        keys, values = keys[places], values[places]
        require(not (keys[1:] == keys[:-1]).any(), f"{rule.texts()}: an element is read twice")
        made, filled = {}, 0
        for name, (tensor, number, carried) in targets.items():
            shape = self.shape_of(tensor, name, rest, state)
            piece, found = said_by(tensor, carried, shape, self.sizes)
            axes = [each for _, each in tensor.pieces()]
            mine = keys_of(axes, piece, found, self.sizes, ([back[number, i] for i in range(len(axes))], len(order)), rest)
            there = mine >= 0
            at = np.searchsorted(keys, mine[there])
            require((at < len(keys)).all() and (keys[np.minimum(at, len(keys) - 1)] == mine[there]).all(), f"{rule.texts()}: {name} has elements of nobody")
            out = np.zeros(len(mine), values.dtype)
            out[there] = values[at]
            made[name], filled = out.reshape(shape), filled + int(there.sum())
        require(filled == len(keys), f"{rule.texts()}: {len(keys)} elements are read, {filled} written")
        return made

    def rest_of(self, sources):
        """The dims that `...` stands for, of the one tensor that has it or of all alike."""
        found = set()
        for array, (tensor, *_) in sources.values():
            if REST in tensor.dims:
                at = tensor.dims.index(REST)
                found.add(array.shape[at:at + array.ndim - len(tensor.dims) + 1])
        require(len(found) <= 1, f"shapes differ: {sorted(found)}")
        return found.pop() if found else ()

    def shape_of(self, tensor, name, rest, state):
        shape = []
        wanted = (self.wanted or {}).get(self.state_name(self.target, state, name))
        for dim in tensor.dims:
            if dim == REST:
                shape += rest
                continue
            inside = sum(math.prod(self.sizes[axis] for axis in axes if axis != "1") for _, axes in dim.pieces if axes != [PADDING])
            extent = math.prod(self.sizes[axis] for axis in dim.before + dim.after) * inside
            padded = dim.bracket and dim.pieces[-1][1] == [PADDING]
            shape.append(max(extent, wanted[len(shape)]) if padded and wanted else extent)
        require(not wanted or tuple(shape) == tuple(wanted), f"{name}: the rule gives {shape}, wanted {list(wanted or ())}")
        return tuple(shape)

    def reckoned(self, rule, values):
        if rule.times is None and rule.plus is None:
            return values
        require(self.arithmetic, f"{rule.texts()}: is no move, and arithmetic is not allowed")
        factor, term = (float(real(text, self.map)) if text is not None else default for text, default in ((rule.times, 1), (rule.plus, 0)))
        forward = self.source == self.map.sides[0]
        wide = values.astype(np.float32)
        return (wide * np.float32(factor) + np.float32(term) if forward else (wide - np.float32(term)) / np.float32(factor)).astype(values.dtype)


def real(text, map_):
    """A factor: numbers, sizes, + - * / and sqrt."""
    def value(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return map_.sizes[node.id]
        if isinstance(node, ast.BinOp):
            return {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}[type(node.op)](
                value(node.left), value(node.right))
        if isinstance(node, ast.Call) and node.func.id == "sqrt":
            return math.sqrt(value(node.args[0]))
        raise MapError(f"cannot be read: {text}")
    return text if isinstance(text, (int, float)) else value(ast.parse(text, mode="eval").body)


def convert(data, config, side, tensors, wanted=None, sizes=(), arithmetic=False):
    """The other side's tensors. `wanted`: name -> shape of REF."""
    return Conversion(Map(data, config, sizes), side, tensors, wanted, arithmetic).made


# --- files ------------------------------------------------------------------------------------------------------------

DTYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "BF16": "u2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?",
          "F8_E4M3": "u1", "F8_E5M2": "u1", "F8_E8M0": "u1"}


def read_json(path):
    return json.loads(Path(path).read_text())


def read_safetensors(path):
    """name -> array; bf16 and f8 as unsigned integers of their width, since only places matter."""
    data = Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data, DTYPES[one["dtype"]], math.prod(one["shape"]), 8 + size + one["data_offsets"][0]).reshape(one["shape"])
            for name, one in header.items()}


def write_safetensors(path, tensors):
    names = {np.dtype(kind).str[1:]: name for name, kind in reversed(DTYPES.items()) if not name.startswith(("BF", "F8"))}
    header, at = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": names[array.dtype.str[1:]], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(np.ascontiguousarray(array).tobytes() for array in tensors.values()))


def shapes_of(tensors):
    return {name: value.shape for name, value in tensors.items()}


def ready_map(name):
    return read_json(READY / f"{name}.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("map")
    parser.add_argument("config")
    parser.add_argument("side")
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--expect")
    parser.add_argument("--size", action="append", default=[])
    parser.add_argument("--allow-arithmetic", action="store_true")
    given = parser.parse_args()
    sizes = {axis: int(value) for axis, _, value in (each.partition("=") for each in given.size)}
    wanted = shapes_of(read_safetensors(given.expect)) if given.expect else None
    try:
        made = convert(read_json(given.map), read_json(given.config), given.side, read_safetensors(given.source), wanted, sizes, given.allow_arithmetic)
    except MapError as error:
        sys.exit(f"model.py: {error}")
    write_safetensors(given.out, made)


if __name__ == "__main__":
    main()
