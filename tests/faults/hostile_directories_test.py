#!/usr/bin/python3
"""What hostile directories of torch.distributed.checkpoint, of ranks' DTensors and of DeepSpeed try: to be read elsewhere, to have tensors that
nobody can hold or that lie over one another, to contradict themselves. Each is refused with one message that says what is wrong."""
import os
import pickle
import shutil

from harness import Place, arguments, check, run_cases, temporary_directory
from hostile import DATA, DOUBLED, TRIED, System, check_all, check_refused, check_resident, run

import dcp_directory
import deepspeed_directory
import numpy as np
import rank_directory
import torch_file
from dcp_directory import Size

WHOLE = np.arange(30, dtype="<f4").reshape(5, 6)


def dcp(change):
    """A directory of two files, changed before its .metadata is written."""
    def make(path):
        directory = dcp_directory.Directory(path)
        directory.rows("w", WHOLE, ["__0_0.distcp", "__1_0.distcp"])
        change(directory)
        directory.finish()
    return make


def first_place(directory, **more):
    next(iter(directory.places.values())).__dict__.update(more)


def metadata_of(body):
    def make(path):
        path.mkdir()
        (path / "__0_0.distcp").write_bytes(DATA)
        (path / ".metadata").write_bytes(b"\x80\x04" + body)
    return make


def of_ranks(placements, shape=(4, 4), ranks=2, coordinate=None):
    """Files of DTensors; `shape`: the whole one that they claim."""
    def make(path):
        path.mkdir()
        for rank in range(ranks):
            mesh = rank_directory.Mesh(dp=ranks)
            if coordinate:
                mesh.coordinate = lambda _: (coordinate,)
            wrapped = rank_directory.Wrapped(rank_directory.DTENSOR, "float32", shape, rank_directory.local_state(WHOLE[:2, :4], mesh, rank, placements))
            torch_file.save(path / f"model_rank_{rank}.pt", {"w": wrapped})
    return make


def zero(change, kind="optim", stage=1):
    def make(path):
        deepspeed_directory.Job(stage, 2).write(path, lambda name, tree: change(tree) if kind in name else None)
    return make


def rename_badly(tree):
    """By half of a character of two."""
    for holder, at in ((tree["param_shapes"], 0), (tree, "module")):
        holder[at] = type(holder[at])(("l1\udc90" if name == "l1.weight" else name, value) for name, value in holder[at].items())


SHARD = rank_directory.placement("Shard", dim=0)
DIRECTORIES = {
    "relative_path with ..": (dcp(lambda d: first_place(d, relative_path="../../etc/passwd")), "../../etc/passwd"),
    "relative_path from the root": (dcp(lambda d: first_place(d, relative_path="/etc/passwd")), "/etc/passwd"),
    "relative_path of a device": (dcp(lambda d: os.symlink("/dev/zero", os.path.join(d.path, "zero")) or first_place(d, relative_path="zero")), "zero"),
    "an item before its file": (dcp(lambda d: first_place(d, offset=-1)), "-1"),
    "an item beyond 2^63": (dcp(lambda d: first_place(d, length=2**64)), ".metadata"),
    "an item beyond its file": (dcp(lambda d: first_place(d, offset=2**62)), "__0_0.distcp"),
    "2^80 elements in chunks": (dcp(lambda d: setattr(d.contents["w"], "size", Size((2**40, 2**40)))), "2^64"),
    "a tensor of 2^61 elements and a hole": (dcp(lambda d: setattr(d.contents["w"], "size", Size((2**58, 6)))), "w"),
    "a chunk less than nothing": (dcp(lambda d: setattr(d.contents["w"].chunks[0], "sizes", Size((-1, 6)))), "-1"),
    "chunks that overlap": (dcp(lambda d: setattr(d.contents["w"].chunks[1], "offsets", Size((2, 0)))), "w"),
    "metadata doubled 60 times": (metadata_of(DOUBLED), ".metadata"),
    "metadata of a million lists": (metadata_of(b"]" * 1_000_000 + b"a" * 999_999 + b"."), ".metadata"),
    "metadata that calls": (metadata_of(pickle.dumps(System(), 4)[2:]), ".metadata"),
    "a DTensor of 2^80 elements": (of_ranks([SHARD], (2**40, 2**40)), str(2**40)),
    "a DTensor cut along its 100th dimension": (of_ranks([rank_directory.placement("Shard", dim=99)]), "99"),
    "a DTensor of a rank 2^60": (of_ranks([SHARD], coordinate=2**60), "1152921504606846977"),
    "a DTensor of a rank less than nothing": (of_ranks([SHARD], coordinate=-1), "w"),
    "a DTensor larger than its pieces": (of_ranks([SHARD], (2**50, 4)), "w"),
    "param_shapes of 2^80 elements": (zero(lambda t: t["param_shapes"][0].update({"emb.weight": Size((2**40, 2**40))}), "model"), "2^64"),
    "param_shapes less than nothing": (zero(lambda t: t["param_shapes"][0].update({"emb.weight": Size((-13, 6))}), "model"), "emb.weight"),
    "a name that is not UTF-8": (zero(rename_badly, "model"), "not UTF-8"),
    "2^60 data ranks": (zero(lambda t: t.update(dp_world_size=2**60), "model"), "1152921504606846976"),
    "a frozen weight of 2^60 elements": (zero(lambda t: t["frozen_param_shapes"].update(frozen=Size((2**60,))), "model", stage=3), "frozen"),
    "a slice of another size": (zero(lambda t: t["optimizer_state_dict"]["single_partition_of_fp32_groups"].insert(0, WHOLE[0].copy())), "group"),
}


def directories(place):
    def check_directory(place, make, said):
        path = place.directory / "hostile"
        make(path)
        check_refused(place, path, said)
        shutil.rmtree(path)
    check_all(place, DIRECTORIES, check_directory)


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(1 << 40)


WORDS = {  # in the place of a file that names a run's last checkpoint
    "a pipe": os.mkfifo, "a device": lambda path: os.symlink("/dev/zero", path), "2^40 bytes": sparse,
    "a path upwards": lambda path: path.write_text("../other/global_step2"), "a path from the root": lambda path: path.write_text(str(path.parent)),
    "the folder above": lambda path: path.write_text("..")}


def words(place):
    """They are not followed, nor waited for: the directory is one above a checkpoint, which is named."""
    for file in ("latest", "latest_checkpointed_iteration.txt"):
        for name, make in WORDS.items():
            path = place.directory / "run"
            deepspeed_directory.Job(1, 2).write(path)
            for known in ("latest", file):
                (path / known).unlink(missing_ok=True)
            make(path / file)
            done = run(place.directory, place.bin / "ckpt-inspect", path)
            check(done.returncode == 1 and b"names" not in done.stderr and b"/run/global_step2  # DeepSpeed" in done.stdout, f"{file}, {name}: {done}")
            shutil.rmtree(path)
            TRIED.append(f"{file}: {name}")


def all_tried(_):
    """Runs last."""
    return check_resident()


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=64)
        run_cases({case.__name__: (lambda case=case: case(place.within(case.__name__))) for case in (directories, words, all_tried)})


if __name__ == "__main__":
    main()
