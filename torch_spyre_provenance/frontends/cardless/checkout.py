"""A torch-spyre checkout that was never built, made importable."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from attrs import frozen

from ...errors import FrontEndError
from ..commit import commit_of

PACKAGE = "torch_spyre"
EXTENSION = f"{PACKAGE}._C"
BACKEND_COMPILER = "dxp_standalone"

_NEEDED = ("__init__.py", "_inductor/scheduler.py", "execution/async_compile.py")
_SCRIPTS = Path(__file__).parent / "bin"


@frozen(kw_only=True)
class Checkout:
    """The sources of a torch-spyre.

    Attributes:
        root: The directory that holds the package.
    """

    root: Path

    @property
    def package(self) -> Path:
        """Return the package's directory."""
        return self.root / PACKAGE

    def commit(self) -> str | None:
        """Return the commit that is checked out, where git's files say."""
        return commit_of(self.root)


def find_checkout(path: Path) -> Checkout:
    """Check that a directory holds the sources of a torch-spyre, and no build of it.

    Args:
        path: The checkout's root, or the package in it.

    Raises:
        FrontEndError: It does not.
    """
    path = path.expanduser().absolute()
    root = path.parent if path.name == PACKAGE and _is_package(path) else path
    package = root / PACKAGE
    if not package.is_dir():
        message = f"{path} is no torch-spyre checkout: it has no directory {PACKAGE}"
        raise FrontEndError(message)
    missing = [name for name in _NEEDED if not (package / name).is_file()]
    if missing:
        names = ", ".join(missing)
        message = f"{package} is no torch-spyre that can be used: it lacks {names}"
        raise FrontEndError(message)
    if PathFinder.find_spec(EXTENSION, [str(package)]) is not None:
        message = (
            f"{root} was built, and stand-ins do not mix with its C extension: put it "
            "on PYTHONPATH and use the front end torch-spyre"
        )
        raise FrontEndError(message)
    return Checkout(root=root)


class _StandInFinder(MetaPathFinder, Loader):
    """Supplies ``torch_spyre._C`` where no other finder has one."""

    def __init__(self, names: Sequence[tuple[str, object]]) -> None:
        self._names = tuple(names)

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        if fullname != EXTENSION:
            return None
        return ModuleSpec(fullname, self, origin="stand-in")

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._names)


def make_importable(checkout: Checkout, extension: ModuleType) -> None:
    """Put a checkout first on the import path, and a stand-in behind its extension.

    Args:
        checkout: The sources.
        extension: Its ``__all__`` becomes ``torch_spyre._C``.
    """
    if str(checkout.root) not in sys.path:
        sys.path.insert(0, str(checkout.root))
    importlib.invalidate_caches()
    if not any(isinstance(finder, _StandInFinder) for finder in sys.meta_path):
        names = [(name, getattr(extension, name)) for name in extension.__all__]
        sys.meta_path.append(_StandInFinder(names))


def provide_backend_compiler() -> str:
    """Put a stand-in for the backend compiler on the PATH, if there is no real one.

    Returns:
        The path of the command that torch-spyre will call.

    Raises:
        FrontEndError: The stand-in cannot be executed where it is.
    """
    found = shutil.which(BACKEND_COMPILER)
    if found is not None:
        return found
    os.environ["PATH"] = os.pathsep.join([str(_SCRIPTS), os.environ.get("PATH", "")])
    found = shutil.which(BACKEND_COMPILER)
    if found is None:
        message = f"{_SCRIPTS / BACKEND_COMPILER} is not executable: chmod +x it"
        raise FrontEndError(message)
    return found


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").is_file()
