"""Bundles as text: what a compile writes, and what generated code carries of it.

A `Record` is a bundle's own canonical text with a gap where `run` belongs. So a compile
and every cache hit of it write the same bytes, and neither makes objects of the text.
"""

from __future__ import annotations

import binascii
import json
import zlib

from attrs import define, field, frozen

from ..errors import BundleFormatError
from ..model import Bundle, RunFacts
from . import codec
from .limits import MAX_BYTES

_SOURCE = "the embedded record"
_LEVEL = 3  # 6 makes it a tenth shorter, in four times the time
_BETWEEN = b"\0"  # which no JSON text holds


@define(eq=False)
class BundleText:
    """A bundle as text, and as an object once somebody asks for it.

    Attributes:
        data: The bundle's canonical text.
        name: The bundle's `run.name`.
    """

    data: bytes = field(repr=False)
    name: str
    _bundle: Bundle | None = field(default=None, repr=False)

    @property
    def bundle(self) -> Bundle:
        """Return the bundle.

        Raises:
            BundleFormatError: The text is not one.
        """
        if self._bundle is None:
            self._bundle = codec.loads(self.data)
        return self._bundle


def text_of(bundle: Bundle) -> BundleText:
    """Return a bundle as text."""
    return BundleText(codec.dumps(bundle), bundle.run.name, bundle)


@frozen
class Record:
    """A compile's part of a bundle: all but its `run`.

    Attributes:
        graph: The bundle's `compile.graph`.
        head: The bundle's text before the value of `run`.
        tail: The bundle's text after it.
    """

    graph: str
    head: bytes | bytearray = field(repr=False)
    tail: bytes | bytearray = field(repr=False)

    def with_run(self, run: RunFacts) -> BundleText:
        """Return the bundle of a run of this compile, or of its cache entry."""
        data = b"".join((self.head, codec.run_text(run), self.tail))
        return BundleText(data, run.name)

    def packed(self) -> str:
        """Return the record as compact text for generated source code.

        Returns:
            ASCII letters, digits, ``+``, ``/`` and ``=`` only.
        """
        graph = json.dumps(self.graph).encode("ascii")
        packer = zlib.compressobj(_LEVEL)
        parts = (graph, _BETWEEN, self.head, _BETWEEN, self.tail)
        data = b"".join((*map(packer.compress, parts), packer.flush()))
        # Base 64 is 7 % longer than base 85, which Python encodes a hundred times
        # slower.
        return binascii.b2a_base64(data, newline=False).decode("ascii")


def record_of(bundle: Bundle) -> Record:
    """Return a bundle's part that does not depend on the run.

    Args:
        bundle: The bundle; its `run` counts for nothing.
    """
    return Record(bundle.compile.graph, *codec.around_run(bundle))


def unpack(text: str) -> Record:
    """Return the record that `Record.packed` packed.

    Its checksum is checked, and nothing else before `BundleText.bundle` is asked for.

    Args:
        text: What `packed` returned.

    Returns:
        The record.

    Raises:
        BundleFormatError: The text is not what `packed` returns.
    """
    graph, _, rest = _inflate(text).partition(_BETWEEN)
    head, gap, tail = rest.partition(_BETWEEN)
    if not gap:
        raise BundleFormatError(f"{_SOURCE} has no gap for the facts of a run")
    return Record(json.loads(graph), head, tail)


def _inflate(text: str) -> bytes:
    try:
        packed = binascii.a2b_base64(text, strict_mode=True)
        inflater = zlib.decompressobj()
        data = inflater.decompress(packed, MAX_BYTES)
    except (ValueError, zlib.error) as error:
        raise BundleFormatError(f"{_SOURCE} cannot be unpacked: {error}") from error
    if not inflater.eof:
        raise BundleFormatError(f"{_SOURCE} is cut off, or over {MAX_BYTES} bytes")
    return data
