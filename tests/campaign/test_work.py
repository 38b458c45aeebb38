"""The rows of one machine: right, wrong and without an answer."""

import json
from typing import Any

import pytest
from tests.networks import KINDS

from netwright.campaign import work
from netwright.campaign.plan import COLUMNS, Plan
from netwright.campaign.work import Item, rows_of
from netwright.errors import InputError
from netwright.machine.library import library_names
from netwright.machine.load import load_machine
from netwright.machine.written import machine_parts
from netwright.network.network import network_for_word

BEAVER = Item(7, "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA", "the beaver")
ALL = ("machine", *KINDS)


def library_item(name: str) -> Item:
    return Item(0, name, "", machine_parts(load_machine(name)))


def test_a_row_is_what_the_run_says() -> None:
    rows = list(rows_of(BEAVER, Plan(on=ALL, max_steps=500)))
    machine = load_machine(BEAVER.machine)
    assert [row["on"] for row in rows] == [*ALL]
    for row in rows:
        assert list(row) == [*COLUMNS]
        assert (row["number"], row["machine"], row["remark"]) == BEAVER[:3]
        on = row["on"]
        expected = (
            machine.run((), 500)
            if on == "machine"
            else network_for_word(machine, on, ()).run((), 500)
        )
        assert (row["outcome"], row["steps"], row["state"], row["head"]) == (
            expected.outcome,
            expected.steps,
            expected.state,
            expected.head,
        )
        assert row["network_steps"] == expected.network_steps
        assert row["non_blank"] == sum(cell != "0" for cell in expected.tape.cells)
        assert row["agrees"] is (None if on == "machine" else True)
        assert row["verified_steps"] is row["checks"] is row["certified"] is None
    assert len({row["tape_digest"] for row in rows}) == 1


@pytest.mark.parametrize("machine", [BEAVER.machine, "1RB1LA_1LA1RB"])
def test_accelerated_rows_are_those_of_the_fast_engine(machine: str) -> None:
    """Digests of tapes too, which a later campaign with another engine may be compared with."""
    on, item = ("machine", "rnn", "neural-gpu"), Item(0, machine, "")
    fast, accelerated = (
        list(rows_of(item, Plan(on=on, max_steps=200_000, engine=engine)))
        for engine in ("fast", "accelerated")
    )
    assert {row.pop("engine") for row in accelerated} == {"accelerated"}
    assert {row.pop("engine") for row in fast} == {"fast"}
    for row in (*fast, *accelerated):
        del row["seconds"]
    assert accelerated == fast


@pytest.mark.parametrize("name", library_names())
def test_the_whole_library_agrees(name: str) -> None:
    rows = list(rows_of(library_item(name), Plan(on=ALL, max_steps=200)))
    assert all(row["agrees"] for row in rows[1:])
    assert json.loads(json.dumps(rows)) == rows


def test_verify_and_certify_fill_their_columns() -> None:
    plan = Plan(on=("machine", "rnn"), do=("verify", "certify"), max_steps=20)
    (row,) = rows_of(library_item("palindrome"), plan)
    assert row["on"] == "rnn"
    assert row["outcome"] is None
    assert row["agrees"] is row["certified"] is True
    assert row["verified_steps"] == load_machine("palindrome").run(max_steps=20).steps
    assert row["checks"] > 20


def broken(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    def made(*arguments: Any, **options: Any) -> Any:
        return change(network_for_word(*arguments, **options))

    monkeypatch.setattr(work, "network_for_word", made)


def test_a_network_that_differs_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    other = load_machine("1RB1LB_1LA1RZ")
    broken(monkeypatch, lambda network: network_for_word(other, network.kind, ()))
    _, row = rows_of(BEAVER, Plan(max_steps=500))
    assert row["agrees"] is False
    assert "steps is 6, the machine's is 500" in row["note"]


def test_a_network_that_shows_no_machine_is_a_disagreement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch, lambda network: network.broken("W.S", word="ab", max_steps=50))
    (row,) = rows_of(library_item("palindrome"), Plan(on="rnn", do="run,certify"))
    assert row["agrees"] is False
    assert row["note"]


def test_a_certificate_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, lambda network: network.broken("decoder.3.V.s4", max_steps=50))
    (row,) = rows_of(library_item("palindrome"), Plan(on="transformer", do="certify"))
    assert row["certified"] is False
    assert row["note"]


def test_what_a_network_refuses_or_fails_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_network: Any) -> Any:
        raise InputError("too large")

    def fail(_network: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    for change, outcome, note in (
        (refuse, "refused", "too large"),
        (fail, "error", "ZeroDivisionError: a fault of ours"),
    ):
        with monkeypatch.context() as patch:
            broken(patch, change)
            machine, row = rows_of(BEAVER, Plan())
        assert machine["outcome"] == "undecided"
        assert (row["outcome"], row["note"], row["agrees"]) == (outcome, note, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on": "transfomer"}, "did you mean transformer"),
        ({"do": "fly"}, "no thing to do 'fly'"),
        ({"on": "machine", "do": "certify"}, "nothing to do"),
        (
            {"on": "language-model", "do": "certify"},
            "no certificates for networks of kind language-model",
        ),
        ({"on": "rnn", "options": {"score": "recency"}}, "score is not an option of rnn"),
        ({"on": "machine", "options": {"base": 4}}, "base is an option of networks"),
        ({"max_steps": -1}, "0 or more"),
        ({"time_limit": 0}, "0.1 at least"),
        ({"time_limit": True}, "0.1 at least"),
        ({"on": 5}, "expected names"),
        ({"options": 5}, "expected names with values"),
        ({"do": "verify", "max_steps": 10**7}, "too many to verify"),
        ({"on": ""}, "expected names"),
    ],
)
def test_plans_that_make_no_sense(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Plan(**given)


def test_options_go_to_the_kinds_that_have_them() -> None:
    plan = Plan(on="transformer,rnn", options={"score": "recency", "base": "4"}, max_steps=50)
    assert plan.written()["options"] == {"score": "recency", "base": "4"}
    assert Plan(**json.loads(json.dumps(plan.written()))).written() == plan.written()
    rows = list(rows_of(BEAVER, plan))
    assert [row["agrees"] for row in rows] == [True, True]
