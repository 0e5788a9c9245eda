"""Save the state of a JAX job as one HDF5 file for each device, with the layout that says how they are cut; load it.

Copy this file into your project; besides jax it needs numpy and h5py.

    import from_jax

    state = {"params": params, "opt_state": opt_state, "step": step}     # any pytree
    from_jax.save(state, "step1000")            # step1000/rank_N.h5, N a device's id, and step1000/layout.json
    …
    state = from_jax.load(state, "step1000")    # arrays as those of `state`: the same shapes, dtypes and shardings

For a job with other devices or another sharding, write that job's layout and let the programs turn one into the other:

    from_jax.write_layout(state, "new.json")                                  # in the new job
    ckpt-reshard --from step1000/layout.json --to new.json step1000 -o step1000-new

All processes call each function; each writes and reads the files of its own devices. An array's name is its path in the
pytree, joined by '/'.
- NamedSharding becomes a rule by the mesh's axes. What no rule says (another mesh than the others', other shardings) is
  written out, box by box.
- Arrays on one device, numpy's arrays and Python's numbers are the same for all and go into every file.
- Keys of jax.random.key are saved as jax.random.key_data(key).
- None and text are not saved, and stay as they are.
"""
import json
import os
from pathlib import Path

import h5py
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding

NUMBERS = {bool: np.bool_, int: np.int64, float: np.float64}
# Floats without a numpy dtype of their own: bits of exponent and of mantissa.
NARROW = {np.dtype(ml_dtypes.bfloat16): (8, 7), np.dtype(ml_dtypes.float8_e4m3fn): (4, 3),
          np.dtype(ml_dtypes.float8_e5m2): (5, 2)}


# --- what a job calls ------------------------------------------------------------------------------------------------

def save(state, directory):
    """Write the files of this process's devices, and process 0 the layout when all are done."""
    directory, layout, arrays = Path(directory), layout_of(state), arrays_of(state)
    if jax.process_index() == 0:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "layout.json").unlink(missing_ok=True)
    wait_for_all("begin")
    for device in devices_of_job(arrays):
        if device.process_index == jax.process_index():
            write_file(directory / f"rank_{device.id}.h5", arrays, device)
    wait_for_all("written")
    if jax.process_index() == 0:
        write_json(layout, directory / "layout.json")
    wait_for_all("published")


def load(state, directory):
    """A state like this one, filled from the files of this process's devices, which must be cut as it is."""
    files = Files(Path(directory), devices_of_job(arrays_of(state)))
    try:
        return jax.tree_util.tree_map_with_path(lambda path, leaf: files.read(name_of(path), leaf), state)
    finally:
        files.close()


def layout_of(state):
    """The layout of `state`, a dict. Each process knows all of it."""
    arrays = arrays_of(state)
    mesh, devices = mesh_of_job(arrays), devices_of_job(arrays)
    axes = dict(mesh.shape) if mesh else {"device": len(devices)}
    layout = {"ckpt_layout": 1, "mesh": {"axes": list(axes), "shape": list(axes.values())}}
    if [device.id for device in devices] != list(range(len(devices))):
        layout["mesh"]["cards"] = [device.id for device in devices]
    layout["files"] = "rank_{card}.h5"
    rules = {}
    for name, array in arrays.items():
        rules.setdefault(json.dumps(rule(name, array, axes, devices)), []).append(literal(name))
    layout["parameters"] = [{"name": names if len(names) > 1 else names[0], **json.loads(words)}
                            for words, names in rules.items()]
    return layout


def write_layout(state, path):
    layout = layout_of(state)
    if jax.process_index() == 0:
        write_json(layout, Path(path))
    wait_for_all("layout")


def wait_for_all(what):
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(f"from_jax: {what}")


# --- from the state to rules -----------------------------------------------------------------------------------------

def name_of(path):
    return jax.tree_util.keystr(path, simple=True, separator="/")


def is_sharded(leaf):
    """Whether the devices hold it as its sharding says; all else is the same for all."""
    return isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) > 1


def arrays_of(state):
    """Name -> the leaf, for all arrays and numbers; what is not sharded as numpy's."""
    found = {}
    for path, leaf in jax.tree_util.tree_flatten_with_path(state)[0]:
        name = name_of(path)
        if isinstance(leaf, str):
            continue
        if name in found or any(part in ("", ".", "..") for part in name.split("/")):
            raise ValueError(f"'{name}': found twice, or with an empty part; each array needs a path of its own")
        if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            raise TypeError(f"{name}: found a key of jax.random, expected its data: jax.random.key_data(key)")
        found[name] = leaf if is_sharded(leaf) else np.asarray(leaf, NUMBERS.get(type(leaf)))
    return found


def mesh_of_job(arrays):
    """The mesh that most arrays are on; of equals the one with more axes. None: no array has one."""
    count = {}
    for leaf in arrays.values():
        if isinstance(leaf, jax.Array) and isinstance(leaf.sharding, NamedSharding):
            count[leaf.sharding.mesh] = count.get(leaf.sharding.mesh, 0) + 1
    return max(count, key=lambda mesh: (mesh.size, count[mesh], len(mesh.shape)), default=None)


def devices_of_job(arrays):
    mesh = mesh_of_job(arrays)
    return jax.devices() if mesh is None else list(mesh.devices.flat)


def box_of(index, shape):
    """[start, stop) in each dimension, from a tuple of slices."""
    return [list(cut.indices(n)[:2]) for cut, n in zip(index, shape)]


def rule(name, leaf, axes, devices):
    """The keys that give exactly what the devices hold."""
    if not isinstance(leaf, jax.Array):
        return {}
    indices = leaf.sharding.devices_indices_map(leaf.shape)
    held = {device: box_of(index, leaf.shape) for device, index in indices.items()}
    strangers = [device.id for device in held if device not in devices]
    if strangers or (leaf.ndim == 0 and len(held) < len(devices)):
        raise ValueError(f"{name}: found on devices {sorted(device.id for device in held)}, expected the mesh's "
                         f"{[device.id for device in devices]}; put it on that mesh")
    if isinstance(leaf.sharding, NamedSharding):
        spec = [[entry] if isinstance(entry, str) else list(entry or ()) for entry in leaf.sharding.spec]
        boxes = {device: box_by_rule(spec, leaf.shape, axes, i) for i, device in enumerate(devices)}
        if boxes == held:
            return written_split(spec)
    whole = [[0, n] for n in leaf.shape]
    if len(held) == len(devices) and all(box == whole for box in held.values()):
        return {}
    return {"boxes": {str(device.id): box for device, box in held.items()}, "shape": list(leaf.shape)}


def box_by_rule(spec, shape, axes, position):
    """What `split` by these axes gives the device at this position; None if it divides unevenly or by unknown axes."""
    here = dict(zip(axes, np.unravel_index(position, tuple(axes.values()))))
    box = []
    for dim, n in enumerate(shape):
        start = 0
        for axis in spec[dim] if dim < len(spec) else ():
            if axis not in axes or n % axes[axis]:
                return None
            n //= axes[axis]
            start += int(here[axis]) * n
        box.append([start, start + n])
    return box


def written_split(spec):
    words = [None if not axes else axes[0] if len(axes) == 1 else axes for axes in spec]
    while words and words[-1] is None:
        words.pop()
    return {"split": words} if words else {}


def literal(name):
    """A pattern that matches this name alone."""
    return "".join(f"[{c}]" if c in "*?[{" else c for c in name)


# --- HDF5 ------------------------------------------------------------------------------------------------------------

def file_type(dtype):
    """The HDF5 type of a dtype: bf16 and fp8 as floats of their own form, as the programs show them."""
    if dtype not in NARROW:
        if np.dtype(dtype).kind not in "biufc":
            raise TypeError(f"found elements of {dtype}, which HDF5 files cannot hold as they are")
        return h5py.h5t.py_create(np.dtype(dtype), logical=True)
    exponent, mantissa = NARROW[dtype]
    bits, made = 1 + exponent + mantissa, h5py.h5t.IEEE_F32LE.copy()
    made.set_fields(bits - 1, mantissa, exponent, 0, mantissa)
    made.set_precision(bits)
    made.set_size(bits // 8)
    made.set_ebias((1 << (exponent - 1)) - 1)
    return made


def raw(array):
    """The elements as h5py takes them: floats that numpy lacks as unsigned integers."""
    array = np.array(array, order="C")
    return array.view(f"u{array.dtype.itemsize}") if array.dtype in NARROW else array


def write_file(path, arrays, device):
    partial = path.with_name(path.name + ".partial")
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    with h5py.File(partial, "w") as file:
        for name, leaf in arrays.items():
            held = leaf
            if isinstance(leaf, jax.Array):
                held = next((shard.data for shard in leaf.addressable_shards if shard.device == device), None)
                if held is None:
                    continue
            kind = file_type(held.dtype)
            space = h5py.h5s.create_simple(held.shape) if held.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
            made = h5py.h5d.create(file.id, name.encode(), kind, space, lcpl=links)
            if held.size:
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, raw(held), mtype=kind)
    os.replace(partial, path)


class Files:
    """The files of this process's devices, opened as they are needed."""

    def __init__(self, directory, devices):
        self.directory, self.open = directory, {}
        self.first = next(device for device in devices if device.process_index == jax.process_index())

    def close(self):
        for file in self.open.values():
            file.close()

    def read(self, name, leaf):
        """A leaf like this one."""
        if isinstance(leaf, str):
            return leaf
        if not is_sharded(leaf):
            value = self.array(name, self.first, np.shape(leaf), np.asarray(leaf, NUMBERS.get(type(leaf))).dtype)
            if type(leaf) in NUMBERS:
                return value.item()
            if not isinstance(leaf, jax.Array):
                return value
            return jax.device_put(value, leaf.sharding) if leaf.committed else jnp.asarray(value)
        read, pieces = {}, []  # copies on several devices are read once
        for shard in leaf.addressable_shards:
            box = str(shard.index)
            if box not in read:
                read[box] = self.array(name, shard.device, shard.data.shape, leaf.dtype)
            pieces.append(jax.device_put(read[box], shard.device))
        return jax.make_array_from_single_device_arrays(leaf.shape, leaf.sharding, pieces)

    def array(self, name, device, shape, dtype):
        path = self.directory / f"rank_{device.id}.h5"
        if path not in self.open:
            self.open[path] = h5py.File(path, "r")
        if name not in self.open[path]:
            raise ValueError(f"{path}: found no {name}")
        stored, kind = self.open[path][name], file_type(dtype)
        if stored.shape != tuple(shape) or stored.id.get_type() != kind:
            raise ValueError(f"{path}: {name}: found {stored.dtype} {list(stored.shape)}, expected {dtype} "
                             f"{list(shape)}; reshard to the layout that write_layout(…) gives in this job")
        array = np.empty(shape, f"u{dtype.itemsize}" if dtype in NARROW else dtype)
        if array.size:
            stored.id.read(h5py.h5s.ALL, h5py.h5s.ALL, array, mtype=kind)
        return array.view(dtype)


def write_json(layout, path):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(layout, indent=1) + "\n")
    os.replace(partial, path)
