"""OCDBT databases by tensorstore itself: python make_database.py OUT: several levels, generations, version tree nodes, no compression, numbered manifests."""
import sys, os, json, numpy as np, tensorstore as ts
out = os.path.abspath(sys.argv[1]); rng = np.random.default_rng(3)
for name, cfg, gens in [("deep", dict(max_decoded_node_bytes=400, max_inline_value_bytes=20, version_tree_arity_log2=1), 9), ("uncompressed", dict(compression=None, max_inline_value_bytes=4, max_decoded_node_bytes=300), 1),
                        ("numbered", dict(manifest_kind="numbered"), 3), ("default", {}, 2)]:
    d = f"{out}/{name}"; truth = {}
    cfg = {k: v for k, v in cfg.items() if v is not None or k == "compression"}
    kv = ts.KvStore.open({"driver": "ocdbt", "base": "file://" + d + "/", "config": cfg}).result()
    for g in range(gens):
        t = ts.Transaction()
        for i in range(60):
            k = "layer.%02d/%d.%d" % (rng.integers(30), rng.integers(4), g % 3); v = rng.bytes(int(rng.integers(0, 90))); kv.with_transaction(t)[k] = v; truth[k] = v.hex()
        t.commit_async().result()
    gone = sorted(truth)[3]; kv.write(gone, None).result(); truth.pop(gone)
    json.dump(truth, open(f"{d}/truth.json", "w"))
    m = ts.ocdbt.dump(ts.KvStore.open("file://" + d + "/").result()).result(); print(name, {k: v for k, v in m["config"].items()}, len(m.get("versions", [])), len(m.get("version_tree_nodes", [])), m.get("versions", [{}])[-1].get("root", {}).get("statistics"), sorted(os.listdir(d)))
