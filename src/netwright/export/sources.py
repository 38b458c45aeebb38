"""The code that an export carries: a file of `written`, with the parts that it imports put into it.

What is copied is what stands there, comments and all; imports come first, each once.
"""

import ast
import re
import sys
from importlib.resources import files

PACKAGE = "netwright.export.written"


def has_source(name: str) -> bool:
    """Whether there is a file of that name to be copied."""
    return files(PACKAGE).joinpath(f"{name}.py").is_file()


def source_of(name: str, notice: str) -> str:
    """A file with all of its parts in it; `notice` stands behind its docstring."""
    parts: dict[str, str] = {}
    imports: dict[str, set[str]] = {}
    docstring = _collect(name, parts, imports)
    start = "\n\n".join([docstring, notice, _imports(imports)])
    # Where imports were taken out there are gaps now.
    whole = re.sub(r"\n{4,}", "\n\n\n", "\n\n\n".join([start, *parts.values()]))
    return f"{whole.strip()}\n"


def _collect(name: str, parts: dict[str, str], imports: dict[str, set[str]]) -> str:
    """Add a file to the parts, behind those that it imports; its docstring."""
    text = files(PACKAGE).joinpath(f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    docstring = ""
    for node in ast.parse(text).body:
        taken = slice(node.lineno - 1, node.end_lineno)
        if isinstance(node, ast.Expr) and not docstring:
            docstring = "\n".join(lines[taken])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                imports.setdefault(alias.name, set()).add(alias.asname or "")
        elif isinstance(node, ast.ImportFrom):
            module = str(node.module)
            if module.startswith(PACKAGE):
                _collect(module.rpartition(".")[2], parts, imports)
            else:
                names = {alias.name for alias in node.names}
                imports.setdefault(f"from {module}", set()).update(names)
        else:
            continue
        lines[taken] = [""] * len(lines[taken])
    parts.setdefault(name, "\n".join(lines).strip())
    return docstring


def _imports(imports: dict[str, set[str]]) -> str:
    """Import statements: those of the standard library first."""
    groups: dict[bool, list[str]] = {True: [], False: []}
    for module, names in sorted(imports.items(), key=lambda each: (" " in each[0], each[0])):
        own = module.removeprefix("from ").partition(".")[0] in sys.stdlib_module_names
        if " " in module:
            groups[own].append(f"{module} import {', '.join(sorted(names))}")
        else:
            groups[own] += [f"import {module} as {n}" if n else f"import {module}" for n in names]
    return "\n\n".join("\n".join(group) for group in groups.values() if group)
