"""The program of this package, started with the LibTorch of the PyTorch beside it."""

import importlib.metadata
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "bin", "locus")
BUILT_AGAINST = "2.13"


def _torch_libraries():
    """The folder of LibTorch, without an import of PyTorch, which takes seconds."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        sys.exit(f"locus: error: expected PyTorch {BUILT_AGAINST}, found none in this environment of Python")
    if version.split(".")[:2] != BUILT_AGAINST.split("."):
        sys.exit(f"locus: error: expected PyTorch {BUILT_AGAINST}, whose library the program is built against, found {version}")
    return os.path.join(importlib.util.find_spec("torch").submodule_search_locations[0], "lib")


def environment():
    """That of the program. Where PyTorch lies in another folder than this package, the loader must be told."""
    folder, found = _torch_libraries(), dict(os.environ)
    beside = os.path.join(os.path.dirname(FOLDER), "torch", "lib")
    if not (os.path.isdir(beside) and os.path.samefile(beside, folder)):
        found["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [folder, found.get("LD_LIBRARY_PATH")]))
    return found


def main():
    os.execve(PROGRAM, ["locus", *sys.argv[1:]], environment())
