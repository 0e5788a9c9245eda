#!/usr/bin/python3
"""The model of paper_405b.md, worked out: Llama-3.1-405B in bfloat16 with two float32 moments, from the 16,384
cards that it was trained on (pipeline 16 × data 128 × tensor 8) to 12,288 (16 × 96 × 8), weights cut in two dimensions:
over tp as Megatron does, the other one over dp (balanced). Shares no code with the programs.

  scripts/benchmarks/paper_405b.py [PROCESSES…]
"""
import math
import sys
from collections import Counter, defaultdict

HIDDEN, FFN, KV, VOCAB, LAYERS = 16384, 53248, 1024, 128256, 126
STAGES, TP, SOURCE_DP, TARGET_DP = 16, 8, 128, 96
ELEMENT = 2 + 4 + 4   # bytes of the weight and its two moments
STATES = 3            # datasets for each weight
MEMORY = 512 << 20
ROUND = MEMORY // 12  # half is mapped source; the rest: chunks, sent and received messages, of two rounds


def weights(stage):
    """(how many, elements cut over tp, elements cut over dp) of a stage's matrices; the first and the last stage have a
    layer less, as Llama's own."""
    layers = LAYERS // STAGES + 1 - (stage in (0, STAGES - 1))
    yield 2 * layers, HIDDEN, HIDDEN  # q, o
    yield 2 * layers, KV, HIDDEN      # k, v
    yield 3 * layers, FFN, HIDDEN     # gate, up, down
    if stage in (0, STAGES - 1):
        yield 1, VOCAB, HIDDEN        # embedding, output


def norms(stage):
    """Elements that every card of the stage holds."""
    return sum(count for count, rows, _ in weights(stage) if rows == HIDDEN) * HIDDEN + (stage == STAGES - 1) * HIDDEN


def datasets(stage):
    return STATES * (sum(count for count, _, _ in weights(stage)) + norms(stage) // HIDDEN)


def cut(count, pieces, index):
    size, more = divmod(count, pieces)
    low = index * size + min(index, more)
    return low, low + size + (index < more)


def overlaps(count, target):
    """(source index, elements) that piece `target` of TARGET_DP shares with the pieces of SOURCE_DP."""
    low, high = cut(count, TARGET_DP, target)
    found = []
    for source in range(low * SOURCE_DP // count - 1, SOURCE_DP):
        if source >= 0:
            first, last = cut(count, SOURCE_DP, source)
            if first >= high:
                break
            if min(last, high) > max(first, low):
                found.append((source, min(last, high) - max(first, low)))
    return found


def card(stage, dp, tp, width):
    return (stage * width + dp) * TP + tp


def target_files():
    """(target card, {source card: bytes}, datasets) of every target file."""
    shared = {dp: overlaps(HIDDEN, dp) for dp in range(TARGET_DP)}
    for stage in range(STAGES):
        rows = sum(count * rows // TP for count, rows, _ in weights(stage)) * ELEMENT
        for dp in range(TARGET_DP):
            for tp in range(TP):
                takes = Counter({card(stage, s, tp, SOURCE_DP): rows * width for s, width in shared[dp]})
                takes[card(stage, shared[dp][0][0], tp, SOURCE_DP)] += norms(stage) * ELEMENT
                yield card(stage, dp, tp, TARGET_DP), takes, datasets(stage)


def simulate(processes, writer_of):
    """Figures of each process when target file t is written by writer_of(t) and source files are owned in blocks."""
    sources, written, sent, between = STAGES * SOURCE_DP * TP, Counter(), Counter(), Counter()
    opened, made = defaultdict(set), Counter()
    for target, takes, count in target_files():
        writer = writer_of(target)
        made[writer] += count
        for source, size in takes.items():
            owner = source * processes // sources
            written[writer] += size
            opened[writer].add(source)
            if owner != writer:
                sent[owner] += size
                between[owner, writer] += size
    return written, sent, between, opened, made


def spread(counter, processes):
    total = sum(counter.values())
    return total / processes, max(counter.values(), default=0) / (total / processes) if total else 1


def line(processes, order, writer_of):
    written, sent, between, opened, made = simulate(processes, writer_of)
    mean, imbalance = spread(written, processes)
    files = max(len(found) for found in opened.values())
    touched = sum(len(found) for found in opened.values()) / (STAGES * SOURCE_DP * TP)
    peers = max(Counter(writer for _, writer in between).values(), default=0)
    moved = sum(between.values()) / sum(written.values())
    rounds = math.ceil(max(written.values()) / ROUND)
    shared = max(rounds, math.ceil(max(between.values(), default=0) / (ROUND / processes)))
    cells = (f"{processes:,}", order, f"{mean / 1e9:.2f}", f"{(imbalance - 1) * 100:.1f} %", f"{files:,}",
             f"{touched:.1f}", f"{max(made.values()):,}", f"{moved * 100:.0f} %", f"{peers:,}", f"{rounds:,}",
             f"{shared:,}")
    return "| " + " | ".join(cells) + " |"


def main():
    targets = STAGES * TARGET_DP * TP
    total = sum(sum(takes.values()) for _, takes, _ in target_files())
    made = sum(count for *_, count in target_files())
    print(f"{total / 1e12:.3f} TB written, {made:,} datasets in {targets:,} files\n")
    print("| processes | writers | GB in = out, mean | busiest above it | source files it needs "
          "| times a source file is opened | datasets it writes | bytes that change process | peers | rounds "
          "| rounds, fixed shares |")
    print("|" + "---|" * 11)
    for processes in [int(word) for word in sys.argv[1:]] or [64, 256, 1024, 4096, 12288]:
        print(line(processes, "in blocks", lambda target: target * processes // targets))
        print(line(processes, "in turn", lambda target: target % processes))


if __name__ == "__main__":
    main()
