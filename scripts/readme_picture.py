"""Take the README's picture: ``readme_picture.py docs/images/report.png``. Needs the test environment."""

from __future__ import annotations

import shutil
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

PAGE = Path(__file__).resolve().parents[1] / "examples" / "transpose" / "report.html"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update"]  # fmt: skip

#: The launch through a tile without padding, at the load whose lanes all want one bank; fixed is the store
#: that waits for it.
PLACE = "#v=1&n=2&i=sass&w=0&s=240&l=2:154"


def smaller(png: bytes) -> bytes:
    """The same picture without row filters: text on plain ground compresses better so."""
    at, packed, head = 8, b"", b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        head = body if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    width, height, _, color = struct.unpack(">IIBB", head[:10])
    rows = unfiltered(zlib.decompress(packed), width, height, {2: 3, 6: 4}[color])
    pixels = zlib.compress(b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in rows), 9)
    chunks = ((b"IHDR", head), (b"IDAT", pixels), (b"IEND", b""))
    return png[:8] + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def unfiltered(data: bytes, width: int, height: int, depth: int) -> list[np.ndarray]:
    """Rows ``[width, depth]`` of a PNG's scanlines (PNG specification, 9.2)."""
    lines = np.frombuffer(data, np.uint8).reshape(height, 1 + width * depth)
    rows: list[np.ndarray] = []
    above = np.zeros((width, depth), np.int64)
    for line in lines:
        row = line[1:].reshape(width, depth).astype(np.int64)
        if line[0] == 1:
            row = np.cumsum(row, axis=0) & 255
        elif line[0] == 2:
            row = (row + above) & 255
        elif line[0] > 2:
            before = corner = np.zeros(depth, np.int64)
            for x in range(width):
                guess = (before + above[x]) // 2 if line[0] == 3 else paeth(before, above[x], corner)
                before, corner = (row[x] + guess) & 255, above[x]
                row[x] = before
        rows.append(row)
        above = row
    return rows


def paeth(left: np.ndarray, up: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """The neighbour nearest to left + up - corner."""
    guess = left + up - corner
    to_left, to_up, to_corner = abs(guess - left), abs(guess - up), abs(guess - corner)
    near = np.where(to_up <= to_corner, up, corner)
    return np.where((to_left <= to_up) & (to_left <= to_corner), left, near)


def main() -> None:
    """The code panes, as large as a laptop's window."""
    program = shutil.which("chromium") or sys.exit("chromium is missing")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1366, "height": 900}, color_scheme="light")
        page.goto(PAGE.as_uri() + PLACE)
        page.wait_for_timeout(1500)
        page.add_style_tag(content="html { scroll-behavior: auto !important }")
        page.evaluate("document.getElementById('sec-code').scrollIntoView()")
        page.wait_for_timeout(500)
        Path(sys.argv[1]).write_bytes(smaller(page.screenshot()))
        browser.close()


if __name__ == "__main__":
    main()
