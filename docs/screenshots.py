"""Write the screenshots of docs/images: `python docs/screenshots.py [NAME …]`.

It needs Playwright and the system's Chromium, as `make test-browser` does. A picture has at most
256 colours, which Chromium counts and numpy chooses.
"""

import base64
import shutil
import struct
import sys
import zlib
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.explorer.answers import Answers
from netwright.explorer.server import serve

IMAGES = Path(__file__).resolve().parent / "images"
PALINDROME, BEAVER = "machine=palindrome&input=abba", "machine=busy-beaver-5"
PIXELS = """async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let text = "";
    for (let n = 0; n < data.length; n += 8192)
        text += String.fromCharCode(...data.subarray(n, n + 8192));
    return btoa(text);
}"""


class Shot(NamedTuple):
    """What a picture shows: a question to the page, its size, and what is done before."""

    query: str
    size: tuple[int, int] = (1280, 800)
    until: str = ""
    """A selector: the picture ends where that part of the page does, however far down."""
    click: str = ""
    wait: str = ""
    """What is waited for after the click."""


def both(name: str, kind: str, wide: str, narrow: str, end: str = "#figures") -> dict[str, Shot]:
    """A kind's two pictures: wide and light, and dark on a phone."""
    kind = f"kind={kind}"
    return {
        f"view-{name}": Shot(f"{wide}&{kind}", (1120, 700), end),
        f"view-{name}-phone": Shot(f"{narrow}&{kind}&theme=dark", (390, 844)),
    }


BREAK = "%5B%5B%22weight%22,%22decoder.3.V%22,%22s2%5Ba%5D%22,%22s4%5Ba%5D%22%5D%5D"
LLAMA = "language-model&architecture=llama&context=256"
SHOTS = {
    "explorer-busy-beaver-5": Shot(f"{BEAVER}&t=23456789"),
    "explorer-language-model": Shot(f"{BEAVER}&kind=language-model&context=256&t=60"),
    "explorer-universal": Shot(f"{PALINDROME}&kind=universal-transformer&t=18"),
    "explorer-24-bits": Shot(f"{BEAVER}&t=145&bits=24", wait="#difference:not(:empty)"),
    "explorer-broken": Shot(
        f"{PALINDROME}&t=7&break={BREAK}",
        (1280, 960),
        click="#what-first",
        wait="#strip-said:text('flipped signs')",
    ),
    **both("transformer", "transformer", f"{PALINDROME}&t=18", f"{BEAVER}&t=23456789", "#stream"),
    **both("rnn", "rnn", f"{PALINDROME}&t=13", f"{BEAVER}&t=2345"),
    **both("neural-gpu", "neural-gpu", f"{PALINDROME}&t=4", f"{PALINDROME}&t=10"),
    **both("pointer", "pointer-transformer", f"{PALINDROME}&t=18", "machine=busy-beaver-4&t=60"),
    **both("universal", "universal-transformer", f"{PALINDROME}&t=18", f"{BEAVER}&t=23456"),
    **both("text", "universal-text", f"{PALINDROME}&t=272", f"{PALINDROME}&t=210"),
    **both(
        "gpt2", "language-model&context=256", f"{PALINDROME}&t=12", "machine=busy-beaver-4&t=60"
    ),
    **both("llama", LLAMA, f"{PALINDROME}&t=12", "machine=busy-beaver-4&t=60"),
    **both("positionless", "positionless-transformer", f"{PALINDROME}&t=18", f"{PALINDROME}&t=5"),
    **both("residual-free", "residual-free-transformer", f"{PALINDROME}&t=12", f"{BEAVER}&t=99"),
    **both("gateless", "gateless-neural-gpu", f"{PALINDROME}&t=4", f"{PALINDROME}&t=10"),
}


def quantised(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The most frequent 256 colours, and for every pixel the number of the nearest of them."""
    flat = pixels.reshape(-1, 3).astype(np.int64)
    numbers = flat[:, 0] << 16 | flat[:, 1] << 8 | flat[:, 2]
    colours, place, count = np.unique(numbers, return_inverse=True, return_counts=True)
    rgb = np.stack([colours >> 16, (colours >> 8) & 255, colours & 255], 1)
    kept = rgb[np.argsort(-count, kind="stable")[:256]]
    nearest = np.array([np.argmin(((kept - each) ** 2).sum(1)) for each in rgb], dtype=np.uint8)
    return kept.astype(np.uint8), nearest[place].reshape(pixels.shape[:2])


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG with a palette."""
    palette, image = quantised(pixels)
    rows = np.concatenate([np.zeros((len(image), 1), np.uint8), image], 1)  # no filter

    def chunk(name: bytes, data: bytes) -> bytes:
        check = zlib.crc32(name + data)
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)

    size = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 3, 0, 0, 0)
    parts = [chunk(b"IHDR", size), chunk(b"PLTE", palette.tobytes())]
    parts += [chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def shoot(browser: Any, address: str, shot: Shot) -> bytes:
    """Open the page, wait until all is drawn, and take its picture."""
    width, height = shot.size
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"{address}?{shot.query}")
    page.wait_for_selector("body[data-shown]")
    page.wait_for_selector("#lemmas :is(button, .quiet)", state="attached")
    if shot.click:
        page.evaluate("document.querySelector('#breaking').open = true")
        page.click(shot.click)
    if shot.wait:
        page.wait_for_selector(shot.wait, state="attached", timeout=120_000)
    if shot.click:
        page.locator("#breaking").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#breaking').scrollIntoView()")
    clip = None
    if shot.until:
        page.set_viewport_size({"width": width, "height": 2400})
        page.wait_for_timeout(300)
        box = page.locator(shot.until).bounding_box()
        clip = {"x": 0, "y": 0, "width": width, "height": box["y"] + box["height"] + 8}
    page.mouse.move(0, 0)
    page.wait_for_timeout(1200)  # canvases are drawn after the moment is
    found = page.screenshot(**({"clip": clip} if clip else {}))
    page.close()
    blank = browser.new_page()
    data = base64.b64decode(blank.evaluate(PIXELS, base64.b64encode(found).decode()))
    blank.close()
    wide, tall = struct.unpack(">II", found[16:24])
    return png(np.frombuffer(data, np.uint8).reshape(tall, wide, 4)[..., :3])


def take(names: list[str]) -> None:
    """Write the pictures of these names."""
    from playwright.sync_api import sync_playwright

    opened: Queue[str] = Queue()
    Thread(target=serve, args=(Answers(), 0, opened.put), daemon=True).start()
    address, path = opened.get(), shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in names:
            content = shoot(browser, address, SHOTS[name])
            (IMAGES / f"{name}.png").write_bytes(content)
            print(f"{name}.png: {len(content):,} bytes")
        browser.close()


if __name__ == "__main__":
    take(sys.argv[1:] or [*SHOTS])
