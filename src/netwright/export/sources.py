"""Bundle the code that an export carries: a module of `written` with its imports inlined.

Source text is copied verbatim, comments and all; imports come first, each once.
"""

import ast
import re
import sys
from importlib.resources import files

PACKAGE = "netwright.export.written"
NOTICE = "# Written by netwright. It does not need netwright to run."


def has_source(name: str) -> bool:
    """Whether `written` has a module of this name."""
    return files(PACKAGE).joinpath(f"{name}.py").is_file()


def source_of(name: str) -> str:
    """Return the source of a module with its imports inlined, and `NOTICE` after its docstring."""
    parts: dict[str, str] = {}
    imports: dict[str, set[str]] = {}
    docstring = _collect(name, parts, imports)
    start = "\n\n".join([docstring, NOTICE, _imports(imports)])
    # Removed imports leave gaps.
    whole = re.sub(r"\n{4,}", "\n\n\n", "\n\n\n".join([start, *parts.values()]))
    return f"{whole.strip()}\n"


def _collect(name: str, parts: dict[str, str], imports: dict[str, set[str]]) -> str:
    """Add a module to the parts, after those that it imports; return its docstring."""
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
    """Format the import statements, the standard library first."""
    groups: dict[bool, list[str]] = {True: [], False: []}
    for module, names in sorted(imports.items(), key=lambda each: (" " in each[0], each[0])):
        own = module.removeprefix("from ").partition(".")[0] in sys.stdlib_module_names
        if " " in module:
            groups[own].append(f"{module} import {', '.join(sorted(names))}")
        else:
            groups[own] += [f"import {module} as {n}" if n else f"import {module}" for n in names]
    return "\n\n".join("\n".join(group) for group in groups.values() if group)
