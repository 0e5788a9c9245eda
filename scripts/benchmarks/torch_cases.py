"""What torch, DeepSpeed and transformers do with their own checkpoints, beside ours; and the formats beside each other."""
import os
import pathlib

import measure
from measure import Side
from rows import MIB, Case, Row, size_of

RANKS = 8
JOB = pathlib.Path(__file__).with_name("torch_job.py")
MEMORY_MIB = 256
GOAL = 0.2  # five times as fast


class Frameworks:
    """The Python that has them, and the checkpoints that it has made."""

    def __init__(self, space, python):
        self.space, self.python = space, python

    def script(self, *words):
        return [self.python, JOB, *words, *(["--quick"] if self.space.quick else [])]

    def checkpoint(self, what):
        path = self.space.path(what)
        if not path.exists():
            self.space.require_space(4 << 30)
            measure.run(self.script("make", what, path))
            os.sync()
        return path

    def rival(self, name, source, output):
        return Side(self.script("run", name, source, output), output, tells_seconds=True)

    def check(self, ours, theirs, rival):
        """Ours holds what the rival makes of it."""
        def compared():
            measure.run(rival.command)
            measure.run(self.script("same", ours, theirs))
            measure.remove(theirs)
        return compared


def beside(what, rival, ours, definition):
    """A case: ours (a program's words but the source and the output) and the rival's name, on the checkpoint `what`."""
    program, ending, *words = ours

    def run(case, space, options):
        if not options.frameworks:
            print(f"{case}: not run: found no Python with torch; scripts/test --frameworks makes one, or give --frameworks")
            return []
        frameworks = Frameworks(space, options.frameworks)
        source = frameworks.checkpoint(what)
        output, other = space.path("out" + ending), space.path("rival" + (".pt" if rival == "dcp_to_torch_save" else ""))
        side = Side([space.program(program), "-q", "--no-fsync", "--memory", f"{MEMORY_MIB}MiB", *words, source, "-o", output], output)
        theirs = frameworks.rival(rival, source, other)
        check = (lambda: None) if rival == "dcp-7" else frameworks.check(output, other, theirs)
        result = measure.compare(side, theirs, options.pairs, check)
        data = size_of(source)
        bound = (MEMORY_MIB + 64) * MIB
        return [Row(case, goal=f"≤ {GOAL:.2g}, ≤ {bound // MIB} MiB", met=result.ratio.median <= GOAL and result.peak_bytes <= bound,
                    rival=rival, bytes=data, **result.figures,
                    definition=f"{definition}, {data / MIB:.4g} MiB of {RANKS} ranks: wall of {program} / seconds of {rival}, its imports "
                    f"not counted; its largest process held {result.rival_peak_bytes / data:.2g} times the checkpoint")]
    return Case(run, lambda quick: [], f"{definition}: wall of {program} / seconds of {rival}")


CASES = {
    "torch-dcp-1": beside("dcp", "dcp_to_torch_save", ("ckpt-merge", ".pt"), "a DCP of FSDP2 with Adam's moments, 8 → 1"),
    "torch-dcp-7": beside("dcp", "dcp-7", ("ckpt-reshard", "", "--cards", "7"), "a DCP of FSDP2 with Adam's moments, 8 → 7"),
    "torch-zero-fp32": beside("zero", "zero_to_fp32", ("ckpt-merge", ".safetensors", "--only", "fp32/*"),
                              "the float32 weights of ZeRO 2 in bf16 to one file"),
    "torch-pretrained": beside("pretrained", "save_pretrained", ("ckpt-merge", ".safetensors"), "a Llama in shards to one file"),
}
