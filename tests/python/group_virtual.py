"""Random tensors between random layouts as files that only show the source's data, read by h5py, against the naive model; then back
from these through the programs."""
import json
import os

import checkpoints
import naive
from group_random import compare, leave_out_some, let_replicas_differ, tensors
from programs import Failure, check
from random_layouts import Case


def virtual(context):
    options = context.options
    context.each(one_case, range(options.seed, options.seed + options.cases))


def one_case(context, seed):
    tier = context.options.tier
    case = Case(seed, tier)
    source, target = case.layout(), case.layout()
    try:
        shown(context, case, source, target)
    except Failure as problem:
        raise Failure(f"{problem}\n\nseed {seed}, tier {tier}; again with: --group virtual --tier {tier} --seed {seed} "
                      f"--cases 1 --keep\n{tensors(case)}\nsource {json.dumps(source)}\ntarget {json.dumps(target)}"
                      ) from None


def shown(context, case, source, target):
    a = checkpoints.write_layout(context.path("a.json"), source)
    b = checkpoints.write_layout(context.path("b.json"), target)
    cards = naive.spread(source, case.logical)
    let_replicas_differ(source, case.logical, cards)
    storage = {"chunks": True, "compression": "gzip"} if case.chance(0.2) else {}
    checkpoints.write(context.path("source"), source, cards, leave_out=leave_out_some(case, source, cards), **storage)
    arguments = ["--from", a, "--to", b, context.path("source"), "-o", context.path("target"), "--no-fsync", "--virtual"]
    command = context.programs.command("ckpt-reshard", arguments, ranks=case.random.choice([0, 0, 2]))
    may_be_refused = "permute" in json.dumps([source, target])
    try:
        context.programs.run_command(command)
    except Failure as problem:
        if may_be_refused and "exit status 2" in str(problem) and "stored in another order" in str(problem):
            check(not os.path.exists(context.path("target")), "a refused output stands")
            return
        raise
    compare(naive.spread(target, case.logical), checkpoints.read(context.path("target"), target), "shown")
    context.programs.run("ckpt-verify", "--from", a, "--to", b, context.path("source"), context.path("target"))
    context.programs.reshard(b, a, context.path("target"), context.path("back"))
    compare(naive.spread(source, case.logical), checkpoints.read(context.path("back"), source), "back")
