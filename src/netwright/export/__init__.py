"""Export networks as folders that run without netwright, and check them in their own runtime.

A folder has code and weights for its target, the names of everything, the exact network, and a
report on the check of these very files. Floats are never called exact here: they are "checked to N
outputs", in one runtime, on some inputs.

    targets     what can be written, and which packages it needs
    sources     the code that an export carries, from `written`
    check       compares the files with the exact run
    folder      writes an export, whole or not at all
    zoo         exports all machines of the library
"""
