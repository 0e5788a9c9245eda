#!/usr/bin/python3
"""What a hostile file of torch tries: to run something, to hang, to take all memory, to read beyond itself. Each is merged and looked at
with little memory and time; it is refused with one message that says what is wrong, or read without effect."""
import io
import os
import pickle
import resource
import struct
import subprocess
import sys
import warnings
import zipfile

from harness import HERE, Failure, Place, arguments, check, run_cases, temporary_directory

sys.path.insert(0, str(HERE.parent / "python"))
import torch_file  # noqa: E402

BOUND_S = 20
MEMORY_BYTES = 6 << 30  # of addresses
DATA = bytes(64)


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


def of_tensor(shape, strides, offset=0, key="0", count=16):
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + whole(count) + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + whole(offset) + listed(shape) + listed(strides) + b"\x89}tR"
    return of_pickle(b"}" + text("w") + tensor + b"s.")


class System:
    def __reduce__(self):
        return os.system, ("touch ran",)


class Evaluated:
    def __reduce__(self):
        return eval, ("open('ran', 'w')",)


def archive(*entries, how=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", how) as file:
        warnings.simplefilter("ignore")  # two entries of one name are what is wanted
        for name, data in entries:
            file.writestr(name, data)
    return out.getvalue()


DOUBLED = b"]q\x00" + b"".join(b"h" + bytes([i, 104, i]) + b"\x86q" + bytes([i + 1]) for i in range(60)) + b"."
WIDE_LIST = b"](" + whole(1) * 1_000_000 + b"eq\x00"
PICKLES = {  # name: (body, what is said)
    "doubled 60 times": (DOUBLED, "more than 10,000,000 values"),
    "million nested lists": (b"]" * 1_000_000 + b"a" * 999_999 + b".", "more than 100 dicts"),
    "a list in itself": (b"]q\x00h\x00a.", "hold itself"),
    "a dict in itself": (b"}q\x00" + text("a") + b"h\x00s.", "hold itself"),
    "number of 2 GiB": (b"\x8b\xff\xff\xff\x7f.", "ends before its object"),
    "number of less than nothing": (b"\x8b\xff\xff\xff\xff.", "ends before its object"),
    "text of 4 GiB": (b"X\xff\xff\xff\xffabc.", "ends before its object"),
    "memo that was never set": (b"h\x05.", "memo 5"),
    "memo far away": (b"Nr\xff\xff\xff\xff.", "memo 4294967295"),
    "nothing on the stack": (b"\x86.", "where there is none"),
    "below the mark": (b"K\x01(0.", "where there is none"),
    "INST": (b"(ios\nsystem\n.", "opcode 0x69"),
    "EXT1": (b"\x82\x01.", "opcode 0x82"),
    "PERSID": (b"Pfoo\n.", "opcode 0x50"),
    "a long list a thousand times": (WIDE_LIST + b"](" + b"h\x00" * 100_000 + b"e.", "more than 10,000,000 values"),
    "an object in place of a key": (b"}}}s.", "keys are neither texts nor whole numbers"),
    "a storage that is no tuple": (b"}" + text("w") + b"NQs.", "storage of another form"),
}
TENSORS = {
    "beyond its storage": (of_tensor([5, 5], [5, 1]), "ends at byte 100"),
    "negative stride": (of_tensor([2, 2], [-1, 1], 8), "strides of -1"),
    "negative offset": (of_tensor([2], [1], -4), "offset of -4"),
    "2^80 elements": (of_tensor([2**40, 2**40], [2**40, 1]), "2^64"),
    "2^60 elements of one": (of_tensor([2**40, 2**20], [0, 0]), "expanded"),
    "span of 2^64": (of_tensor([2, 2], [2**62, 2**62]), "2^64"),
    "no such storage": (of_tensor([2], [1], key="7"), "storage 7"),
    "a storage that lies": (of_tensor([16], [1], count=2**50), "storage 0 of"),
    "33 dimensions": (of_tensor([1] * 33, [1] * 33), "33 dimensions"),
}


def archives():
    good = of_tensor([16], [1])
    far = bytearray(good)
    struct.pack_into("<Q", far, far.rfind(b"PK\6\7") + 8, 2**63)
    longer = bytearray(good)
    entry = longer.rfind(b"PK\1\2", 0, longer.rfind(b"data/0"))
    struct.pack_into("<II", longer, entry + 20, 2**31, 2**31)
    over = bytearray(good)
    struct.pack_into("<I", over, entry + 42, struct.unpack_from("<I", over, over.find(b"PK\1\2") + 42)[0])
    many = bytearray(good)
    struct.pack_into("<Q", many, many.rfind(b"PK\6\6") + 32, 2**60)
    bomb = torch_file.zipped([("data.pkl", b"\x80\x02N.")])
    return {
        "compressed": (archive(("a/data.pkl", bytes(10**7)), how=zipfile.ZIP_DEFLATED), "compressed entry"),
        "two of one name": (archive(("a/data.pkl", b"\x80\x02N."), ("a/data.pkl", b"\x80\x02K\x01.")), "two entries"),
        "cut off": (good[:-100], "without a directory at its end"),
        "record far away": (bytes(far), "64-bit record"),
        "entry beyond the file": (bytes(longer), "2147483648 bytes at byte"),
        "entry in another's place": (bytes(over), "found entries that overlap"),
        "2^60 entries": (bytes(many), "1152921504606846976 entries"),
        "no dict": (bomb, "no dict"),
    }


def check_file(place, data, said):
    path = place.directory / "hostile.pt"
    path.write_bytes(data)
    for words in (["ckpt-inspect", path], ["ckpt-merge", path, "-o", place.directory / "merged.safetensors"]):
        done = run(place.directory, place.bin / words[0], *words[1:])
        errors = done.stderr.decode(errors="replace")
        check(done.returncode == 1 and errors.count(": error: ") == 1 and said in errors and "hostile.pt" in errors,
              f"{words[0]}: expected 1 and one message with '{said}', found {done.returncode}:\n{errors}")
    check(sorted(each.name for each in place.directory.iterdir()) == ["hostile.pt"], "something is left, or was run")
    path.unlink()


def check_all(place, files):
    for name, (data, said) in files.items():
        try:
            check_file(place, data, said)
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from None


def pickles(place):
    check_all(place, {name: (of_pickle(body), said) for name, (body, said) in PICKLES.items()})


def calls(place):
    """A file that is nothing but a call is read, as an object that nobody understands, and the call is not made."""
    path = place.directory / "hostile.pt"
    path.write_bytes(of_pickle(b"c__builtin__\ngetattr\n(cos\npath\nX\x06\x00\x00\x00systemtR."))
    done = run(place.directory, place.bin / "ckpt-inspect", path)
    check(done.returncode == 0 and b"0 parameters" in done.stdout, f"found {done}")


def tensors(place):
    check_all(place, TENSORS)


def zips(place):
    check_all(place, archives())


def commands(place):
    """What would run something if it were unpickled is carried as an object or left out, beside what else there is."""
    for protocol, trap in ((2, System()), (4, Evaluated())):
        path = place.directory / "hostile.pt"
        path.write_bytes(torch_file.zipped([("data.pkl", pickle.dumps({"epoch": 7, "trap": trap}, protocol))]))
        done = run(place.directory, place.bin / "ckpt-inspect", path)
        check(done.returncode == 0 and b"epoch" in done.stdout, f"found {done}")
        for ending, said in ((".h5", b"trap ("), (".pt", b"wrote")):
            done = run(place.directory, place.bin / "ckpt-merge", path, "-o", place.directory / ("merged" + ending), "--force")
            check(done.returncode == 0 and said in done.stderr, f"found {done}")
        check(not (place.directory / "ran").exists(), "it was run")


def objects(place):
    """Objects that are carried into another file and are not what picklers write: no more is done than with others."""
    deep = b"\x85" * 2000
    path = place.directory / "hostile.pt"
    for name, trap, said in (("deep", b"cmine\nObject\nN" + deep + b"R", b"900 values in one another"),
                             ("a call for its own argument", b"cmine\nObject\n]q\x00Rq\x01h\x00h\x01a0", b"900 values in one another"),
                             ("a name of two lines", b"X\x03\x00\x00\x00a\nbX\x01\x00\x00\x00c\x93)R", b"a name of two lines"),
                             ("a storage that is not there", b"cmine\nObject\n((" + text("storage") + b"ctorch\nFloatStorage\n"
                              + text("9") + text("cpu") + b"K\x01tQtR", b"found a tensor that mine.Object")):
        path.write_bytes(of_pickle(b"}(" + text("epoch") + b"K\x07" + text("trap") + trap + b"u.", 4))
        done = run(place.directory, place.bin / "ckpt-merge", path, "-o", place.directory / "merged.pt", "--force")
        check(done.returncode in (0, 1) and said in done.stderr, f"{name}: found {done}")


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=64)
        run_cases({case.__name__: (lambda case=case: case(place.within(case.__name__)))
                   for case in (pickles, calls, tensors, zips, commands, objects)})


if __name__ == "__main__":
    main()
