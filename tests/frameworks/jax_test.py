"""JAX jobs, saved and loaded by layouts/from_jax.py: four processes with two devices each, and one with eight.

Each job trains a model for two steps and saves it; the merged file must hold the unsharded arrays. A job on another
mesh loads what ckpt-reshard makes of it and takes two more, with the losses of a single device.
"""
import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

os.environ.update(JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="2")
if __name__ == "__main__" and len(sys.argv) > 1:
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={sys.argv[3]}"
else:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jobs  # noqa: E402  (the flags above come first)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from jax.experimental import multihost_utils  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import from_jax  # noqa: E402

STEPS = 2
OPTIMIZER = optax.adamw(1e-2)
SPECS = {"embed": P("y"), "up": P(None, ("x", "y")), "down": P(("y", "x"), None), "scale": P("x", "y"), "bias": P()}


def new_params():
    rng = np.random.default_rng(5)
    shapes = {"embed": (8, 16), "up": (16, 32), "down": (32, 16), "scale": (4, 16), "bias": (16,)}
    return {name: rng.standard_normal(shape).astype(np.float32) / 4 for name, shape in shapes.items()}


def loss_of(params, x, y):
    hidden = x @ params["embed"] + params["bias"]
    out = jax.nn.relu(hidden @ params["up"]) @ params["down"] + hidden
    return jnp.mean((out @ params["scale"].T - y) ** 2)


@jax.jit
def train_step(params, opt_state, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
    updates, opt_state = OPTIMIZER.update(gradients, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def batch(step):
    rng = np.random.default_rng(100 + step)
    return rng.standard_normal((12, 8)).astype(np.float32), rng.standard_normal((12, 4)).astype(np.float32)


def sharded(params, mesh):
    def put(name, value):
        sharding = NamedSharding(mesh, SPECS[name])
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

    return {name: put(name, value) for name, value in params.items()}


def mesh_of(shape, order=None):
    devices = np.array(jax.devices())
    return Mesh((devices if order is None else devices[order])[:int(np.prod(shape))].reshape(shape), ("x", "y"))


def whole(state):
    """Name -> the unsharded array."""
    return {name: np.asarray(multihost_utils.process_allgather(leaf, tiled=True)) if from_jax.is_sharded(leaf) else leaf
            for name, leaf in from_jax.arrays_of(state).items()}


def first_job(place, shape, order):
    params = sharded(new_params(), mesh_of(shape, order))
    state = {"params": params, "opt_state": jax.jit(OPTIMIZER.init)(params), "step": 0, "note": "text"}
    for step in range(STEPS):
        state["params"], state["opt_state"], _ = train_step(state["params"], state["opt_state"], *batch(step))
        state["step"] += 1
    from_jax.save(state, place / "old")
    return whole(state)


def second_job(place, shape, order):
    params = sharded({name: np.zeros_like(value) for name, value in new_params().items()}, mesh_of(shape, order))
    # The state after a step, for the shardings that the compiler gives it.
    params, opt_state, _ = train_step(params, jax.jit(OPTIMIZER.init)(params), *batch(9))
    state = {"params": params, "opt_state": opt_state, "step": 0, "note": "mine"}
    from_jax.write_layout(state, place / "new.json")
    if jax.process_index() == 0:
        jobs.reshard(place / "old", place / "new.json", place / "new")
    from_jax.wait_for_all("resharded")
    state = from_jax.load(state, place / "new")
    assert state["step"] == STEPS and state["note"] == "mine", (state["step"], state["note"])
    return whole(state), next_losses(state["params"], state["opt_state"])


def next_losses(params, opt_state):
    """Of the next two steps: the second one needs the moments."""
    losses = []
    for step in (STEPS, STEPS + 1):
        params, opt_state, loss = train_step(params, opt_state, *batch(step))
        losses.append(float(loss))
    return losses


def unsharded_losses():
    params = new_params()
    opt_state = OPTIMIZER.init(params)
    for step in range(STEPS):
        params, opt_state, _ = train_step(params, opt_state, *batch(step))
    return next_losses(params, opt_state)


def run_processes(count, devices, work, place, shape, order=None):
    """work(place, shape, order) on so many processes with so many devices each; process 0's result."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = [work.__name__, str(devices), str(count), str(port), str(place), json.dumps([shape, order])]
    processes = [subprocess.Popen([sys.executable, __file__, str(rank), *arguments], stderr=subprocess.PIPE, text=True)
                 for rank in range(count)]
    told = []
    try:
        told = [process.communicate(timeout=jobs.JOB_TIMEOUT_S)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert all(process.returncode == 0 for process in processes), "\n".join(told)
    return pickle.loads((place / "result").read_bytes())


def one_process(rank, work, devices, count, port, place, arguments):
    jax.distributed.initialize(f"127.0.0.1:{port}", int(count), int(rank))
    result = globals()[work](Path(place), *json.loads(arguments))
    if rank == "0":
        (Path(place) / "result").write_bytes(pickle.dumps(result))
    from_jax.wait_for_all("end")


def round_trip(first, second, place, kinds):
    expected, layout = first(), json.loads((place / "old" / "layout.json").read_text())
    jobs.same_bytes(jobs.merged(place / "old", place / "merged.h5"), expected, "merged")
    for name, rule in kinds.items():
        found = next(r for r in layout["parameters"] if name in r["name"])
        assert rule.items() <= found.items(), found
    loaded, losses = second()
    jobs.same_bytes(loaded, expected, "loaded on another mesh")
    jobs.close(losses, unsharded_losses(), "the next steps")
    return layout


def processes():
    """4 processes with 2 devices each, mesh 2 × 4, to 2 with 4, mesh 4 × 2"""
    place = jobs.scratch()
    layout = round_trip(lambda: run_processes(4, 2, first_job, place, (2, 4)),
                        lambda: run_processes(2, 4, second_job, place, (4, 2)), place,
                        {"params/up": {"split": [None, ["x", "y"]]}, "params/down": {"split": [["y", "x"]]},
                         "opt_state/0/mu/scale": {"split": ["x", "y"]}, "opt_state/0/count": {}})
    assert not any("boxes" in rule for rule in layout["parameters"]), layout


def order_of_devices():
    """8 devices in any order, mesh 4 × 2, to 4 devices, mesh 2 × 2"""
    place, order = jobs.scratch(), [3, 7, 0, 5, 6, 1, 4, 2]
    layout = round_trip(lambda: first_job(place, (4, 2), order),
                        lambda: second_job(place, (2, 2), [6, 1, 2, 0]), place, {})
    assert layout["mesh"]["cards"] == order, layout["mesh"]


def zero(leaf):
    """Zero of the same type and sharding."""
    if isinstance(leaf, (jax.Array, np.ndarray)):
        return (leaf * 0).astype(leaf.dtype)
    return leaf if isinstance(leaf, str) else type(leaf)(0)


def forms():
    """dtypes, scalars, numbers, arrays of numpy, arrays on one device, other meshes"""
    mesh, place = mesh_of((2, 4)), jobs.scratch()
    flat = Mesh(np.array(jax.devices()[::-1]), ("all",))
    values = np.arange(64, dtype=np.uint8).reshape(8, 8)
    dtypes = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "int8", "uint16", "bool", "complex64"]
    state = {"dtypes": {name: jax.device_put(jnp.asarray(values % 7, name), NamedSharding(mesh, P("y", "x")))
                        for name in dtypes},
             "scalars": {name: jnp.asarray(3, name) for name in dtypes},
             "other mesh": jax.device_put(values, NamedSharding(flat, P("all"))),
             "other whole": jax.device_put(values, NamedSharding(flat, P())),
             "numpy": values, "numbers": (3, 0.25, True), "odd * [name] ? {x}": jnp.ones(3), "none": None, "text": "t"}
    from_jax.save(state, place / "old")
    layout = json.loads((place / "old" / "layout.json").read_text())
    assert [rule["name"] for rule in layout["parameters"] if "boxes" in rule] == ["other mesh"], layout
    blank = jax.tree_util.tree_map(zero, state)
    loaded = from_jax.load(blank, place / "old")
    assert [repr(number) for number in loaded["numbers"]] == ["3", "0.25", "True"], loaded["numbers"]
    assert all(leaf.sharding == like.sharding and leaf.dtype == like.dtype for leaf, like in
               zip(loaded["dtypes"].values(), blank["dtypes"].values()))
    jobs.same_bytes(whole(loaded), whole(state), "loaded")
    jobs.same_bytes(jobs.merged(place / "old", place / "merged.h5"), whole(state), "merged")


CASES = [processes, order_of_devices, forms]

if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_process(sys.argv[1], *sys.argv[2:])
    else:
        jobs.main({case.__name__: case for case in CASES})
