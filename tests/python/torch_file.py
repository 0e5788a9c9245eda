"""Writes files as torch.save does, without torch: the pickler is Python's own, told that our stand-ins are torch's functions and
classes, and the zip archive has torch's form (sizes behind the data, data at multiples of 64, a 64-bit end record)."""
import collections
import io
import pickle
import struct
import sys
import types
import zlib

import numpy as np

STORAGES = {"<f8": "Double", "<f4": "Float", "<f2": "Half", "<i8": "Long", "<i4": "Int", "<i2": "Short", "|i1": "Char", "|u1": "Byte",
            "|b1": "Bool", "<c8": "ComplexFloat", "<c16": "ComplexDouble"}
TYPES = {"<u2": "uint16", "<u4": "uint32", "<u8": "uint64"}  # of the types without a storage of their own
TYPES_OF_BITS = {"float8_e4m3fn": "|u1", "float8_e5m2": "|u1", "float8_e4m3fnuz": "|u1", "float8_e5m2fnuz": "|u1", "float8_e8m0fnu": "|u1",
                 "complex32": "<u4", "bfloat16": "<u2"}  # NumPy has none of these


STAND_INS = {}


def stand_in(module, name, make):
    """A thing that pickles by this name, as if it had been imported from there: one for each name."""
    if (module, name) in STAND_INS:
        return STAND_INS[module, name]
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    thing = make()
    thing.__module__, thing.__name__, thing.__qualname__ = module, name, name
    setattr(sys.modules[module], name, thing)
    STAND_INS[module, name] = thing
    return thing


def function(module, name):
    return stand_in(module, name, lambda: lambda *_: None)


def of_class(module, name):
    return stand_in(module, name, lambda: type(name, (), {}))


REBUILD_V2 = function("torch._utils", "_rebuild_tensor_v2")
REBUILD_V3 = function("torch._utils", "_rebuild_tensor_v3")
STORAGE_CLASSES = {name: of_class("torch", name + "Storage") for name in [*STORAGES.values(), "BFloat16"]}
UNTYPED = of_class("torch.storage", "UntypedStorage")


class Storage:
    """The memory of an array, which several may be views of."""

    def __init__(self, base, name, size):
        self.base, self.name, self.count = base, name, base.nbytes // size


class Pickler(pickle.Pickler):
    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.dtypes = {name: function("torch", name) for name in [*TYPES.values(), *TYPES_OF_BITS]}
        self.storages = {}  # by the address of their memory

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        key = self.storages.setdefault(obj.base.__array_interface__["data"][0], (str(len(self.storages)), obj))[0]
        return ("storage", UNTYPED if obj.name == "Untyped" else STORAGE_CLASSES[obj.name], key, "cpu", obj.count)

    def reducer_override(self, obj):
        if not isinstance(obj, (np.ndarray, OfBits)):
            return NotImplemented
        array = obj.bits if isinstance(obj, OfBits) else obj
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        size = array.dtype.itemsize
        offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // size
        view = (offset, array.shape, tuple(s // size for s in array.strides), False, collections.OrderedDict())
        if isinstance(obj, OfBits) and obj.name == "bfloat16":
            return REBUILD_V2, (Storage(base, "BFloat16", size), *view)
        if isinstance(obj, OfBits):
            return REBUILD_V3, (Storage(base, "Untyped", 1), *view, self.dtypes[obj.name])
        if array.dtype.str in TYPES:
            return REBUILD_V3, (Storage(base, "Untyped", 1), *view, self.dtypes[TYPES[array.dtype.str]])
        return REBUILD_V2, (Storage(base, STORAGES[array.dtype.str], size), *view)


class OfBits:
    """A tensor of a type that NumPy has not, of the bits of its elements."""

    def __init__(self, name, bits):
        assert bits.dtype.str == TYPES_OF_BITS[name], (name, bits.dtype)
        self.name, self.bits = name, bits


class BFloat16(OfBits):
    """A tensor of these upper halves of float32."""

    def __init__(self, values):
        is_done = isinstance(values, Bits)
        super().__init__("bfloat16", np.array(values) if is_done else np.asarray(np.asarray(values, "<f4").view("<u4") >> 16, "<u2"))


class Call:
    """What pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def pickled(obj, protocol):
    out = io.BytesIO()
    pickler = Pickler(out, protocol)
    pickler.dump(obj)
    return out.getvalue(), {key: storage for key, storage in pickler.storages.values()}


def zipped(entries, root="archive"):
    """torch's zip archive of [(name, bytes)]."""
    out, directory = bytearray(), bytearray()
    for name, data in entries:
        path = f"{root}/{name}".encode()
        at, crc = len(out), zlib.crc32(data)
        pad = -(at + 34 + len(path)) % 64
        out += b"PK\3\4" + struct.pack("<HHHHHIIIHH", 0, 0x808, 0, 0, 0, 0, 0, 0, len(path), pad + 4)
        out += path + b"FB" + struct.pack("<H", pad) + b"Z" * pad + data + b"PK\7\x08" + struct.pack("<III", crc, len(data), len(data))
        directory += b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 0, 0, 0x808, 0, 0, 0, crc, len(data), len(data), len(path), 0, 0, 0, 0,
                                             0, at) + path
    begin, count = len(out), len(entries)
    end = begin + len(directory)
    out += directory + b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 798, 45, 0, 0, count, count, len(directory), begin)
    out += b"PK\6\7" + struct.pack("<IQI", 0, end, 1)
    return bytes(out + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, min(count, 65535), min(count, 65535), len(directory), begin, 0))


def save(path, obj, protocol=2, legacy=False):
    """torch.save(obj, path) of dicts, lists, numbers and NumPy arrays, which become tensors: views of one array share a storage."""
    tree, storages = pickled(obj, protocol)
    raw = {key: storage.base.tobytes() for key, storage in storages.items()}
    with open(path, "wb") as file:
        if legacy:
            system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
            for part in (0x1950a86a20f9469cfc6c, 1001, system):
                file.write(pickle.dumps(part, protocol))
            file.write(tree + pickle.dumps(sorted(raw), protocol))
            for key in sorted(raw):
                file.write(struct.pack("<q", storages[key].count) + raw[key])
        else:
            file.write(zipped([("data.pkl", tree), (".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", b"little"),
                               *((f"data/{key}", data) for key, data in raw.items()), ("version", b"3\n"),
                               (".data/serialization_id", b"0" * 40)]))


NUMPY = {**{name: kind for kind, name in STORAGES.items()}, "BFloat16": "<u2"}


class Bits(np.ndarray):
    """The upper halves of float32 that a tensor of bfloat16 is."""


class Known:
    """What a pickle makes of a class or function that is not torch's: its name, arguments and attributes."""

    def __init__(self, name, *arguments):
        self.name, self.arguments, self.state = name, arguments, None

    def __setstate__(self, state):
        self.state = state

    def __repr__(self):
        return f"{self.name}({', '.join(map(repr, self.arguments))}{'' if self.state is None else f' {self.state}'})"


class Unpickler(pickle.Unpickler):
    """Tensors become NumPy arrays that are views of their storages; nothing is imported but containers."""

    def __init__(self, file, storages):
        super().__init__(file)
        self.storages = storages

    def persistent_load(self, pid):
        kind, key, count = pid[1], pid[2], pid[4]
        dtype = "|u1" if kind == "Untyped" else NUMPY[kind]
        assert len(self.storages[key]) == count * np.dtype(dtype).itemsize, pid
        return self.storages[key].view(dtype).view(Bits if kind == "BFloat16" else np.ndarray)

    def find_class(self, module, name):
        if module == "collections" or (module in ("__builtin__", "builtins") and name == "set"):
            return super().find_class(module, name)
        if module.startswith("torch") and name.endswith("Storage"):
            return name.removesuffix("Storage")
        if module == "torch" and name in TYPES.values():
            return {of_torch: kind for kind, of_torch in TYPES.items()}[name]
        if name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"):
            return tensor_of
        return type(name, (Known,), {"name": name, "arguments": (), "state": None,  # of what is made without a call
                                     "__new__": lambda cls, *arguments: object.__new__(cls),
                                     "__init__": lambda self, *arguments: Known.__init__(self, name, *arguments)})


def tensor_of(storage, offset, shape, strides, _gradient, _hooks, dtype=None):
    elements = storage.view(dtype) if dtype else storage
    strides = [stride * elements.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(elements[offset:], shape, strides, subok=True)


def entries_of(data):
    """The bytes of a zip archive's entries, by their names without the folder; checksums of 0 are those of what was not known."""
    end = data.rfind(b"PK\5\6")
    wide = struct.unpack_from("<Q", data, end - 12)[0]
    count, _, at = struct.unpack_from("<QQQ", data, wide + 32)
    found = {}
    for _ in range(count):
        crc, size, _, name, extra, comment, *_, offset = struct.unpack_from("<IIIHHHHHII", data, at + 16)
        key = bytes(data[at + 46:at + 46 + name]).decode().split("/", 1)[1]
        begin = offset + 30 + sum(struct.unpack_from("<HH", data, offset + 26))
        assert begin % 64 == 0, key
        found[key] = np.frombuffer(data, "u1", size, begin)
        assert crc in (0, zlib.crc32(found[key])), key
        at += 46 + name + extra + comment
    return found


def load(path):
    """The object that a zip file holds, without running what it says."""
    with open(path, "rb") as file:
        return loads(file.read())


def loads(data):
    """The same of the file's bytes."""
    found = entries_of(bytearray(data))
    storages = {key[5:]: data for key, data in found.items() if key.startswith("data/")}
    return Unpickler(io.BytesIO(found["data.pkl"].tobytes()), storages).load()
