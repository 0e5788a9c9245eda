"""OCDBT databases by tensorstore: python make_database.py OUT. Several levels, generations, nodes of the tree of versions, no compression,
numbered manifests; one that was empty at first, and one that is empty at last. truth.json has the values in hexadecimal."""
import json
import os
import sys

import numpy as np
import tensorstore

out = os.path.abspath(sys.argv[1])
random = np.random.default_rng(3)


def database(name, generations, **config):
    base, truth = f"{out}/{name}", {}
    store = tensorstore.KvStore.open({"driver": "ocdbt", "base": f"file://{base}/", "config": config}).result()
    for generation in range(generations):
        transaction = tensorstore.Transaction()
        for _ in range(60):
            key, value = f"layer.{random.integers(30):02}/{random.integers(4)}.{generation % 3}", random.bytes(int(random.integers(0, 90)))
            store.with_transaction(transaction)[key] = value
            truth[key] = value.hex()
        transaction.commit_async().result()
    gone = sorted(truth)[3]
    store.write(gone, None).result()
    truth.pop(gone)
    if name == "emptied":
        store.delete_range(tensorstore.KvStore.KeyRange("", "")).result()
        truth = {}
    with open(f"{base}/truth.json", "w") as file:
        json.dump(truth, file)


database("deep", 9, max_decoded_node_bytes=400, max_inline_value_bytes=20, version_tree_arity_log2=1)
database("uncompressed", 1, compression=None, max_inline_value_bytes=4, max_decoded_node_bytes=300)
database("numbered", 3, manifest_kind="numbered")
database("emptied", 1)
