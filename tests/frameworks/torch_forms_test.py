"""What a PyTorch state may hold besides training in layouts/from_torch.py: dtypes, scalars, numbers, odd names, meshes
of any order, tensors on some ranks only; and what is refused."""
import json
import logging

import jobs
from torch_names import IS_2_4
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.placement_types import _StridedShard

import from_torch
from torch_test import rules, whole

logging.getLogger("torch.distributed.tensor._redistribute").setLevel(logging.ERROR)
DTYPES = [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.float64, torch.int8,
          torch.bool, torch.complex64] + ([] if IS_2_4 else [torch.uint16])  # which that has, and cannot save


def random_tensor(*shape, dtype=torch.float32):
    """The same on every rank, any bytes but those of a bool."""
    torch.manual_seed(hash((shape, str(dtype))) & 0xffff)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape).bool()
    return torch.randint(0, 256, (*shape[:-1], shape[-1] * dtype.itemsize), dtype=torch.uint8).view(dtype)


def spread(tensor, mesh, *placements):
    """Each rank cuts its own piece: distribute_tensor would send it, which gloo cannot for every dtype."""
    local = tensor.contiguous()
    for axis, placement in enumerate(placements):
        if isinstance(placement, Shard):
            rows = -(-local.size(placement.dim) // mesh.size(axis))
            first, end = (min(at * rows, local.size(placement.dim)) for at in (mesh.get_local_rank(axis), mesh.get_local_rank(axis) + 1))
            local = local.narrow(placement.dim, first, end - first)
    return DTensor.from_local(local.clone(), mesh, placements, shape=tensor.shape, stride=tensor.stride(), run_check=False)


def fused(tensor, mesh, count):
    """Rows of each of `count` matrices that stand in one, as tensor parallelism cuts a fused QKV."""
    k, rank = mesh.size(), mesh.get_local_rank()
    local = torch.cat([part.chunk(k)[rank] for part in tensor.chunk(count)])
    return DTensor.from_local(local, mesh, [_StridedShard(0, split_factor=count)], shape=tensor.shape,
                              stride=tensor.stride(), run_check=False)


def forms(rank):
    mesh = init_device_mesh("cpu", (2, 3), mesh_dim_names=("dp", "tp"))
    both = [Shard(1), Shard(0)]
    state = {"dtypes": {str(dtype)[6:]: spread(random_tensor(7, 8, dtype=dtype), mesh, *both) for dtype in DTYPES}}
    state["plain"] = {str(dtype)[6:]: random_tensor(3, 4, dtype=dtype) for dtype in DTYPES}
    state["odd * [names] ? {of} parameters"] = spread(random_tensor(5), mesh, Replicate(), Shard(0))
    state["transposed"] = DTensor.from_local(random_tensor(4, 6).t(), mesh, [Shard(0), Replicate()], run_check=False)
    state["scalars"] = [torch.tensor(2.5), torch.tensor(7, dtype=torch.bfloat16), 3, 0.1, True, (0.9, 0.999)]
    state["settings"] = {"foreach": None, "name": "adam", "fused": False}
    state["empty"] = torch.zeros(0, 3)
    state["one axis"] = spread(random_tensor(9, 2), mesh["tp"], Shard(0))
    state["one dimension twice"] = spread(random_tensor(11, 2), mesh, Shard(0), Shard(0))
    state["qkv"] = fused(random_tensor(18, 4), mesh["tp"], 3)
    state["rng"] = torch.full((16,), rank, dtype=torch.uint8)
    if rank >= 3:
        state["second stage"] = random_tensor(2, 2)
    return state


def clear(node):
    """Zeros in every tensor, other numbers for numbers."""
    for key, value in (list(node.items()) if isinstance(node, dict) else list(enumerate(node))):
        if isinstance(value, (dict, list)):
            clear(value)
        elif torch.is_tensor(value):
            from_torch.local_of(value).zero_()
        elif type(value) in from_torch.NUMBERS:
            node[key] = type(value)(0)
        elif isinstance(value, tuple):
            node[key] = (0.0, 0.0)


def save_and_load(rank, place):
    state = forms(rank)
    from_torch.save(state, place / "saved", first=["rng"])
    expected = whole({key: value for key, value in state.items() if key != "second stage"})
    clear(state)
    assert state["scalars"][5] == (0.0, 0.0) and whole({"x": state["transposed"]})["x"].sum() == 0
    from_torch.load(state, place / "saved")
    numbers = [repr(value) for value in (*state["scalars"][2:], *state["settings"].values())]
    assert state["rng"][0] == rank, "each rank loads its own"
    assert rank < 3 or torch.equal(state["second stage"].view(torch.uint8), random_tensor(2, 2).view(torch.uint8))
    return expected, whole({key: value for key, value in state.items() if key != "second stage"}), numbers


def every_form():
    """dtypes, scalars, numbers, odd names, parts, one axis of two, some ranks only; 2 × 3 ranks"""
    place = jobs.scratch()
    expected, loaded, numbers = jobs.run_job(6, save_and_load, place)[0]
    assert numbers == ["3", "0.1", "True", "(0.9, 0.999)", "None", "'adam'", "False"], numbers
    jobs.same_bytes(loaded, expected, "loaded by the same job")
    layout = json.loads((place / "saved" / "layout.json").read_text())
    by_name = rules(layout)
    assert by_name["qkv"]["parts"] == {"dim": 0, "count": 3}, by_name["qkv"]
    assert by_name["one dimension twice"]["split"] == [["dp", "tp"]], by_name["one dimension twice"]
    assert by_name["second stage"]["at"] == {"dp": 1}, by_name["second stage"]
    merged = jobs.merged(place / "saved", place / "merged.h5")
    assert merged.pop("second stage").tobytes() == from_torch.raw(random_tensor(2, 2)).tobytes()
    jobs.same_bytes(merged, expected, "merged")
    shown = jobs.program("inspect", place / "saved" / "rank_0.h5")
    for word in ("bf16", "f8_e4m3", "f8_e5m2", "f16", "f64", "i8", "u16", "bool"):
        assert word in shown, f"{word} is not in\n{shown}"
    print("  inspect: bf16 and fp8 by their names")


def any_order(rank, place, ranks, key):
    mesh = DeviceMesh("cpu", torch.tensor(ranks), mesh_dim_names=("x", "y"))
    one_axis_or_both = [Replicate() if key == "boxes" else Shard(0), Shard(1)]
    state = {"w": distribute_tensor(random_tensor(8, 6), mesh, one_axis_or_both),
             "v": distribute_tensor(random_tensor(6), mesh["y"], [Shard(0)])}
    from_torch.save(state, place / "saved")
    return whole(state)


def mesh_of_columns():
    """a mesh numbered column by column"""
    merge_any_order([[0, 2, 4], [1, 3, 5]], {"cards": [0, 2, 4, 1, 3, 5]}, "split")


def mesh_of_any_order():
    """a mesh in an order that torch's groups do not keep: no rule says it, boxes do (two axes torch itself mixes up)"""
    merge_any_order([[5, 1, 3], [0, 4, 2]], {"cards": [5, 1, 3, 0, 4, 2]}, "boxes")


def merge_any_order(ranks, mesh, key):
    place = jobs.scratch()
    expected = jobs.run_job(6, any_order, place, ranks, key)[0]
    layout = json.loads((place / "saved" / "layout.json").read_text())
    assert mesh.items() <= layout["mesh"].items() and all(key in rule for rule in layout["parameters"]), layout
    jobs.same_bytes(jobs.merged(place / "saved", place / "merged.h5"), expected, "merged")


def stages(rank, place):
    """Two stages, each with a mesh of its own."""
    mesh = [DeviceMesh("cpu", ranks, mesh_dim_names=("dp",)) for ranks in ([0, 1], [2, 3])][rank // 2]
    state = {f"layers.{rank // 2}.w": spread(random_tensor(5, rank // 2 + 1), mesh, Shard(0))}
    from_torch.save(state, place / "saved")
    return whole(state)


def meshes_of_stages():
    """two pipeline stages, each with its own mesh of two ranks"""
    place = jobs.scratch()
    results = jobs.run_job(4, stages, place)
    rule = rules(json.loads((place / "saved" / "layout.json").read_text()))["layers.1.w"]
    assert rule == {"name": "layers.1.w", "split": ["dp"], "uneven": "ceil", "at": {"group": 1}}, rule
    jobs.same_bytes(jobs.merged(place / "saved", place / "merged.h5"), {**results[0], **results[2]}, "merged")


def refusals(rank, place):
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    told = []
    for what, state in [("differs", {"w": torch.full((2,), rank)}),
                        ("shapes", {"w": torch.zeros(2 + rank)}),
                        ("partial", {"w": DTensor.from_local(torch.zeros(2), mesh, [Partial()])}),
                        ("twice", {"1": torch.zeros(1), 1: torch.zeros(1)}),
                        ("one rank only", {"w": torch.zeros(1), **({"": torch.zeros(1)} if rank else {})})]:
        try:
            from_torch.save(state, place / what)
        except (RuntimeError, TypeError, ValueError) as error:
            told.append(f"{what}: {error}")
        assert not (place / what / "layout.json").exists()
    from_torch.save({"w": torch.zeros(4)}, place / "good")
    for what, state in [("other shape", {"w": torch.zeros(5)}),
                        ("other dtype", {"w": torch.zeros(4, dtype=torch.bfloat16)}),
                        ("missing", {"w": torch.zeros(4), "v": torch.zeros(4)})]:
        try:
            from_torch.load(state, place / "good")
        except ValueError as error:
            told.append(f"{what}: {error}")
    return told


def what_is_refused():
    """tensors that differ, Partial, two of one name, another job's files: told on every rank, nothing published"""
    for rank, told in enumerate(jobs.run_job(2, refusals, jobs.scratch())):
        words = ["differs between ranks (0, 1)", "found shape (2,) on rank 0 and (3,) on rank 1", "no Partial",
                 "found twice", "with an empty part", "found float32 [4], expected torch.float32 [5]",
                 "expected torch.bfloat16 [4]", "found no v (1 of 2 missing)"]
        assert len(told) == len(words), told
        for line, word in zip(told, words):
            assert word in line, f"rank {rank}: '{word}' is not in '{line}'"
    print(f"  {len(words)} cases")


CASES = [every_form, mesh_of_columns, mesh_of_any_order, meshes_of_stages, what_is_refused]

if __name__ == "__main__":
    jobs.main({case.__name__: case for case in CASES})
