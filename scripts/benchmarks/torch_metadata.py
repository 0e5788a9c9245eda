"""Files of torch with next to no data and much metadata: `PATH tensors COUNT` makes a .pt, `PATH dcp FILES CHUNKS` a DCP."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "python"))

import dcp_directory  # noqa: E402  (found through the path above)
import torch_file  # noqa: E402


def tensors(path, count):
    tree = {f"layers.{i // 10}.w{i % 10}": np.full(4, i, "<f4") for i in range(count)}
    torch_file.save(path, tree)


def dcp(path, files, chunks):
    made = dcp_directory.Directory(path)
    for i in range(chunks):
        whole = np.arange(4 * files, dtype="<f4")
        made.tensor(f"layers.{i}.weight", whole, [(f"__{card}_0.distcp", (4 * card,), (4 * card + 4,)) for card in range(files)])
    made.finish()


if __name__ == "__main__":
    place, what, *numbers = [word for word in sys.argv[1:] if word != "--quick"]
    {"tensors": tensors, "dcp": dcp}[what](place, *map(int, numbers))
