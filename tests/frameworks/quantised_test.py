"""Models whose numbers mean something only together, as torch has them: what a cast leaves alone, how codes and scales are cut, and small
floats of every kind from format to format."""
import jobs
import torch
from safetensors.torch import load_file, save_file

BLOCK = 4


def block_scaled(rows, columns):
    """A weight as fp8 with a scale for each block, and what both mean."""
    weight = torch.randn(rows, columns, generator=torch.Generator().manual_seed(3)) * 0.02
    blocks = weight.view(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)
    scale = blocks.abs().amax((1, 3)) / 448
    codes = (blocks / scale[:, None, :, None]).to(torch.float8_e4m3fn)
    return codes.view(rows, columns), scale, weight


def meant(codes, scale):
    rows, columns = codes.shape
    blocks = codes.float().view(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK) * scale[:, None, :, None]
    return blocks.view(rows, columns)


def cast():
    """a cast leaves fp8 and its scales, in .safetensors and .pt"""
    place = jobs.scratch()
    codes, scale, weight = block_scaled(16, 8)
    tensors = {"l.weight": codes, "l.weight_scale_inv": scale, "norm.weight": torch.rand(8)}
    save_file(tensors, place / "a.safetensors")
    torch.save(tensors, place / "a.pt")
    for ending, load in (("safetensors", load_file), ("pt", torch.load)):
        jobs.program("merge", "--cast", "bf16", place / f"a.{ending}", "-o", place / f"b.{ending}")
        found = load(place / f"b.{ending}")
        assert found["norm.weight"].dtype == torch.bfloat16
        assert torch.equal(found["l.weight_scale_inv"], scale)
        assert torch.equal(meant(found["l.weight"], found["l.weight_scale_inv"]), meant(codes, scale))
        assert (meant(found["l.weight"], scale) - weight).abs().max() < 0.01


def cut():
    """each card's codes and scales alone mean its part of the weight"""
    place = jobs.scratch()
    codes, scale, _ = block_scaled(16, 8)
    save_file({"l.weight": codes, "l.weight_scale_inv": scale}, place / "a.safetensors")
    (place / "to.json").write_text('{"ckpt_layout": 1, "mesh": {"axes": ["tp"], "shape": [4]}, "files": "rank_{card}.safetensors", '
                                   '"parameters": [{"name": "*", "split": ["tp"]}]}')
    jobs.program("split", "--layout", place / "to.json", place / "a.safetensors", "-o", place / "four")
    for card in range(4):
        found = load_file(place / "four" / f"rank_{card}.safetensors")
        part = meant(codes, scale)[4 * card:4 * card + 4]
        assert torch.equal(meant(found["l.weight"], found["l.weight_scale_inv"]), part)


def small_floats():
    """floats of 8 and 4 bits, through torch, safetensors and HDF5"""
    place = jobs.scratch()
    bytes_of = torch.arange(8, dtype=torch.uint8).view(2, 4)
    names = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"]
    tensors = {name: bytes_of.clone().view(getattr(torch, name)) for name in names if hasattr(torch, name)}
    torch.save(tensors, place / "a.pt")
    save_file(tensors, place / "a.safetensors")
    for source in ("a.pt", "a.safetensors"):
        jobs.program("merge", "--force", place / source, "-o", place / "b.h5")
        for via in (source, "b.h5"):
            for ending, load in (("pt", torch.load), ("safetensors", load_file)):
                jobs.program("merge", "--force", place / via, "-o", place / f"c.{ending}")
                found = load(place / f"c.{ending}")
                for name, saved in tensors.items():
                    assert found[name].dtype == saved.dtype and found[name].shape == saved.shape, f"{source}, {via}: {name}"
                    assert torch.equal(found[name].view(torch.uint8), bytes_of), f"{source}, {via}: {name}"


def lightning():
    """a .ckpt of torch stays one"""
    place = jobs.scratch()
    torch.save({"state_dict": {"w": torch.ones(2)}, "epoch": 1}, place / "l.ckpt")
    jobs.program("merge", place / "l.ckpt", "-o", place / "m.ckpt")
    found = torch.load(place / "m.ckpt")
    assert found["epoch"] == 1 and torch.equal(found["state_dict"]["w"], torch.ones(2))


if __name__ == "__main__":
    jobs.main({"cast": cast, "cut": cut, "small floats": small_floats, "lightning": lightning})
