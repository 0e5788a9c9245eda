"""A checkpoint as Paddle, TensorFlow or Orbax saves it, and what loading it and saving it again by that framework takes; run by a Python that
has it. The same weights in HDF5, and by NumPy, stored or deflated.

  saver_job.py make paddle|tensorflow|orbax|hdf5|npz|npz-deflated PATH [--quick]
  saver_job.py run paddle|tensorflow|orbax SOURCE OUTPUT     says on its last line how many seconds it took, imports not counted
  saver_job.py same paddle|tensorflow|orbax OURS THEIRS      the framework loads the same tensors from both
"""
import os
import pathlib
import sys
import time

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu")
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402

SIZES = {False: (2048, 12), True: (64, 2)}  # width and layers: 600 MB of float32


def arrays(quick):
    width, layers = SIZES[quick]
    random = np.random.default_rng(5)
    shapes = {"up": (2 * width, width), "down": (width, width), "norm": (width,)}
    return {f"layer_{layer}_{name}": random.standard_normal(shape, "f4") for layer in range(layers) for name, shape in shapes.items()}


class Paddle:
    def __init__(self):
        import paddle
        self.it = paddle

    def load(self, path):
        return self.it.load(str(path))

    def save(self, tensors, path):
        self.it.save({name: self.it.to_tensor(each) for name, each in tensors.items()}, str(path))


class TensorFlow:
    def __init__(self):
        import tensorflow
        self.it = tensorflow

    def load(self, path):
        reader = self.it.train.load_checkpoint(str(path))
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}

    def save(self, tensors, path):
        path.mkdir()
        self.it.raw_ops.SaveV2(prefix=str(path / "model.ckpt"), tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                               tensors=[self.it.constant(each) for each in tensors.values()])
        (path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt"\n')


class Orbax:
    def __init__(self):
        import orbax.checkpoint
        self.it = orbax.checkpoint.PyTreeCheckpointer()

    def load(self, path):
        return self.it.restore(path.resolve())

    def save(self, tensors, path):
        self.it.save(path.resolve(), tensors)


class Hdf5:
    def save(self, tensors, path):
        import h5py
        with h5py.File(path, "w") as file:
            for name, each in tensors.items():
                file[name] = each


class Npz:
    def __init__(self, save=np.savez):
        self.write = save

    def save(self, tensors, path):
        self.write(path, **tensors)


FRAMEWORKS = {"paddle": Paddle, "tensorflow": TensorFlow, "orbax": Orbax, "hdf5": Hdf5, "npz": Npz,
              "npz-deflated": lambda: Npz(np.savez_compressed)}


def main():
    verb, name, *paths = [word for word in sys.argv[1:] if word != "--quick"]
    framework, paths = FRAMEWORKS[name](), [pathlib.Path(path) for path in paths]
    if verb == "make":
        framework.save(arrays("--quick" in sys.argv), paths[0])
    elif verb == "run":
        begin = time.perf_counter()
        framework.save(framework.load(paths[0]), paths[1])
        print(time.perf_counter() - begin)
    else:
        ours, theirs = ({name: np.asarray(each) for name, each in framework.load(path).items()} for path in paths)
        if ours.keys() != theirs.keys() or any(not np.array_equal(ours[name], theirs[name]) for name in ours):
            sys.exit("the tensors differ")


if __name__ == "__main__":
    main()
