"""Stand-ins for paths, names and texts, the same one for the same original.

They are numbered in the order of the originals, so that whatever is sorted by name
stays sorted, and nobody can find an original by hashing guesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from . import aten
from .frames import POLICY, FramePolicy

_PATH = re.compile(r"(?<![\w/.<>)\]-])/[\w.@+<>~-]+(?:/[\w.@+<>~-]+)+")
_WORD = re.compile(r"[^\W\d]\w*")
_SUFFIX = re.compile(r"\.(?:py|json|mlir)$")
_GIVEN_BY_COMPILER = re.compile(r"(?:buf|op)\d+|\d+|")
_BUILT_IN = ("<built-in ", "<method ", "<slot wrapper ")
_NAMESPACES = (
    "_operator.",
    "aten.",
    "builtins.",
    "extern_kernels.",
    "higher_order.",
    "inductor.",
    "math.",
    "operator.",
    "prims.",
    "quantized.",
    "spyre.",
    "torch.",
)


def _words_in_table(table: object) -> Iterator[str]:
    """Yield the words of a table, keys and values alike; of all else none."""
    if isinstance(table, str):
        yield table
    elif isinstance(table, Mapping):
        for key, value in table.items():
            yield from _words_in_table(key)
            yield from _words_in_table(value)
    elif isinstance(table, frozenset | tuple):
        for item in table:
            yield from _words_in_table(item)


_OVERLOADS = frozenset(
    {"Scalar", "Tensor", "default", "dim", "dim_IntList", "int", "out", "self", "type"}
)
PUBLIC_WORDS = _OVERLOADS | frozenset(
    word
    for name, table in vars(aten).items()
    if name.isupper()
    for word in _words_in_table(table)
)
"""Words of operators' names that the analyses go by, and that everybody knows."""

PUBLIC_FUNCTIONS = frozenset(
    {"", "<genexpr>", "<lambda>", "<listcomp>", "<module>", "__call__", "forward"}
)
"""Names of functions that say nothing of a model."""


@frozen
class Numbering:
    """Numbered stand-ins for a set of originals.

    Attributes:
        prefix: What they begin with.
        numbers: The number of each original.
    """

    prefix: str
    numbers: dict[str, int]

    @classmethod
    def of(cls, prefix: str, originals: Iterable[str]) -> Numbering:
        """Return stand-ins for these originals, numbered in their order."""
        ordered = sorted(set(originals))
        return cls(prefix, {text: number for number, text in enumerate(ordered)})

    def __getitem__(self, original: str) -> str:
        width = len(str(len(self.numbers)))
        return f"{self.prefix}{self.numbers[original]:0{width}}"


@define
class Originals:
    """What is found in bundles and must not be in their redacted form.

    Attributes:
        parts: Parts of paths: directories and file names.
        words: Words that names are made of.
        nodes: Whole names of FX nodes.
        texts: Lines of source.
    """

    parts: set[str] = field(factory=set)
    words: set[str] = field(factory=set)
    nodes: set[str] = field(factory=set)
    texts: set[str] = field(factory=set)


@frozen
class Pseudonyms:
    """The stand-ins of one or several bundles.

    Attributes:
        parts: For parts of paths.
        words: For words of names.
        nodes: For names of FX nodes.
        texts: For lines of source.
        policy: Whose frames are whose; a path keeps what decides that.
    """

    parts: Numbering
    words: Numbering
    nodes: Numbering
    texts: Numbering
    policy: FramePolicy = POLICY

    @classmethod
    def of(cls, originals: Originals) -> Pseudonyms:
        """Return stand-ins for what was collected."""
        return cls(
            Numbering.of("p", originals.parts),
            Numbering.of("n", originals.words),
            Numbering.of("x", originals.nodes),
            Numbering.of("text ", originals.texts),
        )

    def path(self, path: str) -> str:
        """Return a path with stand-ins for its parts.

        What says whose file it is stays, as ``/site-packages/torch/`` does.
        """
        return "".join(
            text if is_public or not text else self._part(text)
            for text, is_public in path_parts(path, self.policy)
        )

    def in_text(self, text: str) -> str:
        """Return a text with stand-ins for the paths in it."""
        return _PATH.sub(lambda match: self.path(match[0]), text)

    def name(self, name: str) -> str:
        """Return a dotted name, or an object's `repr`, with stand-ins for its words."""
        if is_public_name(name):
            return name
        return _WORD.sub(lambda match: self._word(match[0]), name)

    def node(self, name: str) -> str:
        """Return the stand-in of an FX node's name; buffers keep theirs."""
        return name if _GIVEN_BY_COMPILER.fullmatch(name) else self.nodes[name]

    def text(self, text: str) -> str:
        """Return the stand-in of a line of source; an empty line stays empty."""
        return self.texts[text.strip()] if text.strip() else ""

    def _part(self, text: str) -> str:
        suffix = _SUFFIX.search(text)
        return self.parts[text] + (suffix[0] if suffix else "")

    def _word(self, word: str) -> str:
        return word if word in PUBLIC_WORDS else self.words[word]


def path_parts(path: str, policy: FramePolicy = POLICY) -> Iterator[tuple[str, bool]]:
    """Yield a path piece by piece, and whether the piece may stay as it is.

    Args:
        path: The path, with ``/`` as separator.
        policy: Whose frames are whose: the fragment that decides may stay, and
            everything below it where that is a framework.
    """
    start, end = _deciding_fragment(path, policy)
    for match in re.finditer(r"/|[^/]+", path):
        text, first, last = match[0], match.start(), match.end()
        if text in ("/", ".", "..") or (start <= first and last <= end):
            yield text, True
        elif start <= first < end:
            # The fragment is the beginning of a name, as in `torchinductor_alice`.
            yield text[: end - first], True
            yield text[end - first :], False
        else:
            yield text, False


def paths_in(text: str) -> Iterator[str]:
    """Yield the absolute paths that a text mentions."""
    return iter(_PATH.findall(text))


def words_of(name: str) -> Iterator[str]:
    """Yield the words of a name that need a stand-in."""
    if not is_public_name(name):
        yield from (w for w in _WORD.findall(name) if w not in PUBLIC_WORDS)


def is_public_name(name: str) -> bool:
    """Return whether a name is PyTorch's or Python's own."""
    return name.startswith((*_NAMESPACES, *_BUILT_IN)) and " at 0x" not in name


def is_compilers_name(name: str) -> bool:
    """Return whether the compiler numbered a name: a buffer's, an operation's."""
    return _GIVEN_BY_COMPILER.fullmatch(name) is not None


def _deciding_fragment(path: str, policy: FramePolicy) -> tuple[int, int]:
    """Return where the fragment that decides whose a path is begins and ends."""
    whole = "/" + path
    for table, is_open in (
        (policy.user, False),
        (policy.framework, True),
        (policy.library, False),
    ):
        for fragment in table:
            place = whole.find(fragment)
            if place >= 0:
                is_directory = is_open and fragment.endswith("/")
                end = len(path) if is_directory else place + len(fragment) - 1
                return max(place - 1, 0), end
    return -1, -1
