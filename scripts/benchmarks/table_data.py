"""Makes and checks the tables of the benchmarks, and reshards them as one would by hand (a process of its own: measure.py says why).

  table_data.py make     ROWS SHARDS SERVERS DIRECTORY                  one HDF5 file a server: key % SHARDS in blocks
  table_data.py check    ROWS SHARDS SERVERS DIRECTORY                  every row is there, once, on its server
  table_data.py by-hand  SOURCE SHARDS SERVERS DIRECTORY                numpy and h5py: the rows of all files sorted by their server
  table_data.py filter   SOURCE SHARDS SERVERS DIRECTORY                the same of those that a condition leaves
  table_data.py check-filter  SOURCE SHARDS SERVERS DIRECTORY           these are there

A row has a key of 8 bytes and 25 numbers of 4 that follow from it. Key i is SplitMix64's number i: all keys differ.
"""
import pathlib
import sys

import h5py
import numpy as np

COLUMNS = 25
ROW_BYTES = 8 + 4 * COLUMNS
PIECE = 1 << 18  # rows worked on at once


def keys_of(first, last):
    x = (np.arange(first, last, dtype="u8") + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return x ^ (x >> np.uint64(31))


def rows_of(keys):
    low = keys.astype("u4")
    return (low[:, None] * np.arange(1, COLUMNS + 1, dtype="u4") & np.uint32(0x3fffffff)).view("f4")  # no NaN


def server_of(keys, shards, servers):
    return keys % np.uint64(shards) // np.uint64(-(-shards // servers))


def pieces(rows):
    for first in range(0, rows, PIECE):
        yield keys_of(first, min(rows, first + PIECE))


def create(directory, counts):
    pathlib.Path(directory).mkdir()
    for server, count in enumerate(counts):
        with h5py.File(f"{directory}/server_{server}.h5", "w") as file:
            yield file.create_dataset("embedding/keys", (int(count),), "u8"), file.create_dataset("embedding/value", (int(count), COLUMNS), "f4")


def make(rows, shards, servers, directory):
    counts = sum(np.bincount(server_of(keys, shards, servers).astype("i8"), minlength=servers) for keys in pieces(rows))
    for server, (all_keys, values) in enumerate(create(directory, counts)):
        at = 0
        for keys in pieces(rows):
            own = keys[server_of(keys, shards, servers) == server]
            all_keys[at:at + len(own)] = own
            values[at:at + len(own)] = rows_of(own)
            at += len(own)


def check(rows, shards, servers, directory):
    count, total = 0, 0
    for server in range(servers):
        with h5py.File(f"{directory}/server_{server}.h5", "r") as file:
            for first in range(0, len(file["embedding/keys"]), PIECE):
                keys = file["embedding/keys"][first:first + PIECE]
                values = file["embedding/value"][first:first + PIECE]
                if (server_of(keys, shards, servers) != server).any() or (values.view("u4") != rows_of(keys).view("u4")).any():
                    sys.exit(f"{directory}, server {server}, rows from {first}: other rows than expected")
                count += len(keys)
                total += int(keys.sum(dtype="u8"))
    if count != rows or (total - sum(int(keys.sum(dtype="u8")) for keys in pieces(rows))) % 2**64:
        sys.exit(f"{directory}: {count} rows, or other keys, expected {rows}")


def is_kept(values):
    """(c0 - c1) * 0.1 + c1 >= 1e-19 and c2 <= 1"""
    c0, c1, c2 = (values[:, i] for i in range(3))
    return ((c0 - c1) * np.float32(0.1) + c1 >= np.float32(1e-19)) & (c2 <= np.float32(1))


def filtered(source):
    files = [h5py.File(path, "r") for path in sorted(pathlib.Path(source).glob("server_*.h5"))]
    kept = []
    for file in files:
        keys, values = file["embedding/keys"][()], file["embedding/value"][()]
        mask = is_kept(values)
        kept.append((keys[mask], values[mask]))
    return np.concatenate([keys for keys, _ in kept]), np.concatenate([values for _, values in kept])


def filter_by_hand(source, shards, servers, directory):
    write_by_server(*filtered(source), shards, servers, directory)


def check_filter(source, shards, servers, directory):
    keys, values = filtered(source)
    server = server_of(keys, shards, servers)
    for number in range(servers):
        with h5py.File(f"{directory}/server_{number}.h5", "r") as file:
            if (file["embedding/keys"][()] != keys[server == number]).any() or \
                    (file["embedding/value"][()].view("u4") != values[server == number].view("u4")).any():
                sys.exit(f"{directory}, server {number}: other rows than expected")


def by_hand(source, shards, servers, directory):
    files = [h5py.File(path, "r") for path in sorted(pathlib.Path(source).glob("server_*.h5"))]
    keys = np.concatenate([file["embedding/keys"][()] for file in files])
    values = np.concatenate([file["embedding/value"][()] for file in files])
    write_by_server(keys, values, shards, servers, directory)


def write_by_server(keys, values, shards, servers, directory):
    server = server_of(keys, shards, servers)
    order = np.argsort(server, kind="stable")
    counts = np.bincount(server.astype("i8"), minlength=servers)
    end = 0
    for count, (all_keys, rows) in zip(counts, create(directory, counts)):
        own = order[end:end + count]
        all_keys[...], rows[...] = keys[own], values[own]
        end += count


def main():
    what, first, shards, servers, directory = sys.argv[1:]
    of_source = {"by-hand": by_hand, "filter": filter_by_hand, "check-filter": check_filter}
    if what in of_source:
        of_source[what](first, int(shards), int(servers), directory)
    else:
        {"make": make, "check": check}[what](int(first), int(shards), int(servers), directory)


if __name__ == "__main__":
    main()
