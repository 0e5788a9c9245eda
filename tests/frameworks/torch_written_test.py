"""Files that ckpt-merge, ckpt-split and ckpt-reshard write for torch.load: every dtype, the tree around the tensors, tied weights, and
the form of Megatron's legacy checkpoints."""
import argparse
import collections
import io
import json
import random

import h5py
import jobs
from torch_names import IS_2_4
import numpy as np
import torch

from torch_files_test import tensors
from torch_forms_test import random_tensor


def same(found, saved, path=""):
    """The same tree, in the same order, of the same classes and the same bytes."""
    assert type(found) is type(saved), f"{path}: {type(found)}, not {type(saved)}"
    if isinstance(saved, torch.Tensor):
        assert (found.dtype, found.shape, found.requires_grad) == (saved.dtype, saved.shape, saved.requires_grad), path
        bytes_of = [each.detach().contiguous().reshape(-1).view(torch.uint8) for each in (found, saved)]
        assert torch.equal(*bytes_of), f"{path}: other values"
    elif isinstance(saved, dict):
        assert list(found) == list(saved), f"{path}: {list(found)}, not {list(saved)}"
        for key, value in saved.items():
            same(found[key], value, f"{path}/{key}")
    elif isinstance(saved, (list, tuple)):
        assert len(found) == len(saved), path
        for i, value in enumerate(saved):
            same(found[i], value, f"{path}/{i}")
    elif isinstance(saved, argparse.Namespace):
        same(vars(found), vars(saved), path)
    elif isinstance(saved, io.BytesIO):
        assert found.getvalue() == saved.getvalue(), path
    elif isinstance(saved, np.ndarray):
        assert found.dtype == saved.dtype and found.tobytes() == saved.tobytes(), path
    else:
        assert found == saved, f"{path}: {found}, not {saved}"


def loaded(path, **how):
    """What torch.load gives, which must be the same mapped and read."""
    mapped = torch.load(path, mmap=True, **how)
    same(torch.load(path, mmap=False, **how), mapped)
    return mapped


def tree():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    state = model.state_dict()
    state["tied"] = state["0.weight"]
    optimizer = {"state": {0: {"step": torch.tensor(3.0), "exp_avg": random_tensor(4, 3)}, 1: {"step": 7, "exp_avg": random_tensor(4)}},
                 "param_groups": [{"lr": 0.1, "betas": (0.9, 0.95), "params": [0, 1]}]}
    rng = [{"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}]
    return {"model": state, "optimizer": optimizer, "args": argparse.Namespace(a=1, dtype=torch.bfloat16, mask=torch.arange(5)), "rng": rng,
            "dtypes": {name: tensor.detach() for name, tensor in tensors().items()}, "parameter": torch.nn.Parameter(random_tensor(3)),
            "large": 10**22, "none": None, "note": "ü", "sets": {1, 2}, "empty": [{}, [], ()], "extra": io.BytesIO(b"fp8")}


def carried():
    """a whole tree of one file, of each protocol, written again as it was"""
    place, saved = jobs.scratch(), tree()
    for protocol in (2, 4, 5):
        torch.save(saved, place / "saved.pt", pickle_protocol=protocol)
        jobs.program("merge", place / "saved.pt", "-o", place / "again.pt", "--force")
        jobs.program("verify", place / "again.pt")
        again = loaded(place / "again.pt", weights_only=False)
        same(again, saved)
        assert again["model"]["tied"].data_ptr() == again["model"]["0.weight"].data_ptr()
        assert again["model"]._metadata == saved["model"]._metadata


def safe():
    """what torch.load takes by default, weights only: a state of tensors and numbers, from another format, too"""
    place = jobs.scratch()
    saved = {"model": collections.OrderedDict((name, tensor.detach()) for name, tensor in tensors().items()), "epoch": 3}
    torch.save(saved, place / "saved.pt")
    jobs.program("merge", place / "saved.pt", "-o", place / "again.pt")
    same(loaded(place / "again.pt", weights_only=True), saved)
    jobs.program("merge", place / "saved.pt", "-o", place / "whole.h5")
    jobs.program("merge", place / "whole.h5", "-o", place / "back.pt")
    back = loaded(place / "back.pt", weights_only=True)
    assert back["epoch"] == 3 and set(back["model"]) == set(saved["model"])
    for name, tensor in saved["model"].items():
        same(back["model"][name], tensor, name)
    with h5py.File(place / "unsigned.h5", "w") as file:
        for kind in ("u2", "u4", "u8"):
            file[kind] = np.arange(6, dtype=kind) + np.iinfo(kind).max // 2
    jobs.program("merge", place / "unsigned.h5", "-o", place / "unsigned.pt")
    for kind, tensor in loaded(place / "unsigned.pt", weights_only=not IS_2_4).items():  # which allows none that it cannot save
        assert (tensor.view(torch.uint8).numpy().view(kind) == np.arange(6, dtype=kind) + np.iinfo(kind).max // 2).all(), kind


MEMBERS = {"decoder.layers.0.mlp.linear_fc1.weight": (6, 4), "embedding.word_embeddings.weight": (8, 4)}


def megatron_card(tp, of, master):
    """A card's two files, as Megatron's --ckpt-format torch writes them: the model's shards, and all of dp's optimizer in one bucket, in
    which members begin at multiples of 64."""
    model = collections.OrderedDict((name, tensor.chunk(of)[tp].bfloat16()) for name, tensor in master.items())
    model["decoder.layers.0.self_attention.linear_qkv._extra_state"] = io.BytesIO(b"fp8 state")
    flat = torch.zeros(0)
    for name in MEMBERS:
        flat = torch.cat([flat, torch.zeros(-len(flat) % 64), master[name].chunk(of)[tp].reshape(-1)])
    bucket = {"param": flat, "exp_avg": flat * 2, "exp_avg_sq": flat * 3, "numel_unpadded": len(flat)}
    rng = [{"random_rng_state": random.getstate(), "np_rng_state": np.random.get_state(), "torch_rng_state": torch.get_rng_state()}]
    args = argparse.Namespace(tensor_model_parallel_size=of, params_dtype=torch.bfloat16, lr=1e-4)
    whole = {"args": args, "checkpoint_version": 3.0, "iteration": 1000, "model": model, "rng_state": rng,
             "opt_param_scheduler": {"max_lr": 1e-4, "lr_decay_style": "cosine"}, "num_floating_point_operations_so_far": 10**22}
    return whole, {"buckets_coalesced": True, 0: {(torch.bfloat16, torch.float32): bucket}}


def megatron_layout(tp):
    bucket = "distrib_optim/0/(torch.bfloat16, torch.float32)/"
    words = {"param": "param", "exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}
    return {"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [1, tp]},
            "files": [{"path": "mp_rank_{tp:02}/model_optim_rng.pt"},
                      {"path": "mp_rank_{tp:02}/distrib_optim.pt", "prefix": "distrib_optim/"}],
            "parameters": [{"name": "model/" + name, "shape": list(shape), "split": ["tp"]} for name, shape in MEMBERS.items()]
            + [{"name": "rng_state/*", "replicas": "first"}],
            "buckets": [{"name": [bucket + word for word in words], "axis": "dp", "align": 64,
                         "members": {"as": [word + ".{param}" for word in words], "like": "model/{param}", "params": list(MEMBERS)}}]}


def megatron():
    """Megatron's legacy form for tp 2, to tp 1 and back"""
    place = jobs.scratch()
    master = {name: random_tensor(*shape).abs() for name, shape in MEMBERS.items()}
    for tp in (1, 2):
        (place / f"tp{tp}.json").write_text(json.dumps(megatron_layout(tp)))
        for card in range(tp):
            folder = place / f"saved{tp}" / f"mp_rank_{card:02}"
            folder.mkdir(parents=True)
            whole, optimizer = megatron_card(card, tp, master)
            torch.save(whole, folder / "model_optim_rng.pt")
            torch.save(optimizer, folder / "distrib_optim.pt")
    jobs.program("reshard", "--from", place / "tp2.json", "--to", place / "tp1.json", place / "saved2", "-o", place / "to1")
    found = loaded(place / "to1" / "mp_rank_00" / "model_optim_rng.pt", weights_only=False)
    expected, optimizer = megatron_card(0, 1, master)
    same(found, expected)
    flat = loaded(place / "to1" / "mp_rank_00" / "distrib_optim.pt", weights_only=False)[0][torch.bfloat16, torch.float32]
    for word in ("param", "exp_avg", "exp_avg_sq"):
        same(flat[word], optimizer[0][torch.bfloat16, torch.float32][word], word)
    jobs.program("reshard", "--to", place / "tp2.json", place / "to1", "-o", place / "back")
    for card in range(2):
        for name in ("model_optim_rng.pt", "distrib_optim.pt"):
            file = f"mp_rank_{card:02}/{name}"
            same(loaded(place / "back" / file, weights_only=False), loaded(place / "saved2" / file, weights_only=False), file)


if __name__ == "__main__":
    jobs.main({"carried": carried, "safe": safe, "megatron": megatron})
