#!/usr/bin/env python3
"""The window on Wayland: weston without a screen shows the program, which must draw the start page's figures (the canvas
is hidden then, and Wayland takes its surface away) and, begun with a checkpoint, its map on the canvas.

wayland.py LOCUS    Exit status 77 (skipped) without weston or Qt's plugin for Wayland.
"""
import glob, os, pathlib, shutil, struct, subprocess, sys, tempfile, time, zlib

LIMIT_SECONDS = 120
PURPLE = (68, 1, 84)  # the darkest colour of viridis, which the figure's map has


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def pixels(png):
    """Rows of 3 or 4 bytes a pixel, as weston writes them, and that number."""
    data, at, packed = png.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    size = {2: 3, 6: 4}[colours]
    assert depth == 8
    raw, stride = zlib.decompress(packed), width * size
    above, rows = bytearray(stride), []
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            left, up = (row[x - size] if x >= size else 0), above[x]
            corner = above[x - size] if x >= size else 0
            nearest = min((left, up, corner), key=lambda each: abs(left + up - corner - each))
            row[x] = (row[x] + (0, left, up, (left + up) // 2, nearest)[kind]) % 256
        rows.append(row)
        above = row
    return rows, size


def purple_pixels(png):
    rows, size = pixels(png)
    return sum(all(abs(row[x + c] - PURPLE[c]) <= 2 for c in range(3)) for row in rows for x in range(0, len(row), size))


def draws_purple(locus, arguments, environment, folder):
    """Whether the program, begun with `arguments`, shows a map and ends without an error."""
    end = time.time() + LIMIT_SECONDS
    program = subprocess.Popen([locus, *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        found = 0
        while found < 1000:
            assert program.poll() is None, "the program has ended: " + program.stderr.read()
            assert time.time() < end, f"the window shows no figure: {found} pixels of its darkest colour"
            time.sleep(1)
            for old in pathlib.Path(folder).glob("*.png"):
                old.unlink()
            subprocess.run(["weston-screenshooter"], env=environment, cwd=folder, check=True, timeout=60)
            found = purple_pixels(next(pathlib.Path(folder).glob("*.png")))
        program.terminate()
        said = program.communicate(timeout=60)[1]
        assert "error" not in said.lower(), said
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()


def main():
    locus = sys.argv[1]
    if not shutil.which("weston") or not shutil.which("weston-screenshooter"):
        skip("there is no weston")
    if not glob.glob("/usr/lib/*/qt6/plugins/platforms/libqwayland*") and not glob.glob("/usr/lib*/qt6/plugins/platforms/libqwayland*"):
        skip("there is no plugin of Qt for Wayland")
    checkpoint = pathlib.Path(__file__).resolve().parents[2] / "assets/checkpoints/text-rope"
    with tempfile.TemporaryDirectory() as folder:
        home = {f"XDG_{name}_HOME": folder + "/home" for name in ("CONFIG", "CACHE", "DATA")}
        plain = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        environment = plain | home | {"XDG_RUNTIME_DIR": folder}
        os.chmod(folder, 0o700)
        weston = subprocess.Popen(["weston", "--backend=headless-backend.so", "--width=1280", "--height=800", "--socket=test", "--idle-time=0",
                                   "--use-pixman", "--debug"], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.time() + LIMIT_SECONDS
            while not pathlib.Path(folder, "test").exists():
                assert weston.poll() is None and time.time() < end, "weston does not start"
                time.sleep(0.1)
            # libwayland and the software driver, which is unloaded, keep allocations that a sanitizer would count as ours.
            inside = environment | {"WAYLAND_DISPLAY": "test", "QT_QPA_PLATFORM": "wayland", "LSAN_OPTIONS": "detect_leaks=0"}
            draws_purple(locus, [], inside, folder)
            draws_purple(locus, [str(checkpoint)], inside, folder)
        finally:
            if weston.poll() is None:
                weston.kill()
                weston.wait()

main()
