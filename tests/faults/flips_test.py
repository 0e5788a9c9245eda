#!/usr/bin/python3
"""Files of the cards, merged files and checkpoint.json damaged at random, in every class of their bytes: ckpt-verify tells each,
by exit status 1 and by naming the file."""
import collections
import contextlib
import itertools
import json
import os
import queue
import random
import shutil
import subprocess
import threading

import h5py
import numpy as np
from harness import Failure, Place, arguments, check, run_cases, temporary_directory

AT_ONCE = 2 * (os.cpu_count() or 1)  # a verification waits for its child process half of the time
LAYOUT = {"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2]}, "default": "replicate",
          "parameters": [{"name": "blocks/*", "split": ["x"], "pad": {"0": {"size": 7, "multiple_of": 2}}}]}


def make(place):
    """What is to be damaged, as small as it can be and yet hold something of every kind: tensors with padding, a scalar,
    text, attributes of the root, of a group and of tensors."""
    (place.directory / "tiny.json").write_text(json.dumps(LAYOUT))
    source = place.directory / "tiny"
    source.mkdir()
    for card in range(2):
        with h5py.File(source / f"rank_{card}.h5", "w") as file:
            file.attrs.update(step=1000, epoch=3, run="of the test")
            for name in ("wq", "wk"):
                file[f"blocks/{name}"] = np.arange(1, 21, dtype="f4").reshape(4, 5) * (card + 1)
                if card == 1:
                    file[f"blocks/{name}"][3] = 0  # padding
                file[f"blocks/{name}"].attrs["trainable"] = True
            file["blocks"].attrs["count"] = 1
            file["scale"] = np.float64(0.5)
            file.create_dataset("note", data="what the run is about", dtype=h5py.string_dtype())
    words = ["--layout", place.directory / "tiny.json", source, "-o", place.directory / "whole.h5", "--force"]
    subprocess.run([place.bin / "ckpt-merge", "-q", *words], check=True)
    words = ["--from", place.directory / "tiny.json", "--to-mesh", "x=3", source, "-o", place.directory / "cards"]
    subprocess.run([place.bin / "ckpt-reshard", "-q", *words], check=True)


# --- where: the bytes of a file by what they are ---------------------------------------------------------------------

def classes_of(path):
    """name -> places of bytes."""
    content = path.read_bytes()
    if path.suffix != ".h5":
        return {"text": range(len(content))}
    places = collections.defaultdict(list)
    of = ["zeros" if byte == 0 else "metadata" for byte in content]
    with h5py.File(path) as file:
        def data(_, each):
            start = each.id.get_offset() if isinstance(each, h5py.Dataset) else None
            if start is not None:
                of[start:start + each.id.get_storage_size()] = ["data"] * each.id.get_storage_size()
        file.visititems(data)
        for name in ("ckpt_manifest", "ckpt_layout"):
            text = file.attrs.get(name, "")
            text = text if isinstance(text, bytes) else text.encode()
            start = content.find(text) if text else -1
            if start >= 0:
                of[start:start + len(text)] = [name] * len(text)
    for at, name in enumerate(of):
        places[name].append(at)
    return places


# --- what: each gives the name of what it has done -------------------------------------------------------------------

def flip(path, dice):
    name, places = dice.choice(sorted(classes_of(path).items()))
    content = bytearray(path.read_bytes())
    at = dice.choice(places)
    content[at] ^= 1 << dice.randrange(8)
    path.write_bytes(content)
    return f"a bit of {name}"


def zero(path, dice):
    content = bytearray(path.read_bytes())
    length = dice.choice((1, 2, 8, 64, 512, 4096))
    at = dice.randrange(len(content))
    content[at:at + length] = bytes(len(content[at:at + length]))
    path.write_bytes(content)
    return "a run of zeros"


def cut(path, dice):
    size = path.stat().st_size
    os.truncate(path, size - dice.choice((1, dice.randrange(1, 64), dice.randrange(1, size), size)))
    return "cut off"


def append(path, dice):
    more = dice.choice((b"\0", b"\n", b" ", b"\0" * 4096, dice.randbytes(7)))
    path.write_bytes(path.read_bytes() + more)
    return "appended"


def shift(path, dice):
    """A byte is lost, another comes in elsewhere: the size stays."""
    content = bytearray(path.read_bytes())
    byte = content.pop(dice.randrange(len(content)))
    content.insert(dice.randrange(len(content) + 1), byte)
    path.write_bytes(content)
    return "shifted"


def attribute(path, dice):
    """Through HDF5, so that all its own checksums are right."""
    with h5py.File(path, "r+") as file:
        objects = [file]
        file.visititems(lambda _, each: objects.append(each))
        owner = dice.choice([each for each in objects if len(each.attrs)])
        name = dice.choice(sorted(owner.attrs))
        # Without its manifest a file is not known to be ours.
        how = dice.choice(("changed", "added", "deleted", "renamed")[:2 if name == "ckpt_manifest" else 4])
        if how == "changed":
            value = owner.attrs[name]
            if isinstance(value, (str, bytes)):
                at = dice.randrange(len(value))
                value = value[:at] + (b"~" if isinstance(value, bytes) else "~") + value[at + 1:]
                owner.attrs.modify(name, np.bytes_(value) if name.startswith("ckpt") else value)
            else:
                owner.attrs.modify(name, np.asarray(value) + np.asarray(1, np.asarray(value).dtype)
                                   if np.asarray(value).dtype != bool else not value)
        elif how == "added":
            owner.attrs["more"] = dice.randrange(1000)
        elif how == "deleted":
            del owner.attrs[name]
        else:
            h5py.h5a.rename(owner.id, name.encode(), f"{name}_".encode())
    return f"an attribute {how}"


def other_words(path, dice):
    """checkpoint.json says something else, or the same otherwise, and is as good JSON as before."""
    text = path.read_text()
    manifest = json.loads(text)
    parameter = dice.choice(sorted(manifest["parameters"]))

    def layout():
        manifest["layout"]["default"] = "error"
    changes = {"version": lambda: manifest.update(version="0.1.1"),
               "dtype": lambda: manifest["parameters"][parameter].update(dtype="f16"),
               "shape": lambda: manifest["parameters"][parameter]["shape"].append(1),
               "card": lambda: manifest["files"][dice.randrange(3)].update(card=7),
               "bytes": lambda: manifest["files"][dice.randrange(3)].update(bytes=7),
               "layout": layout,
               "an added key": lambda: manifest.update(more=1),
               "no checksum": lambda: manifest.pop("checksum", None),
               "other spaces": lambda: None}
    what = dice.choice(sorted(changes))
    changes[what]()
    path.write_text(json.dumps(manifest, indent=dice.randrange(5)))
    return what


BYTES = (flip, flip, flip, flip, zero, cut, append, shift)
DAMAGES = {"cards": (*BYTES, attribute, attribute), "whole.h5": (*BYTES, attribute, attribute),
           "checkpoint.json": (*BYTES, other_words, other_words)}


# --- many at once ----------------------------------------------------------------------------------------------------

class Copies:
    """A few copies of what was made, each damaged, looked at and put right again by one at a time."""

    def __init__(self, place, seed):
        self.place, self.seed, self.free = place, seed, queue.Queue()
        self.good = {}
        for name in ("cards", "whole.h5"):
            for path in [place.directory / name] if name.endswith(".h5") else sorted((place.directory / name).iterdir()):
                self.good[path.relative_to(place.directory)] = path.read_bytes()
        for number in range(AT_ONCE):
            copy = place.directory / f"copy_{number}"
            copy.mkdir()
            (copy / "cards").mkdir()
            for path, content in self.good.items():
                (copy / path).write_bytes(content)
            self.free.put(copy)

    @contextlib.contextmanager
    def one(self):
        copy = self.free.get()
        try:
            yield copy
        finally:
            for path, content in self.good.items():
                (copy / path).write_bytes(content)
            self.free.put(copy)

    def verify(self, path):
        try:
            return subprocess.run([self.place.bin / "ckpt-verify", "-q", "--threads", "1", path], capture_output=True, text=True,
                                  errors="replace", timeout=60, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"hangs: {late}") from None

    def damaged(self, kind, number):
        """One damage; what it was, or nothing where it has changed nothing."""
        dice = random.Random(f"{self.seed} {kind} {number}")
        with self.one() as copy:
            checkpoint = copy / ("whole.h5" if kind == "whole.h5" else "cards")
            path = {"cards": copy / "cards" / f"rank_{dice.randrange(3)}.h5", "whole.h5": checkpoint,
                    "checkpoint.json": copy / "cards" / "checkpoint.json"}[kind]
            damage = dice.choice(DAMAGES[kind])
            what = damage(path, dice)
            if path.read_bytes() == self.good[path.relative_to(copy)]:
                return None
            done = self.verify(checkpoint)
            # Where metadata cannot be made sense of, the parameter is named that does not fit.
            is_named = path.name in done.stdout or "parameter 'blocks/" in done.stdout
            if done.returncode != 1 or not is_named or done.stderr:
                raise Failure(f"{kind}, damage {number}: {what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            return what


def each_is_told(copies, kind, times):
    """`times` damages, on as many threads as there are copies."""
    def case():
        for name in ("cards", "whole.h5"):
            with copies.one() as copy:
                done = copies.verify(copy / name)
                check(done.returncode == 0, f"undamaged: {done}")
        found, failures, numbers = collections.Counter(), [], itertools.count()
        lock = threading.Lock()

        def work():
            while not failures:
                with lock:
                    if found.total() >= times:
                        return
                    number = next(numbers)
                try:
                    what = copies.damaged(kind, number)
                except Exception as failure:  # pylint: disable=broad-except
                    failures.append(failure)
                    return
                with lock:
                    found[what] += what is not None
        threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0] if isinstance(failures[0], Failure) else Failure(repr(failures[0]))
        return f"{found.total()} told: " + ", ".join(f"{count} {what}" for what, count in found.most_common() if count)
    return case


def main():
    options = arguments(__doc__, ("--flips", {"type": int, "default": int(os.environ.get("CKPT_TEST_FLIPS", "600"))}),
                        ("--seed", {"type": int, "default": 1}))
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=64)
        make(place)
        copies = Copies(place, options.seed)
        run_cases({kind: each_is_told(copies, kind, -(-options.flips // len(DAMAGES))) for kind in DAMAGES})


if __name__ == "__main__":
    main()
