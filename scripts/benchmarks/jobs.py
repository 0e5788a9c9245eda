"""The jobs that are measured, as command lines: of the models' checkpoints from a mesh to another."""
from dataclasses import dataclass

from measure import Side
from models import Mesh, model
from rows import NUMPY, copies_at_once, cp, data_text

GPT64, GPT56 = "dp=8,tp=8", "dp=7,tp=8"
MPIRUN = ("mpirun", "-n", "2")


@dataclass(frozen=True)
class Job:
    """ckpt-reshard of a model's checkpoint from a mesh to another."""
    model: str
    source: str
    target: str

    def side(self, space, output, launcher=(), extra=()):
        layouts = ["--from", space.layout(self.model, self.source), "--to", space.layout(self.model, self.target)]
        return Side([*launcher, space.program("ckpt-reshard"), "-q", "--no-fsync", *extra, *layouts,
                     space.checkpoint(self.model, self.source), "-o", output], output)

    def copy(self, space):
        return "cp -r", cp(space.checkpoint(self.model, self.source), space.path("rival"))

    def limit(self, space):
        return copies_at_once(space.checkpoint(self.model, self.source), space.path("rival"))

    def by_hand(self, space):
        output = space.path("rival")
        words = [self.model, self.source, self.target, space.checkpoint(self.model, self.source), output]
        return NUMPY, Side(space.script("numpy_reshard.py", *words), output)

    def unverified(self, space):
        return "--verify none", self.side(space, space.path("rival"), extra=("--verify", "none"))

    def bytes(self, space):
        return space.bytes_of(self.model, self.source)

    def text(self, space):
        tensors = len(model(self.model, space.quick).parameters)
        cards = f"{Mesh.of(self.source).cards} → {Mesh.of(self.target).cards}"
        return f"{cards}, {data_text(space, self.model, self.source)} in {tensors} tensors"


MAIN = Job("gpt", GPT64, GPT56)
COLUMNS = Job("columns", "card=64", "card=56")
FEW_CARDS = Job("rows", "card=8", "card=7")


def merging(space, name, mesh, output):
    return Side([space.program("ckpt-merge"), "-q", "--no-fsync", "--layout", space.layout(name, mesh),
                 space.checkpoint(name, mesh), "-o", output], output)


def splitting(space, output):
    return Side([space.program("ckpt-split"), "-q", "--no-fsync", "--layout", space.layout("gpt", GPT56),
                 space.checkpoint("gpt", "card=1") / "rank_0.h5", "-o", output], output)
