"""Hostile files of torch: what they are made of, and how they are tried, with little memory and time: refused with one message that says what
is wrong, or read without effect."""
import os
import resource
import struct
import subprocess
import sys

from harness import HERE, Failure, check

sys.path.insert(0, str(HERE.parent / "python"))
import torch_file  # noqa: E402

BOUND_S = 20
MEMORY_BYTES = 6 << 30  # of addresses
RESIDENT_BYTES = 1 << 30
DATA = bytes(64)
TRIED = []  # names of cases


def run(directory, *words):
    limits = [(resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, BOUND_S)]
    try:
        return subprocess.run(words, capture_output=True, timeout=BOUND_S, check=False, cwd=directory,
                              preexec_fn=lambda: [resource.setrlimit(what, (most, most)) for what, most in limits])
    except subprocess.TimeoutExpired as late:
        raise Failure(f"hangs: {late}") from None


def of_pickle(body, protocol=2):
    """A file whose pickle is this, and one storage of 64 bytes."""
    return torch_file.zipped([("data.pkl", bytes([0x80, protocol]) + body), ("byteorder", b"little"), ("data/0", DATA)])


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def whole(value):
    return b"\x8a\x08" + struct.pack("<q", value)


def listed(values):
    return b"(" + b"".join(map(whole, values)) + b"t"


def pickled_tensor(shape, strides, offset=0, key="0", count=16):
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + whole(count) + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + whole(offset) + listed(shape) + listed(strides) + b"\x89}tR"
    return b"}" + text("w") + tensor + b"s."


def of_tensor(*view, **more):
    return of_pickle(pickled_tensor(*view, **more))


class System:
    def __reduce__(self):
        return os.system, ("touch ran",)


class Evaluated:
    def __reduce__(self):
        return eval, ("open('ran', 'w')",)


DOUBLED = b"]q\x00" + b"".join(b"h" + bytes([i, 104, i]) + b"\x86q" + bytes([i + 1]) for i in range(60)) + b"."


def check_refused(place, hostile, said):
    """A job that keeps what cannot be read ends with one message; what lists it may name it with the reason."""
    for words in (["ckpt-inspect", hostile], ["ckpt-merge", hostile, "-o", place.directory / "merged.safetensors"]):
        done = run(place.directory, place.bin / words[0], *words[1:])
        errors = done.stderr.decode(errors="replace")
        is_refused = done.returncode == 1 and errors.count(": error: ") == 1 and said in errors
        listed = " ".join(done.stdout.decode(errors="replace").split())
        is_listed = words[0] == "ckpt-inspect" and done.returncode == 0 and "cannot be read" in listed and said in listed
        check(is_refused or is_listed, f"{words[0]}: expected 1 and one message with '{said}', found {done.returncode}:\n{errors}{listed}")
    check([each.name for each in place.directory.iterdir()] == [hostile.name], "something is left, or was run")


def check_file(place, data, said):
    path = place.directory / "hostile.pt"
    path.write_bytes(data)
    check_refused(place, path, said)
    path.unlink()


def check_all(place, cases, check_one=check_file):
    for name, (hostile, said) in cases.items():
        try:
            check_one(place, hostile, said)
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from None
        TRIED.append(name)


def check_resident():
    """Of all that was tried; says how much that was."""
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    check(resident <= RESIDENT_BYTES, f"a process had {resident >> 20} MiB in memory")
    return f"{len(TRIED)} cases, at most {resident >> 20} MiB in memory"
