"""How many instructions the programs take for small jobs, counted by valgrind's cachegrind: the same on a busy machine as on
a quiet one, to a ten-thousandth. Compared with what counts.json has of the same distribution and compiler."""
import json
import pathlib
import platform
import re
import shutil
import subprocess

import measure

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "counts.json"
TOLERATED = 1.03
COUNTER = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
SAMPLE = ["--layers", "2", "--hidden", "128"]


def jobs(space):
    """Name → the words of a program, with one thread: what several do is not the same every time."""
    source, layout, merged = space.path("job"), space.path("job.json"), space.path("merged.h5")
    alone = ["--threads", "1", "--force", "--no-fsync", "-q"]
    merge = ["ckpt-merge", *alone, "--layout", layout, source, "-o"]
    return {
        "merge": [*merge, merged],
        "merge, not verified": [*merge, merged, "--verify", "none"],
        "merge to safetensors": [*merge, space.path("merged.safetensors")],
        "merge, cast to bf16": [*merge, space.path("cast.h5"), "--cast", "bf16"],
        "reshard": ["ckpt-reshard", *alone, "--from", layout, "--to-mesh", "dp=3,tp=4", source, "-o", space.path("resharded")],
        "split": ["ckpt-split", *alone, "--layout", space.path("three.json"), merged, "-o", space.path("split")],
        "verify": ["ckpt-verify", "--threads", "1", "-q", "--from", layout, source, merged],
        "inspect": ["ckpt-inspect", "--layout", layout, source],
    }


def counted(space, words):
    """Instructions of all of a program's processes. Each one's count begins with those of its parent before the fork, that is
    with the program's start: what the smallest has is taken from all."""
    command = [*COUNTER, space.program(words[0]), *words[1:]]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env=measure.environment(), stdin=subprocess.DEVNULL)
    if done.returncode:
        raise measure.Failed(f"exit status {done.returncode} of: {' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    counts = [int(number.replace(",", "")) for number in re.findall(r"I +refs: +([\d,]+)", done.stderr)]
    return sum(counts) - len(counts) * min(counts)


def place():
    """What decides over the code that is run: the distribution with its libraries, the compiler, the processor's kind."""
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    system = platform.freedesktop_os_release()
    return f"{system.get('ID', '?')} {system.get('VERSION_ID', '?')}, g++ {compiler}, {platform.machine()}"


def take(space):
    for mesh, name, more in (("dp=2,tp=2", "job", []), ("dp=3,tp=4", "three", ["--layout-only"])):
        measure.run([HERE.parent / "make_sample", "-o", space.path(name), "--mesh", mesh, *SAMPLE, *more])
    return {name: counted(space, words) for name, words in jobs(space).items()}


def run(space, is_to_write):
    """Shows the counts beside those that are kept. Gives the names of those that have grown."""
    if shutil.which(COUNTER[0]) is None:
        raise measure.Failed("found no valgrind; install it (Debian: apt-get install valgrind)")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    found, before = take(space), kept.get(place(), {})
    print(f"{place()}\n{'job':<24} {'instructions':>14} {'kept':>14} {'ratio':>7}")
    for name, count in found.items():
        known = before.get(name)
        print(f"{name:<24} {count:>14,} {known or 0:>14,} " + (f"{count / known:>7.3f}" if known else f"{'–':>7}"))
    checking = found["merge"] / found["merge, not verified"]
    print(f"verification: {checking:.3f} of the instructions without")
    if is_to_write:
        kept[place()] = found
        KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return []
    if not before:
        print(f"{KEPT.name} has no counts of this distribution and compiler: nothing is compared (--counts --write keeps these)")
    return [name for name, count in found.items() if name in before and count > TOLERATED * before[name]]
