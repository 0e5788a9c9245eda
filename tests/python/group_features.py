"""What is read and written: chunked and compressed sources, strings, attributes, the form of the files, names."""
import json
import os
import time

import checkpoints
import h5py
import naive
import numpy as np
from group_jobs import make_sample, load_layout, sample_tensors, same
from programs import check

FOUR = {"ckpt_layout": 1, "mesh": {"axes": ["x", "y"], "shape": [2, 2]}, "default": "replicate",
        "parameters": [{"name": "m.{p}", "like": "{p}"},
                       {"name": ["w", "w[0-9]*"], "split": ["x", "y"], "uneven": "ceil"}]}
THREE = {"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [3]}, "default": "replicate",
         "parameters": [{"name": ["w", "w[0-9]*", "m.w*"], "split": [None, "x"], "uneven": "balanced"}]}


def tensor(shape, dtype="f4"):
    return np.arange(1, np.prod(shape, dtype=int) + 1).astype(dtype).reshape(shape)


def layouts(context):
    return [checkpoints.write_layout(context.path(name), one) for name, one in (("a.json", FOUR), ("b.json", THREE))]


# --- sources ---------------------------------------------------------------------------------------------------------

def sources(context):
    """Chunked, compressed, shuffled and checksummed datasets, all dtypes; strings and empty dataspaces."""
    a, b = layouts(context)
    dtypes = ["f4", "f2", ">f8", "i1", "?", "c8", "V2", [("real", "f4"), ("kind", "i2")]]
    logical = {}
    for number, dtype in enumerate(dtypes):
        one = np.dtype(dtype)
        raw = np.random.default_rng(number).integers(0, 2, 37 * 29 * one.itemsize, dtype="u1")
        logical[f"w{number}"] = raw.view(one).reshape(37, 29)
    logical["table"] = tensor((300, 11), "i4")
    cards = naive.spread(FOUR, logical)
    forms = [{"chunks": (5, 3)}, {"chunks": (64, 64)}, {"compression": "gzip", "shuffle": True},
             {"chunks": (1, 7), "compression": "gzip", "compression_opts": 9, "fletcher32": True}]
    for number, storage in enumerate(forms):
        storage = {**storage, "maxshape": (None, None)}
        checkpoints.write(context.path(f"source{number}"), FOUR, cards, **storage)
        for ranks, exchange in ((0, "direct"), (2, "mpi")):
            out = context.path(f"out{number}.{ranks}")
            context.programs.reshard(a, b, context.path(f"source{number}"), out, "--exchange", exchange, ranks=ranks)
            same(naive.spread(THREE, logical), checkpoints.read(out, THREE), f"from {storage}, {ranks} ranks")
    strings(context, a, b, cards)


def strings(context, a, b, cards):
    words = np.array(["a", "größe", "", "重み" * 40], object)
    source = context.path("strings")
    checkpoints.write(source, FOUR, {card: {"w0": arrays["w0"]} for card, arrays in cards.items()})
    for card in range(4):
        with h5py.File(f"{source}/rank_{card}.h5", "a") as file:
            file.create_dataset("vocabulary/words", data=words, dtype=h5py.string_dtype())
            file.create_dataset("config", data='{"heads": 8}', dtype=h5py.string_dtype())
            file["fixed"] = np.array([b"abc", b"de"], "S5")
            file["nothing"] = h5py.Empty("f4")
            file["nothing"].attrs["why"] = "not trained yet"
    for ranks in (0, 2):
        out = context.path(f"strings{ranks}")
        context.programs.reshard(a, b, source, out, "--exchange", "mpi" if ranks else "direct", ranks=ranks)
        context.programs.merge(a, source, f"{out}/merged.h5", ranks=ranks)
        for name in ("rank_0.h5", "rank_2.h5", "merged.h5"):
            with h5py.File(f"{out}/{name}") as file:
                check(list(file["vocabulary/words"].asstr()[()]) == list(words), f"{name}: words changed")
                check(file["config"].asstr()[()] == '{"heads": 8}', f"{name}: config changed")
                check(file["fixed"][()].tolist() == [b"abc", b"de"], f"{name}: fixed-size strings changed")
                check(file["nothing"].shape is None and file["nothing"].attrs["why"] == "not trained yet",
                      f"{name}: the empty dataspace changed")
    split = {**FOUR, "parameters": [{"name": "vocabulary/words", "split": ["x"]}, *FOUR["parameters"]]}
    refused = context.programs.reshard(checkpoints.write_layout(context.path("s.json"), split), b, source,
                                       context.path("refused"), expect=1)
    check("vocabulary/words" in refused.stderr, f"a split of strings was refused without its name: {refused.stderr}")
    check(not os.path.exists(context.path("refused")), "a refused job published something")


# --- attributes ------------------------------------------------------------------------------------------------------

ATTRIBUTES = {"w": {"trainable": True, "scale": np.float64(0.125), "note": "größe", "dims": np.arange(3, dtype="i4"),
                    "names": np.array(["in", "out"], object), "nothing": h5py.Empty("f8"), "bytes": np.bytes_(b"raw")},
              "m.w": {"optimizer": "adam"}, "half": {"dtype": "bfloat16"}}


def attributes(context):
    """Those of datasets and of the root are kept; the programs add two of their own and a manifest."""
    a, b = layouts(context)
    logical = {"w": tensor((5, 7)), "m.w": tensor((5, 7), "f8"), "half": tensor((6,), "u2").view("V2"),
               "step": np.array(12, "i8")}
    checkpoints.write(context.path("source"), FOUR, naive.spread(FOUR, logical), ATTRIBUTES)
    context.programs.reshard(a, b, context.path("source"), context.path("out"))
    context.programs.merge(a, context.path("source"), context.path("merged.h5"))
    for name in ("out/rank_0.h5", "out/rank_1.h5", "out/rank_2.h5", "merged.h5"):
        with h5py.File(context.path(name)) as file:
            check(file.attrs["step"] == 1200 and file.attrs["epoch"] == 7, f"{name}: root attributes changed")
            check(file.attrs["epoch"].dtype == np.int32, f"{name}: a root attribute's type changed")
            for dataset, array in logical.items():
                same_attributes(ATTRIBUTES.get(dataset, {}), file[dataset].attrs, f"{name}: {dataset}")
                shape = np.ravel(file[dataset].attrs["ckpt_global_shape"]).tolist() if array.ndim else []
                check(shape == list(array.shape), f"{name}: {dataset}: ckpt_global_shape {shape} of {array.shape}")
            carried = json.loads(file.attrs["ckpt_layout"])
            cards = np.prod(carried["mesh"]["shape"])
            check(carried["ckpt_layout"] == 1 and cards == (1 if name == "merged.h5" else 3), f"{name}: {carried}")
    manifest(context)


def same_attributes(expected, found, what):
    own = {key for key in found if not key.startswith("ckpt_")}
    check(own == set(expected), f"{what}: attributes {sorted(own)}, expected {sorted(expected)}")
    for key, value in expected.items():
        if isinstance(value, h5py.Empty):
            check(isinstance(found[key], h5py.Empty) and found[key].dtype == value.dtype, f"{what}: {key} changed")
        else:
            check(np.array_equal(found[key], value), f"{what}: {key} is {found[key]!r}, expected {value!r}")


def manifest(context):
    """checkpoint.json beside the files, ckpt_manifest in a merged one: version, layout, files and sizes, parameters."""
    with open(context.path("out", "checkpoint.json"), encoding="utf-8") as text:
        beside = json.load(text)
    with h5py.File(context.path("merged.h5")) as file:
        inside = json.loads(file.attrs["ckpt_manifest"])
    for found, what in ((beside, "checkpoint.json"), (inside, "ckpt_manifest")):
        check(found.get("layout", {}).get("ckpt_layout") == 1, f"{what}: layout is missing: {found}")
        text = json.dumps(found)
        for name in ("w", "m.w", "half", "step"):
            check(f'"{name}"' in text, f"{what}: {name} is missing")
        check("[5, 7]" in text, f"{what}: the logical shape of w is missing")
    text = json.dumps(beside)
    for card in range(3):
        size = os.path.getsize(context.path("out", f"rank_{card}.h5"))
        check(f'"rank_{card}.h5"' in text and str(size) in text, f"checkpoint.json: no rank_{card}.h5, {size} bytes")


# --- files -----------------------------------------------------------------------------------------------------------

def files(context):
    """Contiguous, 4 KiB and more aligned to 4 KiB, less packed at 64 bytes, no timestamps, reached by offset; mesh cards and
    templates."""
    a, b = layouts(context)
    logical = {"w": tensor((50, 70)), "m.w": tensor((50, 70), "i8"), "none": tensor((0, 4)), "step": np.array(3, "i8"),
               "deep/er/table": tensor((9, 4), "u1")}
    checkpoints.write(context.path("source"), FOUR, naive.spread(FOUR, logical))
    context.programs.reshard(a, b, context.path("source"), context.path("out"))
    for card in range(3):
        aligned(context.path("out", f"rank_{card}.h5"))
    context.programs.merge(a, context.path("source"), context.path("merged.h5"))
    aligned(context.path("merged.h5"))
    first = checkpoints.digests(context.path("out"))
    os.rename(context.path("out"), context.path("first"))
    time.sleep(1.1)  # a timestamp in seconds would differ
    context.programs.reshard(a, b, context.path("source"), context.path("out"))
    again = checkpoints.digests(context.path("out"))
    check(again == first, f"the same job later wrote other bytes: {checkpoints.changed(first, again)}")
    check(not [name for name in os.listdir(context.directory) if "partial" in name], "a .partial was left")
    placed = {**THREE, "mesh": {"axes": ["x", "z"], "shape": [3, 2], "cards": [9, 4, 40, 41, 7, 8]},
              "files": "z{z}/card_{card:04}-x{x}.h5"}
    c = checkpoints.write_layout(context.path("c.json"), placed)
    context.programs.reshard(a, c, context.path("source"), context.path("placed"))
    check("z1/card_0041-x1.h5" in checkpoints.paths(context.path("placed")), "the template was not followed")
    same(naive.spread(placed, logical), checkpoints.read(context.path("placed"), placed), "mesh with cards")
    context.programs.reshard(c, b, context.path("placed"), context.path("back"))
    same(naive.spread(THREE, logical), checkpoints.read(context.path("back"), THREE), "from a mesh with cards")


def aligned(path):
    sizes = set()
    with h5py.File(path) as file, open(path, "rb") as raw:
        places = []
        for name, dataset in checkpoints.datasets(file).items():
            check(dataset.chunks is None and dataset.compression is None, f"{path}: {name} is not contiguous")
            if not dataset.size:
                continue
            offset = dataset.id.get_offset()
            sizes.add(dataset.nbytes >= 4096)
            step = 4096 if dataset.nbytes >= 4096 else 64
            check(offset is not None and offset % step == 0, f"{path}: {name} lies at {offset}")
            places.append((offset, offset + dataset.nbytes))
            raw.seek(offset)
            check(raw.read(dataset.nbytes) == checkpoints.whole(dataset).tobytes(), f"{path}: {name} is not at {offset}")
        places.sort()
        check(len(sizes) == 2, f"{path}: this tests small or large data only")
        for (_, end), (start, _) in zip(places, places[1:]):
            check(end <= start < end + 4096, f"{path}: data ends at {end}, the next lies at {start}")


# --- names -----------------------------------------------------------------------------------------------------------

def names(context):
    """200 parameters over 64 files, names of all kinds, short and empty shards."""
    odd = ["a b  c", "dashed-name", "dotted.name.", "under_score", "x/y/z", "größe", "重み/β", "100%", "$HOME", "`id`",
           "a\\b", "quote'\"", "tab\tname", "-o", "--help", "*", "?", "[0]", "{card}", "n" * 200]
    logical = {}
    for number in range(200 - len(odd)):
        logical[f"layers.{number}.w"] = tensor((number % 15, 3 + number % 4), ["f4", "f2", "i8"][number % 3])
    logical.update({name: tensor((70, 5)) + number for number, name in enumerate(odd)})
    wide = {"ckpt_layout": 1, "mesh": {"axes": ["a", "b"], "shape": [8, 8]}, "files": "rank_{card:03}.h5",
            "parameters": [{"name": "layers.*", "split": ["a", "b"], "uneven": "ceil"},
                           {"name": "*", "split": [["b", "a"]], "uneven": "balanced"}]}
    narrow = {"ckpt_layout": 1, "mesh": {"axes": ["c"], "shape": [5]}, "default": "replicate",
              "rename": [{"stored": "model/{x}", "name": "{x}"}],
              "parameters": [{"name": "*", "split": [None, "c"], "uneven": "ceil"}]}
    a = checkpoints.write_layout(context.path("a.json"), wide)
    b = checkpoints.write_layout(context.path("b.json"), narrow)
    checkpoints.write(context.path("source"), wide, naive.spread(wide, logical))
    for ranks in (0, 3):
        out = context.path(f"out{ranks}")
        context.programs.reshard(a, b, context.path("source"), out, ranks=ranks)
        same(naive.spread(narrow, logical), checkpoints.read(out, narrow), f"{ranks} ranks")
        context.programs.reshard(b, a, out, context.path(f"back{ranks}"), ranks=ranks)
        same(naive.spread(wide, logical), checkpoints.read(context.path(f"back{ranks}"), wide), f"back, {ranks} ranks")
    few = [name for name in logical if name.startswith("layers.1")]
    context.programs.reshard(a, b, context.path("source"), context.path("only"), "--only", "layers.1*", "--drop",
                             "*.15?.w")
    kept = {name: logical[name] for name in few if not name.startswith("layers.15") or len(name) != len("layers.15x.w")}
    same(naive.spread(narrow, kept), checkpoints.read(context.path("only"), narrow), "--only and --drop")
