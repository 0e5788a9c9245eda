#!/usr/bin/python3
"""share_test.py PART --bin DIR --build DIR: what the program prints for others to read is what they accept. Parts: manual (mandoc finds no fault with
any page, and each option is on it), zsh and fish (completions parse, and fish completes), installed (what cmake --install makes of the build works,
wherever it is moved), documents (each command in them has a verb's own options; README's tour prints what it says)."""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

VERBS = ["merge", "split", "reshard", "inspect", "draft", "verify"]
SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]


def need(tool):
    if shutil.which(tool) is None:
        print(f"skipped: {tool} is not installed")
        sys.exit(SKIPPED)


def said(*command, **how):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, **how).stdout


def check(holds, what):
    if not holds:
        sys.exit(what)


def manual(options):
    need("mandoc")
    for verb in [None, *VERBS]:
        page = said(options.bin / "ckpt", "man", *filter(None, [verb]))
        found = subprocess.run(["mandoc", "-T", "lint"], input=page, capture_output=True, text=True).stdout
        check(not found, f"mandoc about ckpt man {verb or ''}:\n{found}")
        if verb is None:
            continue
        shown = said("mandoc", "-T", "ascii", "-O", "width=200", input=page)
        shown = re.sub(r".\x08", "", shown)
        help_text = said(options.bin / "ckpt", verb, "--help")
        for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help_text, re.M):
            check(option in shown, f"{option} is not on ckpt-{verb}'s page")
        for command in re.findall(r"^    ((?:ckpt|mpirun) .*)$", help_text, re.M):
            check(command in shown, f"no such line on ckpt-{verb}'s page: {command}")


def zsh(options):
    need("zsh")
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "_ckpt"
        script.write_text(said(options.bin / "ckpt", "completion", "zsh"))
        done = subprocess.run(["zsh", "-n", script], capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr, f"zsh: {done.stderr}")
        names = script.read_text().splitlines()[0].split()
        check(names == ["#compdef", "ckpt", *(f"ckpt-{verb}" for verb in VERBS)], f"completes {names}")


def fish(options):
    need("fish")
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "ckpt.fish"
        script.write_text(said(options.bin / "ckpt", "completion", "fish"))
        said("fish", "--no-execute", script, env={**os.environ, "HOME": folder})
        for line, expected in {"ckpt mer": "merge", "ckpt merge --shard": "--shard-size", "ckpt-merge --shard": "--shard-size",
                               "ckpt merge --verify re": "reread", "ckpt verify --tol": "--tolerance"}.items():
            found = said("fish", "-c", f"source {script}; complete -C '{line}'", env={**os.environ, "HOME": folder})
            check(expected in [entry.split("\t")[0] for entry in found.splitlines()], f"{line}: found {found!r}, expected {expected}")


def installed(options):
    with tempfile.TemporaryDirectory() as folder:
        said("cmake", "--install", options.build, "--prefix", f"{folder}/first")
        tree = pathlib.Path(folder) / "moved"
        (pathlib.Path(folder) / "first").rename(tree)
        for verb in VERBS:
            check(said(tree / "bin/ckpt", verb, "--version").startswith(f"ckpt {verb} "), f"ckpt {verb}")
            check((tree / f"share/man/man1/ckpt-{verb}.1").stat().st_size > 0, f"no page of {verb}")
            link = tree / f"bin/ckpt-{verb}"
            check(os.readlink(link) == "ckpt" and said(link, "--version").startswith(f"ckpt-{verb} "), f"{link} is no link to ckpt")
        files = ["share/man/man1/ckpt.1", "share/bash-completion/completions/ckpt", "share/bash-completion/completions/ckpt-merge",
                 "share/zsh/site-functions/_ckpt", "share/fish/vendor_completions.d/ckpt.fish", "share/fish/vendor_completions.d/ckpt-merge.fish",
                 "share/ckpt-reshard/layouts/schema.json", "share/ckpt-reshard/report.schema.json",
                 *(f"share/doc/ckpt-reshard/{name}" for name in ("README.md", "CHANGELOG.md", "LICENSE"))]
        for name in files:
            check((tree / name).is_file() and (tree / name).stat().st_size > 0, f"{name} is not installed")


def commands(page):
    """The commands in a page's code, or in a batch script, as words, without what follows them in the shell."""
    text = re.sub(r"\\\n\s*", " ", page.read_text())
    lines = re.sub(r"^#.*", "", text, flags=re.M).splitlines()
    if page.suffix == ".md":
        blocks = re.findall(r"```.*?\n(.*?)```", text, re.S)
        lines = [*"\n".join(blocks).splitlines(), *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))]
    for line in lines:
        found = re.search(rf"(?<![\w./-])ckpt[ -]({'|'.join(VERBS)}) (.*)", line)
        if found:
            yield [found[1], *shlex.split(re.split(r" [|>&;#]| 2>", found[2])[0], posix=True)]


def documents(options):
    pages = [page for place in ("*.md", "apps/*.md", "layouts/*.md", "scripts/**/*.md", "scripts/slurm/*") for page in ROOT.glob(place)]
    with tempfile.TemporaryDirectory() as folder:
        for page in sorted({page for page in pages if page.name != "CHANGELOG.md"}):
            for words in commands(page):  # nothing that they name is here, so that each fails by what its command line is
                done = subprocess.run([options.bin / "ckpt", *words], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                check("unknown option" not in done.stderr, f"{page.relative_to(ROOT)}: {' '.join(words)}: {done.stderr}")
        tour(options, folder)


def tour(options, folder):
    """README's tour: each command after $, and the lines that it says are printed; times differ, and "..." stands for lines."""
    need("mpirun")
    text = (ROOT / "README.md").read_text().split("## A tour in five minutes")[1].split("\n## ")[0]
    shutil.copy(ROOT / "scripts/make_sample", folder)
    places = {**os.environ, "PATH": f"{options.bin}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
              "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    status = 0
    for block in re.findall(r"```\n(\$.*?)```", text, re.S):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command = re.match(r'[^\n"]*(?:"[^"]*"[^\n"]*)*', step)[0]
            expected = " ".join(step[len(command):].split())  # ls has columns on a terminal alone
            done = subprocess.run(["bash", "-c", f"(exit {status})\n{command}"], cwd=folder, env=places, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            status = done.returncode
            found = " ".join(re.sub(r"^[\d-]+ [\d:]+ (?=ckpt)", "", done.stdout, flags=re.M).split())
            pattern = re.sub(r"\d\\\.\d\\ s\b", r"\\d+\\.\\d s", re.escape(expected)).replace(r"\.\.\.", ".*")
            check(re.fullmatch(pattern, found), f"README's tour: {command}\nprinted\n{found}\nexpected\n{expected}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {"manual": manual, "zsh": zsh, "fish": fish, "installed": installed, "documents": documents}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    parts[options.part](options)
    print("ok")


main()
