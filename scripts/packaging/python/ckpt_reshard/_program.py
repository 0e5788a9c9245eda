import importlib.metadata
import os
import shutil


def program():
    """The path of the program that was installed with this package; without one, that of the first `ckpt` on PATH."""
    for file in importlib.metadata.files("ckpt-reshard") or ():
        if file.name == "ckpt" and os.access(file.locate(), os.X_OK):
            return os.path.normpath(file.locate())
    found = shutil.which("ckpt")
    if found is None:
        raise FileNotFoundError("the program ckpt is neither in this package nor on PATH")
    return found
