"""A torch-spyre as it is when it was built and installed, made of a checkout.

Its sources are linked to. In the place of the C extension is a module that hands out
our stand-ins: to torch-spyre and to the adapter it looks as a built extension does.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = "torch_spyre"

EXTENSION = """
from torch_spyre_provenance.frontends.cardless import kernels
from torch_spyre_provenance.frontends.cardless.checkout import provide_backend_compiler
from torch_spyre_provenance.frontends.cardless.extension import *
from torch_spyre_provenance.frontends.host.device import register_runtime

register_runtime()
registered = kernels.register()
provide_backend_compiler()
"""

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
ENTRY_POINT = "[torch.backends]\n{name} = {target}\n"


def install(checkout: Path, site: Path, extension: str = EXTENSION) -> Path:
    """Install a checkout's package into a directory, for PYTHONPATH.

    Args:
        checkout: The checkout's root.
        site: The directory; it is made.
        extension: Source of the module that stands for the C extension.

    Returns:
        The directory.
    """
    package = site / PACKAGE
    package.mkdir(parents=True)
    for path in (checkout / PACKAGE).iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    (package / "_C.py").write_text(extension)
    return site


def add_entry_point(site: Path, name: str, target: str) -> None:
    """Let torch call a function as it is imported, as an installed package's metadata.

    Args:
        site: The directory that the metadata goes into.
        name: Name of the distribution and of its entry point.
        target: ``module:function``.
    """
    folder = site / f"{name}-0.0.1.dist-info"
    folder.mkdir(parents=True)
    metadata = METADATA.format(name=name, version="0.0.1")
    (folder / "METADATA").write_text(metadata)
    (folder / "entry_points.txt").write_text(
        ENTRY_POINT.format(name=name, target=target)
    )
