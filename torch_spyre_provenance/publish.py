"""Writing everything that one compile leaves on disk."""

from __future__ import annotations

from pathlib import Path

from .analysis.attribution import Attributor
from .errors import OutputError
from .model import Bundle
from .report import kernel, markdown
from .store.atomic import write_bytes
from .store.bundle_dir import write_bundle

REPORT_FILE = "report.md"
"""Name of the report in a bundle's directory."""

KERNEL_FILE = "provenance.json"
"""Name of the record in each kernel's directory."""


def publish(bundle: Bundle, root: Path) -> Path:
    """Write a bundle, its report, and a record into every kernel's directory.

    Args:
        bundle: The bundle of one compile in this process.
        root: Directory of all bundles.

    Returns:
        The bundle's directory.

    Raises:
        OutputError: Something cannot be written. What could be written stays, and each
            file is whole.
    """
    facts = Attributor(bundle)
    report = markdown.render_facts(facts).encode("utf-8", "backslashreplace")
    directory = write_bundle(root, bundle, {REPORT_FILE: report})
    failures: list[OutputError] = []
    records = kernel.render_all(facts, directory, bundle.run.files)
    for files, record in zip(bundle.run.files, records, strict=True):
        try:
            write_bytes(Path(files.directory) / KERNEL_FILE, record)
        except OutputError as error:
            failures.append(error)
    if failures:
        raise OutputError(
            f"{directory} is written, {len(failures)} of {len(bundle.run.files)} "
            f"kernel directories are not: {failures[0].args[0]}"
        ) from failures[0]
    return directory
