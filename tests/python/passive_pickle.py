"""Pickles read as descriptions: a stack machine that looks nothing up and calls nothing, over Python's own list of opcodes. Shares no code
with torch_file, whose Unpickler is Python's, nor with the library."""
import struct


class Bad(ValueError):
    pass


class Node:
    """What a pickle would have made. `kind`: dict (items: pairs), list, tuple, set (items: values), global, call, new or pid. Of a call or
    a new object `function`, `args`, and what was added to it: `items` and `state`."""

    def __init__(self, kind, items=(), name=None, function=None, args=None):
        self.kind, self.items, self.name, self.function, self.args, self.state = kind, list(items), name, function, args, None

    def __repr__(self):
        return f"<{self.kind} {self.name or ''}>"


EMPTY = {0x29: "tuple", 0x5d: "list", 0x7d: "dict", 0x8f: "set"}
NUMBERS = {0x4a: "<i", 0x4b: "<B", 0x4d: "<H", 0x47: ">d"}
TEXTS = {0x58: "<I", 0x8c: "<B", 0x8d: "<Q"}
BYTES = {0x55: "<B", 0x43: "<B", 0x54: "<I", 0x42: "<I", 0x8e: "<Q", 0x96: "<Q"}
LONGS = {0x8a: "<B", 0x8b: "<i"}
PUTS, GETS = {0x71: "<B", 0x72: "<I"}, {0x68: "<B", 0x6a: "<I"}
CONSTANTS = {0x4e: None, 0x88: True, 0x89: False}


class Machine:
    def __init__(self, data, at):
        self.data, self.at, self.stack, self.marks, self.memo = data, at, [], [], {}

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise Bad("the pickle ends early")
        self.at += count
        return bytes(self.data[self.at - count:self.at])

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self):
        return self.take(self.data.find(b"\n", self.at) + 1 - self.at)[:-1].decode()

    def pop(self):
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise Bad("nothing on the stack")
        return self.stack.pop()

    def since_mark(self):
        if not self.marks:
            raise Bad("no mark")
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def top(self, *kinds):
        if not self.stack or kinds and getattr(self.stack[-1], "kind", None) not in kinds:
            raise Bad(f"expected one of {kinds} on the stack")
        return self.stack[-1]

    def extend(self, items, *kinds):
        self.top(*kinds, "call", "new").items.extend(items)

    def run(self):
        while (code := self.take(1)[0]) != 0x2e:
            if not self.value(code) and not self.change(code):
                raise Bad(f"opcode {code:#x}")
        return self.pop()

    def value(self, code):
        """Opcodes that put something on the stack."""
        if code in CONSTANTS:
            found = CONSTANTS[code]
        elif code in NUMBERS:
            found = self.number(NUMBERS[code])
        elif code in LONGS:
            found = int.from_bytes(self.take(self.number(LONGS[code])), "little", signed=True)
        elif code in TEXTS:
            found = self.take(self.number(TEXTS[code])).decode("utf-8", "surrogatepass")
        elif code in BYTES:
            found = self.take(self.number(BYTES[code]))
        elif code in EMPTY:
            found = Node(EMPTY[code])
        elif code in (0x85, 0x86, 0x87):
            found = Node("tuple", [self.pop() for _ in range(code - 0x84)][::-1])
        elif code in (0x74, 0x91):
            found = Node("tuple" if code == 0x74 else "set", self.since_mark())
        elif code in GETS:
            found = self.memo[self.number(GETS[code])]
        elif code == 0x63:
            found = Node("global", name=f"{self.line()}.{self.line()}")
        elif code == 0x93:
            name, module = self.pop(), self.pop()
            found = Node("global", name=f"{module}.{name}")
        elif code in (0x52, 0x81):
            args, function = self.pop(), self.pop()
            found = Node("call" if code == 0x52 else "new", name=getattr(function, "name", None), function=function, args=args)
        elif code == 0x51:
            found = Node("pid", args=self.pop())
        else:
            return False
        self.stack.append(found)
        return True

    def change(self, code):
        """Opcodes that change what is there."""
        if code == 0x80:
            self.take(1)
        elif code == 0x95:
            self.take(8)
        elif code == 0x28:
            self.marks.append(len(self.stack))
        elif code == 0x30:
            self.pop()
        elif code == 0x31:
            self.since_mark()
        elif code == 0x61:
            self.extend([self.pop()], "list")
        elif code == 0x65:
            self.extend(self.since_mark(), "list")
        elif code == 0x90:
            self.extend(self.since_mark(), "set")
        elif code == 0x73:
            value, key = self.pop(), self.pop()
            self.extend([(key, value)], "dict")
        elif code == 0x75:
            items = self.since_mark()
            self.extend(zip(items[::2], items[1::2]), "dict")
        elif code in PUTS:
            self.memo[self.number(PUTS[code])] = self.top()
        elif code == 0x94:
            self.memo[len(self.memo)] = self.top()
        elif code == 0x62:
            state = self.pop()
            self.top("call", "new").state = state
        else:
            return False
        return True


def unpickle(data, at=0):
    """What the pickle at this byte describes, and where it ends."""
    machine = Machine(data, at)
    return machine.run(), machine.at


def plain(value):
    """The tuple that a tuple, a list or a torch.Size is; other values as they are."""
    if isinstance(value, Node) and value.kind == "call" and value.name == "torch.Size":
        value = value.args.items[0]
    return tuple(value.items) if isinstance(value, Node) and value.kind in ("tuple", "list") else value


def fields(thing):
    """An object's attributes, whether its state is a dict, or a dict and one of its slots."""
    state = thing.state if isinstance(thing, Node) and thing.kind in ("call", "new") else thing
    parts = state.items if isinstance(state, Node) and state.kind == "tuple" else [state]
    return {key: value for part in parts if isinstance(part, Node) and part.kind == "dict" for key, value in part.items}


SETS = ("set", "frozenset")


def text_of(value, of_leaf=lambda node: None, seen=()):
    """A value, told so that two of them are the same exactly where their texts are. `of_leaf`: the text of nodes that it knows."""
    if not isinstance(value, Node):
        return f"{type(value).__name__} {value!r}"
    known = of_leaf(value)
    if known is not None or value.kind == "global":
        return known or value.name
    if id(value) in seen:
        return "itself"
    seen = (*seen, id(value))
    if value.kind == "call" and value.name.rpartition(".")[2] in SETS:  # protocols before 4 call it with a list
        return text_of(Node("set", value.args.items[0].items), of_leaf, seen)
    own = [value.function, value.args, value.state] if value.kind in ("call", "new", "pid") else []
    items = [" ".join(text_of(part, of_leaf, seen) for part in (item if isinstance(item, tuple) else (item,))) for item in value.items]
    return f"{value.kind}({', '.join([text_of(each, of_leaf, seen) for each in own] + (sorted(items) if value.kind == 'set' else items))})"
