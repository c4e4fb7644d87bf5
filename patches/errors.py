"""What can be wrong with the source that a codemod is given."""

from __future__ import annotations

from torch_spyre_provenance.errors import ProvenanceError


class CheckoutError(ProvenanceError):
    """A path is no torch-spyre checkout, or one that cannot be read."""

    slug = "checkout"


class UnrecognisedError(ProvenanceError):
    """The source is not what the codemod was written for, so nothing was written."""

    slug = "unrecognised"
