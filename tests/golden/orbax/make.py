"""Real Orbax checkpoints of one process on 8 host devices: python make.py OUT.  truth.npz beside each ('%' for '/' is not needed: names joined by '.')."""
import os, sys, json
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"; os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np, jax, jax.numpy as jnp, optax, orbax.checkpoint as ocp, ml_dtypes
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
out = os.path.abspath(sys.argv[1])
rng = np.random.default_rng(5)
def truth(d, tree):
    t = {}
    for k, v in jax.tree_util.tree_flatten_with_path(tree)[0]:
        n = ".".join(str(getattr(x, "key", getattr(x, "idx", getattr(x, "name", x)))) for x in k)
        if isinstance(v, str): continue
        if hasattr(v, "dtype") and jnp.issubdtype(v.dtype, jax.dtypes.prng_key): v = jax.random.key_data(v)
        a = np.asarray(v)
        if a.dtype.itemsize == 2 and str(a.dtype) == "bfloat16": a = a.view("u2")
        if str(a.dtype).startswith("float8"): a = a.view("u1")
        if str(a.dtype) in ("int4", "uint4"): a = a.astype("i1")
        t[n] = a
    np.savez_compressed(os.path.join(d, "truth.npz"), **t)
m = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
put = lambda a, *s: jax.device_put(a, NamedSharding(m, P(*s)))
D, F = 16, 24
def state(extra=True):
    params = {"embed": {"embedding": put(rng.standard_normal((64, D)).astype("f4"), "model", None)},
              "layers": {"mlp": {"wi": put(rng.standard_normal((4, D, F)).astype(ml_dtypes.bfloat16), None, "data", "model"), "wo": put(rng.standard_normal((4, F, D)).astype("f4"), None, "model", "data")}},
              "norm": {"scale": put(np.ones(D, "f4"))}}
    tx = optax.adamw(1e-2); opt = tx.init(params)
    g = jax.tree.map(lambda p: p * 0 + 0.5, params)
    for _ in range(2):
        u, opt = tx.update(g, opt, params); params = optax.apply_updates(params, u)
    s = {"params": params, "opt_state": opt, "step": jnp.int32(7)}
    if extra: s |= {"lr": 0.125, "epoch": 3, "name": "run é", "flag": True, "np": np.arange(5, dtype="i8"), "empty": {}, "none": None, "list": [np.float64(1.5), np.arange(3, dtype="u1")]}
    return s
def save(name, tree, **kw):
    d = f"{out}/{name}"; h = ocp.PyTreeCheckpointHandler(**kw)
    with ocp.Checkpointer(h) as c: c.save(d, args=ocp.args.PyTreeSave(tree))
    truth(os.path.dirname(d) if False else d, tree)
    return d
s = state()
for name, kw in [("ocdbt_zarr2", dict(use_ocdbt=True, use_zarr3=False)), ("ocdbt_zarr3", dict(use_ocdbt=True, use_zarr3=True)), ("plain_zarr2", dict(use_ocdbt=False, use_zarr3=False)), ("plain_zarr3", dict(use_ocdbt=False, use_zarr3=True))]:
    try: save(name, s, **kw)
    except Exception as e: print("FAILED", name, repr(e)[:300])
# the manager: steps, several items, metrics
with ocp.CheckpointManager(f"{out}/manager", options=ocp.CheckpointManagerOptions(max_to_keep=2)) as mg:
    for st in (1, 2, 3):
        mg.save(st, args=ocp.args.Composite(state=ocp.args.StandardSave(state(False)), extra=ocp.args.JsonSave({"a": [1, 2.5]})), metrics={"loss": 0.5})
    mg.wait_until_finished()
    truth(f"{out}/manager/3", mg.restore(3, args=ocp.args.Composite(state=ocp.args.StandardRestore()))["state"])
# dtypes
t = {}
for dt in ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "float8_e4m3fn", "float8_e5m2", "int4"]:
    a = (np.arange(12).reshape(3, 4) % 7).astype("f4").astype(getattr(ml_dtypes, dt, None) or dt)
    try: t1 = {dt: a, dt + "_0": a[1, 2:3].reshape(())}; ocp.PyTreeCheckpointer().save(out + "_probe_" + dt, t1, force=True); t |= t1
    except Exception as e: print("no", dt, repr(e)[:150])
save("dtypes_zarr2", t, use_ocdbt=True, use_zarr3=False); 
try: save("dtypes_zarr3", t, use_ocdbt=True, use_zarr3=True)
except Exception as e: print("dtypes_zarr3", repr(e)[:300])
save("prng", {"key": jax.random.key(42), "keys": jax.random.split(jax.random.key(1), 3), "old": jax.random.PRNGKey(3)})
# chunk sizes: write shards cut again (chunk_byte_size), and zarr3 sharding_indexed
big = {"w": put(rng.standard_normal((64, 32)).astype("f4"), "data", None)}
try:
    for name, kw in [("chunked_zarr2", dict(use_zarr3=False)), ("chunked_zarr3", dict(use_zarr3=True))]:
        d = f"{out}/{name}"; h = ocp.PyTreeCheckpointHandler(**kw)
        with ocp.Checkpointer(h) as c: c.save(d, args=ocp.args.PyTreeSave(big, save_args=jax.tree.map(lambda _: ocp.SaveArgs(chunk_byte_size=1024), big)))
        truth(d, big)
except Exception as e: print("chunked", repr(e)[:300])
print(ocp.__version__, jax.__version__)
for dd, _, fs in os.walk(out): print(dd[len(out):], sorted(fs))
