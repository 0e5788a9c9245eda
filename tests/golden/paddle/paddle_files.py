#!/usr/bin/env python3
"""A passive reader of PaddlePaddle's dense files: .pdparams/.pdopt/paddle.save pickles, save_persistables' binary tensors (single and
combined), distributed checkpoints (N.metadata + R_N.distcp or .safetensors).  Standard library and numpy; nothing is called.
Shares no code with the library."""
import collections, glob, json, os, struct, sys
Bad = type("Bad", (ValueError,), {})
class B(bytes):                                  # bytes and where they lie in the file
    def __new__(c, b, at): x = bytes.__new__(c, b); x.at = at; return x

class Node:                                       # what a pickle would have made, had we let it: never made here
    def __init__(self, kind, cls, args=()): self.kind, self.cls, self.args, self.state, self.items = kind, cls, args, None, []
    def __repr__(self): return f"<{self.cls}>" if isinstance(self.cls, str) else f"<{self.kind}>"


def unpickle(b, pos=0):
    """Runs the pickle machine over data alone.  Containers are Node('dict'/'list'/'tuple'/'set'); a GLOBAL is a
    Node('global', 'module.name'); REDUCE, NEWOBJ, BUILD, BINPERSID only write down what they were given."""
    stack, marks, memo = [], [], {}
    def take(n):
        nonlocal pos
        if n < 0 or pos + n > len(b): raise Bad("pickle ends early")
        pos += n; return bytes(b[pos - n:pos])
    u = lambda f: struct.unpack("<" + f, take(struct.calcsize("<" + f)))[0]
    line = lambda: take(b.find(b"\n", pos) + 1 - pos)[:-1].decode()
    text = lambda n: take(n).decode("utf-8", "surrogatepass")
    long_ = lambda n: int.from_bytes(take(n), "little", signed=True)
    def pop():
        if len(stack) <= (marks[-1] if marks else 0): raise Bad("stack underflow")
        return stack.pop()
    def cut():
        if not marks: raise Bad("no mark")
        m = marks.pop(); r = stack[m:]; del stack[m:]; return r
    def top(kinds=None):
        if not stack or kinds and getattr(stack[-1], "kind", None) not in kinds: raise Bad("wrong target")
        return stack[-1]
    def seq(kind, items): n = Node(kind, None); n.items = items; return n
    push = stack.append
    while True:
        o = take(1)[0]
        if o == 0x80:
            if take(1)[0] > 5: raise Bad("protocol")
        elif o == 0x95: u("Q")                                                        # FRAME
        elif o == 0x2e: return pop(), pos                                             # STOP
        elif o == 0x28: marks.append(len(stack))
        elif o == 0x30: pop()
        elif o == 0x31: cut()
        elif o == 0x4e: push(None)
        elif o in (0x88, 0x89): push(o == 0x88)
        elif o == 0x4a: push(u("i"))
        elif o == 0x4b: push(u("B"))
        elif o == 0x4d: push(u("H"))
        elif o == 0x8a: push(long_(u("B")))
        elif o == 0x8b: push(long_(u("i")))
        elif o == 0x47: push(struct.unpack(">d", take(8))[0])
        elif o == 0x58: push(text(u("I")))
        elif o == 0x8c: push(text(u("B")))
        elif o == 0x8d: push(text(u("Q")))
        elif o in (0x55, 0x43): n = u("B"); push(B(take(n), pos - n))                                    # SHORT_BINSTRING, SHORT_BINBYTES
        elif o in (0x54, 0x42): n = u("I"); push(B(take(n), pos - n))
        elif o in (0x8e, 0x96): n = u("Q"); push(B(take(n), pos - n))                                    # BINBYTES8, BYTEARRAY8
        elif o in (0x29, 0x5d, 0x7d, 0x8f): push(seq({0x29: "tuple", 0x5d: "list", 0x7d: "dict", 0x8f: "set"}[o], []))
        elif o in (0x85, 0x86, 0x87): push(seq("tuple", [pop() for _ in range(o - 0x84)][::-1]))
        elif o == 0x74: push(seq("tuple", cut()))
        elif o == 0x91: push(seq("set", cut()))                                       # FROZENSET
        elif o == 0x61: v = pop(); top(("list", "call", "new")).items.append(v)
        elif o == 0x65: v = cut(); top(("list", "call", "new")).items.extend(v)
        elif o == 0x90: v = cut(); top(("set",)).items.extend(v)
        elif o == 0x73: v = pop(); k = pop(); top(("dict", "call", "new")).items.append((k, v))
        elif o == 0x75:
            v = cut()
            if len(v) % 2: raise Bad("odd items")
            top(("dict", "call", "new")).items.extend(zip(v[::2], v[1::2]))
        elif o in (0x71, 0x72): memo[u("B" if o == 0x71 else "I")] = top()
        elif o == 0x94: memo[len(memo)] = top()
        elif o in (0x68, 0x6a):
            i = u("B" if o == 0x68 else "I")
            if i not in memo: raise Bad("memo")
            push(memo[i])
        elif o == 0x63: m = line(); n = line(); push(Node("global", m + "." + n, (m, n)))
        elif o == 0x93:
            n, m = pop(), pop()
            if type(n) is not str or type(m) is not str: raise Bad("global")
            push(Node("global", m + "." + n, (m, n)))
        elif o in (0x52, 0x81):                                                       # REDUCE, NEWOBJ
            a = pop(); f = top(); stack[-1] = Node("call" if o == 0x52 else "new", getattr(f, "cls", None), a); stack[-1].fn = f
        elif o == 0x62:
            s = pop(); t = top(("call", "new"))
            if t.state is not None: raise Bad("built twice")
            t.state = s
        elif o == 0x51: stack[-1] = Node("pid", None, top())
        else: raise Bad(f"opcode {o:#x}")       # INST, OBJ, EXT*, PERSID, NEXT_BUFFER, text numbers: torch writes none



Array = collections.namedtuple("Array", "dtype shape fortran data at name")       # at: place in the file, or None (protocol 2: encoded as text)
def plain(n):
    """Nodes to Python values; arrays and tensors to Array; anything else stays a Node."""
    if not isinstance(n, Node): return n
    if n.kind in ("list", "tuple"): return (list if n.kind == "list" else tuple)(plain(x) for x in n.items)
    if n.kind == "dict": return {plain(k): plain(v) for k, v in n.items}
    if n.kind in ("call", "new"):
        a = n.args.items if isinstance(n.args, Node) else []
        if n.cls in ("numpy._core.multiarray._reconstruct", "numpy.core.multiarray._reconstruct"):
            if n.state is None: raise Bad("array without state")
            ver, shape, dt, fort, data = n.state.items
            data2 = data
            if isinstance(data, Node):                                   # protocol 2: _codecs.encode(text, "latin1")
                if data.cls == "_codecs.encode" and data.args.items[1] == "latin1": data2 = data.args.items[0].encode("latin1")
                elif data.cls in ("__builtin__.bytes", "builtins.bytes"): data2 = b""                  # an empty one
                else: raise Bad("array data by " + str(data.cls))
            d = dtype(dt); sh = tuple(shape.items); c = 1
            for x in sh: c *= x
            if any(x < 0 for x in sh) or c * d[1] != len(data2): raise Bad("array size")
            return Array(d[0], sh, bool(fort), data2, getattr(data, "at", None), None)
        if n.cls in ("numpy._core.multiarray.scalar", "numpy.core.multiarray.scalar"):
            d = dtype(a[0]); x = a[1]
            if isinstance(x, Node): x = x.args.items[0].encode("latin1")
            return Array(d[0], (), False, x, getattr(x, "at", None), None)
        if n.cls in ("builtins.tuple", "__builtin__.tuple") and len(a) == 1:
            t = plain(a[0])
            if len(t) == 2 and isinstance(t[0], str) and isinstance(t[1], Array): return t[1]._replace(name=t[0])       # a paddle.Tensor
            return t
        if n.cls in ("builtins.eval", "__builtin__.eval") and len(a) == 2 and a[0] == "data": return plain(a[1])["data"]     # a DenseTensor: recognised, not evaluated
        if n.cls == "collections.OrderedDict": return {plain(k): plain(v) for k, v in n.items}
    return n
def dtype(n):
    if not isinstance(n, Node) or n.cls != "numpy.dtype": raise Bad("dtype")
    s = n.args.items[0]; order = n.state.items[1] if n.state is not None else "|"
    if isinstance(s, Node): raise Bad("dtype")
    if s not in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "c8", "c16"): raise Bad("dtype %r" % (s,))
    return (order if order in "<>" else "|") + s, int(s[1:])
def attrs(n):                                    # a dataclass: state dict
    return {plain(k): v for k, v in n.state.items} if isinstance(n, Node) and n.state is not None else {}
def load(path):
    b = open(path, "rb").read(); n, end = unpickle(b)
    v = plain(n)
    if end != len(b): raise Bad("bytes after the pickle")               # io.load of old "big" files may have more: never seen
    if isinstance(v, dict) and "UnpackBigParamInfor@@" in v:
        import numpy as np
        for k, i in v.pop("UnpackBigParamInfor@@").items():
            p = [v.pop(s) for s in i["slices"]]; v[k] = Array(p[0].dtype, tuple(i["OriginShape"]), False, b"".join(x.data for x in p), None, None)
    return v
def numpy_of(a):
    import numpy as np
    return np.frombuffer(a.data, a.dtype).reshape(a.shape, order="F" if a.fortran else "C")

def fields(b):
    """The fields of a protobuf message: (number, wire type, value)."""
    at = 0
    def varint():
        nonlocal at
        x = s = 0
        while True:
            if at >= len(b): raise Bad("protobuf ends early")
            c = b[at]; at += 1; x |= (c & 127) << s; s += 7
            if c < 128: return x
    while at < len(b):
        k = varint(); w = k & 7
        if w == 0: yield k >> 3, w, varint()
        elif w == 2:
            n = varint(); yield k >> 3, w, b[at:at + n]; at += n
        else: raise Bad("wire type")
VT = {0: "b1", 1: "i2", 2: "i4", 3: "i8", 4: "f2", 5: "f4", 6: "f8", 19: "u8", 20: "u1", 21: "i1", 22: "bfloat16", 23: "c8", 24: "c16", 32: "f8_e4m3fn", 33: "f8_e5m2"}
W = {"bfloat16": 2, "f8_e4m3fn": 1, "f8_e5m2": 1, "c16": 16}
Dense = collections.namedtuple("Dense", "dtype shape offset size lod")
def dense(path, at=0):
    """One tensor of the binary form at an offset: (Dense, offset behind it)."""
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        f.seek(at); h = f.read(12)
        if len(h) < 12 or h[:4] != b"\0" * 4: raise Bad("tensor version")
        n = struct.unpack("<Q", h[4:])[0]
        if n > 16: raise Bad("lod levels")
        lod = []
        for _ in range(n):
            k = struct.unpack("<Q", f.read(8))[0]
            if k % 8 or k > size - f.tell(): raise Bad("lod")
            lod.append(struct.unpack("<%dQ" % (k // 8), f.read(k)))
        v, k = struct.unpack("<Ii", f.read(8))
        if v or not 0 < k <= 4096: raise Bad("tensor version")
        dt, dims = None, []
        for num, w, x in fields(f.read(k)):
            if num == 1: dt = x
            if num == 2 and w == 0: dims.append(x - (1 << 64) if x >> 63 else x)
            if num == 2 and w == 2: raise Bad("packed dims")
        if dt not in VT or any(d < 0 for d in dims): raise Bad("tensor description %r %r" % (dt, dims))
        c = W.get(VT[dt]) or int(VT[dt][1:])
        for d in dims: c *= d
        if f.tell() + c > size: raise Bad("data outside the file")
        return Dense(VT[dt], tuple(dims), f.tell(), c, lod), f.tell() + c
def combined(path):
    at, out = 0, []
    while at < os.path.getsize(path): d, at = dense(path, at); out.append(d)
    return out

Piece = collections.namedtuple("Piece", "offset shape dtype file flat array")
def checkpoint(d, unique=None):
    """A distributed checkpoint: {key: (global shape, dtype, [Piece])}; the newest unique id."""
    ms = {int(os.path.basename(p)[:-9]): p for p in glob.glob(d + "/*.metadata") if os.path.basename(p)[:-9].isdigit()}
    u = max(ms) if unique is None else unique
    b = open(ms[u], "rb").read(); n, _ = unpickle(b)
    if not isinstance(n, Node) or not str(n.cls).endswith(".Metadata") and getattr(n, "fn", None) is None: raise Bad("no Metadata")
    if not str(n.cls or n.fn.cls).rsplit(".", 1)[-1] == "Metadata": raise Bad("no Metadata")
    a = attrs(n); files = {}; out = {}
    for k, v in a["state_dict_metadata"].items:
        out[k] = []
        for m in (v.items if v.kind == "list" else [v]): x = {p: plain(q) for p, q in attrs(m).items()}; out[k].append(x)
    where = {}
    for k, f in a["storage_metadata"].items:
        x = {p: plain(q) for p, q in attrs(k).items()}
        where.setdefault((x["tensor_key"], tuple(x["global_offset"]), x.get("flattened_range")), []).append((x.get("replica_id"), f))
        if os.path.basename(f) != f: raise Bad("file name")
    cache = {}; res = {}
    for k, ps in out.items():
        pieces = []; gs = None
        for x in ps:
            w = where.get((k, tuple(x["global_offset"]), x.get("flattened_range")))
            if not w: raise Bad("piece without a file: " + k)
            f = w[0][1]
            if f not in cache: cache[f] = load(os.path.join(d, f)) if f.endswith(".distcp") else safetensors(os.path.join(d, f))
            arr = cache[f].get(k)
            if arr is None: raise Bad("%s is not in %s" % (k, f))
            pieces.append(Piece(tuple(x["global_offset"]), tuple(x["local_shape"]), x["dtype"], f, x.get("flattened_range"), arr)); gs = x.get("global_shape") or gs
        if gs is None: gs = tuple(max(p.offset[i] + p.shape[i] for p in pieces) for i in range(len(pieces[0].shape)))
        res[k] = (tuple(gs), pieces[0].dtype, pieces)
    return res, {k: plain(v) for k, v in a["flat_mapping"].items} if isinstance(a.get("flat_mapping"), Node) else {}
def safetensors(p):
    b = open(p, "rb").read(); n = struct.unpack("<Q", b[:8])[0]; h = json.loads(b[8:8 + n]); out = {}
    D = dict(F32="<f4", F64="<f8", F16="<f2", BF16="<u2", I64="<i8", I32="<i4", I16="<i2", I8="|i1", U8="|u1", BOOL="|b1", U16="<u2")
    for k, v in h.items():
        if k != "__metadata__": o, e = v["data_offsets"]; out[k] = Array(D[v["dtype"]], tuple(v["shape"]), False, b[8 + n + o:8 + n + e], 8 + n + o, None)
    return out
def whole(t):
    import numpy as np
    gs, dt, ps = t; x = numpy_of(ps[0].array); out = np.zeros(gs, x.dtype); seen = np.zeros(gs, bool)
    for p in ps:
        a = numpy_of(p.array)
        if p.flat: 
            lo, hi = p.flat
            box = np.zeros(p.shape, x.dtype).reshape(-1); box[lo:hi] = a.reshape(-1); m = np.zeros(box.shape, bool); m[lo:hi] = True
            i = tuple(slice(o, o + n) for o, n in zip(p.offset, p.shape)); m = m.reshape(p.shape); out[i][m] = box.reshape(p.shape)[m]; seen[i] |= m; continue
        if a.shape != p.shape: raise Bad("piece shape %r %r" % (a.shape, p.shape))
        i = tuple(slice(o, o + n) for o, n in zip(p.offset, p.shape)); out[i] = a; seen[i] = True
    if not seen.all(): raise Bad("pieces do not cover the tensor")
    return out

if __name__ == "__main__":
    p = sys.argv[1]
    if os.path.isdir(p):
        c, m = checkpoint(p)
        for k, (s, dt, ps) in c.items(): print(k, dt, s, [(x.offset, x.shape, x.flat, x.file) for x in ps])
    else:
        b = open(p, "rb").read(4)
        if b == b"\0\0\0\0": print(combined(p))
        else: print({k: (v.dtype, v.shape, v.at, v.name) if isinstance(v, Array) else v for k, v in load(p).items()} if isinstance(load(p), dict) else load(p))
