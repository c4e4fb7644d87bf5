"""The adapter for torch-spyre: its own classes, found and checked, nothing replaced.

torch-spyre's version has been 0.0.1 throughout, so what it can do is read from
signatures and fields.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch._inductor.codegen.common import get_scheduling_for_device
from torch.torch_version import TorchVersion

from ..errors import FrontEndError
from .commit import commit_of
from .contract import DEVICE, FrontEnd

NAME = "torch-spyre"

_PACKAGE = "torch_spyre"
_EXTENSION = f"{_PACKAGE}._C"
_ASYNC_COMPILE = "torch_spyre.execution.async_compile:SpyreAsyncCompile"
_SCHEDULING = "torch_spyre._inductor.scheduler:SuperDSCScheduling"
_WRAPPER = "torch_spyre._inductor.wrapper:SpyrePythonWrapperCodegen"
_OP_SPEC = "torch_spyre._inductor.op_spec:OpSpec"
_HANDLE = "torch_spyre._inductor.op_spec:DebugHandle"
_GENERATIONS = ("transform_history", "fusion_context")
_CONFIG = "torch_spyre._inductor.config"
_PASSES = "torch_spyre._inductor.passes"
_CONTEXT = "torch_spyre._inductor.patches"

_CONTRACT: dict[str, dict[str, tuple[str, ...]]] = {
    _SCHEDULING: {"define_kernel": ("src_code", "node_schedule", "kernel")},
    _WRAPPER: {
        "create": ("is_subgraph", "subgraph_name", "parent_wrapper"),
        "write_header": (),
        "generate": ("is_inference",),
    },
    _ASYNC_COMPILE: {"sdsc": ("kernel_name", "specs"), "wait": ("scope",)},
}
"""The methods that recording relies on, and the parameters that they must have."""

_LOAD_ERRORS = (ImportError, OSError, AttributeError, RuntimeError)
"""What a torch-spyre raises that is not whole, or not made for this machine."""

_NO_PRE_GRAD = (
    "torch-spyre takes other passes out of pre_grad_custom_pass while it compiles; "
    'compile with backend="spyre_provenance", or apply patches/compose_passes.py'
)
_NO_OBSERVERS = (
    "torch-spyre lets nobody look between its pre-scheduling passes; apply "
    "patches/observe_passes.py"
)


def load() -> FrontEnd:
    """Load the torch-spyre that this Python can import.

    Raises:
        FrontEndError: There is none, it is not whole, or it does not load.
    """
    import_package()
    import_extension()
    run_autoload()
    return adapt(name=NAME, versions=(("torch-spyre", _installed_version()),))


def import_package(expected: Path | None = None) -> ModuleType:
    """Import the package, and nothing of it that touches the device.

    Args:
        expected: The directory that it must come from.

    Raises:
        FrontEndError: It does not import, is not torch-spyre, or is another one.
    """
    package = _module(_PACKAGE)
    if not hasattr(package, "_autoload"):
        where = list(getattr(package, "__path__", ()))
        message = f"{_PACKAGE} in {where} is not torch-spyre, or not the whole of it"
        raise FrontEndError(message)
    found = Path(package.__file__ or "").parent
    if expected is not None and found.resolve() != expected.resolve():
        message = f"{_PACKAGE} was imported from {found}, not from {expected}"
        raise FrontEndError(message)
    return package


def import_extension() -> None:
    """Import the C extension before anything is registered.

    torch-spyre registers its device first and imports the extension as it goes on. If
    that fails, the device stays, half made, and no model compiles in the process.

    Raises:
        FrontEndError: It does not import.
    """
    _module(_EXTENSION)


def run_autoload() -> None:
    """Let torch-spyre register its device and its compiler; again is harmless.

    Raises:
        FrontEndError: It fails, or failed before and will not try again.
    """
    package = sys.modules[_PACKAGE]
    try:
        package._autoload()
    except _LOAD_ERRORS as error:
        raise FrontEndError(_import_failure(error)) from error
    if get_scheduling_for_device(DEVICE) is None:
        message = (
            "torch-spyre did not register its compiler: an earlier attempt to load it "
            "failed in this process. Its message came first; start a new process"
        )
        raise FrontEndError(message)


def adapt(name: str, versions: tuple[tuple[str, str], ...]) -> FrontEnd:
    """Return the contract over a torch-spyre that was loaded.

    Args:
        name: The front end's name.
        versions: What is known of its version.

    Raises:
        FrontEndError: It lacks a class or a method that recording builds on.
    """
    for where, methods in _CONTRACT.items():
        for method, parameters in methods.items():
            _check_method(where, method, parameters)
    # Both exist in a torch-spyre to which our patches were applied.
    observers = getattr(_module(_PASSES), "pass_observers", None)
    composes = hasattr(_module(_CONTEXT), "compose_passes")
    unavailable = {
        **({} if composes else {"pre_grad_graph": _NO_PRE_GRAD}),
        **({"pass_observer": _NO_OBSERVERS} if observers is None else {}),
    }
    return FrontEnd(
        name=name,
        scheduling=_find(_SCHEDULING),
        wrapper=_find(_WRAPPER),
        async_compile=_ASYNC_COMPILE,
        config=_module(_CONFIG),
        pass_observers=observers,
        unavailable=unavailable,
        versions=(*versions, ("debug_handle", handle_generation())),
    )


def handle_generation() -> str:
    """Return what the loaded torch-spyre's own debug handles hold.

    Returns:
        The field that tells their generations apart, ``transform_history`` or
        ``fusion_context``; ``yes`` for one that is not known; ``no`` without handles.
    """
    fields = {field.name for field in dataclasses.fields(_find(_OP_SPEC))}
    if "debug_handle" not in fields:
        return "no"
    known = {field.name for field in dataclasses.fields(_find(_HANDLE))}
    return next((name for name in _GENERATIONS if name in known), "yes")


def cache_bypass() -> str | None:
    """Return why Inductor leaves torch-spyre's compiles out of its caches, or None.

    Recording has no part in it: torch-spyre gives `compile_fx` a table of
    decompositions, and newer releases of torch refuse to make a cache key of one.
    """
    if TorchVersion(torch.__version__) < TorchVersion("2.13"):
        return None
    return "not cached: torch ≥ 2.13 makes no key of the decompositions it is given"


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except _LOAD_ERRORS as error:
        raise FrontEndError(_import_failure(error)) from error


def _find(where: str) -> Any:
    module, name = where.split(":")
    found = getattr(_module(module), name, None)
    if found is None:
        message = f"this torch-spyre has no {name} in {module}, which recording needs"
        raise FrontEndError(message)
    return found


def _check_method(where: str, method: str, parameters: tuple[str, ...]) -> None:
    function = getattr(_find(where), method, None)
    if function is None:
        message = f"{where} has no method {method}, which recording builds on"
        raise FrontEndError(message)
    known = inspect.signature(function).parameters
    if missing := [name for name in parameters if name not in known]:
        message = f"{where}.{method} has no parameter {', '.join(missing)}"
        raise FrontEndError(message)


def _import_failure(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name == _PACKAGE:
        return (
            "torch-spyre is not installed: install it, compile through a checkout "
            "without a card (--torch-spyre PATH), or use the front end reference"
        )
    return f"torch-spyre does not load: {type(error).__name__}: {error}"


def _installed_version() -> str:
    """Return the version, and the commit of a package that is used from its checkout.

    The version alone tells no two releases apart.
    """
    package = sys.modules[_PACKAGE]
    try:
        found = version("torch-spyre")
    except PackageNotFoundError:
        found = str(getattr(package, "__version__", f"at {package.__file__}"))
    commit = commit_of(Path(package.__file__ or "").resolve().parents[1])
    return f"{found}, commit {commit}" if commit else found
