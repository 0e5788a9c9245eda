#!/usr/bin/env python3
"""A passive reader of Orbax checkpoints: OCDBT (any number of processes), zarr v2 and v3, sharding_indexed, plain zarr directories.
Standard library and numpy; no JAX, no tensorstore, no zstd. Shares no code with the library.  read(dir) -> {name: Array}; Array.load() -> numpy."""
import json, os, struct, sys, zlib, gzip, itertools
from tensor_bundle import crc32c, varint
Bad = type("Bad", (ValueError,), {})
def unzstd(b, most):
    raise Bad("zstd, which the programs do not write")

class R:
    def __init__(s, b): s.b, s.p = b, 0
    def take(s, n):
        if s.p + n > len(s.b): raise Bad("ends early")
        s.p += n; return s.b[s.p - n:s.p]
    def byte(s): return s.take(1)[0]
    def v(s): v, s.p = varint(s.b, s.p); return v
    def vs(s, n):
        if n > len(s.b) - s.p: raise Bad("count")
        return [s.v() for _ in range(n)]
    def end(s):
        if s.p != len(s.b): raise Bad("bytes left over")

def envelope(b, magic, most=1 << 28):
    if len(b) < 18 or struct.unpack(">I", b[:4])[0] != magic: raise Bad("magic")
    if struct.unpack("<Q", b[4:12])[0] != len(b): raise Bad("length")
    if struct.unpack("<I", b[-4:])[0] != crc32c(b[:-4]): raise Bad("crc-32c")
    r = R(b[:-4]); r.p = 12
    if r.v(): raise Bad("version")
    c = r.v()
    if c == 0: return R(b[r.p:-4])
    if c != 1: raise Bad("compression")
    return R(unzstd(b[r.p:-4], most))

def file_table(r, transitive):
    n = r.v(); pre = [0] + r.vs(n - 1) if n else []; suf = r.vs(n); base = r.vs(n); last = b""; out = []
    for i in range(n):
        if pre[i] > len(last): raise Bad("path prefix")
        last = last[:pre[i]] + r.take(suf[i])
        if base[i] > len(last) or len(last) > 65535: raise Bad("path")
        out.append((transitive + last[:base[i]], transitive + last))     # (what its children start from, the file)
    return out

def keys(r, n, interior):
    pre = [0] + r.vs(n - 1); suf = r.vs(n); common = r.vs(n) if interior else [0] * n; last = b""; out = []
    for i in range(n):
        if pre[i] > len(last): raise Bad("key prefix")
        k = last[:pre[i]] + r.take(suf[i])
        if i and k <= last or len(k) > 65535 or common[i] > len(k): raise Bad("key order")
        out.append((k, common[i])); last = k
    return out

class Ocdbt:
    """{key: ('inline', bytes) | (file, offset, length)} of the newest version."""
    def __init__(self, root, check=True):
        self.root = root; m = envelope(open(os.path.join(root, "manifest.ocdbt"), "rb").read(), 0x0cdb3a2a)
        self.uuid = m.take(16).hex(); kind = m.byte()
        self.config = dict(max_inline_value_bytes=m.v(), max_decoded_node_bytes=m.v(), arity_log2=m.byte(), compression=m.v())
        if self.config["compression"] == 1: self.config["level"] = struct.unpack("<i", m.take(4))[0]
        if kind:
            m.end()
            names = sorted(n for n in os.listdir(root) if n.startswith("manifest.") and len(n) == 25)
            if not names: raise Bad("numbered manifests, but none there")
            m = envelope(open(os.path.join(root, names[-1]), "rb").read(), 0x0cdb3a2a)
            m.take(16)
            if m.byte(): raise Bad("manifest kind")
            m.v(); m.v(); m.byte()
            if m.v() == 1: m.take(4)
        t = file_table(m, b""); n = m.v()
        gen = m.vs(n); height = [m.byte() for _ in range(n)]; fid = m.vs(n); off = m.vs(n); ln = m.vs(n); nk = m.vs(n); m.vs(n); m.vs(n); self.times = [struct.unpack("<Q", m.take(8))[0] for _ in range(n)]
        k = m.v(); m.vs(4 * k) if k else None; m.vs(k) if k else None
        for _ in range(k): m.take(8)
        m.take(k); m.end()
        if n == 0: raise Bad("no version")
        self.generations = gen; self.entries = {}; self.nodes = 0; self.heights = height[-1]; self.files = set()
        if ln[-1] and off[-1] != (1 << 64) - 1: self.node(t, fid[-1], off[-1], ln[-1], height[-1], b"")
        if len(self.entries) != nk[-1]: raise Bad("number of keys")
    def path(self, p):
        p = p.decode()
        if p.startswith("/") or ".." in p.split("/"): raise Bad("path outside: " + p)
        return p
    def node(self, t, fid, off, ln, height, prefix):
        self.nodes += 1
        if self.nodes > 1 << 20: raise Bad("too many nodes")
        if fid >= len(t): raise Bad("file id")
        base, p = t[fid]; p = self.path(p); self.files.add(p)
        with open(os.path.join(self.root, p), "rb") as f: f.seek(off); b = f.read(ln)
        r = envelope(b, 0x0cdb20de)
        if r.byte() != height: raise Bad("height")
        t = file_table(r, base); n = r.v()
        if not 0 < n <= 1 << 20: raise Bad("entries")
        if height:
            ks = keys(r, n, True); f, o, l, nk, tb, ib = (r.vs(n) for _ in range(6)); r.end()
            for i, (k, c) in enumerate(ks): self.node(t, f[i], o[i], l[i], height - 1, prefix + k[:c])
            return
        ks = keys(r, n, False); ls = r.vs(n); kind = [r.byte() for _ in range(n)]; ind = [i for i in range(n) if kind[i]]
        if any(k > 1 for k in kind): raise Bad("value kind")
        f = dict(zip(ind, r.vs(len(ind)))); o = dict(zip(ind, r.vs(len(ind))))
        for i, (k, _) in enumerate(ks):
            k = (prefix + k).decode()
            if k in self.entries: raise Bad("key twice")
            if kind[i]:
                if f[i] >= len(t): raise Bad("file id")
                p = self.path(t[f[i]][1]); self.files.add(p); p = os.path.join(self.root, p)
                if o[i] + ls[i] > os.path.getsize(p): raise Bad("value outside the file")
                self.entries[k] = (p, o[i], ls[i])
            else: self.entries[k] = ("inline", r.take(ls[i]))
        r.end()

def value(e):
    if e[0] == "inline": return e[1]
    with open(e[0], "rb") as f: f.seek(e[1]); return f.read(e[2])

class Directory(dict):                           # a plain directory as a key-value store
    def __init__(self, root):
        for d, ds, fs in os.walk(root):
            for n in fs: p = os.path.join(d, n); self[os.path.relpath(p, root)] = (p, 0, os.path.getsize(p))

V3 = dict(float32="<f4", float64="<f8", float16="<f2", bfloat16="<u2", int8="i1", int16="<i2", int32="<i4", int64="<i8", uint8="u1", uint16="<u2", uint32="<u4", uint64="<u8",
          bool="?", complex64="<c8", complex128="<c16", int4="i1", uint4="u1", int2="i1")
for _n in "float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e3m4 float8_e4m3 float8_e8m0fnu float4_e2m1fn".split(): V3[_n] = "u1"

class Array:
    def __init__(self, name, store, prefix, key):
        import numpy as np
        self.name, self.store, self.prefix = name, store, prefix; m = json.loads(value(store[key])); self.meta = m
        self.shape = tuple(m["shape"])
        if m["zarr_format"] == 2:
            self.chunk = tuple(m["chunks"]); d = m["dtype"]; self.dtype = d; self.big = d.startswith(">") if isinstance(d, str) else False
            self.np = np.dtype(d if d != "bfloat16" else "<u2") if d in ("bfloat16",) or not d in V3 else np.dtype(V3[d])
            self.sep = m.get("dimension_separator", "."); self.order = m["order"]
            if m.get("filters"): raise Bad("filters")
            self.comp = m["compressor"]
        elif m["zarr_format"] == 3:
            if m["node_type"] != "array" or m["chunk_grid"]["name"] != "regular": raise Bad("grid")
            self.chunk = tuple(m["chunk_grid"]["configuration"]["chunk_shape"]); self.dtype = m["data_type"]
            if not isinstance(self.dtype, str) or self.dtype not in V3: raise Bad("data type %r" % (self.dtype,))
            self.np = np.dtype(V3[self.dtype]); e = m["chunk_key_encoding"]; self.enc = (e["name"], e.get("configuration", {}).get("separator", "/" if e["name"] == "default" else "."))
            self.codecs = m["codecs"]
            if m.get("storage_transformers"): raise Bad("storage transformers")
        else: raise Bad("zarr format")
        self.fill = m.get("fill_value")
    def key(self, i):
        if self.meta["zarr_format"] == 2: return self.prefix + (self.sep.join(map(str, i)) if i else "0")
        name, sep = self.enc
        if name == "default": return self.prefix + sep.join(("c",) + tuple(map(str, i)))
        return self.prefix + (sep.join(map(str, i)) if i else "0")
    def decode2(self, b):
        import numpy as np
        n = self.np.itemsize
        for c in self.chunk: n *= c
        c = self.comp
        if c is None: pass
        elif c["id"] == "zstd": b = unzstd(b, n)
        elif c["id"] in ("gzip",): b = zlib.decompressobj(31).decompress(b, n)
        elif c["id"] == "zlib": b = zlib.decompressobj().decompress(b, n)
        else: raise Bad("compressor " + c["id"])
        if len(b) != n: raise Bad("chunk size")
        return np.frombuffer(b, self.np).reshape(self.chunk, order=self.order)
    def decode3(self, b, codecs, shape):
        import numpy as np
        n = self.np.itemsize
        for c in shape: n *= c
        names = [c["name"] for c in codecs]
        if "sharding_indexed" in names:
            if names != ["sharding_indexed"]: raise Bad("codecs around sharding")
            return self.shard(b, codecs[0]["configuration"], shape)
        perm = None; swap = False; seen = False
        for c in codecs:                                        # array -> array codecs come first
            if c["name"] == "transpose":
                o = c["configuration"]["order"]; p = list(range(len(shape))) if o == "C" else list(range(len(shape)))[::-1] if o == "F" else o
                perm = p if perm is None else [perm[i] for i in p]
            elif c["name"] == "bytes": swap = c.get("configuration", {}).get("endian") == "big"; seen = True
        for c in reversed(codecs):
            k = c["name"]
            if k == "crc32c":
                if struct.unpack("<I", b[-4:])[0] != crc32c(b[:-4]): raise Bad("chunk crc32c")
                b = b[:-4]
            elif k == "zstd": b = unzstd(b, n + 4)
            elif k == "gzip": b = zlib.decompressobj(31).decompress(b, n + 4)
            elif k in ("bytes", "transpose"): pass
            else: raise Bad("codec " + k)
        if len(b) != n or not seen: raise Bad("chunk size")
        a = np.frombuffer(b, self.np)
        if swap: a = a.byteswap()
        if perm is not None:
            a = a.reshape([shape[i] for i in perm]); return a.transpose(np.argsort(perm))
        return a.reshape(shape)
    def shard(self, b, cfg, shape):
        import numpy as np
        sub = tuple(cfg["chunk_shape"]); grid = [s // c for s, c in zip(shape, sub)]
        if any(s % c for s, c in zip(shape, sub)): raise Bad("shard shape")
        n = 1
        for g in grid: n *= g
        ic = [c["name"] for c in cfg["index_codecs"]]
        if ic not in (["bytes", "crc32c"], ["bytes"]): raise Bad("index codecs")
        ib = 16 * n + (4 if "crc32c" in ic else 0); loc = cfg.get("index_location", "end")
        if len(b) < ib: raise Bad("shard too short")
        x = b[-ib:] if loc == "end" else b[:ib]
        if "crc32c" in ic:
            if struct.unpack("<I", x[-4:])[0] != crc32c(x[:-4]): raise Bad("shard index crc32c")
            x = x[:-4]
        idx = struct.unpack("<%dQ" % (2 * n), x); out = np.zeros(shape, self.np)
        if self.fill_np() is not None: out[...] = self.fill_np()
        for i, at in enumerate(itertools.product(*(range(g) for g in grid))):
            o, l = idx[2 * i], idx[2 * i + 1]
            if o == (1 << 64) - 1 and l == (1 << 64) - 1: continue
            if o + l > len(b): raise Bad("shard entry outside")
            out[tuple(slice(a * c, a * c + c) for a, c in zip(at, sub))] = self.decode3(b[o:o + l], cfg["codecs"], sub)
        return out
    def fill_np(self):
        f = self.fill
        if isinstance(f, list): f = complex(*f)
        if f in (None, 0, 0.0, False): return None
        if isinstance(f, str) or self.dtype in ("bfloat16", "int4") or "float8" in str(self.dtype): raise Bad("fill value %r" % (f,))
        return f
    def load(self):
        import numpy as np
        a = np.zeros(self.shape, self.np); self.missing = 0
        if self.fill_np() is not None: a[...] = self.fill_np()
        for i in itertools.product(*(range(-(-s // c) if s else 0) for s, c in zip(self.shape, self.chunk))):
            e = self.store.get(self.key(i))
            if e is None: self.missing += 1; continue
            b = value(e); c = self.decode2(b) if self.meta["zarr_format"] == 2 else self.decode3(b, self.codecs, self.chunk)
            lo = [x * y for x, y in zip(i, self.chunk)]; hi = [min(l + y, s) for l, y, s in zip(lo, self.chunk, self.shape)]
            a[tuple(slice(l, h) for l, h in zip(lo, hi))] = c[tuple(slice(0, h - l) for l, h in zip(lo, hi))]
        return a

def read(d):
    """All arrays of a checkpoint item directory (the one with _METADATA), by their key in the store."""
    out = {}
    if os.path.exists(os.path.join(d, "manifest.ocdbt")): store = Ocdbt(d).entries
    else: store = Directory(d)
    for k in sorted(store):
        n = os.path.basename(k)
        if n in (".zarray", "zarr.json"):
            if n == "zarr.json" and json.loads(value(store[k])).get("node_type") == "group": continue
            p = k[:-len(n)]; out[p.rstrip("/")] = Array(p.rstrip("/"), store, p, k)
    return out

if __name__ == "__main__":
    d = sys.argv[1]
    if os.path.exists(os.path.join(d, "manifest.ocdbt")):
        o = Ocdbt(d); print(o.config, "generations", o.generations, "nodes", o.nodes, "height", o.heights, "files", sorted(o.files))
    for n, a in read(d).items():
        print(n, a.dtype, a.shape, "chunk", a.chunk, a.meta.get("compressor", a.meta.get("codecs")))
