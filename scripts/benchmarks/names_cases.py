"""Checkpoints under other names (maps), and quantised weights as numbers: what that costs beside the same job without it."""
import json
import os

import measure
import names_data
from measure import Side
from rows import MIB, Case, Row, both_times, cold_wall, cp, reported, size_of, versus
from torch_cases import GOAL, Frameworks

MEMORY_MIB = 256
LAYERS = [words for layer in range(6) for words in ("--only", f"model.layers.{layer}.*")]  # half of them


def made(space, what, name=None):
    path = space.path(name or what)
    if not path.exists():
        space.require_space(6 << 30)
        measure.run(space.script("names_data.py", what, path))
        os.sync()
    return path


def merging(space, *words, output):
    return Side([space.program("ckpt-merge"), "-q", "--no-fsync", "--memory", f"{MEMORY_MIB}MiB", *words, "-o", output], output)


def megatron(case, space, options):
    """Megatron's ranks to a Hugging Face directory, beside the same bytes under their own names; the likeness alone; transformers."""
    model, run, output = made(space, "model"), space.path("megatron"), space.path("out")
    layout = space.path("megatron.json")
    layout.write_text(json.dumps(names_data.megatron("rank_{card}.h5", space.quick)))
    measure.run([space.program("ckpt-split"), "-q", "--no-fsync", "--layout", layout, model, "-o", run])
    os.sync()
    ours, data, bound = merging(space, run, "--like", model, output=output), size_of(run), (MEMORY_MIB + 64) * MIB
    ranks = f"{data / MIB:.4g} MiB of bfloat16 from {names_data.RANKS} ranks of Megatron"

    def check():
        measure.run(space.script("names_data.py", "same", model / "model.safetensors", output / "model.safetensors"))

    result = measure.compare(ours, merging(space, run, output=space.path("rival.safetensors")), options.pairs, check)
    rows = list(both_times(case, result, 1.1, "without a map", f"{ranks} to a Hugging Face directory (--like): {{}} of ckpt-merge / that "
                           "without a map", rival="the job without a map", bytes=data))
    rows.append(Row(case, variant="memory", goal="≤ 1", met=result.peak_bytes <= bound, rival=f"bound: {MEMORY_MIB + 64} MiB",
                    seconds=result.seconds, ratio=result.peak_bytes / bound, bytes=data, peak_bytes=result.peak_bytes,
                    definition=f"{ranks}: largest resident memory with --memory {MEMORY_MIB}MiB / (--memory + 64 MiB)"))
    shares = sorted((seconds["likeness"] / seconds["total"], seconds["total"], done.peak_bytes)
                    for done, seconds in (reported(ours, space) for _ in range(1 if space.quick else 5)))
    share, seconds, peak = shares[len(shares) // 2]
    rows.append(Row(case, variant="likeness", goal="≤ 0.03", met=share <= 0.03, rival="the whole job", seconds=seconds, ratio=share,
                    bytes=data, peak_bytes=peak, definition=f"{ranks}: seconds of the comparison with samples of the model / the job's"))
    if not options.frameworks:
        print(f"{case}: transformers: not run: found no Python with torch; scripts/test --frameworks makes one, or give --frameworks")
        return rows
    theirs = Frameworks(space, options.frameworks).rival("save_pretrained", model, space.path("rival"))
    rows.append(versus(case, space, options, ours, ("transformers", theirs), check, GOAL, variant="transformers", bytes=data,
                       definition=f"{ranks} to a Hugging Face directory: wall of ckpt-merge / seconds of transformers' load and save of "
                       "that directory, its imports not counted"))
    return rows


def maxtext(case, space, options):
    model, output = made(space, "model"), space.path("out.safetensors")
    again = space.path("again")

    def check():
        measure.run(merging(space, output, "--names", "maxtext", "--like", model, output=again).command)
        measure.run(space.script("names_data.py", "same", model / "model.safetensors", again / "model.safetensors"))
        measure.remove(again)

    ours, theirs, data = merging(space, model, "--names", "maxtext", output=output), cp(model, space.path("rival")), size_of(model)
    text = (f"{data / MIB:.4g} MiB of bfloat16 from Hugging Face's names to MaxText's, whose layers are stacked along an inner dimension: "
            "{} of ckpt-merge / that of cp")
    rows = list(both_times(case, measure.compare(ours, theirs, options.pairs, check), 2, "cp", text, rival="cp", bytes=data))
    return [*rows, cold_wall(case, options, ours, theirs, [model / "model.safetensors"], check, 2, "cp", text, data)]


def dequantize(case, space, options):
    """The decoding, beside the job that moves the codes, and beside a cast that reads and writes as many bytes."""
    model, codes, output, rival = made(space, "model"), made(space, "fp8"), space.path("out.safetensors"), space.path("rival.safetensors")
    layers = ("--only", "model.layers.*.*_proj.*")
    ours, data = merging(space, codes, *layers, "--dequantize", "bf16", output=output), size_of(codes)
    rows = []

    def check():
        measure.run(space.script("names_data.py", "decoded", codes, output))

    for name, goal, source, theirs, what in (
            ("without", 1.5, codes, merging(space, codes, *layers, output=rival), "that without --dequantize, which writes half as many bytes"),
            ("cast", 1.1, model, merging(space, model, *LAYERS, "--cast", "f32", output=rival),
             "that of --cast f32 of half the layers in bfloat16, as many bytes in and out")):
        text = f"{data / MIB:.4g} MiB of fp8 by block to bfloat16 (--dequantize): {{}} of ckpt-merge / {what}"
        rows += both_times(case, measure.compare(ours, theirs, options.pairs, check), goal, name, text, rival=name, bytes=data)
        files = [directory / "model.safetensors" for directory in {codes, source}]
        rows.append(cold_wall(case, options, ours, theirs, files, check, goal, name, text, data))
    return rows


CASES = {
    "names-megatron": Case(megatron, lambda quick: [], "Megatron's 8 ranks to a Hugging Face directory / without a map, bounds, transformers"),
    "names-maxtext": Case(maxtext, lambda quick: [], "Hugging Face's names to MaxText's stacked layers / cp"),
    "dequantize": Case(dequantize, lambda quick: [], "fp8 as bfloat16 / the job without, and a cast of as many bytes"),
}
