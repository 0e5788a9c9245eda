"""PaddlePaddle itself: what it saves is merged to its tensors, and it loads what the programs write, model and optimizer."""
import os
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np  # noqa: E402
import paddle  # noqa: E402

PROGRAMS = os.environ["CKPT_PROGRAMS"]


def run(*words):
    subprocess.run([os.path.join(PROGRAMS, words[0]), *words[1:]], check=True)


def check(is_right, what):
    if not is_right:
        sys.exit(f"FAILED: {what}")


def network():
    return paddle.nn.Sequential(paddle.nn.Linear(6, 5), paddle.nn.LayerNorm(5), paddle.nn.Embedding(10, 4))


def trained(seed):
    paddle.seed(seed)
    model = network()
    optimizer = paddle.optimizer.AdamW(paddle.optimizer.lr.CosineAnnealingDecay(0.01, 100), parameters=model.parameters())
    step(model, optimizer)
    return model, optimizer


def step(model, optimizer):
    (model[1](model[0](paddle.ones([2, 6]))).square().sum() + model[2](paddle.to_tensor([1, 2])).sum()).backward()
    optimizer.step()
    optimizer.clear_grad()


def same(found, expected, what):
    check(found.keys() == expected.keys(), f"{what}: {sorted(map(str, found.keys() ^ expected.keys()))} on one side only")
    for name, value in expected.items():
        if isinstance(value, paddle.Tensor):
            mine = found[name]
            check(mine.dtype == value.dtype and mine.shape == value.shape and (mine.numpy() == value.numpy()).all(), f"{what}: {name} differs")


def main():
    model, optimizer = trained(1)
    for protocol in (2, 3, 4):
        paddle.save(model.state_dict(), "model.pdparams", protocol=protocol)
        paddle.save(optimizer.state_dict(), "model.pdopt", protocol=protocol)
        run("ckpt-merge", "--force", "-q", "model.pdparams", "-o", "again.pdparams")
        run("ckpt-merge", "--force", "-q", "model.pdopt", "-o", "again.pdopt")
        same(paddle.load("again.pdparams"), dict(model.state_dict()), f"protocol {protocol}")
        same(paddle.load("again.pdopt"), optimizer.state_dict(), f"the optimizer's state by protocol {protocol}")
    # Another model of the same form takes them.
    other = network()
    unmatched = other.set_state_dict(paddle.load("again.pdparams"))
    check(not any(unmatched), f"set_state_dict left {unmatched}")
    same(dict(other.state_dict()), dict(model.state_dict()), "set_state_dict")

    half = paddle.nn.Linear(4, 3)
    half.to(dtype="bfloat16")
    paddle.save(half.state_dict(), "half.pdparams")
    run("ckpt-merge", "-q", "half.pdparams", "-o", "half.safetensors")
    run("ckpt-merge", "-q", "half.safetensors", "-o", "half_again.pdparams")
    same(paddle.load("half_again.pdparams"), dict(half.state_dict()), "bf16")
    run("ckpt-merge", "-q", "half.pdparams", "-o", "half.pt")
    run("ckpt-verify", "half.pdparams", "half.pt")
    # Parameters for inference have no names but those of the program beside them.
    paddle.jit.save(model[0], "infer", input_spec=[paddle.static.InputSpec([None, 6])])
    run("ckpt-merge", "-q", "infer.pdiparams", "-o", "infer_again.pdparams")
    same(paddle.load("infer_again.pdparams"), {each.name: each for each in model[0].parameters()}, "paddle.jit.save")
    np.savez("arrays.npz", w=np.ones((2, 3), "f4"))
    run("ckpt-merge", "-q", "arrays.npz", "-o", "arrays.pdparams")
    check((paddle.load("arrays.pdparams")["w"].numpy() == 1).all(), "arrays of NumPy")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        main()
