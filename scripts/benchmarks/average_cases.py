"""The average of four checkpoints: beside reading them alone, and beside merging each of them."""
from jobs import GPT64, MAIN
from measure import Side
from rows import Case, data_text, versus

COUNT, WEIGHT = 4, 0.25  # a checkpoint four times: the sum is exactly itself


def average(case, space, options):
    source, layout, output, rival = space.checkpoint("gpt", GPT64), space.layout("gpt", GPT64), space.path("merged.h5"), space.path("rival")
    merge = [space.program("ckpt-merge"), "-q", "--no-fsync", "--layout", layout]
    ours = Side([*merge, "--only", "*", "--average", *[f"{WEIGHT}={source}"] * COUNT, "-o", output], output)
    found = []
    for name, goal, script in (
            ("cat", 3, f'for i in $(seq {COUNT}); do cat "$1"/*; done > /dev/null; : > "$2"'),
            ("ckpt-merge", 1, f'for i in $(seq {COUNT}); do rm -f "$2"; "${{@:3}}" "$1" -o "$2" || exit; done')):
        command = ["bash", "-c", script, "bash", source, rival, *merge]
        found.append(versus(case, space, options, ours, (name, Side(command, rival)), space.checker("gpt", "whole", output), goal,
                            variant=name, bytes=COUNT * MAIN.bytes(space),
                            definition=f"{COUNT} × 64 cards to one file of averages, {COUNT} × {data_text(space, 'gpt', GPT64)}: "
                            f"wall of ckpt-merge --average / {name} {COUNT} times"))
    return found


CASES = {"average-64-1": Case(average, lambda quick: [("gpt", GPT64)], "four times 64 cards, averaged into one file / reading them; merging each")}
