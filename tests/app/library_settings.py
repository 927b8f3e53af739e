#!/usr/bin/env python3
"""The window starts anew with the settings that libraries read when they are loaded, under its own name; what the user
has set stays.

library_settings.py LOCUS
"""
import os, pathlib, subprocess, sys, tempfile, time

LIMIT_SECONDS = 60


def environment_of(program):
    words = pathlib.Path(f"/proc/{program.pid}/environ").read_bytes().split(b"\0")
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


def window_settings(locus, environment):
    """The environment of the window's process once it has all settings, and its name."""
    program = subprocess.Popen([locus], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        end = time.time() + LIMIT_SECONDS
        while True:
            assert program.poll() is None, "the program has ended: " + program.stderr.read()
            found = environment_of(program)
            if "OPENBLAS_THREAD_TIMEOUT" in found:
                return found, pathlib.Path(f"/proc/{program.pid}/comm").read_text().strip()
            assert time.time() < end, "the window does not start anew"
            time.sleep(0.05)
    finally:
        program.kill()
        program.wait()


def main():
    locus = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        home = {f"XDG_{name}_HOME": folder for name in ("CONFIG", "CACHE", "DATA")}
        names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OPENBLAS_THREAD_TIMEOUT", "OPENBLAS_CORETYPE")
        plain = {name: value for name, value in os.environ.items() if name not in names} | home
        found, name = window_settings(locus, plain)
        assert found.get("GOMP_SPINCOUNT") == "1000", found.get("GOMP_SPINCOUNT")
        assert name == pathlib.Path(locus).name, name
        found, _ = window_settings(locus, plain | {"OMP_WAIT_POLICY": "active"})
        assert "GOMP_SPINCOUNT" not in found, found["GOMP_SPINCOUNT"]
        found, _ = window_settings(locus, plain | {"GOMP_SPINCOUNT": "7"})
        assert found["GOMP_SPINCOUNT"] == "7", found["GOMP_SPINCOUNT"]


main()
