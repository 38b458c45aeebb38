"""The loop over tokens of a network that follows pointers, as machine code (see `kernel`)."""

from collections.abc import Sequence

from netwright.assembler import WORD, Assembler, Number
from netwright.engine.pointers import kernel
from netwright.engine.pointers.kernel import HEADER, NEXT, SLOT


class Writer(Assembler):
    """Writes the loop."""

    def __init__(self, *, recording: bool) -> None:
        carried = {name: ("clock", place) for place, name in enumerate(kernel.CARRIED)}
        arrays = ("records", "slots", "headers", "symbols", "clock", "recorded", "numbers")
        super().__init__((*arrays, "count"), kernel.STATUS, carried)
        room = self.at_first("clock", kernel.ROOM)
        now = self.carried
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), kernel.DONE)
        self.go_on_if(self.compare("!=", now["follows"], -2), kernel.MISSING)
        looks = self.compare(">=", now["follows"], 0)
        is_second = self.compare("==", now["follows"], 1)
        looked = self.choose(looks, self.choose(is_second, now["b"], now["a"]), 0)
        wanted = self.choose(is_second, now["b token"], now["a token"])
        there = self.product(looked, SLOT)
        word = self.load("slots", there)
        number = self.b.ashr(word, self.word(16))
        is_there = self.compare("==", number, wanted)
        self.go_on_if(self.b.or_(is_there, self.b.not_(looks)), kernel.STALE)
        value = self.b.and_(word, self.word(0xFFFF))
        found = self.choose(looks, value, -1)
        record = self.product(self.sum(now["case"], found), kernel.RECORD)
        fields = [self.load("records", self.sum(record, n)) for n in range(NEXT + HEADER)]
        self.go_on_if(self.compare("!=", fields[NEXT], 0), kernel.MISSING)
        is_new = self.compare("<", now["here"], 0)
        has_room = self.compare("<", now["used"], room)
        self.go_on_if(self.b.or_(has_room, self.b.not_(is_new)), kernel.NO_ROOM)
        here = self.choose(is_new, now["used"], now["here"])
        self.store_short(fields[kernel.ROW], "numbers", self.done)
        if recording:
            place = self.product(self.done, len(kernel.RECORDED))
            for n, x in enumerate((here, looked, now["a token"], now["b token"])):
                self.store(x, "recorded", self.sum(place, n))
        # Read the slot looked up before writing that of this token: they may be the same.
        both = self.load("slots", self.sum(there, 1))
        pointers = [
            (self.b.and_(both, self.word(0xFFFFFFFF)), self.load("slots", self.sum(there, 2))),
            (self.b.lshr(both, self.word(32)), self.load("slots", self.sum(there, 3))),
        ]
        own = self.product(here, SLOT)
        kept = self.b.or_(self.b.shl(now["token"], self.word(16)), now["value"])
        slots = self.b.or_(self.b.shl(now["b"], self.word(32)), now["a"])
        for n, each in enumerate((kept, slots, now["a token"], now["b token"])):
            self.store(each, "slots", self.sum(own, n))
        # The origin of a pointer: none, this token, one of its pointers, or of those found.
        first, second = (now["a"], now["a token"]), (now["b"], now["b token"])
        new = (here, now["token"])
        origins = [(0, 0), (0, 0), new, first, second, *pointers, (0, 0)]
        a, a_token = self._moved(fields[kernel.MOVE], origins)
        b, b_token = self._moved(fields[kernel.SECOND_MOVE], origins)
        # The next token's slot: the one looked up, a new one after token 0, or this one again.
        keeps_0 = self.choose(looks, self.compare("==", looked, 0), self.compare("==", here, 0))
        stays = self.choose(looks, looked, here)
        token = self.sum(now["token"], 1)
        case, follows, its_value = self._next(fields, token)
        self.again(
            **{"a token": a_token, "b token": b_token},
            case=case,
            here=self.choose(keeps_0, -1, stays),
            token=token,
            used=self.sum(now["used"], self.choose(is_new, 1, 0)),
            follows=follows,
            value=its_value,
            a=a,
            b=b,
        )

    def _next(self, fields: Sequence[Number], token: Number) -> Sequence[Number]:
        """The header of the next case: by the next symbol, or from the record; a branch."""
        before, reading, after = (self.b.block, *(self.b.append_basic_block() for _ in range(2)))
        is_reading = self.compare(">=", fields[kernel.HEADERS], 0)
        self.b.cbranch(is_reading, reading, after)
        self.b.position_at_end(reading)
        symbol = self.product(self.load_short("symbols", token), HEADER)
        header = self.sum(fields[kernel.HEADERS], symbol)
        read = [self.load("headers", self.sum(header, n)) for n in range(HEADER)]
        self.b.branch(after)
        self.b.position_at_end(after)
        found = [self.b.phi(WORD) for _ in range(HEADER)]
        for phi, own, other in zip(found, fields[NEXT:], read, strict=True):
            phi.add_incoming(own, before)
            phi.add_incoming(other, reading)
        return found

    def _moved(self, origin: Number, origins: Sequence[Sequence[Number]]) -> Sequence[Number]:
        """One of `origins` by its number, by a jump, which the processor can predict."""
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
