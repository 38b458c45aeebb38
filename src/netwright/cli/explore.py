"""`netwright explore`: see a network run, in the browser or as one HTML file."""

import json
import os
import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from netwright.cli.arguments import (
    Force,
    FormatName,
    Head,
    Input,
    Machine,
    OnKind,
    Output,
    Separator,
    choice_of,
    load_with_word,
    read_count,
    with_kind_options,
)
from netwright.cli.output import Working, save_file, say, visible
from netwright.errors import InputError, StoppedError
from netwright.explorer.answers import Answers
from netwright.explorer.explored import FAR, Explored
from netwright.explorer.page import page_file
from netwright.explorer.server import serve
from netwright.files import check_output
from netwright.machine.formats import bbchallenge
from netwright.machine.library import library_names
from netwright.machine.simulate import Engine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network
from netwright.network.running import network_of

EXAMPLE = """\b
Examples:
  netwright explore palindrome abba
  netwright explore busy-beaver-5 --t 23456789
  netwright explore busy-beaver-5 --t 145 --score recency
  netwright explore palindrome abba --on rnn
  netwright explore 1RB1LA_1LA1RB --on rnn --engine accelerated --t 1e12
  netwright explore palindrome abba -o palindrome.html
  netwright explore busy-beaver-5 --tokens 100:200 -o bb5.html"""
PORT = 8421


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    word: Input = None,
    on: OnKind = None,
    t: Annotated[
        int | None,
        typer.Option(
            "--t",
            metavar="T",
            parser=partial(read_count, option="--t", things="moments"),
            help="Begin at time T of the network, such as 1e6.  [1]",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        Engine,
        choice_of(
            "--engine",
            [Engine.AUTO, Engine.ACCELERATED],
            "accelerated: moments of a regular run up to 10^15.",
        ),
    ] = Engine.AUTO,
    max_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=read_count,
            help="Show at most N steps of the machine.  [5e7; accelerated: 1e12, or T]",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=65535, help="The port; another one if it is in use."),
    ] = PORT,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    output: Output = None,
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="A:B",
            help="Times to record in the file.  [all up to 1,000, or 200 around T]",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    head: Head = 0,
    separator: Separator = None,
    format_name: FormatName = None,
) -> None:
    """See a network run: in the browser, or with -o as one HTML file."""
    source, _, symbols = load_with_word(machine, word, separator, format_name, head)
    network = network_of(source, on, symbols, **options)
    if network.standing.is_doubtful:
        say(f"netwright: {visible(machine)}: {visible(str(network.standing))}", err=True)
    if max_steps is None and engine is Engine.ACCELERATED:
        max_steps = max(FAR, t or 1)
    explored = Explored(network, symbols, max_steps, engine=engine)
    if tokens is not None and output is None:
        raise InputError("--tokens says which moments a file has; add -o FILE.html")
    query = _query(network, symbols)
    if engine is Engine.ACCELERATED:
        if output is not None:
            raise InputError(
                "a file runs the machine step by step, so it has no accelerated run; leave out -o"
            )
        query["engine"] = engine.value
    if output is not None:
        _write_page(output, explored, tokens, t, query, force)
        return
    known = isinstance(source, TuringMachine) and (
        machine in library_names() or bbchallenge.recognises(machine)
    )
    explored.check(1 if t is None else t)
    address = urlencode({"machine": machine if known else "given", **query, "t": t or 1})

    def opened(place: str) -> None:
        say(f"{place}?{address}\nCtrl-C ends it.")
        sys.stdout.flush()
        if browser:
            webbrowser.open(f"{place}?{address}")

    if not serve(Answers(network, max_steps), port, opened):
        sys.stdout.flush()
        os._exit(0)


def _query(network: Network, word: tuple[str, ...]) -> dict[str, str]:
    """The parameters of the page's address: kind, input, and options that are not defaults."""
    query = {"kind": network.kind.name}
    if all(len(symbol) == 1 for symbol in network.machine.symbols):
        query["input"] = "".join(word)
    else:
        query["word"] = json.dumps(word, ensure_ascii=False)
    for option in network.kind.options:
        value = option.written(network.options[option.name])
        if value not in (None, False) and network.options[option.name] != option.default:
            query[option.name] = str(value)
    return query


def _write_page(
    output: Path,
    explored: Explored,
    tokens: str | None,
    t: int | None,
    query: dict[str, str],
    force: bool,
) -> None:
    check_output(output, force=force)
    with Working() as work:
        page = page_file(
            explored, tokens, t, query, lambda done: work.tell(f"{100 * done:.0f} % recorded")
        )
    if work.interrupted:
        raise StoppedError(f"{output} was not written")
    save_file(output, page.encode(), force=force)
    say(f"wrote {output}, {len(page) / 1000:,.0f} KB; it opens in a browser and needs no server")
