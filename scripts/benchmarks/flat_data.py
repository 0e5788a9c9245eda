"""Makes and checks flat shards (a process of its own: measure.py says why): each card holds an equal piece of every
parameter, laid out as one row and padded with zeros; or of one buffer of all of them, as optimizers and FSDP have it.

  flat_data.py make  flat|bucket ROWS COLUMNS COUNT CARDS DIRECTORY
  flat_data.py check flat|bucket ROWS COLUMNS COUNT CARDS DIRECTORY
"""
import sys

import h5py
import numpy as np

ALIGN = 64  # elements, of a bucket's members


def elements(number, first, last):
    """Of a parameter, as the bits of float32: no two are the same."""
    return (np.arange(first, last, dtype="u4") * np.uint32(2654435761) + np.uint32(number)).view("f4")


def distance(size):
    """From one parameter of a buffer to the next."""
    return -(-size // ALIGN) * ALIGN


def piece(numbers, size, low, high):
    """Elements [low, high) of the parameters laid end to end, zeros between and behind them."""
    stride = distance(size)
    found = np.zeros(high - low, "f4")
    for at, number in enumerate(numbers):
        first, last = max(low, at * stride), min(high, at * stride + size)
        if first < last:
            found[first - low:last - low] = elements(number, first - at * stride, last - at * stride)
    return found


def arrays(kind, size, count, cards, card):
    """The names and contents of what a card stores."""
    groups = {"buffer": range(count)} if kind == "bucket" else {f"w{number}": [number] for number in range(count)}
    for name, numbers in groups.items():
        each = -(-((len(numbers) - 1) * distance(size) + size) // cards)
        yield name, piece(numbers, size, each * card, each * (card + 1))


def main():
    what, kind, directory = sys.argv[1], sys.argv[2], sys.argv[7]
    rows, columns, count, cards = map(int, sys.argv[3:7])
    for card in range(cards):
        with h5py.File(f"{directory}/rank_{card}.h5", "w" if what == "make" else "r") as file:
            for name, data in arrays(kind, rows * columns, count, cards, card):
                if what == "make":
                    file.create_dataset(name, data=data)
                elif file[name].shape != data.shape or (file[name][()].view("u4") != data.view("u4")).any():
                    sys.exit(f"{file.filename}: {name}: other elements than expected")


if __name__ == "__main__":
    main()
