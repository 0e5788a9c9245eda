"""Each format as a source and as a target, and casts, beside the same job in HDF5; and what only the metadata of torch's files costs."""
import json
import os

import measure
from measure import Side
from models import Mesh, model
from rows import MIB, Case, Row, both_times, data_text, size_of, versus

# Without an ending: a directory, which says itself how it is cut.
ENDINGS = {"safetensors": ".safetensors", "torch": ".pt", "mindspore": ".ckpt", "paddle": ".pdparams", "dcp": None, "paddle_dist": None,
           "tensorflow": None, "orbax": None}
SOURCE, TARGET = "dp=2,tp=4", "dp=7,tp=1"


def layout(space, mesh, ending):
    path = space.path(f"{mesh.replace('=', '').replace(',', '-')}{ending}.json")
    said = model("gpt", space.quick).layout(Mesh.of(mesh))
    path.write_text(json.dumps({**said, "files": "rank_{card}" + ending}), encoding="utf-8")
    return path


def job(space, source, output, before=".h5", after=".h5", target=TARGET, words=(), form="hdf5"):
    words = [*(["--from", layout(space, SOURCE, before)] if before else []), "--to", layout(space, target, after or ".h5"),
             *([] if after else ["--format", form]), *words]
    return Side([space.program("ckpt-reshard"), "-q", "--no-fsync", *words, source, "-o", output], output)


def formats(case, space, options):
    source, output, rows = space.checkpoint("gpt", SOURCE), space.path("out"), []
    rival = "the job in HDF5", job(space, source, space.path("rival"))

    def check():
        measure.run([space.program("ckpt-verify"), "-q", "--from", layout(space, SOURCE, ".h5"), source, output])

    for name, ending in ENDINGS.items():
        other = space.path(name)
        measure.produce(job(space, source, other, after=ending, target=SOURCE, form=name))
        for what, side in (("from", job(space, other, output, before=ending)), ("to", job(space, source, output, after=ending, form=name))):
            rows.append(versus(case, space, options, side, rival, check, 1.15, variant=f"{what} {name}",
                               bytes=space.bytes_of("gpt", SOURCE), definition=f"8 → 7, {data_text(space, 'gpt', SOURCE)}, "
                               f"{what} {name}: wall of ckpt-reshard / its wall from HDF5 to HDF5"))
        measure.remove(other)
    return rows


def sources(case, space, options):
    """Files of many frameworks merged into one of safetensors: wall and processor time, by those of the same job from HDF5. What a source
    has compressed has to be decoded, which has no goal."""
    whole, output, rows = space.path("whole.h5"), space.path("out.safetensors"), []
    space.require_space(4 << 30)

    def make(name, path, python=None):
        words = space.script("saver_job.py", "make", name, path)
        measure.run([python or words[0], *words[1:]])

    def merged(source, output, *words):
        return Side([space.program("ckpt-merge"), "-q", "--no-fsync", *words, source, "-o", output], output)

    make("hdf5", whole)
    rival = merged(whole, space.path("rival.safetensors"))
    python = options.venvs / "orbax-venv/bin/python"
    made = {"npz": ".npz", "npz-deflated": ".npz", **({"orbax": ""} if python.exists() else {})}
    for name, ending in [*((name, ending or "") for name, ending in ENDINGS.items()), *((f"{name}, as saved", made[name]) for name in made)]:
        source, of = space.path("source" + ending), name.split(",")[0]
        if of == name:
            measure.produce(merged(whole, source, "--format", name))
        else:
            make(of, source, python if of == "orbax" else None)
        os.sync()
        result = measure.compare(merged(source, output), rival, options.pairs, lambda: measure.run(
            [space.program("ckpt-verify"), "-q", whole, output]))
        is_coded = name in ("npz-deflated, as saved", "orbax, as saved")
        rows += both_times(case, result, None if is_coded else 1.15, name,
                           f"{size_of(whole) / MIB:.4g} MiB of float32 from {name} to safetensors: {{}} of ckpt-merge / that from HDF5",
                           rival="the job from HDF5", bytes=size_of(whole))
        measure.remove(source)
    return rows


def casts(case, space, options):
    source, output, rows = space.checkpoint("gpt", SOURCE), space.path("out"), []
    rival = "the job without --cast", job(space, source, space.path("rival"))

    def check():
        merged = [space.path(name) for name in ("whole.safetensors", "cast.safetensors")]
        for of, to in zip((["--layout", layout(space, SOURCE, ".h5"), source], [output]), merged):
            measure.run([space.program("ckpt-merge"), "-q", "--no-fsync", *of, "-o", to])
        measure.run(space.script("cast_check.py", *merged))
        for path in merged:
            measure.remove(path)

    for dtype in ("bf16", "f16"):
        side = job(space, source, output, words=("--cast", dtype))
        rows.append(versus(case, space, options, side, rival, check, 1.1, variant=dtype, bytes=space.bytes_of("gpt", SOURCE),
                           definition=f"8 → 7, {data_text(space, 'gpt', SOURCE)}, as {dtype}: wall of ckpt-reshard --cast {dtype} / its wall without"))
    return rows


def torch_metadata(case, space, options):
    """A .pt of very many tensors, and a DCP of many files and chunks: what ckpt-inspect of them takes."""
    rows = []
    small = 100 if space.quick else 1
    for what, words, bound in (("1 .pt of 10^5 tensors", ("tensors", 100_000 // small), 1.0),
                               ("a DCP of 1,024 files, 128,000 chunks", ("dcp", 1024 // small, 125), 2.0)):
        made, report = space.path("made"), space.path("table.json")
        measure.run(space.script("torch_metadata.py", made, *words))
        side = Side([space.program("ckpt-inspect"), made], report)
        runs = [measure.run_and_read(side.command)[0] for _ in range(options.pairs)]
        seconds = min(run.seconds for run in runs)
        rows.append(Row(case, variant=words[0], goal="≤ 1", met=seconds <= bound, seconds=seconds, rival=f"bound: {bound:g} s",
                        ratio=seconds / bound, bytes=0, peak_bytes=max(run.peak_bytes for run in runs),
                        definition=f"wall of ckpt-inspect of {what} / {bound:g} s"))
        measure.remove(made)
    return rows


CASES = {
    "formats": Case(formats, lambda quick: [("gpt", SOURCE)], "each format as source and target / the same job in HDF5"),
    "sources": Case(sources, lambda quick: [], "each format merged to safetensors / the same job from HDF5, wall and processor time"),
    "casts": Case(casts, lambda quick: [("gpt", SOURCE)], "float32 as bf16 and f16 / the same job without --cast"),
    "torch-metadata": Case(torch_metadata, lambda quick: [], "10^5 tensors in a .pt, 128,000 chunks in a DCP / bounds"),
}
