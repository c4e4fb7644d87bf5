"""Compose torch-spyre's Inductor passes with those that are configured already.

What is wanted: a pass that somebody has put into one of Inductor's pass options should
run when a model is compiled for Spyre, as it does for every other device.

Why: ``enable_spyre_context`` sets five of these options for the time of a compile, and
by that takes out whatever was in them. So neither a tool nor a user can look at the
graph before Inductor's first pass, or around fusion, and nothing says that the pass
they registered never ran.

The change: one call around the dictionary that the context gives to ``config.patch``,
and one new module, ``pass_composition.py``, with what it calls. The configured pass
runs first, torch-spyre's own after it. The uuid of the two is that of both, so that
cache keys tell them apart; if the configured pass has none, the compile stays out of
the caches, as it would for other devices. Entering the context twice adds nothing the
second time.

What stays the same: with nothing configured, every option has the very object that it
had before. The generated code and the cache keys do not change. A pass that comes as
``options=`` of ``torch.compile`` still takes out torch-spyre's own, because Inductor
sets those once more, inside of the context.
"""

from __future__ import annotations

import sys
from pathlib import Path

import libcst as cst
from libcst import matchers as m

from .codemod import Addition, Codemod, Edit
from .command import run
from .errors import UnrecognisedError
from .syntax import (
    calls,
    function_named,
    new_statements,
    only,
    replace,
    statements_of,
)

PASS_OPTIONS = (
    "pre_grad_custom_pass",
    "post_grad_custom_pre_pass",
    "post_grad_custom_post_pass",
    "_pre_fusion_custom_pass",
    "_post_fusion_custom_pass",
)
"""The options that the context is expected to set."""

_CONTEXT = "enable_spyre_context"
_COMPOSE = "compose_passes"
_IMPORT = f"""
from .pass_composition import {_COMPOSE}
"""

_CONFIG = m.Name("config") | m.Attribute(attr=m.Name("config"))
_PATCH = m.Call(
    func=m.Attribute(value=_CONFIG, attr=m.Name("patch")),
    args=[m.Arg(keyword=None, star="")],
)
_AN_IMPORT = m.SimpleStatementLine(body=[m.Import() | m.ImportFrom()])


def compose_in_context(module: cst.Module) -> cst.Module:
    """Return ``patches.py`` with the options composed as the context sets them."""
    context = function_named(module, _CONTEXT)
    if calls(context, _COMPOSE):
        return module
    _require_options(context)
    patch = only(m.findall(context, _PATCH), f"call of config.patch in {_CONTEXT}")
    options = cst.ensure_type(patch, cst.Call).args[0].value
    composed = cst.Call(func=cst.Name(_COMPOSE), args=[cst.Arg(options)])
    *_, last = (each for each in statements_of(module) if m.matches(each, _AN_IMPORT))
    imports = (last, *new_statements(module, _IMPORT))
    return replace(module, {options: (composed,), last: imports})


def _require_options(context: cst.FunctionDef) -> None:
    def is_set(option: str) -> bool:
        key = m.SimpleString(f'"{option}"')
        return bool(m.findall(context, m.DictElement(key=key)))

    if missing := [option for option in PASS_OPTIONS if not is_set(option)]:
        raise UnrecognisedError(f"{_CONTEXT} does not set {', '.join(missing)}")


CODEMOD = Codemod(
    name=_COMPOSE,
    argument=__doc__,
    edits=(Edit(path="torch_spyre/_inductor/patches.py", rewrite=compose_in_context),),
    additions=(
        Addition(
            path="torch_spyre/_inductor/pass_composition.py",
            source=Path(__file__).with_name("pass_composition.py"),
        ),
    ),
)

if __name__ == "__main__":
    sys.exit(run(CODEMOD))
