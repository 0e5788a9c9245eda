"""What the programs write as MindSpore's checkpoints, loaded and cut further by MindSpore itself."""
import os
import shutil
import sys

os.environ["GLOG_v"] = "3"  # errors only

import jobs  # noqa: E402
import mindspore as ms  # noqa: E402
import numpy as np  # noqa: E402
from mindspore import nn  # noqa: E402

sys.path.insert(0, str(jobs.ROOT / "tests" / "layouts"))
from mindspore_jobs import GOLDEN, Cut, read_strategy, truth_of, write_strategy  # noqa: E402

RANKS = range(8)


def golden(*words):
    return os.path.join(GOLDEN, *words)


def loaded(path, **options):
    """The tensors of a file as MindSpore loads them: bytes, as bfloat16 is no numpy type."""
    parameters = ms.load_checkpoint(str(path), **options)
    return {name: np.frombuffer(parameter.get_bytes(), np.uint8) if parameter.dtype == ms.bfloat16 else parameter.asnumpy()
            for name, parameter in parameters.items() if not isinstance(parameter, str)}


def only_file(directory, rank):
    (path,) = [path for path in (directory / f"rank_{rank}").iterdir() if path.suffix in (".ckpt", ".safetensors")]
    return path


def of_truth(tensors, truth):
    """Without what the job had besides its parameters: its epoch and step."""
    return {name: tensor for name, tensor in tensors.items() if name in truth}


def transformed(source, before, after, place):
    """What MindSpore's own redistribution makes of a directory: the tensors of each rank."""
    ms.transform_checkpoints(str(source), str(place), "own", before and str(before), after and str(after))
    return [loaded(only_file(place, rank)) for rank in range(len(list(place.iterdir())))]


def merged_file(place, *options):
    path = place / "merged.ckpt"
    jobs.program("merge", "--layout", golden("mesh2x4", "strategy.ckpt"), golden("mesh2x4"), "-o", path, *options)
    return path


def merged():
    """eight cards in one file, loaded with its CRC compared, and into a net; a damaged one is found"""
    place, truth = jobs.scratch(), truth_of("mesh2x4")
    path = merged_file(place, "--crc")
    found = loaded(path, crc_check=True)
    assert (found["epoch_num"], found["step_num"]) == (1, 10), found
    jobs.same_bytes(of_truth(found, truth), truth, "load_checkpoint")
    net = nn.Dense(8, 32)
    net.weight.name, net.bias.name = "fc2.weight", "fc1.bias"
    missing, _ = ms.load_param_into_net(net, ms.load_checkpoint(str(path)))
    assert not missing, missing
    assert net.weight.asnumpy().tobytes() == truth["fc2.weight"].tobytes()
    damaged = bytearray(path.read_bytes())
    damaged[-20] ^= 1
    (place / "damaged.ckpt").write_bytes(damaged)
    try:
        ms.load_checkpoint(str(place / "damaged.ckpt"), crc_check=True)
    except ValueError as problem:
        print(f"  of a damaged one MindSpore says: {str(problem)[:60]}")
    else:
        raise AssertionError("MindSpore took a damaged file")


def dtypes():
    """every dtype and text that MindSpore saves, from its own file through ours"""
    place = jobs.scratch()
    jobs.program("merge", golden("formats", "dtypes.ckpt"), "-o", place / "dtypes.ckpt", "--crc")
    original, again = golden("formats", "dtypes.ckpt"), place / "dtypes.ckpt"
    jobs.same_bytes(loaded(again, crc_check=True), loaded(original), "dtypes.ckpt")
    texts = [{name: text for name, text in ms.load_checkpoint(str(path)).items() if isinstance(text, str)}
             for path in (original, again)]
    assert texts[0] == texts[1] and texts[0], texts


def split():
    """one file cut for eight cards: each card's file is what transform_checkpoints cuts, in .ckpt and safetensors"""
    place, truth = jobs.scratch(), truth_of("mesh2x4")
    path, strategy = merged_file(place), golden("opt_all", "strategy.ckpt")
    (place / "whole" / "rank_0").mkdir(parents=True)
    shutil.copy(path, place / "whole" / "rank_0" / "whole.ckpt")
    theirs = transformed(place / "whole", None, strategy, place / "theirs")
    assert len(theirs) == len(RANKS), theirs
    for ending, how in (("mindspore", {}), ("safetensors", {"format": "safetensors"})):
        jobs.program("split", "--layout", strategy, "--format", ending, path, "-o", place / ending)
        for rank in RANKS:
            found = loaded(only_file(place / ending, rank), **how)
            jobs.same_bytes(of_truth(found, truth), of_truth(theirs[rank], truth), f"{ending}, rank {rank}")


def resharded():
    """from one strategy to another as transform_checkpoints does it; and what we wrote it merges to the truth"""
    place, truth = jobs.scratch(), truth_of("mesh2x4")
    before, after = golden("mesh2x4", "strategy.ckpt"), golden("opt_all", "strategy.ckpt")
    jobs.program("reshard", "--from", before, "--to", after, golden("mesh2x4"), "-o", place / "ours")
    theirs = transformed(golden("mesh2x4"), before, after, place / "theirs")
    for rank in RANKS:
        found = loaded(only_file(place / "ours", rank))
        jobs.same_bytes(of_truth(found, truth), of_truth(theirs[rank], truth), f"rank {rank}")
    (whole,) = transformed(place / "ours", after, None, place / "whole")
    jobs.same_bytes(of_truth(whole, truth), truth, "transform_checkpoints of ours")


def no_common_mesh():
    """2 x 3 and 3 x 2 in one strategy, with moments: MindSpore merges what we cut by it"""
    place = jobs.scratch()
    shapes = {"u": (12, 6), "moments.u": (12, 6), "v": (6, 4), "e": (18, 2)}
    truth = {name: np.random.default_rng(len(name)).random(shape, np.float32) for name, shape in shapes.items()}
    cuts = {"u": Cut([2, 3], [[1], [0]]), "moments.u": Cut([2, 3], [[1], [0]]), "v": Cut([3, 2], [[1], [0]]),
            "e": Cut([3, 2], [[1], [-1]], shards=-1)}
    strategy = write_strategy(str(place / "strategy.ckpt"), cuts)
    assert read_strategy(strategy).keys() == cuts.keys()
    whole = place / "whole.ckpt"
    ms.save_checkpoint([{"name": name, "data": ms.Tensor(value)} for name, value in truth.items()], str(whole))
    jobs.program("split", "--layout", strategy, whole, "-o", place / "six")
    for rank in range(6):
        jobs.same_bytes(loaded(only_file(place / "six", rank)), {name: cuts[name].take(truth[name], rank) for name in truth},
                        f"rank {rank}")
    (found,) = transformed(place / "six", strategy, None, place / "back")
    jobs.same_bytes(found, truth, "transform_checkpoints of ours")


def unread():
    """complex numbers, which MindSpore saves and does not load, go from no other format into its own"""
    place = jobs.scratch()
    ms.save_checkpoint([{"name": "z", "data": ms.Tensor(np.zeros(2, np.complex64))}], str(place / "z.ckpt"))
    try:
        loaded(place / "z.ckpt")
    except Exception as problem:  # pylint: disable=broad-except  # whatever it says
        print(f"  MindSpore says: {str(problem)[:60]}")
    else:
        raise AssertionError("MindSpore loads it: no reason to refuse it any more")
    jobs.program("merge", place / "z.ckpt", "-o", place / "again.ckpt")
    jobs.program("merge", place / "z.ckpt", "-o", place / "z.h5")
    try:
        jobs.program("merge", place / "z.h5", "-o", place / "other.ckpt")
    except AssertionError as refusal:
        assert "MindSpore's load_checkpoint refuses" in str(refusal), refusal
    else:
        raise AssertionError("a file was written that MindSpore does not load")


if __name__ == "__main__":
    jobs.main({"merged": merged, "dtypes": dtypes, "split": split, "resharded": resharded, "no common mesh": no_common_mesh,
               "unread": unread})
