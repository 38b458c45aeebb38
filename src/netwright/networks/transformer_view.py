"""What a token of Trans_M shows: its residual stream in the paper's groups, its parts in words."""

from netwright.networks.view import Column, Part, View

VIEW = View(
    groups=(
        ("q1", "s1", "x1"),
        ("q2", "s2", "x2", "x3", "x4", "x5"),
        ("s3", "x6", "s4", "x7"),
        ("x8", "x9", "x10", "x11", "x12"),
    ),
    short=(
        ("q1", "state"),
        ("s1", "symbol"),
        ("x1", "last move"),
        ("q2", "next state"),
        ("s2", "written"),
        ("x2", "move"),
        ("x3", "last move"),
        ("x4", "(next cell + 1) / t"),
        ("x5", "(cell + 1) / t"),
        ("s3", "input symbol"),
        ("x6", "input place"),
        ("s4", "last written"),
        ("x7", "last visit ℓ, from 0"),
        ("x8", "one"),
        ("x9", "position"),
        ("x10", "1 / t"),
        ("x11", "1 / t²"),
        ("x12", "1 / t³"),
    ),
    columns=(
        Column("decoder.1.input", "y + pos"),
        Column("decoder.1.a", "+ encoder", 1),
        Column("decoder.1.z", "+ O₁: the rule", 1),
        Column("decoder.2.p", "+ self: the mean", 2),
        Column("decoder.3.p", "+ self: last visit", 3),
        Column("y", "F"),
    ),
    parts=(
        Part(
            "input",
            "decoder.1.input",
            "y_{t−1} + pos(t)",
            "The last output comes back, with its position: 1, t, 1/t, 1/t², …",
        ),
        Part(
            "decoder.1.self",
            "decoder.1.p",
            "p¹ = Att(Q(x), K(X), V(X)) + x",
            "Layer 1 asks no other token: its values are 0, so nothing is added.",
            1,
        ),
        Part(
            "decoder.1.external",
            "decoder.1.a",
            "a¹ = Att(p¹, Kᵉ, Vᵉ) + p¹",
            "Lemma B.1: position t asks the encoder and gets symbol t of the input, and its "
            "place; the last symbol once the input is over.",
            1,
        ),
        Part(
            "decoder.1.O",
            "decoder.1.z",
            "z¹ = O₁(a¹) + a¹",
            "Lemma B.2: the rule. From state and symbol come the next state, the symbol to "
            "write and the move; what was in the first blocks is cancelled.",
            1,
        ),
        Part(
            "decoder.2.self",
            "decoder.2.p",
            "p² = Att(Q₂(z¹), K₂, V₂) + z¹",
            "Lemma B.3: all scores are equal, so attention is a mean. The mean of all moves "
            "times t is the cell of the head, counted from where it began, left of the input.",
            2,
        ),
        Part(
            "decoder.2.external",
            "decoder.2.a",
            "a² = Att(p², Kᵉ, Vᵉ) + p²",
            "The encoder gives symbol t and its place once more, so they are doubled.",
            2,
        ),
        Part(
            "decoder.2.O",
            "decoder.2.z",
            "z² = O₂(a²) + a²",
            "O₂ halves them again: z² = p².",
            2,
        ),
        Part(
            "decoder.3.self",
            "decoder.3.p",
            "p³ = Att(Q₃(z²), K₃, V₃) + z²",
            "Lemma B.4: the best score has the last token that was on the cell the head goes "
            "to. It gives the symbol that it wrote, and its own number.",
            3,
        ),
        Part(
            "decoder.3.external",
            "decoder.3.a",
            "a³ = Att(p³, Kᵉ, Vᵉ) + p³",
            "The encoder gives symbol t and its place once more, so they are doubled.",
            3,
        ),
        Part(
            "decoder.3.O",
            "decoder.3.z",
            "z³ = O₃(a³) + a³",
            "O₃ halves them again: z³ = p³.",
            3,
        ),
        Part(
            "F",
            "y",
            "y_t = F(z³)",
            "Lemma B.5: the next symbol is the one written at the last visit; or, on a fresh "
            "cell, the input's symbol there or a blank.",
        ),
    ),
    drawn="decoder.3.self",
)
