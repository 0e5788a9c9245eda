#!/usr/bin/env python3
"""Makes a wheel of an installed tree: make_wheel.py INSTALLED VERSION PLATFORM DIST

PLATFORM may be several names of one platform, with dots between them.

The program and its other names become scripts, share/ goes to share/ of the environment, and python/ beside this file is what `import
ckpt_reshard` finds. It needs no package of Python, and makes the same bytes of the same tree.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

NAME = "ckpt_reshard"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# A wheel has no links. Its scripts lie in one folder.
LINK = """#!/bin/sh
exec "${{0%/*}}/ckpt" {verb} "$@"
"""

METADATA = """Metadata-Version: 2.1
Name: ckpt-reshard
Version: {version}
Summary: Merges, splits and reshards model-parallel checkpoints, exactly
Keywords: checkpoint,sharding,tensor-parallel,safetensors,hdf5,pytorch,mindspore,deepspeed,megatron
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.8
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """Wheel-Version: 1.0
Generator: scripts/package
Root-Is-Purelib: false
{tags}
"""


def files_of(installed, version, platform):
    """Yields (name in the wheel, content, whether it can be executed)."""
    data, info = f"{NAME}-{version}.data", f"{NAME}-{version}.dist-info"
    for path in sorted((HERE / "python" / NAME).glob("*.py")):
        yield f"{NAME}/{path.name}", path.read_bytes(), False
    for path in sorted((installed / "bin").iterdir()):
        if path.is_symlink():
            text = LINK.format(verb=path.name.removeprefix("ckpt-"))
            yield f"{data}/scripts/{path.name}", text.encode(), True
        else:
            yield f"{data}/scripts/{path.name}", path.read_bytes(), True
    for path in sorted((installed / "share").rglob("*")):
        if path.is_file():
            yield f"{data}/data/{path.relative_to(installed)}", path.read_bytes(), False
    readme = (HERE / "python" / "README.md").read_text()
    yield f"{info}/METADATA", METADATA.format(version=version, readme=readme).encode(), False
    tags = "\n".join(f"Tag: py3-none-{each}" for each in platform.split("."))
    yield f"{info}/WHEEL", WHEEL.format(tags=tags).encode(), False
    yield f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), False


def main():
    installed, version, platform, dist = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    target = dist / f"{NAME}-{version}-py3-none-{platform}.whl"
    record_name = f"{NAME}-{version}.dist-info/RECORD"
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

        def add(name, content, is_program):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            wheel.writestr(entry, content)

        for name, content, is_program in files_of(installed, version, platform):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(content)}\n")
            add(name, content, is_program)
        add(record_name, ("".join(record) + f"{record_name},,\n").encode(), False)
    print(target)


main()
