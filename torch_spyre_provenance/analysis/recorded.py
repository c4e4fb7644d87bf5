"""The compiles that the events of a trace may belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from attrs import evolve, field, frozen

from ..model import Kernel
from .attribution import Attribution, Attributor


@frozen(kw_only=True, slots=False, eq=False)
class Recorded:
    """One compile that events may belong to.

    Attributes:
        name: What to call it: the path of its bundle.
        facts: The bundle and its attribution.
        keys: torch-spyre's key of each kernel's content, by kernel, where a sidecar of
            torch-spyre has it.
    """

    name: str
    facts: Attributor
    keys: Mapping[str, str] = field(factory=dict)

    @cached_property
    def directories(self) -> Mapping[str, str]:
        """Return the name of each kernel's directory, by kernel."""
        files = self.facts.bundle.run.files
        return {f.kernel: PurePosixPath(f.directory).name for f in files}

    @cached_property
    def handles(self) -> Mapping[str, frozenset[str]]:
        """Return the ids of the handles of each kernel's ops, by kernel."""
        return {
            kernel.name: frozenset(str(op.handle.id) for op in kernel.ops if op.handle)
            for kernel in self.facts.bundle.kernels or ()
        }

    @cached_property
    def attributions(self) -> Mapping[str, tuple[Attribution, ...]]:
        """Return the attribution of each kernel's ops, by kernel."""
        found: dict[str, list[Attribution]] = {}
        for each in self.facts.attributions:
            found.setdefault(each.kernel, []).append(each)
        return {kernel: tuple(ops) for kernel, ops in found.items()}


@frozen(kw_only=True, eq=False)
class KernelRef:
    """A kernel of one of several compiles.

    Attributes:
        recorded: The compile.
        kernel: The kernel.
    """

    recorded: Recorded
    kernel: Kernel

    @property
    def ops(self) -> tuple[Attribution, ...]:
        """Return the attribution of its ops, in execution order."""
        return self.recorded.attributions.get(self.kernel.name, ())


def lend_keys(
    bundles: Iterable[Recorded], sidecars: Iterable[Recorded]
) -> tuple[Recorded, ...]:
    """Return the compiles to look in: bundles with the keys that sidecars have.

    A kernel of a bundle gets the key of the sidecar's kernel of the same name with the
    same handles. A sidecar all of whose kernels are in bundles is left out: it knows
    less of them.

    Args:
        bundles: Compiles that this package recorded.
        sidecars: What torch-spyre wrote itself.
    """
    own_ones, kept = tuple(bundles), []
    lent = [{**each.keys} for each in own_ones]
    for sidecar in sidecars:
        lacking = set(sidecar.keys)
        for own, keys in zip(own_ones, lent, strict=True):
            for name, key in sidecar.keys.items():
                if own.handles.get(name) == sidecar.handles[name]:
                    keys[name] = key
                    lacking.discard(name)
        if lacking:
            kept.append(sidecar)
    with_keys = (
        evolve(own, keys=keys) for own, keys in zip(own_ones, lent, strict=True)
    )
    return (*with_keys, *kept)
