"""An independent reader of what torch, torch.distributed.checkpoint and safetensors write, by the formats' own rules (zip, pickle, the
rebuild functions' arguments): the standard library alone, nothing is called or imported, and no code is shared with torch_file,
dcp_directory and deepspeed_directory, with which the tests write, nor with the library. What the programs write is held against it.

  torch_oracle.py FILE|DIRECTORY      prints what is in it
"""
import collections
import itertools
import json
import mmap
import os
import struct
import sys

from passive_pickle import Bad, Node, fields, plain, text_of, unpickle

# `boxes`: of a tensor in pieces, [(first corner, Tensor)]; else where its first element lies, and strides in elements.
Tensor = collections.namedtuple("Tensor", "dtype shape file offset strides boxes")
SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
         "uint16": 2, "uint32": 4, "uint64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
         **{f"float8_{kind}": 1 for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")}}
STORAGES = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64", "Int": "int32",
            "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool", "ComplexFloat": "complex64",
            "ComplexDouble": "complex128", "Untyped": "uint8"}
SAFETENSORS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16",
               "I8": "int8", "U8": "uint8", "BOOL": "bool", "U16": "uint16", "U32": "uint32", "U64": "uint64", "C64": "complex64",
               "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"}


# --- archives ---

def zip_entries(file, low, high):
    """{name: (where its data begins, bytes)} of an archive in [low, high) of a file, by its directory and its local headers."""
    tail = max(low, high - 22 - 65535)
    file.seek(tail)
    data = file.read(high - tail)
    end = data.rfind(b"PK\5\6")
    if end < 0:
        raise Bad("no zip directory")
    count, size, at = struct.unpack_from("<HII", data, end + 10)
    if data[end - 20:end - 16] == b"PK\6\7":
        file.seek(low + struct.unpack_from("<Q", data, end - 12)[0])
        count, size, at = struct.unpack_from("<QQQ", file.read(56), 32)
    if low + at + size > high:
        raise Bad("the zip directory is outside")
    file.seek(low + at)
    return dict(directory_entries(file, file.read(size), count, low, high))


def directory_entries(file, data, count, low, high):
    seen, at = set(), 0
    for _ in range(count):
        if data[at:at + 4] != b"PK\1\2":
            raise Bad("no header in the zip directory")
        flags, method, _, _, _, packed, size, name, extra, comment, _, _, _, begin = struct.unpack_from("<HHHHIIIHHHHHII", data, at + 8)
        path, rest = data[at + 46:at + 46 + name].decode(), data[at + 46 + name:at + 46 + name + extra]
        while len(rest) >= 4:  # what did not fit into 32 bits stands in the field of id 1, in this order
            kind, length = struct.unpack_from("<HH", rest)
            wide = iter(struct.unpack_from(f"<{length // 8}Q", rest, 4) if kind == 1 else ())
            size, packed, begin = (next(wide, value) if value == 0xffffffff else value for value in (size, packed, begin))
            rest = rest[4 + length:]
        file.seek(low + begin)
        header = file.read(30)
        first = low + begin + 30 + sum(struct.unpack("<HH", header[26:]))
        if method or flags & 1 or packed != size or header[:4] != b"PK\3\4" or first + size > high or path in seen:
            raise Bad(f"{path}: compressed, encrypted, outside, or there twice")
        seen.add(path)
        yield path, (first, size)
        at += 46 + name + extra + comment


def read_zip(file, low, high):
    """The tree, and {key: (begin, bytes)} of the storages."""
    entries = zip_entries(file, low, high)
    root = next(name for name in entries if name.endswith("/data.pkl")).removesuffix("data.pkl")

    def content(name):
        file.seek(entries[root + name][0])
        return file.read(entries[root + name][1])
    if root + "byteorder" in entries and content("byteorder") != b"little":
        raise Bad("big-endian")
    data = root + "data/"
    return unpickle(content("data.pkl"))[0], {name.removeprefix(data): place for name, place in entries.items() if name.startswith(data)}


def read_legacy(file):
    """The same of the form before torch 1.6: five pickles, and the storages behind them."""
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    at, parts = 0, []
    for _ in range(5):
        part, at = unpickle(data, at)
        parts.append(part)
    if parts[0] != 0x1950a86a20f9469cfc6c or parts[1] != 1001 or not dict(parts[2].items)["little_endian"]:
        raise Bad("no legacy header")
    sizes, storages = {}, {}
    note_element_sizes(parts[3], sizes, set())
    for key in parts[4].items:
        size = struct.unpack_from("<q", data, at)[0] * sizes[key]
        storages[key] = at + 8, size
        at += 8 + size
        if size < 0 or at > len(data):
            raise Bad("a storage is outside")
    return parts[3], storages


def note_element_sizes(node, sizes, seen):
    if not isinstance(node, Node) or id(node) in seen:
        return
    seen.add(id(node))
    if node.kind == "pid":
        sizes[node.args.items[2]] = SIZES[storage_dtype(node)]
    for child in [*node.items, node.args, node.state]:
        for each in child if isinstance(child, tuple) else (child,):
            note_element_sizes(each, sizes, seen)


# --- tensors ---

def storage_dtype(pid):
    return STORAGES[pid.args.items[1].name.rpartition(".")[2].removesuffix("Storage")]


def tensor(node, storages, file):
    """The tensor that a call of torch's rebuild functions describes; None for other nodes."""
    if not isinstance(node, Node) or node.kind != "call" or not isinstance(node.name, str):
        return None
    name, args = node.name.rpartition(".")[2], node.args.items if isinstance(node.args, Node) else []
    if name in ("_rebuild_parameter", "_rebuild_parameter_with_state"):
        return tensor(args[0], storages, file)
    if name == "_rebuild_from_type_v2" and args[0].name != "torch._utils._rebuild_wrapper_subclass":
        return tensor(Node("call", name=args[0].name, args=args[2]), storages, file)
    if name not in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"):
        return None
    dtype = args[6].name.removeprefix("torch.") if name.endswith("v3") else storage_dtype(args[0])
    begin, size = storages[args[0].args.items[2]]
    shape, strides = plain(args[2]), plain(args[3])
    last = args[1] + sum((count - 1) * stride for count, stride in zip(shape, strides))
    if len(shape) != len(strides) or args[1] < 0 or 0 not in shape and (last + 1) * SIZES[dtype] > size:
        raise Bad("a tensor outside its storage")
    return Tensor(dtype, shape, file, begin + args[1] * SIZES[dtype], strides, None)


def raw(found):
    """A tensor's bytes, row by row, fetched by offset and strides alone."""
    size = SIZES[found.dtype]
    if found.boxes is not None:
        return assembled(found, size)
    out = bytearray()
    with open(found.file, "rb") as file:
        for index in itertools.product(*map(range, found.shape)):
            file.seek(found.offset + size * sum(i * stride for i, stride in zip(index, found.strides)))
            out += file.read(size)
    return bytes(out)


def assembled(found, size):
    whole, given = {}, 0
    for corner, piece in found.boxes:
        data = raw(piece)
        for number, index in enumerate(itertools.product(*map(range, piece.shape))):
            whole[tuple(low + i for low, i in zip(corner, index))] = data[number * size:(number + 1) * size]
            given += 1
    cells = list(itertools.product(*map(range, found.shape)))
    if given != len(whole) or set(cells) != set(whole):
        raise Bad("pieces that overlap, or leave something out")
    return b"".join(map(whole.get, cells))


# --- trees ---

KIND = ...  # behind the path of a dict, list or tuple that has something in it: which of them it is


def walk(node, storages, file, path=()):
    """(path, value) of everything in a tree: Tensor, number or text, or the text of what is neither."""
    found = tensor(node, storages, file)
    if found is not None:
        yield path, found
    elif isinstance(node, Node) and node.items and (node.kind in ("dict", "list", "tuple") or node.name == "collections.OrderedDict"):
        yield (*path, KIND), node.name or node.kind
        for key, value in node.items if isinstance(node.items[0], tuple) else enumerate(node.items):
            yield from walk(value, storages, file, (*path, plain(key)))
    else:
        yield path, text_of(node, lambda each: text_of_tensor(tensor(each, storages, file)))


def text_of_tensor(found):
    return found and f"{found.dtype} {found.shape} {raw(found)}"


def read_file(path):
    """{path: value} of a file of torch.save, or of safetensors."""
    with open(path, "rb") as file:
        head = file.read(4)
        file.seek(0)
        if head not in (b"PK\3\4", b"\x80\x02\x8a\x0a"):
            return {(name,): found for name, found in read_safetensors(file, path).items()}
        tree, storages = read_zip(file, 0, os.path.getsize(path)) if head == b"PK\3\4" else read_legacy(file)
    return dict(walk(tree, storages, path))


def read_safetensors(file, path):
    length = struct.unpack("<Q", file.read(8))[0]
    header, end, found = json.loads(file.read(length)), 0, {}
    header.pop("__metadata__", None)
    for name, said in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (begin, last) = SAFETENSORS[said["dtype"]], tuple(said["shape"]), said["data_offsets"]
        strides = tuple(itertools.accumulate(shape[:0:-1], int.__mul__, initial=1))[::-1][:len(shape)] if shape else ()
        found[name] = Tensor(dtype, shape, path, 8 + length + begin, strides, None)
        count = strides[0] * shape[0] if shape else 1
        if begin != end or last - begin != count * SIZES[dtype]:
            raise Bad(f"{name}: offsets")
        end = last
    if 8 + length + end != os.path.getsize(path):
        raise Bad("the file has another size than its header says")
    return found


# --- torch.distributed.checkpoint ---

def read_dcp(directory):
    """{path: value} of a directory of torch.distributed.checkpoint."""
    with open(os.path.join(directory, ".metadata"), "rb") as file:
        metadata = fields(unpickle(file.read())[0])
    places = {}
    for index, place in metadata["storage_data"].items:
        index, place = fields(index), fields(place)
        if os.path.basename(place["relative_path"]) != place["relative_path"] or place.get("transform_descriptors") is not None:
            raise Bad("a path, or transformed data")
        places[index["fqn"], plain(index.get("offset"))] = place
    paths = {name: plain(path) for name, path in metadata["planner_data"].items}
    found = {}
    for name, said in metadata["state_dict_metadata"].items:
        if said.name.endswith("BytesStorageMetadata"):
            found |= {(*paths[name], *path): value for path, value in item(directory, places[name, None])}
        else:
            found[paths[name]] = tensor_in_pieces(name, fields(said), directory, places)
    return found


def item(directory, place):
    path = os.path.join(directory, place["relative_path"])
    with open(path, "rb") as file:
        tree, storages = read_zip(file, place["offset"], place["offset"] + place["length"])
    return walk(tree, storages, path)


def tensor_in_pieces(name, said, directory, places):
    dtype, boxes = said["properties"].state.items[0].name.removeprefix("torch."), []
    for chunk in map(fields, said["chunks"].items):
        corner = plain(chunk["offsets"])
        piece = dict(item(directory, places[name, corner]))[()]
        if piece.dtype != dtype or piece.shape != plain(chunk["sizes"]):
            raise Bad(f"{name}: a chunk is not as the metadata says")
        boxes.append((corner, piece))
    return Tensor(dtype, plain(said["size"]), None, None, None, boxes)


# --- what the tests compare ---

def contents(path):
    """{path: (dtype, shape, bytes)} of tensors, and {path: text} of all else."""
    found = read_dcp(path) if os.path.isdir(path) else read_file(path)
    return {name: (value.dtype, value.shape, raw(value)) if isinstance(value, Tensor) else value for name, value in found.items()}


def shared(path):
    """The sets of names of a file's tensors that are the same elements of the same storage."""
    groups = collections.defaultdict(set)
    for name, value in read_file(path).items():
        if isinstance(value, Tensor) and 0 not in value.shape:
            groups[value.offset, value.dtype, value.shape, value.strides].add(name)
    return {frozenset(names) for names in groups.values() if len(names) > 1}


if __name__ == "__main__":
    for where, what in contents(sys.argv[1]).items():
        print("/".join(map(str, where)), what)
