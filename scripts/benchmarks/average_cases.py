"""The average of four checkpoints: beside reading them alone, and beside merging each of them."""
import os

import measure
from jobs import GPT64, MAIN
from measure import Side
from names_cases import made
from rows import MIB, Case, both_times, cold_wall, data_text, size_of

COUNT, WEIGHT = 4, 0.25  # a checkpoint four times: the sum is exactly itself
MIXED = ("0.25", "0.25", "0.3", "0.2")  # decimal weights put many sums next to a tie


def rows_of(case, space, options, ours, merge, sources, check, text, data):
    """`merge`: the words of ckpt-merge before a source. As many `cat` as there are processors read the sources. The goal beside them is
    for sources that lie on the storage: from memory, `cat` takes less time than the output alone."""
    rival, rows = space.path("rival"), []
    files = [path for each in sources for path in (sorted(each.iterdir()) if each.is_dir() else [each])]
    reading = (f'printf "%s\\0" "${{@:2}}" | xargs -0 -P {len(os.sched_getaffinity(0))} -n {max(1, len(files) // 16)} cat > /dev/null; : > "$1"')
    merging = 'rival=$1; shift; while [ "$1" != -- ]; do words+=("$1"); shift; done; shift; ' \
              'for each; do rm -f "$rival"; "${words[@]}" "$each" -o "$rival" || exit; done'
    readers = Side(["bash", "-c", reading, "bash", rival, *files], rival)
    text += ": {} of ckpt-merge --average / that of "
    for name, goal, theirs in (("reading them", None, readers),
                               ("ckpt-merge of each", 1, Side(["bash", "-c", merging, "bash", rival, *merge, "--", *sources], rival))):
        result = measure.compare(ours, theirs, options.pairs, check)
        rows += both_times(case, result, goal, name, text + name, rival=name, bytes=data)
    return [*rows, cold_wall(case, options, ours, readers, files, check, 1.15, "reading them", text + "reading them", data)]


def of_cards(case, space, options):
    source, layout, output = space.checkpoint("gpt", GPT64), space.layout("gpt", GPT64), space.path("merged.h5")
    merge = [space.program("ckpt-merge"), "-q", "--no-fsync", "--layout", layout]
    ours = Side([*merge, "--only", "*", "--average", *[f"{WEIGHT}={source}"] * COUNT, "-o", output], output)
    return rows_of(case, space, options, ours, merge, [source] * COUNT, space.checker("gpt", "whole", output),
                   f"{COUNT} × 64 cards to one file of averages, {COUNT} × {data_text(space, 'gpt', GPT64)}", COUNT * MAIN.bytes(space))


def of_steps(case, space, options):
    steps, output = made(space, "averaged"), space.path("merged.safetensors")
    sources = [steps / f"{step}.safetensors" for step in range(COUNT)]
    merge = [space.program("ckpt-merge"), "-q", "--no-fsync"]
    average = ["--average", *(f"{weight}={source}" for weight, source in zip(MIXED, sources))]
    return rows_of(case, space, options, Side([*merge, *average, "-o", output], output), merge, sources,
                   lambda: measure.run([space.program("ckpt-verify"), "-q", *average, output]),
                   f"the average of {COUNT} steps of one training, {size_of(steps) / MIB:.4g} MiB of bfloat16", size_of(steps))


CASES = {"average-64-1": Case(of_cards, lambda quick: [("gpt", GPT64)], "four times 64 cards, averaged into one file / reading them; merging each"),
         "average-bf16": Case(of_steps, lambda quick: [], "four steps in bfloat16, averaged / reading them; merging each")}
