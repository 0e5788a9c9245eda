"""Makes and checks matrices that are stored transposed (a process of its own: measure.py says why).

  transposed_data.py make  DTYPE WIDTH COUNT CARDS DIRECTORY     each card has columns of all matrices, as rows
  transposed_data.py check DTYPE WIDTH COUNT CARDS DIRECTORY     each card has rows of them, as rows
"""
import sys

import h5py
import numpy as np


def rows_of(number, dtype, width, first, last):
    """Rows of a matrix: all elements next to one another differ, along rows and columns."""
    index = np.arange(first, last, dtype="u4")[:, None] * np.uint32(40503) + np.arange(width, dtype="u4") * np.uint32(2654435761)
    return (index + np.uint32(number) >> np.uint32(32 - 8 * np.dtype(dtype).itemsize)).astype(dtype.replace("f", "u")).view(dtype)


def each(dtype, width, count, cards, directory, mode):
    for card in range(cards):
        first, last = width * card // cards, width * (card + 1) // cards
        with h5py.File(f"{directory}/rank_{card}.h5", mode) as file:
            for number in range(count):
                yield file, f"w{number}", rows_of(number, dtype, width, first, last)


def main():
    what, dtype, width, count, cards, directory = sys.argv[1:]
    for file, name, rows in each(dtype, int(width), int(count), int(cards), directory, "w" if what == "make" else "r"):
        if what == "make":
            file.create_dataset(name, data=rows.T)
        elif (file[name][()].view("u1") != rows.view("u1")).any():
            sys.exit(f"{file.filename}: {name}: other elements than expected")


if __name__ == "__main__":
    main()
