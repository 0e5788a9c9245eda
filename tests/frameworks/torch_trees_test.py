"""torch's own load_state_dict takes what is chosen and renamed of a checkpoint: models and optimizers, of one file, of several
kinds of ranks' files, and of a DCP directory; names are freed of wrappers; and files for other cards say that they are none of torch's."""
import jobs
import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_optimizer_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

RANKS = 2


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 10), nn.BatchNorm1d(10), nn.Linear(10, 4))


def adam(model):
    """Two groups, of which one has a number as a tensor."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW([{"params": matrices, "lr": torch.tensor(2e-3)}, {"params": others, "weight_decay": 0.0}])


def train(model, optimizer, steps=2):
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.arange(48.).reshape(8, 6) + step).square().sum().backward()
        optimizer.step()


def same(a, b, path=""):
    """Of tensors, dicts, lists and values; types of keys and containers count."""
    assert type(a) is type(b) or {type(a), type(b)} <= {dict, type(network().state_dict())}, f"{path}: {type(a)}, {type(b)}"
    if isinstance(a, torch.Tensor):
        assert torch.equal(a, b), path
    elif isinstance(a, dict):
        assert list(a) == list(b) or set(a) == set(b), f"{path}: {list(a)}, {list(b)}"
        for key in a:
            same(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{path}/{i}")
    else:
        assert a == b, f"{path}: {a}, {b}"


def loaded(path):
    return torch.load(path, weights_only=False)


def one_file():
    """A model and an optimizer are taken out of one file, in each protocol of pickles, and loaded."""
    place = jobs.scratch()
    model = network()
    optimizer = adam(model)
    train(model, optimizer)
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "args": {"lr": [1, 2]}}
    for protocol in range(2, 6):
        whole = place / f"whole{protocol}.pt"
        torch.save(saved, whole, pickle_protocol=protocol)
        for kind, module in (("model", network()), ("optimizer", adam(network()))):
            part = place / f"{kind}{protocol}.pt"
            jobs.program("merge", "-q", "--only", f"{kind}/*", "--rename", kind + "/{x}={x}", whole, "-o", part)
            same(loaded(part), saved[kind])
            module.load_state_dict(loaded(part))
            same(module.state_dict(), saved[kind])
        renamed = place / f"renamed{protocol}.pt"
        jobs.program("merge", "-q", "--drop", "args/*", "--rename", "optimizer/{x}=state/adam/{x}", whole, "-o", renamed)
        same(loaded(renamed), {"model": saved["model"], "state": {"adam": saved["optimizer"]}, "epoch": 3})


def save_ranks(rank, place):
    model = network()
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    fully_shard(model, mesh=mesh)
    optimizer = adam(model)
    train(model, optimizer)
    for kind, state in (("model", model.state_dict()), ("optim", optimizer.state_dict()),
                        ("extra_state", {"lr_scheduler": {"last_epoch": 3}, "rng": torch.arange(4) + rank})):
        torch.save(state, place / "ranks" / f"{kind}_world_size_{RANKS}_rank_{rank}.pt")
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optim": moments}, checkpoint_id=place / "dcp")


def ranks_of_kinds():
    """Each kind of ranks' files keeps its dicts and lists in one file."""
    place = jobs.scratch()
    (place / "ranks").mkdir()
    jobs.run_job(RANKS, save_ranks, place)
    model = network()
    optimizer = adam(model)
    train(model, optimizer)
    jobs.program("merge", "-q", place / "ranks", "-o", place / "whole.pt")
    whole = loaded(place / "whole.pt")
    assert set(whole) == {"model", "optim", "extra_state"} and whole["extra_state"]["lr_scheduler"] == {"last_epoch": 3}
    fresh = network()
    fresh.load_state_dict(whole["model"])
    others = adam(fresh)
    others.load_state_dict(whole["optim"])
    train(fresh, others, 1)
    # The same of a DCP directory, whose optimizer names parameters.
    jobs.program("merge", "-q", "--only", "optim.*", "--rename", "optim.{x}={x}", place / "dcp", "-o", place / "optim.pt")
    named = loaded(place / "optim.pt")
    assert set(named) == {"state", "param_groups"} and isinstance(named["param_groups"], list)
    set_optimizer_state_dict(fresh, adam(fresh), named)
    # For other cards they are called something else.
    jobs.program("reshard", "-q", "--cards", 3, "--format", "torch", "--only", "model/*", place / "ranks", "-o", place / "three")
    assert not list((place / "three").glob("*world_size*")) and len(list((place / "three").glob("model_card_*.pt"))) == 3


def wrappers():
    """Names with two wrappers are freed of both."""
    place = jobs.scratch()
    state = {f"_orig_mod.{k.replace('.', '._checkpoint_wrapped_module.', 1)}": v for k, v in network().state_dict().items()}
    torch.save(state, place / "wrapped.pt")
    jobs.program("merge", "-q", "--rename", "{a}_orig_mod.{b}={a}{b}", "--rename", "{a}_checkpoint_wrapped_module.{b}={a}{b}",
                 place / "wrapped.pt", "-o", place / "plain.pt")
    network().load_state_dict(loaded(place / "plain.pt"))


if __name__ == "__main__":
    jobs.main({"one file": one_file, "ranks of kinds": ranks_of_kinds, "wrappers": wrappers})
