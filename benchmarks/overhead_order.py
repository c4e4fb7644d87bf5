"""What one process of the overhead benchmark is asked to measure."""

from __future__ import annotations

from attrs import frozen

SUBJECTS = (
    "SimpleMLP",
    "12-block MLP",
    "BERT-shaped",
    "Llama-shaped",
    "ViT-shaped",
    "training step",
)
"""The names of the models."""

QUICK_SUBJECTS = SUBJECTS[:2]
"""Those of a quick look, and of whole processes."""

REGULAR = ("off", "off again", "on", "on, with reports")
"""The conditions of a quick look."""


@frozen(kw_only=True)
class Order:
    """One model, and how much of what is measured on it.

    Attributes:
        subject: One of `SUBJECTS`.
        n_rounds: Rounds of compiles.
        n_blocks: Rounds of calls.
        seed: Of the order within a round.
        conditions: Names of the conditions; all where it is empty.
        checkout: A torch-spyre checkout to compile through, or None.
    """

    subject: str
    n_rounds: int
    n_blocks: int
    seed: int = 0
    conditions: tuple[str, ...] = ()
    checkout: str | None = None
