"""Directories that the programs write for torch.distributed.checkpoint: torch reads them whole, and FSDP2 loads them on any number of ranks."""
import jobs
from torch_names import IS_2_4
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from torch_directories_test import RANKS, fsdp2, save_dcp
from torch_forms_test import random_tensor
from torch_test import whole
from torch_written_test import same, tree


def as_one(directory):
    """What torch makes of a directory by itself."""
    file = directory.with_suffix(".whole.pt")
    dcp_to_torch_save(directory, file)
    return torch.load(file, weights_only=False)


def in_order(node):
    """Dicts by their keys: the order of a directory's is that of its writing."""
    if isinstance(node, dict):
        return {key: in_order(node[key]) for key in sorted(node, key=str)}
    return [in_order(each) for each in node] if isinstance(node, list) else node


def load_and_save(rank, source, target, ranks):
    """A job of FSDP2 on its own number of ranks goes on with the source, and saves it."""
    made, optimizer = fsdp2(init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",)))
    weights, moments = get_state_dict(made, optimizer)
    state = {"model": weights, "optim": moments}
    for tensor in weights.values():
        (tensor.to_local() if isinstance(tensor, DTensor) else tensor).zero_()
    dcp.load(state, storage_reader=dcp.FileSystemReader(source))
    set_state_dict(made, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    dcp.save(state, storage_writer=dcp.FileSystemWriter(target))
    return whole(weights)


def as_file(source, saved):
    """One file made of a directory holds what torch makes of it, and is known by its names."""
    target = source.parent / f"{source.name}.made.pt"
    jobs.program("merge", source, "-o", target)
    same(in_order(torch.load(target, weights_only=False)), in_order(saved), target.name)
    jobs.program("verify", target)
    jobs.program("verify", source, target)
    jobs.program("verify", target, source)


def again(source, saved, *words):
    target = source.parent / f"{source.name}_{'_'.join(words)}".replace(" ", "")
    jobs.program("reshard" if words else "merge", *words, "--format", "dcp", source, "-o", target)
    jobs.program("verify", target)
    jobs.program("verify", source, target)
    same(in_order(as_one(target)), in_order(saved), target.name)
    return target


def of_torch():
    """what torch saved, for other cards and for one: the same tensors, objects and paths; loaded on other ranks"""
    place = jobs.scratch()
    jobs.run_job(RANKS, save_dcp, place)
    expected = as_one(place / "plain")
    if not IS_2_4:
        again(place / "safetensors", {key: value for key, value in expected.items() if key != "forms"}, "--cards", "3")
    for name in ("plain", "many_files", "flat") + (() if IS_2_4 else ("two_axes",)):
        saved = as_one(place / name)
        as_file(place / name, saved)
        targets = [again(place / name, saved), *(again(place / name, saved, "--cards", cards) for cards in ("2", "3", "7"))]
    for ranks in (2, 3):
        target = again(place / "plain", expected, "--cards", str(ranks + 2))
        loaded = jobs.run_job(ranks, load_and_save, target, place / f"saved_on_{ranks}", ranks)[0]
        jobs.same_bytes(loaded, whole(expected["model"]), f"weights on {ranks} ranks")
        found = as_one(place / f"saved_on_{ranks}")
        same(in_order(found), in_order({key: expected[key] for key in ("model", "optim")}), f"saved on {ranks} ranks")
        target.rename(f"{target}_loaded")
    jobs.program("reshard", "--cards", "2", targets[-1], "--format", "dcp", "-o", place / "back")
    same(in_order(as_one(place / "back")), in_order(saved), "there and back")


def of_one_file():
    """a whole .pt with objects of all kinds, and HDF5"""
    place, saved = jobs.scratch(), tree()
    dcp.save(saved_objects := {"sets": {1, 2}, "error": KeyError("x"), "range": range(3), "pair": (random_tensor(2), 3)},
             checkpoint_id=place / "objects")
    jobs.program("merge", "--format", "dcp", place / "objects", "-o", place / "objects_again")
    found = as_one(place / "objects_again")
    assert (found["sets"], repr(found["error"]), found["range"]) == ({1, 2}, "KeyError('x')", range(3)), found
    assert found.keys() == saved_objects.keys()
    same(found["pair"], saved_objects["pair"])
    jobs.program("merge", place / "objects_again", "-o", place / "objects.pt")
    jobs.program("verify", place / "objects.pt")
    jobs.program("merge", place / "objects.pt", "-o", place / "objects_once_more.pt")
    found = torch.load(place / "objects_once_more.pt", weights_only=False)
    assert (found["sets"], repr(found["error"]), found["range"]) == ({1, 2}, "KeyError('x')", range(3)), found
    same(found["pair"], saved_objects["pair"])
    torch.save(saved, place / "saved.pt")
    jobs.program("merge", "--format", "dcp", place / "saved.pt", "-o", place / "one")
    jobs.program("verify", place / "one")
    jobs.program("verify", place / "saved.pt", place / "one")
    found = as_one(place / "one")
    as_file(place / "one", found)
    # Texts are what torch makes of keys, and a parameter's own class is no part of its tensor.
    saved["optimizer"]["state"] = {str(key): value for key, value in saved["optimizer"]["state"].items()}
    saved["model"] = dict(saved["model"])
    saved["parameter"] = saved["parameter"].detach()
    same(in_order(found), in_order(saved))
    jobs.program("merge", place / "saved.pt", "-o", place / "whole.h5")
    jobs.program("split", "--layout", write_layout(place), "--only", "model/0.weight", "--format", "dcp", place / "whole.h5", "-o", place / "cards")
    same(as_one(place / "cards")["model"]["0.weight"], saved["model"]["0.weight"])
    assert sorted(path.name for path in (place / "cards").glob("*.distcp")) == ["__0_0.distcp", "__1_0.distcp"]  # nothing is left for the third card


def write_layout(place):
    layout = place / "three.json"
    layout.write_text('{"ckpt_layout": 1, "mesh": {"axes": ["dp"], "shape": [3]}, "files": "rank_{dp}.h5", '
                      '"parameters": [{"name": "*", "split": ["dp"], "uneven": "ceil"}]}')
    return layout


def fused_cards():
    """a fused tensor whose parts are cut each: several chunks of a rank"""
    place = jobs.scratch()
    state = {"qkv": random_tensor(24, 4), "norm": random_tensor(4)}
    torch.save(state, place / "saved.pt")
    layout = place / "fused.json"
    layout.write_text('{"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [2, 2]}, "files": "rank_{card}.h5", "parameters": ['
                      '{"name": "qkv", "split": ["tp"], "parts": {"dim": 0, "sizes": [16, 4, 4]}}], "default": "replicate"}')
    jobs.program("split", "--layout", layout, "--format", "dcp", place / "saved.pt", "-o", place / "cards")
    same(in_order(as_one(place / "cards")), in_order(state))
    jobs.program("verify", place / "saved.pt", place / "cards")


def chosen():
    """a model that is chosen and renamed is what load_state_dict takes, whichever of a rank's files the other values are in"""
    place, model = jobs.scratch(), torch.nn.Linear(2, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optim": optimizer.state_dict(), "step": 7, "lst": [1, (2, 3)], "note": "x"}
    for name, how in {"one": {}, "threads": {"thread_count": 3}, "many": {"single_file_per_rank": False}}.items():
        dcp.save(state, storage_writer=dcp.FileSystemWriter(place / name, **how))
        jobs.program("merge", "--only", "model.*", "--rename", "model.{x}={x}", place / name, "-o", place / f"{name}.pt")
        torch.nn.Linear(2, 3).load_state_dict(torch.load(place / f"{name}.pt"))
        jobs.program("merge", "--only", "model.*", "--format", "dcp", place / name, "-o", place / f"{name}_model")
        assert as_one(place / f"{name}_model").keys() == {"model"}, name
        jobs.program("merge", "--only", "optim.*", place / name, "-o", place / f"{name}_optim.pt")
        assert torch.load(place / f"{name}_optim.pt").keys() == {"optim"}, name


if __name__ == "__main__":
    jobs.main({"of torch": of_torch, "of one file": of_one_file, "fused cards": fused_cards, "chosen": chosen})
