"""Files that torch.save wrote are read where they lie: every dtype, views and shared storages, each form and protocol, and the rank
files of a sharded model."""
import collections
import json

import jobs
from torch_names import IS_2_4
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard

import from_torch
from torch_forms_test import DTYPES, random_tensor, spread

MORE_DTYPES = [torch.float32, torch.int16, torch.int32, torch.int64, torch.uint8, torch.complex128] + (
    [] if IS_2_4 else [torch.uint32, torch.uint64])


def tensors():
    base = random_tensor(12, 10)
    linear = torch.nn.Linear(3, 5)
    views = {"base": base, "turned": base.t(), "columns": base[:, 2:7:2], "rows": base[3:6], "one row": base[2], "swapped":
             random_tensor(3, 4, 6).permute(2, 0, 1), "expanded": random_tensor(1, 4).expand(5, 4), "scalar": torch.tensor(2.5),
             "empty": torch.zeros(0, 3), "weight": linear.weight, "bias": linear.bias.detach()}
    return views | {str(dtype)[6:]: random_tensor(5, 4, dtype=dtype) for dtype in [*DTYPES, *MORE_DTYPES]}


def check_file(place, saved, path, **how):
    tree = {"model": collections.OrderedDict(saved), "epoch": 3, "lr": 0.5, "none": None, "betas": (0.9, 0.999)}
    torch.save(tree, path, **how)
    jobs.program("merge", path, "-o", place / "merged.h5", "--force")
    wanted = {f"model/{name}": from_torch.raw(tensor.detach()) for name, tensor in saved.items()}
    jobs.same_bytes(jobs.datasets(place / "merged.h5"), wanted, path.name)


def files():
    """every dtype and view, in the zip form, with a newer protocol, and in the form before torch 1.6"""
    place, all_of_them = jobs.scratch(), tensors()
    check_file(place, all_of_them, place / "zip.pt")
    check_file(place, all_of_them, place / "protocol_4.pt", pickle_protocol=4)
    of_old_types = {name: tensor for name, tensor in all_of_them.items()
                    if not name.startswith("float8") and name not in ("uint16", "uint32", "uint64")}
    for protocol in (2, 3, 4, 5):
        check_file(place, of_old_types, place / f"legacy_{protocol}.pt", _use_new_zipfile_serialization=False, pickle_protocol=protocol)


def quantised():
    """what is quantised is an error only where it is kept, in both forms; what lies behind it is found"""
    place = jobs.scratch()
    plain = {"a": random_tensor(5, 4), "z": random_tensor(7, dtype=torch.int64)}
    scales, zeros = torch.ones(3), torch.zeros(3)
    odd = {f"q {dtype}": torch.quantize_per_tensor(random_tensor(3, 5), .1, 0, dtype) for dtype in (torch.qint8, torch.quint8, torch.qint32)}
    odd["q4"] = torch.quantize_per_channel(random_tensor(3, 5), scales, zeros, 0, torch.quint4x2)
    for form in (False, True):
        path = place / f"zip_{form}.pt"
        torch.save({"a": plain["a"], **odd, "z": plain["z"]}, path, _use_new_zipfile_serialization=form)
        jobs.program("merge", "--drop", "q*", path, "-o", place / f"out_{form}.pt")
        made = torch.load(place / f"out_{form}.pt")
        assert made.keys() == plain.keys(), made.keys()
        jobs.same_bytes({name: from_torch.raw(tensor) for name, tensor in made.items()},
                        {name: from_torch.raw(tensor) for name, tensor in plain.items()}, f"out_{form}.pt")  # NaN is not NaN


def save_ranks(rank, saved, place):
    mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("dp",))
    state = {name: spread(tensor, mesh, Shard(0) if tensor.dim() > 1 else Replicate()) for name, tensor in saved.items()}
    torch.save(state, place / f"rank_{rank}.pt")


def sharded():
    """the rank files of DTensors, each with its local shard, merged with a layout"""
    place = jobs.scratch()
    saved = {"weight": random_tensor(10, 6), "bias": random_tensor(6)}
    (place / "src").mkdir()
    jobs.run_job(4, save_ranks, saved, place / "src")
    layout = {"ckpt_layout": 1, "mesh": {"axes": ["dp"], "shape": [4]}, "files": "rank_{card}.pt", "default": "replicate",
              "parameters": [{"name": "weight", "split": ["dp"], "uneven": "ceil"}]}
    (place / "layout.json").write_text(json.dumps(layout))
    jobs.program("merge", "--layout", place / "layout.json", place / "src", "-o", place / "merged.h5")
    jobs.same_bytes(jobs.datasets(place / "merged.h5"), {name: from_torch.raw(each) for name, each in saved.items()}, "four ranks")


if __name__ == "__main__":
    jobs.main({"files": files, "quantised": quantised, "sharded": sharded})
