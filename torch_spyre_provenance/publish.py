"""Writing everything that one compile leaves on disk."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from attrs import field, frozen

from .analysis.attribution import Attributor
from .analysis.redaction import redact
from .errors import OutputError
from .model import Bundle, Redaction
from .report import kernel, markdown
from .store.atomic import write_bytes
from .store.bundle_dir import bundle_file, write_bundle, write_text
from .store.record import BundleText, text_of
from .store.retention import prune

REPORT_FILE = "report.md"
"""Name of the report in a bundle's directory."""

KERNEL_FILE = "provenance.json"
"""Name of the record in each kernel's directory."""


@frozen(kw_only=True)
class Publisher:
    """How bundles are written.

    Attributes:
        redaction: What is replaced before anything is written.
        keep: Most bundles to leave in the directory, which is swept after that many
            more, and when the recording ends; None for all.
        compress_from: Bytes from which on a bundle is compressed; None for never.
    """

    redaction: Redaction = Redaction.NONE
    keep: int | None = None
    compress_from: int | None = None
    _written: Iterator[int] = field(factory=lambda: itertools.count(1), init=False)

    def publish(self, bundle: Bundle, root: Path) -> Path:
        """Write a bundle and all that is made from it: `write`, then `render`.

        Args:
            bundle: The bundle of one compile in this process.
            root: Directory of all bundles.

        Returns:
            The bundle's directory.

        Raises:
            OutputError: Something cannot be written. What could be written stays, and
                each file is whole.
        """
        directory = self.write(text_of(bundle), root)
        self.render(bundle, directory)
        return directory

    def write(self, text: BundleText, root: Path) -> Path:
        """Write a bundle alone: the one part that a compile has to wait for.

        Args:
            text: The bundle of one compile in this process.
            root: Directory of all bundles.

        Returns:
            The bundle's directory.

        Raises:
            OutputError: It cannot be written; nothing half written is left.
        """
        if self.redaction is not Redaction.NONE:
            text = text_of(self._shown(text.bundle))
        directory = write_text(root, text, {}, self.compress_from)
        if self.keep is not None and next(self._written) % self.keep == 0:
            prune(root, self.keep)
        return directory

    def render(self, bundle: Bundle, directory: Path) -> None:
        """Write a bundle's report, and a record into every kernel's directory.

        Where bundles are limited in number, the oldest ones go, and one that is gone
        already gets no report.

        Args:
            bundle: The bundle as it was recorded.
            directory: Its directory.

        Raises:
            OutputError: Something cannot be written. What could be written stays, and
                each file is whole.
        """
        shown = self._shown(bundle)
        facts = Attributor(shown)
        report = markdown.render_facts(facts).encode("utf-8", "backslashreplace")
        try:
            write_bytes(directory / REPORT_FILE, report)
        except OutputError:
            if self.keep is None or bundle_file(directory).is_file():
                raise
            return  # others have written so many since that it was swept away
        named = directory if shown is bundle else Path("/", directory.name)
        records = kernel.render_all(facts, named, shown.run.files)
        failures: list[OutputError] = []
        for files, record in zip(bundle.run.files, records, strict=True):
            try:
                write_bytes(Path(files.directory) / KERNEL_FILE, record)
            except OutputError as error:
                failures.append(error)
        if self.keep is not None:
            prune(directory.parent, self.keep)
        if failures:
            raise OutputError(
                f"{directory} is written, {len(failures)} of {len(bundle.run.files)} "
                f"kernel directories are not: {failures[0].args[0]}"
            ) from failures[0]

    def _shown(self, bundle: Bundle) -> Bundle:
        """Return what may be written of a bundle."""
        if self.redaction is Redaction.NONE:
            return bundle
        (redacted,) = redact((bundle,), self.redaction)
        return redacted


def write_with_report(bundle: Bundle, root: Path) -> Path:
    """Write a bundle and its report, and nothing into its kernels' directories.

    Args:
        bundle: A bundle of any process.
        root: Directory of all bundles.

    Returns:
        The bundle's directory.

    Raises:
        OutputError: It cannot be written; nothing half written is left.
    """
    report = markdown.render(bundle).encode("utf-8", "backslashreplace")
    return write_bundle(root, bundle, {REPORT_FILE: report})
