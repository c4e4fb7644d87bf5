"""Whose code a stack frame is, and which frame of a stack stands for it.

The policy is data: tables of path fragments. A directory is never judged by its name
alone, for people keep models under directories called ``torch``.
"""

from __future__ import annotations

import re
from enum import StrEnum

from attrs import frozen

from ..model import Frame, Stack

_CARETS = re.compile(r"^\s*[~^]+\s*$")


class Owner(StrEnum):
    """Whose code a frame runs.

    ``USER`` wrote the program; ``LIBRARY`` is an installed package or Python itself;
    ``FRAMEWORK`` is PyTorch, torch-spyre or this package.
    """

    USER = "user"
    LIBRARY = "library"
    FRAMEWORK = "framework"


@frozen(kw_only=True)
class FramePolicy:
    """Which files are whose, by fragments of their paths with ``/`` as separator.

    The first table that matches decides: user, framework, library; else user.

    Attributes:
        user: Fragments of files that are subjects although they lie in a framework.
        framework: Fragments of files of the frameworks.
        library: Fragments of files of other installed code.
    """

    user: tuple[str, ...] = ()
    framework: tuple[str, ...] = ()
    library: tuple[str, ...] = ()

    def owner(self, file: str) -> Owner:
        """Return whose a file is."""
        path = "/" + file.replace("\\", "/")
        if any(part in path for part in self.user):
            return Owner.USER
        if any(part in path for part in self.framework):
            return Owner.FRAMEWORK
        if any(part in path for part in self.library):
            return Owner.LIBRARY
        return Owner.USER

    def headline(self, stack: Stack) -> Frame | None:
        """Return the frame that stands for a stack.

        It is the innermost frame of the user; where there is none, the innermost of a
        library. A stack of framework frames alone stands for nothing.
        """
        best: Frame | None = None
        for frame in reversed(stack):
            owner = self.owner(frame.file)
            if owner is Owner.USER:
                return frame
            if owner is Owner.LIBRARY and best is None:
                best = frame
        return best


_INSTALLED = ("/site-packages", "/dist-packages")
_FRAMEWORKS = ("torch", "torch_spyre", "torch_spyre_provenance", "functorch", "triton")
_CHECKED_OUT = (
    # Parts of PyTorch that appear in stack traces, for checkouts and editable installs.
    "/torch/_compile.py",
    "/torch/_decomp/",
    "/torch/_dynamo/",
    "/torch/_functorch/",
    "/torch/_higher_order_ops/",
    "/torch/_inductor/",
    "/torch/_library/",
    "/torch/_ops.py",
    "/torch/_prims/",
    "/torch/_prims_common/",
    "/torch/_refs/",
    "/torch/_subclasses/",
    "/torch/_tensor.py",
    "/torch/autograd/",
    "/torch/fx/",
    "/torch/nn/functional.py",
    "/torch/nn/modules/",
    "/torch/nn/parallel/",
    "/torch/utils/_contextlib.py",
    "/torch/utils/checkpoint.py",
    # The same for torch-spyre and for this package.
    "/torch_spyre/__init__.py",
    "/torch_spyre/_inductor/",
    "/torch_spyre/_monkey_patch.py",
    "/torch_spyre/execution/",
    "/torch_spyre/ops/",
    "/torch_spyre_provenance/backend.py",
    "/torch_spyre_provenance/frontends/",
    "/torch_spyre_provenance/recording/",
)
_GENERATED = ("/<eval_with_key>", "/torchinductor_", "/<torch_package")

POLICY = FramePolicy(
    user=("/torch_spyre_provenance/simple_mlp.py",),
    framework=(
        *(f"{place}/{name}/" for place in _INSTALLED for name in _FRAMEWORKS),
        *_CHECKED_OUT,
        *_GENERATED,
    ),
    library=(
        *(f"{place}/" for place in _INSTALLED),
        *(
            f"/lib{bits}/python3.{minor}/"
            for bits in ("", "64")
            for minor in range(8, 20)
        ),
        "/<frozen ",
    ),
)
"""The policy that the analyses use.

Notebook cells (``<ipython-input-…>``, ``ipykernel_…/….py``) and ``exec``'d code
(``<string>``) belong to the user.
"""


def source_text(frame: Frame) -> str | None:
    """Return the line that a frame quotes, unless it is a row of caret marks."""
    if not frame.text or _CARETS.match(frame.text):
        return None
    return frame.text.strip()
