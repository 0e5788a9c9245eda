"""Random tensors between random layouts as files that only show the source's data, read by h5py, against the naive model; then back
from these through the programs."""
import json
import os

import checkpoints
import naive
from group_random import compare, each_case, leave_out_some, let_replicas_differ
from programs import Failure, check


def virtual(context):
    each_case(context, "virtual", shown)


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
