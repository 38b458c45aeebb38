"""The data of the plots: horizons, margins and sizes as functions of bits, time and τ."""

from collections.abc import Iterator
from typing import Any

from netwright.exact.rational import Rational
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.transformer.construction import CompiledTransformer, to_transformer
from netwright.kind.transformer.proof_values import ProofValues
from netwright.kind.transformer.scores import SCORES, Score
from netwright.machine.turing_machine import TuringMachine
from netwright.precision.failures import first_failures
from netwright.precision.float_arithmetic import FloatArithmetic
from netwright.precision.formats import FORMATS, binary
from netwright.precision.growth import rnn_sizes, sample_times, transformer_sizes
from netwright.precision.horizon import first_possible, safe_until, search_limit
from netwright.precision.softmax import constant, snapped
from netwright.text import Notify

BITS = (*range(6, 25, 2), 28, 32, 40, 48, 53)
TEMPERATURES = tuple(10.0**-e for e in range(1, 15))
LONGEST_EXACT = 4000
"""The most outputs of runs in rationals, and with softmax."""


def all_curves(
    machine: TuringMachine, word: tuple[str, ...], score: Score, outputs: int, notify: Notify
) -> dict[str, Any]:
    """Compute all four curves as plain data, up to the halt."""
    networks = {each: to_transformer(machine, word, each) for each in SCORES.values()}
    outputs = ProofValues.of(networks[score], word, outputs).halts or outputs
    shorter = min(outputs, LONGEST_EXACT)
    horizons = {}
    for each in SCORES.values():
        notify(f"horizon against bits, score {each}")
        horizons[each.name] = horizon_curve(networks[each], word, outputs)
    notify("bits per step")
    sizes = [size._asdict() for size in transformer_sizes(networks[score], word, shorter)]
    stacks = [size._asdict() for size in rnn_sizes(compile_rnn(machine), word, shorter)]
    notify("margin against step")
    ahead = {each.name: margin_curve(networks[each], word, shorter) for each in SCORES.values()}
    notify("softmax")
    return {
        "outputs": outputs,
        "outputs_with_softmax": shorter,
        "score": score.name,
        "horizon_by_bits": horizons,
        "bits_by_step": {"transformer": sizes, "rnn": stacks},
        "margin_by_step": ahead,
        "softmax_by_temperature": softmax_curve(networks[score], word, shorter),
    }


def horizon_curve(
    compiled: CompiledTransformer, word: tuple[str, ...], outputs: int
) -> list[dict[str, int | None]]:
    """For each number of bits the proved, possible and measured horizon; None if unknown."""
    rows: list[dict[str, int | None]] = []
    for bits in BITS:
        form, score = binary(bits), compiled.score
        index = None
        if safe_until(form, score) < outputs:
            here = FloatArithmetic(form)
            index = first_failures(compiled, word, here, outputs, index_only=True).index
        possible = None
        if bits <= score.searched_at_once:
            possible = first_possible(form, score, search_limit(form, score), two_way=True)
        rows.append(
            {
                "bits": bits,
                "safe_until": safe_until(form, score),
                "first_possible": possible.token if possible else None,
                "first_wrong_index": index.token if index else None,
            }
        )
    return rows


def margin_curve(
    compiled: CompiledTransformer, word: tuple[str, ...], outputs: int
) -> list[dict[str, float | int]]:
    """The lead of the winner of layer 3, and the least lead on any machine."""
    return [
        {"token": i, "margin": float(margin), "least": float(compiled.score.gap(i))}
        for i, margin in margins(compiled, word, outputs)
    ]


def margins(
    compiled: CompiledTransformer, word: tuple[str, ...], outputs: int
) -> Iterator[tuple[int, Rational]]:
    """The exact lead of the winner of layer 3 at sample tokens."""
    values = ProofValues.of(compiled, word, outputs + 1)
    layer = compiled.network.decoder[2]
    keys = [layer.K(values.p2(j)) for j in range(outputs)]
    for i in sample_times(outputs):
        query = layer.Q(values.p2(i))
        scores = sorted(abs(query.dot(key)) for key in keys[: i + 1])
        if i:
            yield i, scores[1] - scores[0]


def softmax_curve(
    compiled: CompiledTransformer, word: tuple[str, ...], outputs: int
) -> list[dict[str, float | int | None]]:
    """For each constant τ the first output that is not exact, and the first wrong one."""
    arithmetic = FloatArithmetic(FORMATS["float64"])
    rows: list[dict[str, float | int | None]] = []
    for tau in TEMPERATURES:
        row: dict[str, float | int | None] = {"temperature": tau}
        for name, network in (("snapped", snapped(compiled)), ("plain", compiled)):
            found = first_failures(network, word, arithmetic, outputs, constant(tau))
            row[f"{name}_not_exact"] = found.vector.output if found.vector else None
            row[f"{name}_wrong"] = found.reading.output if found.reading else None
        rows.append(row)
    return rows
