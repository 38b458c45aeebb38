"""Random machines and words for hypothesis."""

from hypothesis import strategies as st

from netwright.machine.turing_machine import Action, Move, TuringMachine

letters = st.sampled_from("abcdefgh")
wild_names = st.text(min_size=1, max_size=5)
"""Names with anything in them: spaces, quotes, commas, control characters, other scripts."""


@st.composite
def machines(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] = letters,
    symbol_names: st.SearchStrategy[str] = letters,
    moves: str = "LRS",
    max_states: int = 4,
    max_symbols: int = 4,
    accepting: bool = True,
    default_input: bool = True,
) -> TuringMachine:
    """Machines with partial rules; nothing about them is in a special form."""
    states = draw(st.lists(names, min_size=1, max_size=max_states, unique=True))
    symbols = draw(st.lists(symbol_names, min_size=1, max_size=max_symbols, unique=True))
    actions = st.builds(
        Action, st.sampled_from(states), st.sampled_from(symbols), st.sampled_from(moves).map(Move)
    )
    keys = [(state, symbol) for state in states for symbol in symbols]
    rules = {key: draw(st.one_of(actions, actions, actions, st.none())) for key in keys}
    return TuringMachine(
        states=states,
        symbols=symbols,
        blank=draw(st.sampled_from(symbols)),
        start=draw(st.sampled_from(states)),
        delta={key: action for key, action in rules.items() if action is not None},
        accepting=draw(st.sets(st.sampled_from(states), max_size=1)) if accepting else (),
        default_input=draw(words(symbols)) if default_input else (),
    )


def words(symbols: list[str] | tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Words over the symbols, the blank included."""
    return st.lists(st.sampled_from(symbols), max_size=8).map(tuple)
