"""A stroke font for PNG pictures: each character is polylines on a grid of 5 × 9 points.

A point is two digits, x from 0 to 4 and y from 0 (top) to 8; capitals are 6 high, small letters 4,
descenders reach to 8. Polylines are separated by spaces; a point alone is a dot. SVG pictures have
real text instead.
"""

from unicodedata import normalize

WIDTH, HEIGHT = 4, 6
ADVANCE = 5.6
_GLYPHS = """
A 062046 1434|B 0006 00304142331303 33444536 3606|C 4130100105163645|D 00304145360600
E 40000646 0333|F 400006 0333|G 41301001051636454323|H 0006 4046 0343|I 1030 2026 1636
J 4045361605|K 0006 400346|L 000646|M 0600234046|N 06004640|O 103041453616050110|P 06003041423303
Q 103041453616050110 3446|R 06003041423303 2346|S 413010010213334445361605|T 0040 2026
U 000516364540|V 002640|W 0016233640|X 0046 4006|Y 002340 2326|Z 00400646|a 12324346 441405163645
b 0006 0312324345361605|c 4332120305163645|d 4046 4332120305163645|e 04444332120305163645
f 30201116 0232|g 4247381807 4332120305163645|h 0006 0312324346|i 2226 20|j 22271807 20
k 0006 420446|l 202536|m 0602 03122326 23324346|n 0602 0312324346|o 123243453616050312
p 0208 0312324345361605|q 4248 4332120305163645|r 0206 03123243|s 43321203143445361605
t 10152636 0232|u 0205163645 4246|v 022642|w 0216243642|x 0246 4206|y 0226 422607|z 02420646
0 103041453616050110 1531|1 112026 1636|2 01103041420646|3 0110304142334445361605 1333|4 36300444
5 400002324345361605|6 413010010516364544331304|7 004016|8 103041423313020110 1304051636454433
9 051636454130100102133342|- 0343|_ 0747|. 26|, 2617|: 23 26|; 23 2617|/ 4006|\\ 0046|( 30212536
) 10212516|[ 30202636|] 10202616|{ 302022132426 2636|} 102022332426 2616|# 1016 3036 0242 0444
$ 413010010213334445361605 2026|+ 0343 2125|* 0244 4204 2125|= 0242 0444|< 410345|> 014305
→ 0343 214325|← 0343 210325|! 2024 26|? 01103041422324 26|% 4006 01 45|^ 022042|' 2022|~ 03123443
… 06 26 46|× 1234 3214|ε 43321203131404163645|␣ 05074745|@ 443424233344514010011516
& 46021121324405162644
"""
_BOX = ((0, 1), (4, 1), (4, 6), (0, 6), (0, 1))


def _read() -> dict[str, list[list[tuple[int, int]]]]:
    found = {}
    for entry in _GLYPHS.strip().replace("\n", "|").split("|"):
        found[entry[0]] = [
            [(int(x), int(y)) for x, y in zip(line[::2], line[1::2], strict=True)]
            for line in entry[2:].split()
        ]
    return {**found, "|": [[(2, 0), (2, 7)]], '"': [[(1, 0), (1, 2)], [(3, 0), (3, 2)]], " ": []}


GLYPHS = _read()


def strokes(text: str, x: float, y: float, size: float) -> list[list[tuple[float, float]]]:
    """The polylines of a text whose baseline begins at (x, y); `size` is that of a font.

    >>> strokes("I.", 0, 6, 8.4)[0]
    [(1.0, 0.0), (3.0, 0.0)]
    """
    unit = size / 8.4
    return [
        [(x + (place * ADVANCE + dx) * unit, y + (dy - HEIGHT) * unit) for dx, dy in line]
        for place, character in enumerate(text)
        for line in GLYPHS.get(character) or GLYPHS.get(_plain(character), [list(_BOX)])
    ]


def _plain(character: str) -> str:
    """A subscript or superscript as the character itself, and a minus sign as a hyphen."""
    return "-" if character == "−" else normalize("NFKC", character)[:1]


def width_of(text: str, size: float) -> float:
    """How wide a text is, the space after its last character left out.

    >>> round(width_of("ab", 8.4), 1)
    9.6
    """
    return max(0.0, len(text) * ADVANCE - (ADVANCE - WIDTH)) * size / 8.4
