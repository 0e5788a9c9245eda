"""Independent minimal protobuf decoder for MindSpore's .ckpt and strategy files. No MindSpore, no protobuf package."""
import binascii

NP = {"Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2", "Int32": "i4", "UInt32": "u4", "Int64": "i8",
      "UInt64": "u8", "Float16": "f2", "Float32": "f4", "Float64": "f8", "Bool": "?", "BFloat16": "u2", "Int4": "i1",
      "Complex64": "c8", "Complex128": "c16", "Float8E4M3FN": "u1", "Float8E5M2": "u1", "HiFloat8": "u1"}
CIPHER = {b"\xd8\x5e\x3a\x7f": "AES-GCM", b"\xd9\x5e\x3a\x7f": "AES-CBC", b"\xda\x5e\x3a\x7f": "SM4-CBC"}


def varint(b, p):
    v = s = 0
    while True:
        c = b[p]; p += 1
        v |= (c & 127) << s; s += 7
        if c < 128:
            return v, p


def fields(b, p, end):
    """yields (field number, wire type, value); value of wire type 2 is the pair (offset, length)"""
    while p < end:
        k, p = varint(b, p)
        w = k & 7
        if w == 0:
            v, p = varint(b, p)
        elif w == 2:
            n, p = varint(b, p)
            v = (p, n); p += n
        else:
            raise ValueError(f"wire type {w} at {p}")
        if p > end:
            raise ValueError("runs past its end: truncated")
        yield k >> 3, w, v


def s64(v):
    return v - (1 << 64) if v >> 63 else v


def ints(b, w, v):                                   # one varint, or a packed list
    if w == 0:
        return [s64(v)]
    out, p = [], v[0]
    while p < v[0] + v[1]:
        x, p = varint(b, p)
        out.append(s64(x))
    return out


def ckpt(b):
    """[(tag, type, dims, [(offset, length), ...])] in file order, and True/False/None for a CRC right/wrong/absent"""
    if bytes(b[:4]) in CIPHER:
        raise ValueError("encrypted: " + CIPHER[bytes(b[:4])])
    end, crc, out = len(b), None, []
    if b[-17:-10] == b"crc_num":
        end -= 17
        crc = int.from_bytes(b[-10:], "big") == binascii.crc32(b[:end])
    for f, w, v in fields(b, 0, end):
        if f == 10001: continue                      # what our programs add
        assert (f, w) == (1, 2), "not a Checkpoint"
        tag, tens, maps = None, None, []
        for f, w, (o, n) in fields(b, v[0], v[0] + v[1]):
            if f == 1: tag = bytes(b[o:o + n]).decode()
            elif f == 2: tens = (o, n)
            elif f == 3: maps = [x for g, _, x in fields(b, o, o + n)]
        parts = [tens] if tens else maps
        got = []
        for o, n in parts:
            dims, typ, data = [], None, None
            for f, w, x in fields(b, o, o + n):
                if f == 1: dims += ints(b, w, x)
                elif f == 2: typ = bytes(b[x[0]:x[0] + x[1]]).decode()
                elif f == 3: data = x
            got.append((typ, dims, data))
        if tens and out and out[-1][0] == tag and out[-1][1] != "map":   # the next slice of the same tensor
            out[-1][3].append(got[0][2])
        elif tens: out.append((tag, got[0][0], got[0][1], [got[0][2]]))
        else: out.append((tag, "map", got, []))
    return out, crc


def strategy(b):
    """{param: (dev_matrix, [[axis numbers of dim 0], ...], opt_size, param_split_shape, indices_offset, field)}, stages, current_stage"""
    lays, stages, cur = {}, [], None
    for f, w, v in fields(b, 0, len(b)):
        if f == 1: cur = v
        elif f == 2:                                 # parallel_strategy_item: node_name 1, parallel_strategys 2 {stage 1}
            for g, w2, x in fields(b, v[0], v[0] + v[1]):
                if g == 2: stages += [y for h, _, y in fields(b, x[0], x[0] + x[1]) if h == 1]
        elif f == 3:                                 # parallel_layout_item: param_name 1, parallel_layouts 2
            name = lay = None
            for g, w2, (o, n) in fields(b, v[0], v[0] + v[1]):
                if g == 1: name = bytes(b[o:o + n]).decode()
                else: lay = (o, n)
            rep, num = {1: [], 2: [], 3: [], 4: []}, {}
            for g, w2, x in fields(b, lay[0], lay[0] + lay[1]):
                if g <= 4: rep[g].append([i for h, w3, y in fields(b, x[0], x[0] + x[1]) for i in ints(b, w3, y)])
                else: num[g] = s64(x)
            tm = rep[2]
            tm = [[i] for i in tm[0]] if len(tm) == 1 else [t for t in tm if t]
            lays[name] = (rep[1][0], tm, num[7] if num[6] else 0, rep[3][0], rep[4][0], num[5])
    return lays, sorted(set(stages)), cur
