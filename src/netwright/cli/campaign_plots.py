"""The picture of a campaign: steps against cells, and how many machines halt when."""

from collections import Counter

from netwright.campaign.summary import Summary
from netwright.cli.plots import COLOURS, drawn
from netwright.errors import InputError
from netwright.text import counted


def campaign_plot(summary: Summary, title: str, suffix: str) -> bytes:
    """Both, side by side."""
    from matplotlib.figure import Figure

    if not summary.ends:
        raise InputError("--plot shows machines that halt; there is none in the campaign")
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    scores, times = figure.subplots(1, 2)
    steps = [steps for steps, _ in summary.ends]
    cells = [cells for _, cells in summary.ends]
    sizes = [12 + 6 * count.bit_length() for count in summary.ends.values()]
    scores.scatter(steps, cells, s=sizes, color=COLOURS[0], alpha=0.5, linewidths=0)
    scores.set_xlabel("steps until it halts")
    scores.set_ylabel("cells that are not blank")
    scores.set_title(f"{counted(sum(summary.ends.values()), 'machine')} that halt", fontsize=10)
    halting: Counter[int] = Counter()
    for (when, _), count in summary.ends.items():
        halting[when] += count
    longest = max(halting)
    if longest > 60:
        scores.set_xscale("symlog")
        edges = [0, *(2**k for k in range(longest.bit_length() + 1))]
        times.set_xscale("symlog")
    else:
        edges = list(range(longest + 2))
        for axis in (scores.xaxis, times.xaxis):
            axis.get_major_locator().set_params(integer=True)
    if max(cells) > 60:
        scores.set_yscale("symlog")
    else:
        scores.yaxis.get_major_locator().set_params(integer=True)
    times.hist(list(halting), bins=edges, weights=list(halting.values()), color=COLOURS[1])
    times.set_yscale("log")
    times.set_xlabel("steps until it halts")
    times.set_ylabel("machines")
    times.set_title("halting times", fontsize=10)
    for axes in (scores, times):
        axes.grid(alpha=0.3)
    figure.suptitle(title.encode(errors="replace").decode(), fontsize=10)
    return drawn(figure, suffix)
