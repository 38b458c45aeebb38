"""Networks for other tools: written as files that run without netwright, and checked there.

An export is a folder: code and weights for its target, the names of everything, the exact network,
and what a check of these very files found. Floats never call themselves exact here: they are
"checked to N outputs", in one runtime, on some inputs.

    targets     what can be written, and what it needs
    sources     the code that an export carries, from `written`
    check       the files beside the exact run
    folder      an export, whole or not at all
    zoo         all machines of the library
"""
