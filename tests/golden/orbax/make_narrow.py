"""Integers of four bits, negative ones too, as Orbax saves them: make_narrow.py OUT."""
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp

out = os.path.abspath(sys.argv[1])
values = {
    "int4": np.arange(-8, 8, dtype="i1").reshape(4, 4),
    "beside": np.arange(-3, 3, dtype="i1"),
}
tree = {"int4": values["int4"].astype(ml_dtypes.int4), "beside": values["beside"]}
ocp.PyTreeCheckpointer().save(out, tree)
np.savez_compressed(out + "/truth.npz", **values)
