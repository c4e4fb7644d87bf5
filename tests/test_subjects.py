"""Subjects: loading them, and blaming them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from torch_spyre_provenance.errors import SubjectError, UnsupportedError
from torch_spyre_provenance.subjects import Blame, load_subject


@pytest.fixture
def factories(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of that name, in which a test puts its factories."""
    module = ModuleType("factories")
    monkeypatch.setitem(sys.modules, "factories", module)
    return module


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [((1, 2), (1, 2)), ([1], (1,)), ("one", ("one",)), ((), ())],
)
def test_a_factory_returns_inputs_as_a_tuple_or_a_single_one(
    factories: ModuleType, inputs: object, expected: tuple[object, ...]
) -> None:
    """What is no tuple and no list is the one input."""
    factories.make = lambda: (max, inputs)
    subject = load_subject("factories:make")

    assert expected == subject.inputs
    assert max is subject.module


@pytest.mark.parametrize("made", [None, (), (max,), (1, 2), (max, 1, 2)])
def test_what_is_no_module_with_inputs_is_refused(
    factories: ModuleType, made: object
) -> None:
    """The message names the factory."""
    factories.make = lambda: made
    with pytest.raises(SubjectError, match=r"^factories:make must return a module"):
        load_subject("factories:make")


@pytest.mark.parametrize("spec", ["", ":", "a", "a:", ":b"])
def test_half_a_name_is_refused(spec: str) -> None:
    """Nothing is imported for it."""
    with pytest.raises(SubjectError, match="MODULE:FACTORY"):
        load_subject(spec)


def test_a_directory_is_searched_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that lies beside the user's scripts is found."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    (tmp_path / "beside.py").write_text("make = lambda: (max, (1, 2))")
    subject = load_subject("beside:make", search=tmp_path)
    del sys.modules["beside"]

    assert subject.module(*subject.inputs) == 2


def test_blame_keeps_the_first_line_and_the_cause() -> None:
    """The message is one line; the whole error hangs behind it."""
    error = ValueError("first\nsecond")
    with pytest.raises(SubjectError) as caught, Blame("the model fails"):
        raise error

    assert str(caught.value) == "the model fails: ValueError: first [subject]"
    assert error is caught.value.__cause__


def test_blame_shortens_what_would_fill_the_screen() -> None:
    """300 characters are enough to recognise an error."""
    with pytest.raises(SubjectError) as caught, Blame("fails"):
        raise ValueError("x" * 10_000)

    assert str(caught.value) == f"fails: ValueError: {'x' * 288}… [subject]"


def test_blame_lets_our_own_error_through() -> None:
    """The operation that cannot be lowered says more than what Dynamo wraps it in."""
    inner = UnsupportedError("no fft", operation="fft", location="model.py:3")
    with pytest.raises(UnsupportedError) as caught, Blame("the model fails"):
        raise RuntimeError("backend failed") from inner

    assert inner is caught.value


def test_blame_finds_our_error_where_dynamo_puts_it() -> None:
    """Dynamo cuts the chain and keeps the error in an attribute."""
    outer = RuntimeError("backend failed")
    outer.inner_exception = UnsupportedError("no fft")  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError), Blame("the model fails"):
        raise outer


def test_blame_is_not_for_interrupts() -> None:
    """Ctrl-C stays what it is."""
    with pytest.raises(KeyboardInterrupt), Blame("the model fails"):
        raise KeyboardInterrupt
