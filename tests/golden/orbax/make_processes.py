"""Checkpoints of Orbax by several processes with two devices each: python make_processes.py OUT N. They go into
OUT/plain (zarr 2, a directory for each array), OUT/ocdbt and OUT/large, each with truth.npz; the values of `large` lie in data files."""
import os
import subprocess
import sys

out, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
if "RANK" not in os.environ:
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": str(rank)}) for rank in range(count)]
    sys.exit(max(rank.wait(240) for rank in ranks))
rank = int(os.environ["RANK"])
os.environ.update(XLA_FLAGS="--xla_force_host_platform_device_count=2", JAX_PLATFORMS="cpu")

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{9700 + count}", count, rank)
import orbax.checkpoint as ocp  # noqa: E402

mesh = Mesh(np.array(jax.devices()).reshape(count, 2), ("data", "model"))
random = np.random.default_rng(6)


def normal(shape, dtype="f4"):
    return random.standard_normal(shape).astype(dtype)


small = {"w_data_model": (normal((8, 6)), ("data", "model")), "w_model": (normal((6, 4)), (None, "model")),
         "w_data": (normal((4 * count, 3), ml_dtypes.bfloat16), ("data",)), "replicated": (normal(5), ()),
         "w_both": (normal((4 * count, 2)), (("data", "model"), None)), "big": (normal((64, 16)), ("model", "data")),
         "step": (np.int32(9), ())}
large = {"w": (normal((64, 32)), ("data", "model")), "b": (normal(1000), ())}


def save(name, tree, **form):
    arrays = {key: jax.make_array_from_callback(value.shape, NamedSharding(mesh, PartitionSpec(*cut)), lambda part, value=np.asarray(value): value[part])
              for key, (value, cut) in tree.items()}
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**form)) as saver:
        saver.save(f"{out}/{name}", args=ocp.args.PyTreeSave(arrays))
    if rank == 0:
        np.savez_compressed(f"{out}/{name}/truth.npz", **{key: np.asarray(value).view("u2") if np.asarray(value).itemsize == 2 else value for key, (value, _) in tree.items()})


save("plain", small, use_ocdbt=False, use_zarr3=False)
save("ocdbt", small, use_zarr3=False)
save("large", large, use_zarr3=True)
