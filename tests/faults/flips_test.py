#!/usr/bin/python3
"""Every published file of every output format (data, manifest, index and what a framework keeps beside them) damaged at random, in
every class of its bytes, or taken away: ckpt-verify tells each, by exit status 1 and by naming the file."""
import collections
import contextlib
import itertools
import json
import os
import queue
import random
import struct
import subprocess
import threading
import zipfile

import h5py
import numpy as np
from harness import HERE, Failure, Place, arguments, check, run_cases, temporary_directory

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
    frameworks = place.directory / "frameworks"
    frameworks.mkdir()
    for name in ("make_megatron", "make_deepspeed", "make_paddle"):
        subprocess.run([HERE.parent / "cli" / "bin" / name], cwd=frameworks, check=True)
    for name, words in OUTPUTS.items():
        program, *rest = words.split()
        subprocess.run([place.bin / program, "-q", *rest, "-o", name], cwd=place.directory, check=True)


# Each format, merged and cut anew, with its checksum where it has one.
TINY = "--layout tiny.json tiny"
CUT = "--from tiny.json --to-mesh x=3 tiny"
OUTPUTS = {"merged.h5": f"ckpt-merge {TINY}", "cards": f"ckpt-reshard {CUT}",
           "merged.safetensors": f"ckpt-merge --drop note {TINY}",
           "safetensors": f"ckpt-reshard --drop note --format safetensors {CUT}",
           "merged.pt": f"ckpt-merge --drop note {TINY}", "torch": f"ckpt-reshard --drop note --format torch {CUT}",
           "merged.ckpt": f"ckpt-merge --crc --drop note {TINY}", "mindspore": f"ckpt-reshard --crc --drop note --format mindspore {CUT}",
           "dcp": f"ckpt-merge --drop note --format dcp {TINY}",
           "torch_dist": "ckpt-reshard --cards 2 --format dcp frameworks/run/iter_0000010", "deepspeed": "ckpt-reshard --cards 2 frameworks/zero1",
           "paddle": "ckpt-reshard --from frameworks/ps4.json --to frameworks/ps3.json frameworks/src",
           "indexed_hdf5": f"ckpt-merge --shard-size 200 --format hdf5 {TINY}",
           "indexed_safetensors": f"ckpt-merge --drop note --shard-size 200 --format safetensors {TINY}",
           "indexed_torch": f"ckpt-merge --drop note --shard-size 200 --format torch {TINY}"}


# --- where: the bytes of a file by what they are ---------------------------------------------------------------------

def classes_of(path):
    """name -> places of bytes."""
    content = path.read_bytes()
    places = collections.defaultdict(list)
    of = ["zeros" if byte == 0 else "metadata" for byte in content]
    if path.suffix == ".h5":
        mark_hdf5(path, content, of)
    elif path.suffix == ".safetensors":
        end = 8 + struct.unpack_from("<Q", content)[0]
        of[end:] = ["data"] * (len(content) - end)
    elif zipfile.is_zipfile(path) and path.suffix != ".distcp":  # which holds an archive for each item
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                at = entry.header_offset + 30 + sum(struct.unpack_from("<HH", content, entry.header_offset + 26))
                of[at:at + entry.file_size] = [entry.filename.rpartition("/")[2]] * entry.file_size
    for at, name in enumerate(of):
        places[name].append(at)
    return places


def mark_hdf5(path, content, of):
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


def remove(path, _):
    path.unlink()
    return "taken away"


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
    files = [*manifest["files"], *manifest.get("beside", [])]
    parameters = manifest["parameters"]

    def layout():
        manifest["layout"]["default"] = "error"
    changes = {"version": lambda: manifest.update(version="0.1.1"),
               "card": lambda: dice.choice(manifest["files"]).update(card=7),
               "bytes": lambda: dice.choice(files).update(bytes=7),
               "a name": lambda: dice.choice(files).update(name="another"),
               "layout": layout,
               "an added key": lambda: manifest.update(more=1),
               "no checksum": lambda: manifest.pop("checksum", None),
               "other spaces": lambda: None}
    if parameters:
        parameter = parameters[dice.choice(sorted(parameters))]
        changes |= {"dtype": lambda: parameter.update(dtype="f16"), "shape": lambda: parameter["shape"].append(1)}
    what = dice.choice(sorted(changes))
    changes[what]()
    path.write_text(json.dumps(manifest, indent=dice.randrange(5)))
    return what


BYTES = (flip, flip, flip, flip, zero, cut, append, shift)


def damages_of(path, checkpoint):
    """Without a manifest a checkpoint is not known to be ours, nor is a file that is not there any."""
    if path.name == "checkpoint.json":
        return (*BYTES, other_words, other_words)
    more = () if path == checkpoint else (remove,)
    return (*BYTES, *more, *((attribute, attribute) if path.suffix == ".h5" else ()))


# --- many at once ----------------------------------------------------------------------------------------------------

class Copies:
    """A few copies of what was made, each damaged, looked at and put right again by one at a time."""

    def __init__(self, place, seed):
        self.place, self.seed, self.free = place, seed, queue.Queue()
        self.good = {}  # of each output the files
        for name in OUTPUTS:
            whole = place.directory / name
            files = [whole] if whole.is_file() else sorted(path for path in whole.rglob("*") if path.is_file())
            self.good[name] = {path.relative_to(place.directory): path.read_bytes() for path in files}
        for number in range(AT_ONCE):
            copy = place.directory / f"copy_{number}"
            for name in OUTPUTS:
                self.put_right(copy, name)
            self.free.put(copy)

    def put_right(self, copy, name):
        for path, content in self.good[name].items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(content)

    @contextlib.contextmanager
    def one(self, name):
        copy = self.free.get()
        try:
            yield copy
        finally:
            self.put_right(copy, name)
            self.free.put(copy)

    def verify(self, path):
        try:
            return subprocess.run([self.place.bin / "ckpt-verify", "-q", "--threads", "1", path], capture_output=True, text=True,
                                  errors="replace", timeout=60, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"hangs: {late}") from None

    def damaged(self, name, number):
        """One damage; what it was, or nothing where it has changed nothing."""
        dice = random.Random(f"{self.seed} {name} {number}")
        with self.one(name) as copy:
            relative, good = dice.choice(sorted(self.good[name].items()))
            path, checkpoint = copy / relative, copy / name
            what = dice.choice(damages_of(path, checkpoint))(path, dice)
            if path.exists() and path.read_bytes() == good:
                return None
            done = self.verify(checkpoint)
            # Where metadata cannot be made sense of, the parameter is named that does not fit.
            is_named = path.name in done.stdout or "parameter '" in done.stdout
            if done.returncode != 1 or not is_named or done.stderr:
                raise Failure(f"{relative}, damage {number}: {what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            return what


def each_is_told(copies, name, times):
    """`times` damages, on as many threads as there are copies."""
    def case():
        with copies.one(name) as copy:
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
                    what = copies.damaged(name, number)
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
        run_cases({name: each_is_told(copies, name, -(-options.flips // len(OUTPUTS))) for name in OUTPUTS})


if __name__ == "__main__":
    main()
