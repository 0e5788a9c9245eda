"""The file formats, each written and read without the programs and without its framework: name -> array, by the ending of the file. Those
that torch_oracle reads are read by it, which shares no code with what writes them here."""
import json
import os
import pickle
import struct
import sys

import checkpoints
import h5py
import numpy as np
import orbax_files
import torch_file
import torch_oracle

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "layouts"), os.path.join(TESTS, "golden", "paddle")]

import mindspore_jobs  # noqa: E402  (found through the path above)
import paddle_files  # noqa: E402

SAFETENSORS = {"<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8", "<u8": "U64", "<u4": "U32",
               "<u2": "U16", "|u1": "U8", "|b1": "BOOL"}
TORCH = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "int64": "<i8", "int32": "<i4", "int16": "<i2", "int8": "|i1", "uint8": "|u1",
         "bool": "|b1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "complex64": "<c8", "complex128": "<c16"}
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "?"]  # that all of them have


def write_hdf5(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)


def write_safetensors(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        begin, data = len(data), data + array.tobytes()
        header[name] = {"dtype": SAFETENSORS[array.dtype.str], "shape": array.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def nested(arrays, more=None):
    """A dict in a dict for each part of a name; `more`: what is no tensor, in the outermost."""
    tree = dict(more or {})
    for name, array in arrays.items():
        *folders, last = name.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[last] = np.array(array, order="C")  # a storage of its own
    return tree


def write_torch(path, arrays, more=None):
    torch_file.save(path, nested(arrays, more))


def read_torch(path, joint="/"):
    """A file of torch or safetensors, or a directory of DCP, whose names are joined with dots."""
    return {joint.join(map(str, at)): np.frombuffer(value[2], TORCH[value[0]]).reshape(value[1])
            for at, value in torch_oracle.contents(path).items() if isinstance(value, tuple)}


def write_mindspore(path, arrays):
    words = {np.dtype(dtype).str: word for word, dtype in reversed(mindspore_jobs.pbdec.NP.items())}
    with open(path, "wb") as file:
        for name, array in arrays.items():
            file.write(mindspore_jobs.record(name, np.array(array, order="C"), words[array.dtype.str]))


def read_mindspore(path):
    return {name: value for name, value in mindspore_jobs.read_checkpoint(path).items() if isinstance(value, np.ndarray)}


def write_paddle(path, arrays):
    """As paddle.save does; the protocol is any that it knows, by the file's name."""
    with open(path, "wb") as file:
        pickle.dump(nested(arrays), file, protocol=2 + sum(path.encode()) % 3)


def read_paddle(path):
    found = {}

    def add(value, at):
        if isinstance(value, paddle_files.Array):
            found["/".join(at)] = paddle_files.numpy_of(value)
        elif isinstance(value, dict):
            for key, each in value.items():
                add(each, [*at, str(key)])

    add(paddle_files.load(path), [])
    return found


def read_paddle_dist(path):
    return {name: paddle_files.whole(said) for name, said in paddle_files.checkpoint(path)[0].items()}


def read_orbax(path):
    return {name: array.load() for name, array in orbax_files.read(path).items()}


WRITERS = {".h5": write_hdf5, ".safetensors": write_safetensors, ".pt": write_torch, ".ckpt": write_mindspore, ".pdparams": write_paddle}
READERS = {".h5": checkpoints.read_file, ".safetensors": read_torch, ".pt": read_torch, ".ckpt": read_mindspore,
           ".pdparams": read_paddle}
# Directories that say themselves how they are cut, by their format; their names are joined with dots.
DIRECTORIES = {"dcp": lambda path: read_torch(path, "."), "paddle_dist": read_paddle_dist, "orbax": read_orbax}


def write(path, arrays):
    WRITERS[os.path.splitext(path)[1]](path, arrays)


def read(path):
    return READERS[os.path.splitext(path)[1]](path)
