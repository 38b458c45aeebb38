"""A cache of programs by the shape of a network: networks of one shape share one analysis.

Two networks have one shape if they have the same maps, as the same objects, but for the last maps
of decoder layers with hidden units, which connect the same blocks by whole numbers. In Theorem 3.4
that is all networks of machines with the same states and symbols: what a machine does is in O₁.

The program is that of a network in which such a map connects all coordinates of those blocks, by
the greatest weight of each two. A scale, a bound, or a set of keys on which a number depends is
then one for every network of the shape, as each of them grows with the weights; the terms of the
map itself are each network's own. Where what the map writes is not finite, nothing is shared.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from netwright.definitions.transformer import Transformer
from netwright.engine.moments import UnsuitableError
from netwright.engine.transformer.analysis import decoder_program, terms_of
from netwright.engine.transformer.encoded import Encoded
from netwright.engine.transformer.program import Program, Step
from netwright.engine.transformer.tables.residual import residual_of
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector

MOST_SHAPES, MOST_WEIGHTS = 256, 1 << 12
Blocks = dict[tuple[str, str], int]
"""By the blocks that are connected: the greatest weight."""
Common = tuple[Program, dict[int, int]]
"""A program, and by layer the instruction that is a network's own."""
_programs: dict[Any, tuple[Transformer, Common | None]] = {}
"""By shape: its first network, kept so that the identities of its maps stay valid; the program."""


def shared_program(
    network: Transformer, external: Encoded, seed: Vector, first_keys: Sequence[Vector]
) -> Program:
    """The program of a decoder; raise UnsuitableError if it has none."""
    own = {
        n: layer.O.maps[-1]
        for n, layer in enumerate(network.decoder)
        if isinstance(layer.O, FeedForward) and len(layer.O.maps) > 1
    }
    blocks = {n: _blocks(affine) for n, affine in own.items()}
    sizes = [affine.input.dimension * affine.output.dimension for affine in own.values()]
    if len(external) or not own or sum(sizes) > MOST_WEIGHTS or None in blocks.values():
        return decoder_program(network, external, seed, first_keys)
    shape = _shape(network, seed, own, blocks)
    if shape not in _programs:
        if len(_programs) >= MOST_SHAPES:
            _programs.pop(next(iter(_programs)))
        _programs[shape] = network, _common(network, own, blocks, seed, first_keys)
    _, common = _programs[shape]
    if common is None:
        return decoder_program(network, external, seed, first_keys)
    program, places = common
    instructions = list(program.instructions)
    for n, i in places.items():
        step = instructions[i]
        assert isinstance(step, Step)
        scales = program.vectors[step.source], program.vectors[step.target]
        terms = terms_of(own[n].fractions, *scales)
        instructions[i] = replace(step, terms=terms, map=own[n], is_shared=False)
    return replace(program, instructions=instructions)


def _common(
    network: Transformer, own: Any, blocks: Any, seed: Vector, first_keys: Sequence[Vector]
) -> Common | None:
    """The program of a shape; None if its networks cannot share one."""
    made, whole = _whole(network, own, blocks)
    try:
        program = decoder_program(made, Encoded(made, ()), seed, first_keys)
        finite = residual_of(program).finite
    except UnsuitableError:
        return None
    places: dict[int, int] = {}
    for i, each in enumerate(program.instructions):
        for n, affine in whole.items():
            if isinstance(each, Step) and each.map is affine:
                places[n] = i
                if {term.target for term in each.terms} - set(finite.get(i, ())):
                    return None
    return program, places


def _blocks(affine: Affine) -> Blocks | None:
    """The blocks that a map connects; None if a weight is not an integer."""
    found: Blocks = {}
    rows, columns = affine.input.coordinates, affine.output.coordinates
    for j, k, top, bottom in affine.fractions:
        if bottom != 1:
            return None
        pair = rows[j].block, columns[k].block
        found[pair] = max(found.get(pair, 0), abs(top))
    return found


def _shape(network: Transformer, seed: Vector, own: Any, blocks: Any) -> Any:
    maps: list[object] = [network.K, network.V, network.F, network.pos, network.score, network.rho]
    for n, layer in enumerate((*network.decoder, *network.encoder)):
        maps += [layer.Q, layer.K, layer.V]
        O = layer.O
        maps += O.maps[:-1] if n in own and isinstance(O, FeedForward) else [O]
    biases = [tuple(sorted(each.bias.entries.items())) for each in own.values()]
    kinds = [(n, tuple(sorted(each.items()))) for n, each in blocks.items()]
    return tuple(map(id, maps)), tuple(sorted(seed.entries.items())), *biases, *kinds


def _whole(network: Transformer, own: Any, blocks: Any) -> tuple[Transformer, dict[int, Affine]]:
    """The network whose own maps connect all coordinates of their blocks, and those maps."""
    layers, found = list(network.decoder), dict[int, Affine]()
    for n, affine in own.items():
        weights = {
            (j, k): Rational(weight)
            for (source, target), weight in blocks[n].items()
            for j in affine.input.places(source)
            for k in affine.output.places(target)
        }
        last = found[n] = Affine(affine.input, affine.output, weights, affine.bias)
        O = layers[n].O
        assert isinstance(O, FeedForward)
        layers[n] = replace(layers[n], O=FeedForward((*O.maps[:-1], last), O.activation))
    return replace(network, decoder=tuple(layers)), found
