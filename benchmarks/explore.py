"""What the page of `netwright explore` costs: answers, sizes, memory; with a browser, pictures.

    python benchmarks/explore.py

The goals are beside the figures. A browser is used if playwright and a Chromium are there.
"""

import gzip
import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import netwright as nw
from netwright.explorer.answers import Answers
from netwright.explorer.page import ASSETS

BEAVER = {"machine": "busy-beaver-5"}
END = 47_176_873


def ask(answers: Answers, path: str, **query: object) -> bytes:
    """The answer, waiting for it as the page does."""
    texts = {name: str(value) for name, value in query.items()}
    while (found := answers.answer(f"/api/{path}", texts)).status == 202:
        pass
    assert found.status == 200, found.body
    return found.body


def seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def line(what: str, found: str, goal: str) -> None:
    print(f"{what:52} {found:>12}   {goal}")


def answers_alone() -> None:
    answers = Answers()
    ask(answers, "moments", machine="busy-beaver-4", **{"from": 100})  # imports and code
    Answers().answer("/api/run", {"machine": "busy-beaver-4"})
    run = seconds(lambda: ask(answers, "run", **BEAVER))
    line("the run of busy-beaver-5: its end, its cells", f"{run:.2f} s", "")
    first = seconds(lambda: ask(answers, "moments", **BEAVER, **{"from": 23_456_789}))
    line("first jump, to t = 23,456,789", f"{first:.2f} s", "<= 0.6 s")
    own = seconds(lambda: ask(answers, "moments", **BEAVER, **{"from": 23_456_789, "own": 1}))
    line("the network's own run to there", f"{own:.2f} s", "")
    own = seconds(lambda: ask(answers, "moments", **BEAVER, **{"from": END, "own": 1}))
    line("and from there to the end, t = 47,176,873", f"{own:.2f} s", "")

    def at(t: int) -> float:
        return seconds(lambda: ask(answers, "moments", **BEAVER, **{"from": t}))

    jumps = [at(10**7 * n // 3) for n in range(1, 14)]
    line("later jumps anywhere, the slowest of 13", f"{1e3 * max(jumps):.0f} ms", "<= 50 ms")
    times = range(10**7, 10**7 + 60)
    steps = sorted(at(t) for t in times)
    line("a step at t = 10,000,000, the median", f"{1e3 * steps[30]:.1f} ms", "<= 10 ms")
    back = sorted(at(t) for t in reversed(times))
    line("a step back, the median", f"{1e3 * back[30]:.1f} ms", "<= 10 ms")
    many = seconds(lambda: ask(answers, "moments", **BEAVER, **{"from": 10**7, "count": 16}))
    line("sixteen moments ahead", f"{1e3 * many:.0f} ms", "")
    whole = seconds(lambda: ask(answers, "diagram", **BEAVER, columns=800, rows=64))
    line("the diagram of all 47 million steps", f"{whole:.2f} s", "<= 0.7 s")
    part = {"from": 23_450_000, "to": 23_460_000, "fit": 1}
    near = seconds(lambda: ask(answers, "diagram", **BEAVER, columns=900, rows=150, **part))
    line("a diagram around t", f"{1e3 * near:.0f} ms", "")
    moment = ask(answers, "moments", **BEAVER, **{"from": 10**7})
    line("a moment", f"{len(moment) / 1000:.1f} KB", "")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    line("peak memory", f"{peak:.0f} MB", "<= 300 MB")


def sizes() -> None:
    files = [each.body for path, each in ASSETS.items() if path != "/"]
    raw, packed = sum(map(len, files)), len(gzip.compress(b"".join(files), 9))
    line("the page", f"{raw / 1000:.0f} KB", "<= 90 KB")
    line("the page, gzipped", f"{packed / 1000:.0f} KB", "<= 30 KB")
    default = len(nw.explore("palindrome", "abba").html)
    line("a file: palindrome on abba", f"{default / 1000:.0f} KB", "<= 150 KB")
    thousand = len(nw.explore("busy-beaver-5", tokens="1:1000").html)
    line("a file: 1,000 tokens of busy-beaver-5", f"{thousand / 1000:.0f} KB", "<= 300 KB")


def in_a_browser(chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        started = perf_counter()
        command = [sys.executable, "-m", "netwright", "explore", "palindrome", "abba"]
        process = subprocess.Popen(
            [*command, "--no-browser", "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        began = perf_counter()
        page.goto(address)
        page.wait_for_selector("body[data-shown]")
        line(
            "first picture, from the command typed", f"{perf_counter() - started:.2f} s", "<= 2.5 s"
        )
        line("first picture, from the page opened", f"{perf_counter() - began:.2f} s", "<= 1 s")
        place = address.partition("?")[0]
        began = perf_counter()
        page.goto(f"{place}?machine=busy-beaver-5&t=23456789")
        page.wait_for_selector("body[data-shown='23456789']")
        line("busy-beaver-5 at t = 23,456,789, a new run", f"{perf_counter() - began:.2f} s", "")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("body[data-shown='23456790']")
        page.wait_for_timeout(300)
        stepped = page.evaluate(
            """async () => { const times = [];
            for (let n = 0; n < 20; n++) {
              const drawn = new Promise((wake) => new MutationObserver(wake)
                .observe(document.body, { attributes: true, attributeFilter: ["data-shown"] }));
              const began = performance.now();
              document.body.dispatchEvent(
                new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
              await drawn;
              times.push(performance.now() - began);
              await new Promise((wake) => setTimeout(wake, 60)); }
            return times.sort((a, b) => a - b)[10]; }"""
        )
        line("a step in the page, prefetched, the median", f"{stepped:.0f} ms", "<= 16 ms")
        process.terminate()
        process.wait()
        file = Path(folder) / "page.html"
        nw.explore("palindrome", "abba").save(file)
        began = perf_counter()
        page.goto(f"file://{file}")
        page.wait_for_selector("body[data-shown]")
        line("a file, from opened to drawn", f"{perf_counter() - began:.2f} s", "")
        browser.close()


if __name__ == "__main__":
    answers_alone()
    sizes()
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    try:
        import playwright  # noqa: F401  # is it there
    except ImportError:
        found = None
    if found:
        in_a_browser(found)
    else:
        print(json.dumps({"browser": "none: pip install playwright, and a Chromium"}))
