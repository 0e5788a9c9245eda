"""The Python package as a wheel carries it: made of the programs under test, installed with pip where that is there, and used.

usage: python_test.py --bin DIRECTORY (with ckpt and its links)
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    programs = parser.parse_args().bin
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        installed = folder / "installed"
        (installed / "share" / "ckpt-reshard").mkdir(parents=True)
        shutil.copy(ROOT / "apps" / "report" / "report.schema.json", installed / "share" / "ckpt-reshard")
        (installed / "bin").mkdir()
        for name in ("ckpt", "ckpt-merge", "ckpt-verify"):
            shutil.copy(programs / name, installed / "bin", follow_symlinks=False)
        make = ROOT / "scripts" / "packaging" / "make_wheel.py"
        wheels = [run(sys.executable, make, installed, "1.2.3", "linux_x86_64", folder).strip() for _ in range(2)]
        once = pathlib.Path(wheels[0]).read_bytes()
        run(sys.executable, make, installed, "1.2.3", "linux_x86_64", folder)
        assert pathlib.Path(wheels[0]).read_bytes() == once, "two wheels of one tree differ"
        try:
            venv.create(folder / "venv", with_pip=True, system_site_packages=True)  # for numpy and h5py
        except subprocess.CalledProcessError:
            print("skipped: this Python makes no venv with pip (Debian: apt-get install python3-venv)")
            return SKIPPED
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheels[0])
        assert run(folder / "venv" / "bin" / "ckpt-merge", "--version").startswith("ckpt"), "a second name does not run"
        run(ROOT / "scripts" / "make_sample", "-o", folder / "job", "--mesh", "dp=2,tp=2", "--layers", "1", "--hidden", "32")
        print(run(python, HERE / "use_package.py", folder, folder / "venv" / "bin" / "ckpt"), end="")
    return 0


sys.exit(main())
