"""Writes and reads directories as torch.distributed.checkpoint does, without torch: a `.metadata` pickled by Python with stand-ins for
torch's classes, and items end to end in `.distcp` files."""
import io
import json
import os
import pickle
import struct

import numpy as np

import torch_file

METADATA = "torch.distributed.checkpoint.metadata"
DTYPES = {"<f8": "float64", "<f4": "float32", "<f2": "float16", "<i8": "int64", "<i4": "int32", "|u1": "uint8"}


class Size(tuple):
    def __reduce__(self):
        return Size, (tuple(self),)


torch_file.stand_in("torch", "Size", lambda: Size)


def of_class(name, module=METADATA):
    return torch_file.of_class(module, name)


METADATA_CLASS, TENSOR, BYTES = of_class("Metadata"), of_class("TensorStorageMetadata"), of_class("BytesStorageMetadata")
CHUNK, PROPERTIES, INDEX = of_class("ChunkStorageMetadata"), of_class("TensorProperties"), of_class("MetadataIndex")
INFO = of_class("_StorageInfo", "torch.distributed.checkpoint.filesystem")
PROPERTIES.__getstate__ = lambda self: self.state
PROPERTIES.__setstate__ = lambda self, state: None
TYPES = {name: torch_file.function("torch", name) for name in DTYPES.values()}


def made(kind, **attributes):
    thing = kind()
    thing.__dict__.update(attributes)
    return thing


def item_of(value):
    tree, storages = torch_file.pickled(value, 2)
    return torch_file.zipped([("data.pkl", tree), (".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", b"little"),
                              *((f"data/{key}", storage.base.tobytes()) for key, storage in storages.items()), ("version", b"3\n")])


class Thing:
    """Stands in for every class that is read: what it was called with, and its state."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __setstate__(self, state):
        if isinstance(state, dict):
            self.__dict__.update(state)
        else:
            self.state = state

    def __hash__(self):
        return id(self)


class Reader(pickle.Unpickler):
    def find_class(self, module, name):
        return type(name, (Thing,), {})


def numbers(size):
    return list(size.arguments[0])


class Contents:
    """What a directory's `.metadata` says."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(path, ".metadata"), "rb") as file:
            self.metadata = Reader(io.BytesIO(file.read())).load()
        self.places = {(index.fqn, tuple(numbers(index.offset)) if index.offset else None): info
                       for index, info in self.metadata.storage_data.items()}

    def place(self, name, chunk=None):
        return self.places[name, tuple(numbers(chunk.offsets)) if chunk else None]

    def value(self, name, chunk=None):
        """A chunk of a tensor, or an object."""
        info = self.place(name, chunk)
        with open(os.path.join(self.path, info.relative_path), "rb") as file:
            file.seek(info.offset)
            return torch_file.loads(file.read(info.length))


class Directory:
    """One that is being written: `tensor` and `object` add items, `finish` writes `.metadata`."""

    def __init__(self, path, exist_ok=False):
        self.path, self.contents, self.places, self.paths, self.ends = path, {}, {}, {}, {}
        os.makedirs(path, exist_ok=exist_ok)

    def put(self, file, value):
        with open(os.path.join(self.path, file), "ab") as out:
            begin = out.tell()
            out.write(item_of(value))
            return made(INFO, relative_path=file, offset=begin, length=out.tell() - begin)

    def chunk(self, file, name, piece):
        return self.put(file, piece)

    def tensor(self, name, whole, chunks):
        """`chunks`: [(file, begin, end)], the corners of the pieces; file None: said, but stored nowhere."""
        said = []
        for file, begin, end in chunks:
            said.append(made(CHUNK, offsets=Size(begin), sizes=Size(e - b for b, e in zip(begin, end))))
            if file is not None:
                piece = np.asarray(whole[tuple(slice(b, e) for b, e in zip(begin, end))])
                piece = piece.copy() if whole.flags.c_contiguous else piece.T.copy().T  # a storage of its own, the dimensions in their order
                self.places[made(INDEX, fqn=name, offset=Size(begin), index=len(said) - 1)] = self.chunk(file, name, piece)
        properties = PROPERTIES()
        properties.state = (TYPES[DTYPES[whole.dtype.str]], None, False, None, False)
        self.contents[name] = made(TENSOR, properties=properties, size=Size(whole.shape), chunks=said)
        self.paths[name] = tuple(name.split("."))

    def rows(self, name, whole, files):
        """Cut along the first dimension as torch.chunk does, a file each."""
        each = -(-len(whole) // len(files))
        ends = [(min(i * each, len(whole)), min((i + 1) * each, len(whole))) for i in range(len(files))]
        rest = ((0,) * (whole.ndim - 1), whole.shape[1:])
        self.tensor(name, whole, [(file, (b, *rest[0]), (e, *rest[1])) for file, (b, e) in zip(files, ends) if b < e])

    def object(self, name, value, file):
        self.places[made(INDEX, fqn=name, offset=None, index=None)] = self.put(file, value)
        self.contents[name] = BYTES()
        self.paths[name] = tuple(name.split("."))

    def finish(self, name=".metadata", **more):
        metadata = made(METADATA_CLASS, state_dict_metadata=self.contents, planner_data=self.paths, storage_data=self.places,
                        storage_meta=None, version="1.0.0", **more)
        with open(os.path.join(self.path, name), "wb") as file:
            pickle.dump(metadata, file, 4)


class SafetensorsDirectory(Directory):
    """torch's other serialisation: behind the objects of a file, its chunks as one file of safetensors, where all are said to begin."""
    WORDS = {"<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "|u1": "U8"}

    def __init__(self, path):
        super().__init__(path)
        self.chunks = {}  # by file: (name, chunk, what .metadata says of it)

    def chunk(self, file, name, piece):
        info = made(INFO, relative_path=file, offset=0, length=piece.nbytes)
        self.chunks.setdefault(file, []).append((name, np.array(piece, order="C"), info))
        return info

    def finish(self, **more):
        for file, chunks in self.chunks.items():
            stored = {name: piece for name, piece, _ in chunks}  # the last one by a name, as in torch
            header, end = {"__metadata__": {"DCP_SHARDING_INFO": json.dumps({name: {} for name in stored})}}, 0
            for name, piece in stored.items():
                header[name] = {"dtype": self.WORDS[piece.dtype.str], "shape": piece.shape, "data_offsets": [end, end + piece.nbytes]}
                end += piece.nbytes
            text = json.dumps(header).encode()
            with open(os.path.join(self.path, file), "ab") as out:
                for _, _, info in chunks:
                    info.offset = out.tell()
                out.write(struct.pack("<Q", len(text)) + text + b"".join(piece.tobytes() for piece in stored.values()))
        super().finish(**more)
