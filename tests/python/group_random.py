"""Random tensors between random layouts through the programs, there and back, against the naive model."""
import functools
import json

import checkpoints
import naive
import numpy as np
from programs import Failure
from random_layouts import Case


def random_layouts(context):
    each_case(context, "random", there_and_back)


def each_case(context, group, work):
    """work(context, case, source, target) on random tensors and two layouts; a failure says how to have it again."""
    options = context.options
    context.each(functools.partial(one_case, group=group, work=work), range(options.seed, options.seed + options.cases))


def one_case(context, seed, group, work):
    tier = context.options.tier
    case = Case(seed, tier)
    source, target = case.layout(), case.layout()
    try:
        work(context, case, source, target)
    except Failure as problem:
        raise Failure(f"{problem}\n\nseed {seed}, tier {tier}; again with: --group {group} --tier {tier} --seed {seed} "
                      f"--cases 1 --keep\n{tensors(case)}\nsource {json.dumps(source)}\ntarget {json.dumps(target)}"
                      ) from None


def tensors(case):
    return "\n".join(f"{name}: {array.dtype} {list(array.shape)}" for name, array in case.logical.items())


def there_and_back(context, case, source, target):
    a = checkpoints.write_layout(context.path("a.json"), source)
    b = checkpoints.write_layout(context.path("b.json"), target)
    cards = naive.spread(source, case.logical)
    let_replicas_differ(source, case.logical, cards)
    checkpoints.write(context.path("source"), source, cards, leave_out=leave_out_some(case, source, cards))
    ranks, more = case.random.choice([(0, []), (0, []), (0, ["--memory", "1MiB", "--threads", "3"]),
                                      (2, ["--exchange", "mpi"]), (3, ["--exchange", "mpi", "--memory", "1MiB"])])
    context.programs.reshard(a, b, context.path("source"), context.path("target"), *more, ranks=ranks)
    compare(naive.spread(target, case.logical), checkpoints.read(context.path("target"), target), "target")
    context.programs.reshard(b, a, context.path("target"), context.path("back"), *more, ranks=ranks)
    compare(naive.spread(source, case.logical), checkpoints.read(context.path("back"), source), "back")
    if case.chance(0.3):
        context.programs.merge(b, context.path("target"), context.path("merged.h5"))
        compare({0: case.logical}, {0: checkpoints.read_file(context.path("merged.h5"))}, "merged")


def compare(expected, found, what):
    problem = naive.difference(expected, found)
    if problem:
        raise Failure(f"{what}: {problem}")


def let_replicas_differ(layout, logical, cards):
    """Where a rule takes the first replica, the others may hold anything."""
    members = {m["name"] for bucket in layout.get("buckets", []) for m in bucket["members"]}
    for name in sorted(set(logical) - members):
        rule = naive.rule_of(layout, name)
        if rule.get("replicas") != "first" or {"split", "flat"} & set(rule) or layout.get("indices"):
            continue
        holders = sorted(card for card in cards if naive.rename_writing(layout, name) in cards[card])
        for card in holders[1:]:
            stored = naive.rename_writing(layout, name)
            cards[card][stored] = np.roll(cards[card][stored], 1)


def leave_out_some(case, layout, cards):
    """An absent dataset stands for an empty shard where the layout tells the shape and some card holds the parameter."""
    filled = {name for arrays in cards.values() for name, array in arrays.items() if array.size}
    known = set()
    for name in case.logical:
        try:
            if "shape" in naive.rule_of(layout, name) and not layout.get("indices"):
                known.add(naive.rename_writing(layout, name))
        except naive.LayoutError:  # a member of a bucket
            pass
    return lambda card, name, array: not array.size and name in filled & known and case.chance(0.5)
