"""What Orbax saves, read by the programs; and what they write in its form, restored by Orbax onto other meshes."""
import collections
import os

os.environ.update(XLA_FLAGS="--xla_force_host_platform_device_count=8", JAX_PLATFORMS="cpu")

import jobs  # noqa: E402  (the flags above come first)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import orbax.checkpoint as ocp  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402


def mesh_of(*shape):
    return Mesh(np.array(jax.devices()[:np.prod(shape)]).reshape(shape), ("data", "model"))


def state(mesh):
    """Weights, an optimizer's moments and a step, cut over a mesh of 4 × 2 or 2 × 4."""
    random = np.random.default_rng(3)

    def put(shape, dtype, *cut):
        return jax.device_put(jnp.asarray(random.standard_normal(shape), dtype), NamedSharding(mesh, P(*cut)))
    params = {"embed": put((96, 40), "f4", "model", "data"), "layers": [{"w": put((40, 64), jnp.bfloat16, None, ("data", "model"))}, {"w": put((40, 64), "f4", "data")}],
              "scale": put((64,), "f4")}
    return {"params": params, "mu": jax.tree.map(lambda each: each * 2, params), "step": jax.device_put(jnp.int32(7), NamedSharding(mesh, P()))}


def flat(tree):
    return {".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]}


def same(found, expected, what):
    found, expected = flat(found), flat(expected)
    assert found.keys() == expected.keys(), (what, found.keys() ^ expected.keys())
    for name, value in expected.items():
        ours = np.asarray(found[name])
        assert ours.dtype == value.dtype and ours.shape == value.shape and ours.tobytes() == np.asarray(value).tobytes(), (what, name)


def restored(place, like):
    """The arrays of a directory, each on the device of one like it."""
    return ocp.StandardCheckpointer().restore(place, jax.tree.map(ocp.utils.to_shape_dtype_struct, like))


def forms():
    """a state that Orbax saved in each of its forms is merged, and restored from what the programs write for 1, 3, 5, 7 and 8 cards, onto another mesh"""
    place, saved, other = jobs.scratch(), state(mesh_of(4, 2)), state(mesh_of(2, 4))
    for use_ocdbt in (True, False):
        for use_zarr3 in (True, False):
            source = place / f"saved_{use_ocdbt}_{use_zarr3}"
            with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(use_ocdbt=use_ocdbt, use_zarr3=use_zarr3)) as saver:
                saver.save(source, args=ocp.args.PyTreeSave(saved))
            whole = place / f"{source.name}.h5"
            jobs.program("merge", source, "-o", whole)
            jobs.program("merge", "--format", "orbax", whole, "-o", place / f"{source.name}_1")
            same(restored(place / f"{source.name}_1", other), saved, f"{source.name}, whole")
    for cards in (3, 5, 7, 8):
        jobs.program("reshard", "--cards", cards, "--format", "orbax", source, "-o", place / f"cards_{cards}")
        same(restored(place / f"cards_{cards}", other), saved, f"{cards} cards")
        same(ocp.PyTreeCheckpointer().restore(place / f"cards_{cards}"), saved, f"{cards} cards, by what lies there")
        jobs.program("verify", source, place / f"cards_{cards}")


def steps():
    """of a CheckpointManager's steps the newest is taken; what is written lies where a CheckpointManager finds it"""
    place, saved = jobs.scratch(), state(mesh_of(4, 2))
    with ocp.CheckpointManager(place / "run") as manager:
        for step in (1, 2):
            saved["step"] = saved["step"] + step
            manager.save(step, args=ocp.args.StandardSave(saved))
        manager.wait_until_finished()
    (place / "next" / "2").mkdir(parents=True)
    jobs.program("reshard", "--cards", 5, "--format", "orbax", place / "run", "-o", place / "next" / "2" / "default")
    with ocp.CheckpointManager(place / "next", item_handlers=ocp.StandardCheckpointHandler()) as manager:
        assert manager.latest_step() == 2
        like = jax.tree.map(ocp.utils.to_shape_dtype_struct, state(mesh_of(2, 4)))
        same(manager.restore(2, args=ocp.args.StandardRestore(like)), saved, "the manager")


def trees():
    """what an Orbax checkpoint becomes in Orbax's form restores into the tree that was saved, with its lists, empty containers and texts"""
    place, numbers = jobs.scratch(), lambda *shape: np.arange(1, 1 + np.prod(shape), dtype="f4").reshape(shape)
    moments = collections.namedtuple("moments", "mu nu")
    saved = {
        "params": {"mlp/~/linear_0": {"w": numbers(8, 6), "b": numbers(6)}, "x.y": numbers(2), "x": {"z": numbers(4)}},
        "opt_state": (moments(numbers(8), numbers(8, 2)), {}, None, []),
        "numbered": {"0": numbers(3), "1": numbers(2)},
        "list": [numbers(3), {"of": numbers(2)}],
        "step": 5,
        "run": "é",
    }
    ocp.PyTreeCheckpointer().save(place / "saved", saved)
    for arguments in (["--cards", 1], ["--cards", 2], ["--cards", 2, "--drop", "list.1*"]):
        jobs.program("reshard", *arguments, "--strict", place / "saved", "-o", place / "out", "--force")
        like = {**saved, "list": [numbers(3)]} if "--drop" in arguments else saved
        found = ocp.PyTreeCheckpointer().restore(place / "out", item=like)
        assert jax.tree.structure(found) == jax.tree.structure(like), found
        assert found["run"] == "é"
        same({k: v for k, v in found.items() if k != "run"}, jax.tree.map(np.asarray, {k: v for k, v in like.items() if k != "run"}), arguments)
        jobs.program("verify", place / "out")


if __name__ == "__main__":
    jobs.main({"forms": forms, "steps": steps, "trees": trees})
