"""Campaigns: run, verify or certify very many machines, and never lose a row.

    status = netwright.campaign.run("all:3x2", Plan(on="transformer", do="certify"), "certified")
    for row in netwright.campaign.rows("certified"): ...

`driver` starts or resumes one; `under_way` hands batches of machines from `sources` to the workers
of an engine (`pool`, `on_dask`); these do the `work` of a `plan`; the `store` keeps the rows;
`summary` reads them.
"""

from netwright.campaign.driver import rows, run, status
from netwright.campaign.on_dask import Dask
from netwright.campaign.plan import Plan
from netwright.campaign.pool import Local
from netwright.campaign.under_way import Status

__all__ = ["Dask", "Local", "Plan", "Status", "rows", "run", "status"]
