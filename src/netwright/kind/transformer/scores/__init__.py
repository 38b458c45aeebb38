"""The scores of Lemma B.4, by their names: the paper's, and others for the same theorem."""

from netwright.errors import InputError, unknown
from netwright.kind.transformer.scores.paper import PAPER
from netwright.kind.transformer.scores.recency import RECENCY
from netwright.kind.transformer.scores.score import Score

__all__ = ["PAPER", "RECENCY", "SCORES", "Score", "read_score"]
SCORES = {score.name: score for score in (PAPER, RECENCY)}


def read_score(score: Score | str | None) -> Score:
    """A score by its name; none is the paper's.

    >>> read_score("recency").title
    'score by recency'
    """
    if score is None or isinstance(score, Score):
        return score or PAPER
    if score not in SCORES:
        raise InputError(unknown("score", str(score), list(SCORES)))
    return SCORES[score]
