"""The site's settings for Sphinx: `make docs`. docs/pages.py writes what is generated."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "netwright"
author = "The netwright authors"
project_copyright = author
version = release = version_of("netwright")

extensions = ["myst_nb", "sphinx.ext.autodoc", "pages"]
exclude_patterns = ["images", "generated/executed"]
myst_enable_extensions = ["attrs_block", "deflist", "fieldlist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # tests run the notebooks, and compare
nb_ipywidgets_js: dict[str, str] = {}  # it would be loaded from elsewhere
suppress_warnings = ["myst.header"]  # pages that begin with a table or a picture

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
smartquotes_action = "q"  # and "--" in text is an option's
default_role = "code"  # in docstrings, `x` is code
python_use_unqualified_type_names = True
nitpick_ignore_regex = [
    # In signatures: types of other packages, which have no pages, and internal ones.
    ("py:class", r"(collections|os|pathlib|fractions|contextlib|flint|numpy|np)\..*|NDArray|Stack"),
    ("py:class", r"netwright\.(campaign|engine|exact|kind|drawing|explorer)\..*|.*\.Checker"),
    ("py:class", r"Experiment|tuple\[str \| None"),
]

html_theme = "furo"
html_title = "netwright"
html_favicon = "../src/netwright/explorer/web/icon.svg"
html_static_path = ["static"]
html_css_files = ["netwright.css"]
html_extra_path = ["generated/extra"]
html_show_copyright = False
html_copy_source = False
