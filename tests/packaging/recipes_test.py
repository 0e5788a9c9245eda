"""The recipes of scripts/packaging name this version, and the scripts beside them can be parsed. Spack, conda and Apptainer are not needed."""

import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGING = ROOT / "scripts" / "packaging"


def found(pattern, path):
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    assert match, f"{path}: has nothing like {pattern}"
    return match[1]


version = found(r"^project\(ckpt-reshard VERSION ([0-9.]+)", ROOT / "CMakeLists.txt")
named = {
    "CHANGELOG.md": found(r"^## ([0-9][0-9.]*) ", ROOT / "CHANGELOG.md"),
    "scripts/packaging/conda/meta.yaml": found(r'set version = "([0-9.]+)"', PACKAGING / "conda" / "meta.yaml"),
}
wrong = {place: name for place, name in named.items() if name != version}
assert not wrong, f"{wrong}, expected {version}, the version of CMakeLists.txt"

for script in (ROOT / "scripts" / "package", PACKAGING / "try", PACKAGING / "conda" / "build.sh"):
    subprocess.run(["bash", "-n", script], check=True)
for source in [*PACKAGING.rglob("*.py")]:
    ast.parse(source.read_text(), filename=str(source))
for line in (PACKAGING / "sources.txt").read_text().splitlines():
    assert line.startswith("#") or re.fullmatch(r"\S+\.orig\.tar\.\w+ [0-9a-f]{64} main/(lib)?\w/\w+", line), line
assert subprocess.run([ROOT / "scripts" / "package"], stdout=subprocess.PIPE, check=False).returncode == 2
sys.stdout.write(f"the recipes name version {version}\n")
