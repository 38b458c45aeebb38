"""Pictures: what is drawn is what there is, in SVG and in PNG, also of runs that are long."""

import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import netwright as nw
from netwright.cli import main
from netwright.drawing.machines import attention_picture, space_time, state_diagram
from netwright.drawing.picture import Image, Picture, png_of
from netwright.errors import InputError, OutputError
from netwright.machine.library import library_names

SVG = "{http://www.w3.org/2000/svg}"


def pixels_of(content: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The pixels of a PNG without filters."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, kind = struct.unpack(">IIBB", content[16:26])
    assert depth == 8
    size = struct.unpack(">I", content[33:37])[0]
    raw = np.frombuffer(zlib.decompress(content[41 : 41 + size]), np.uint8)
    channels = 3 if kind == 2 else 1
    return raw.reshape(height, 1 + width * channels)[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("name", library_names())
def test_a_state_diagram_names_every_state_and_labels_every_arrow(name: str) -> None:
    machine = nw.load_machine(name)
    root = ElementTree.fromstring(state_diagram(machine).svg())
    texts = [each.text for each in root.iter(f"{SVG}text")]
    for state in machine.states:
        assert any(text == state or "…" in (text or "") for text in texts)
    pairs = {(state, action.state) for (state, _), action in machine.delta.items()}
    heads = len(list(root.iter(f"{SVG}polygon")))
    assert heads == 2 * len(pairs) + 1  # an arrow head and a label's ground each, and the start
    accepting = len(machine.accepting)
    assert len(list(root.iter(f"{SVG}circle"))) == len(machine.states) + accepting


def test_a_png_has_the_pixels_of_its_image() -> None:
    picture, image = Picture(6, 4), np.arange(24, dtype=np.uint8).reshape(4, 6)
    picture.image((0, 0), (6, 4), image)
    assert (pixels_of(picture.png(scale=1))[..., 0] == image).all()
    assert (pixels_of(png_of(image))[..., 0] == image).all()


def test_a_line_covers_its_pixels_and_no_others() -> None:
    picture = Picture(9, 9)
    picture.line([(0, 4.5), (9, 4.5)], "#000000", 1)
    found = pixels_of(picture.png(scale=1))[..., 0]
    assert (found[4] == 0).all()
    assert (np.delete(found, 4, 0) == 255).all()


def test_text_in_a_picture_is_text_whatever_it_looks_like() -> None:
    picture = Picture(90, 20, "<script>")
    picture.text((1, 10), "<b>\x1b&", 9)
    root = ElementTree.fromstring(picture.svg())
    assert [each.text for each in root.iter(f"{SVG}text")] == ["<b>\\x1b&"]
    assert pixels_of(picture.png()).min() < 128


def test_a_run_is_drawn_cell_by_cell_as_the_machine_goes() -> None:
    machine = nw.load_machine("palindrome")
    picture = space_time(machine, tuple("abba"))
    image = next(shape for shape in picture.shapes if isinstance(shape, Image))
    assert image.pixels.shape == (5, 16, 3)  # cells 0 to 4, steps 0 to 15
    blank = image.pixels[4, 0]
    assert (image.pixels[0, 1] == blank).all()  # the first step erased cell 0
    assert (image.pixels[1, 0] != blank).any()
    assert (image.pixels[:, -1] == blank).all()  # in the end the tape is blank


def test_a_run_of_millions_of_steps_is_drawn() -> None:
    picture = nw.draw("busy-beaver-5", what="run", max_steps=2_000_000)
    assert "2,000,000 steps" in picture.svg()
    assert pixels_of(picture.png()).shape == (840, 1920, 3)


def test_attention_is_drawn_as_the_trace_has_it() -> None:
    network = nw.compile("palindrome")
    picture = attention_picture(network, tuple("abba"), name="decoder.3.self")
    image = next(shape for shape in picture.shapes if isinstance(shape, Image))
    trace = network.trace("abba")
    dark = [int(row.sum(-1).argmin()) + 1 for row in image.pixels]
    wanted = [trace[t].attention["decoder.3.self"].winner for t in range(1, len(dark) + 1)]
    assert dark == wanted
    with pytest.raises(InputError, match=r"no attention 'decoder\.9\.self'; there are decoder\.1"):
        attention_picture(network, tuple("abba"), name="decoder.9.self")
    with pytest.raises(InputError, match="rnn has no attention"):
        nw.draw(nw.compile("palindrome", to="rnn"), "abba", what="attention")


def test_the_verb_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, arguments in {
        "a.svg": ["palindrome"],
        "b.png": ["palindrome", "abba"],
        "c.png": ["palindrome", "abba", "--only", "decoder.3.self"],
    }.items():
        assert main(["draw", *arguments, "-o", str(tmp_path / name)]) == 0
        assert "wrote" in capsys.readouterr().out
        assert (tmp_path / name).stat().st_size > 500
    for arguments, message in (
        (["palindrome"], "say which file to write"),
        (["palindrome", "-o", str(tmp_path / "x.gif")], "say which file to write"),
        (["palindrome", "-o", str(tmp_path / "a.svg")], "exists"),
        (["palindrome", "abba", "--on", "rnn", "-o", str(tmp_path / "x.svg")], "is for machines"),
    ):
        assert main(["draw", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_picture_saves_itself(tmp_path: Path) -> None:
    picture = nw.draw("palindrome")
    picture.save(tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text() == picture.svg()
    with pytest.raises(OutputError, match="exists"):
        picture.save(tmp_path / "p.svg")
    with pytest.raises(InputError, match=r"ends in \.svg or \.png"):
        picture.save(tmp_path / "p.gif")


def test_a_machine_with_too_many_states_is_refused() -> None:
    names = [f"q{n}" for n in range(61)]
    many = nw.TuringMachine(names, "01", "0", "q0", {("q0", "0"): ("q1", "1", "R")})
    with pytest.raises(InputError, match="61 states are too many for a diagram; at most 60"):
        state_diagram(many)
    with pytest.raises(InputError, match="no picture 'film'"):
        nw.draw("palindrome", what="film")
