"""Uses the installed package on the sample that python_test.py has made: use_package.py FOLDER PROGRAM"""

import os
import pathlib
import sys
import warnings

import numpy

import ckpt_reshard as ckpt

folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
job, layout = folder / "job", folder / "job.json"
assert os.path.samefile(ckpt.program(), program), ckpt.program()
assert len(ckpt.__all__) <= 10

with warnings.catch_warnings(record=True) as told:  # the program's warnings are Python's
    warnings.simplefilter("always")
    report = ckpt.merge(job, folder / "merged.safetensors", layout=layout, drop=["moments.*"])
assert any("cannot hold attributes" in str(each.message) for each in told), told
assert report["status"] == "done" and report["format"] == "safetensors", report
assert ckpt.inspect(folder / "merged.safetensors")["cards"] == 1

whole = ckpt.tensors(folder / "merged.safetensors")
cut = ckpt.tensors(job, layout=layout)
name = "layers.0.attention.qkv.weight"
assert name in whole and not any(each.startswith("moments.") for each in whole) and len(whole) < len(cut)
assert whole[name].shape == cut[name].shape and whole[name].dtype == "f32"
assert numpy.array_equal(whole[name].numpy(), cut[name].numpy()) and numpy.asarray(whole[name]).any()
assert len(whole[name].bytes()) == whole[name].nbytes

# bf16 is f32 without its lower half, whether ml_dtypes is there or not.
ckpt.merge(folder / "merged.safetensors", folder / "half.safetensors", cast="bf16", only=[name])
half = numpy.asarray(ckpt.tensors(folder / "half.safetensors")[name]).astype("f4")
assert numpy.allclose(half, whole[name].numpy(), rtol=2**-7) and not (half.view("u4") & 0xFFFF).any()

ckpt.reshard(job, folder / "three", layout=layout, to_mesh="dp=1,tp=3")
ckpt.split(folder / "merged.safetensors", folder / "two", layout=layout, only=[name])
assert ckpt.verify(job, folder / "three", from_=layout)["same"]
assert not ckpt.verify(folder / "half.safetensors", folder / "merged.safetensors")["same"]


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except ckpt.CkptError as error:
        return error
    raise AssertionError(f"{call.__name__} accepted {arguments} {options}")


(folder / "wrong.json").write_text(layout.read_text().replace("[2, 2]", "[4, 1]"))
error = refused(ckpt.merge, job, folder / "never.h5", layout=folder / "wrong.json")
assert error.exit_status in (1, 2)
assert error.kind in ("input", "layout") and error.found and str(error).count(error.found), vars(error)
assert not (folder / "never.h5").exists()
assert refused(ckpt.merge, job, folder / "never.h5", layouts=layout).exit_status == 2
assert "nowhere" in str(refused(ckpt.inspect, folder / "nowhere"))
assert "nowhere" in str(refused(ckpt.tensors, folder / "nowhere"))
assert "nowhere" in str(refused(ckpt.verify, folder / "nowhere", folder / "nowhere"))
gone = ckpt.tensors(folder / "two")[name]
for file in (folder / "two").iterdir():
    file.unlink()
assert "two" in str(refused(gone.numpy))
with warnings.catch_warnings():
    warnings.simplefilter("error")
    ckpt.merge(folder / "merged.safetensors", folder / "again.h5")
print("the package merges, splits, reshards, compares and reads")
