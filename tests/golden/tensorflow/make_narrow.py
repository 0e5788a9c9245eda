"""Integers of four bits, negative ones too, as TensorFlow saves them: make_narrow.py OUT."""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import numpy as np
import tensorflow as tf

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
values = {
    "int4": (np.arange(-8, 8, dtype="i1").reshape(4, 4), tf.dtypes.experimental.int4),
    "uint4": (np.arange(16, dtype="u1"), tf.dtypes.experimental.uint4),
    "beside": (np.arange(-3, 3, dtype="f4"), tf.float32),
}
tf.raw_ops.SaveV2(prefix=out + "/model.ckpt-1", tensor_names=list(values), shape_and_slices=[""] * len(values),
                  tensors=[tf.cast(tf.constant(array), dtype) for array, dtype in values.values()])
np.savez_compressed(out + "/truth.npz", **{name: array for name, (array, _) in values.items()})
