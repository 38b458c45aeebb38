"""The loop over tokens of a network that follows pointers, as machine code (see `kernel`)."""

from collections.abc import Sequence

from netwright.assembler import WORD, Assembler, Number
from netwright.runtime.pointers.kernel import (
    CARRIED,
    DONE,
    MISSING,
    MOVE,
    NEXT,
    NEXT_FOLLOWS,
    NEXT_VALUE,
    NO_ROOM,
    NOBODY,
    RECORD,
    ROOM,
    ROW,
    SECOND_MOVE,
    STALE,
    STATUS,
)


class Writer(Assembler):
    """Writes the loop."""

    def __init__(self) -> None:
        carried = {name: ("clock", place) for place, name in enumerate(CARRIED)}
        super().__init__(("records", "slots", "numbers", "clock", "count"), STATUS, carried)
        nobody, room = self.at_first("clock", NOBODY), self.at_first("clock", ROOM)
        now = self.carried
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), DONE)
        self.go_on_if(self.compare("!=", now["follows"], -2), MISSING)
        looks = self.compare(">=", now["follows"], 0)
        is_second = self.compare("==", now["follows"], 1)
        looked = self.choose(looks, self.choose(is_second, now["b"], now["a"]), 0)
        wanted = self.choose(is_second, now["b token"], now["a token"])
        there = self.product(looked, RECORD)
        number, value, *pointers = (self.load("slots", self.sum(there, n)) for n in range(6))
        is_there = self.compare("==", number, wanted)
        self.go_on_if(self.b.or_(is_there, self.b.not_(looks)), STALE)
        found = self.choose(looks, value, nobody)
        row = self.product(now["case"], self.b.add(nobody, self.word(1)))
        record = self.product(self.sum(row, found), RECORD)
        fields = [self.load("records", self.sum(record, n)) for n in range(SECOND_MOVE + 1)]
        self.go_on_if(self.compare(">=", fields[ROW], 0), MISSING)
        is_new = self.compare("<", now["here"], 0)
        has_room = self.compare("<", now["used"], room)
        self.go_on_if(self.b.or_(has_room, self.b.not_(is_new)), NO_ROOM)
        here = self.choose(is_new, now["used"], now["here"])
        self.store_short(fields[ROW], "numbers", self.done)
        own = self.product(here, RECORD)
        kept = (now[name] for name in ("token", "value", "a", "a token", "b", "b token"))
        for n, each in enumerate(kept):
            self.store(each, "slots", self.sum(own, n))
        # Where a pointer comes from: nowhere, this token, one of its pointers, or of those found.
        first, second = (now["a"], now["a token"]), (now["b"], now["b token"])
        origins = [
            (0, 0),
            (0, 0),
            (here, now["token"]),
            first,
            second,
            pointers[:2],
            pointers[2:],
            (0, 0),
        ]
        a, a_token = self._moved(fields[MOVE], origins)
        b, b_token = self._moved(fields[SECOND_MOVE], origins)
        # The next token's slot: the one looked up, a new one behind token 0, or this one again.
        keeps_0 = self.choose(looks, self.compare("==", looked, 0), self.compare("==", here, 0))
        stays = self.choose(looks, looked, here)
        self.again(
            **{"a token": a_token, "b token": b_token},
            case=fields[NEXT],
            here=self.choose(keeps_0, -1, stays),
            token=self.sum(now["token"], 1),
            used=self.sum(now["used"], self.choose(is_new, 1, 0)),
            follows=fields[NEXT_FOLLOWS],
            value=fields[NEXT_VALUE],
            a=a,
            b=b,
        )

    def _moved(self, origin: Number, origins: Sequence[Sequence[Number]]) -> Sequence[Number]:
        """One of some by its number: by a jump, which the processor foresees."""
        after = self.b.append_basic_block()
        blocks = [self.b.append_basic_block() for _ in origins]
        jump = self.b.switch(origin, blocks[0])
        for n, block in enumerate(blocks):
            if n:
                jump.add_case(WORD(n), block)
            self.b.position_at_end(block)
            self.b.branch(after)
        self.b.position_at_end(after)
        found = [self.b.phi(WORD) for _ in range(2)]
        for block, pair in zip(blocks, origins, strict=True):
            for phi, each in zip(found, pair, strict=True):
                phi.add_incoming(self.word(each), block)
        return found
