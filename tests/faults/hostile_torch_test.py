#!/usr/bin/python3
"""What a hostile file of torch tries: to run something, to hang, to take all memory, to read beyond itself. Each is merged and looked at
with little memory and time; it is refused with one message that says what is wrong, or read without effect."""
import io
import pickle
import struct
import warnings
import zipfile

from harness import Place, arguments, check, run_cases, temporary_directory
from hostile import DATA, DOUBLED, TRIED, Evaluated, System, check_all, check_resident, of_pickle, of_tensor, pickled_tensor, run, text, whole

import torch_file

# What a reader of such files was first tried on, by the names of the cases here: none of them may be lost.
FIRST_TRIED = (
    "os.system by REDUCE", "eval, protocol 4", "getattr chain", "doubled 60 times", "million nested lists", "a list in itself", "a dict in itself",
    "number of 2 GiB", "number of less than nothing", "text of 4 GiB", "memo that was never set", "nothing on the stack", "below the mark", "INST",
    "EXT1", "PERSID", "beyond its storage", "negative stride", "negative offset", "2^80 elements", "2^60 elements of one", "no such storage",
    "a storage that lies", "compressed", "two of one name", "cut off", "record far away", "64 bits in every field")


def legacy(count=16, keys=("0",), data=DATA, order="little"):
    """A file in the form before torch 1.6, of one tensor of 16 elements."""
    system = {"protocol_version": 1001, "little_endian": order == "little", "type_sizes": {"short": 2, "int": 4, "long": 4}}
    parts = [pickle.dumps(part, 2) for part in (0x1950a86a20f9469cfc6c, 1001, system)]
    return b"".join([*parts, b"\x80\x02" + pickled_tensor([16], [1]), pickle.dumps(list(keys), 2), struct.pack("<q", count), data])


def archive(*entries, how=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", how) as file:
        warnings.simplefilter("ignore")  # two entries of one name are what is wanted
        for name, data in entries:
            file.writestr(name, data)
    return out.getvalue()


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


LEGACY = {
    "2^62 elements": (legacy(count=2**62), "2^64"),
    "more elements than the file has": (legacy(count=2**40), "4398046511104 bytes"),
    "fewer elements than its tensor": (legacy(count=15), "storage 0"),
    "elements less than nothing": (legacy(count=-1), "2^64"),
    "no such key": (legacy(keys=("9",)), "storage"),
    "a key twice": (legacy(keys=("0", "0"), data=DATA + struct.pack("<q", 16) + DATA), "storage 0"),
    "its data cut off": (legacy(data=DATA[:-1]), "bytes"),
    "the other byte order": (legacy(order="big"), "not little-endian"),
}


def pickles(place):
    check_all(place, {name: (of_pickle(body), said) for name, (body, said) in PICKLES.items()})


def legacies(place):
    check_all(place, LEGACY)


def calls(place):
    """A file that is nothing but a call is read, as an object that nobody understands, and the call is not made."""
    path = place.directory / "hostile.pt"
    path.write_bytes(of_pickle(b"c__builtin__\ngetattr\n(cos\npath\nX\x06\x00\x00\x00systemtR."))
    done = run(place.directory, place.bin / "ckpt-inspect", path)
    check(done.returncode == 0 and b"0 parameters" in done.stdout, f"found {done}")
    TRIED.append("getattr chain")


def tensors(place):
    check_all(place, TENSORS)


def zips(place):
    check_all(place, archives())


def commands(place):
    """What would run something if it were unpickled is carried as an object or left out, beside what else there is."""
    for name, protocol, trap in (("os.system by REDUCE", 2, System()), ("eval, protocol 4", 4, Evaluated())):
        path = place.directory / "hostile.pt"
        path.write_bytes(torch_file.zipped([("data.pkl", pickle.dumps({"epoch": 7, "trap": trap}, protocol))]))
        done = run(place.directory, place.bin / "ckpt-inspect", path)
        check(done.returncode == 0 and b"epoch" in done.stdout, f"found {done}")
        for ending, status, said in ((".h5", 1, b"no tensor"), (".pt", 0, b"wrote")):
            done = run(place.directory, place.bin / "ckpt-merge", path, "-o", place.directory / ("merged" + ending), "--force")
            check(done.returncode == status and said in done.stderr, f"found {done}")
        check(not (place.directory / "ran").exists(), "it was run")
        TRIED.append(name)


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


def wide_zip(entries):
    """An archive whose sizes and offsets all stand in fields of 64 bits, as where there are more than 4 GiB."""
    out, directory = bytearray(), bytearray()
    for name, data in entries:
        path, at = f"a/{name}".encode(), len(out)
        extra = struct.pack("<HHQQQ", 1, 24, len(data), len(data), at)
        out += b"PK\3\4" + struct.pack("<HHHHHIIIHH", 0, 0x808, 0, 0, 0, 0, 0, 0, len(path), len(extra)) + path + extra + data
        out += b"PK\7\x08" + struct.pack("<IQQ", 0, len(data), len(data))
        directory += b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 0, 0, 0x808, 0, 0, 0, 0, 2**32 - 1, 2**32 - 1, len(path), len(extra), 0, 0, 0, 0,
                                             2**32 - 1) + path + extra
    begin, count = len(out), len(entries)
    end = begin + len(directory)
    out += directory + b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 798, 45, 0, 0, count, count, len(directory), begin)
    return bytes(out + b"PK\6\7" + struct.pack("<IQI", 0, end, 1) + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0))


def wide(place):
    """What is unusual, but right, is read."""
    files = {"wide.pt": wide_zip([("data.pkl", b"\x80\x02" + pickled_tensor([16], [1])), ("data/0", DATA)]), "plain.pt": of_tensor([16], [1])}
    for name, data in files.items():
        (place.directory / name).write_bytes(data)
    done = run(place.directory, place.bin / "ckpt-verify", *files)
    check(done.returncode == 0, f"found {done}")
    TRIED.append("64 bits in every field")


def none_lost(_):
    """Runs last."""
    lost = set(FIRST_TRIED) - set(TRIED)
    check(not lost and len(FIRST_TRIED) == 28 and len(set(TRIED)) == len(TRIED), f"not tried, or twice: {lost or TRIED}")
    return check_resident()


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory, hidden=64)
        run_cases({case.__name__: (lambda case=case: case(place.within(case.__name__))) for case in (pickles, tensors, zips, legacies, wide, calls, commands, objects, none_lost)})


if __name__ == "__main__":
    main()
