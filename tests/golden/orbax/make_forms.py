"""Forms of zarr that Orbax does not write itself, by tensorstore: python make_forms.py OUT. OUT is an item whose arrays lie in a directory each."""
import json
import os
import sys

import numpy as np
import tensorstore

out = sys.argv[1]
random = np.random.default_rng(4)
value = (random.standard_normal((5, 6, 8)) * 100).astype("i2")
sub = {"name": "bytes", "configuration": {"endian": "little"}}


def zarr2(**more):
    return {"driver": "zarr", "metadata": {"chunks": [4, 5, 8], "compressor": None, "dtype": "<i2", **more}}


def zarr3(*codecs, chunk=(4, 6, 4), keys="default"):
    return {"driver": "zarr3", "metadata": {"data_type": "int16", "codecs": list(codecs), "chunk_key_encoding": {"name": keys},
                                            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}}}}


def shards(place, *codecs):
    return {"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3, 4], "codecs": list(codecs), "index_location": place,
                                                          "index_codecs": [sub, {"name": "crc32c"}]}}


forms = {
    "columns": zarr2(order="F"), "gzip": zarr2(compressor={"id": "gzip", "level": 3}), "zlib": zarr2(compressor={"id": "zlib", "level": 1}),
    "big_endian": zarr2(dtype=">i2"), "slashes": zarr2(dimension_separator="/"),
    "summed": zarr3(sub, {"name": "crc32c"}), "gzip3": zarr3(sub, {"name": "gzip", "configuration": {"level": 1}}, keys="v2"),
    "turned": zarr3({"name": "transpose", "configuration": {"order": [2, 0, 1]}}, {"name": "bytes", "configuration": {"endian": "big"}},
                    {"name": "zstd", "configuration": {"level": 1}}, {"name": "crc32c"}),
    "shards": zarr3(shards("end", sub, {"name": "zstd", "configuration": {"level": 1}})),
    "shards_first": zarr3(shards("start", {"name": "transpose", "configuration": {"order": [1, 2, 0]}}, sub)),
}
truth = {}
for name, form in forms.items():
    array = tensorstore.open({**form, "kvstore": f"file://{os.path.abspath(out)}/{name}/", "create": True}, shape=value.shape).result()
    array.write(value).result()
    truth[name] = value if name not in ("big_endian", "turned") else value.astype(">i2")
holed = tensorstore.open({**zarr3(shards("end", sub)), "kvstore": f"file://{os.path.abspath(out)}/holed/", "create": True}, shape=value.shape).result()
holed[0:2].write(value[0:2]).result()
holed[4:5].write(value[4:5]).result()
truth["holed"] = np.concatenate([value[0:2], np.zeros_like(value[2:4]), value[4:5]])
with open(f"{out}/_METADATA", "w") as file:
    json.dump({"tree_metadata": {}, "use_ocdbt": False}, file)
np.savez_compressed(f"{out}/truth.npz", **truth)
