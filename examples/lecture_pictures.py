"""The pictures of a lecture: a machine's states, its run, what the third layer attends to.

    python examples/lecture_pictures.py [FOLDER]

The same from the command line: `netwright draw palindrome -o states.svg`, and so on.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

import netwright as nw

folder = Path(sys.argv[1] if len(sys.argv) > 1 else mkdtemp())
folder.mkdir(exist_ok=True)
net = nw.compile("palindrome")
pictures = {
    "states.svg": nw.draw("palindrome"),
    "run.png": nw.draw("palindrome", "abba"),
    "attention.svg": nw.draw(net, "abba", attention="decoder.3.self"),
    "busy-beaver.png": nw.draw("busy-beaver-5", what="run", max_steps=50_000_000),
}
for name, picture in pictures.items():
    picture.save(folder / name, force=True)
    print(f"{picture.title}: {name}, {(folder / name).stat().st_size:,} bytes")
net.explore("abba", t=26).save(folder / "palindrome.html", force=True)
print("the run, token by token: palindrome.html")
