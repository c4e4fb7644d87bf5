"""The record of one compile."""

from __future__ import annotations

from importlib import import_module

from attrs import frozen

from .fx import FxGraph
from .health import Observation
from .ir import IrGraph
from .kernel import Kernel, KernelFiles, Op
from .location import Stack
from .passes import PassStep, Replacement
from .source import SourceFile
from .stage import CacheState, CompileKind, Redaction, Stage

SCHEMA_VERSION = 2
"""Version of the bundle's format.

1: six stages, attribution by rule, run facts apart (first release).
2: the job, its size and a digest of the generated module among the run facts; what was
   redacted. `store.migrations` reads version 1.
"""


@frozen(kw_only=True)
class CompileInfo:
    """What was compiled.

    Attributes:
        graph: AOTAutograd's name of the graph, ``0_inference``.
        kind: Inference, forward or backward.
        front_end: ``reference``, ``torch-spyre`` or ``torch-spyre-cardless``; None
            where the graph has no Spyre tensor.
        devices: The graph's device types, sorted.
        error: The compile's own failure, as one line; None where it succeeded.
    """

    graph: str
    kind: CompileKind
    front_end: str | None
    devices: tuple[str, ...] = ()
    error: str | None = None


@frozen(kw_only=True)
class RunFacts:
    """What differs between two runs of the same compile.

    Attributes:
        name: Name of the bundle's directory.
        compile_id: Dynamo's compile id in this process, ``0/0``, or None.
        cache: Whether the generated code came from a cache.
        time: UTC, ISO 8601.
        host: Host name.
        pid: Process id.
        rank: Distributed rank, or None.
        world_size: Number of ranks, or None outside of a distributed job.
        job: Name of the job that all of its processes share, or None.
        versions: Pairs of package name and version, sorted.
        module: Path of the generated Python module, or None.
        module_sha256: Digest of that module's bytes, in hexadecimal, or None.
        files: The directory of each kernel that has one.
        observations: The points that are observed in every run, cached or not.
    """

    name: str
    compile_id: str | None
    cache: CacheState
    time: str
    host: str
    pid: int
    rank: int | None = None
    world_size: int | None = None
    job: str | None = None
    versions: tuple[tuple[str, str], ...] = ()
    module: str | None = None
    module_sha256: str | None = None
    files: tuple[KernelFiles, ...] = ()
    observations: tuple[Observation, ...] = ()


@frozen(kw_only=True)
class Bundle:
    """Everything recorded of one compile.

    A stage that is None was not recorded; `observations` says why.

    Attributes:
        compile: What was compiled.
        stacks: The distinct stack traces, which nodes name by index.
        sources: The source lines around every frame outside of torch.
        fx_pre_grad: Dynamo's graph.
        fx_post_grad: The graph that is lowered.
        replacements: Which post-grad nodes took the place of which others.
        loop_ir_pre: LoopLevelIR before the front end's passes.
        loop_ir_post: LoopLevelIR after them.
        passes: What each pre-scheduling pass did; None where they were not observed.
        kernels: The device kernels, in the order of their definition.
        op_spec_fields: Every declared field of the front end's `OpSpec`, in order.
        observations: The points that were observed while compiling.
        run: What belongs to this run alone.
        redaction: What was replaced by pseudonyms.
        schema_version: Version of the format.
    """

    compile: CompileInfo
    stacks: tuple[Stack, ...] = ()
    sources: tuple[SourceFile, ...] = ()
    fx_pre_grad: FxGraph | None = None
    fx_post_grad: FxGraph | None = None
    replacements: tuple[Replacement, ...] = ()
    loop_ir_pre: IrGraph | None = None
    loop_ir_post: IrGraph | None = None
    passes: tuple[PassStep, ...] | None = None
    kernels: tuple[Kernel, ...] | None = None
    op_spec_fields: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()
    run: RunFacts
    redaction: Redaction = Redaction.NONE
    schema_version: int = SCHEMA_VERSION

    @property
    def all_observations(self) -> tuple[Observation, ...]:
        """Return the observations of the compile, then those of this run."""
        return self.observations + self.run.observations

    @property
    def ops(self) -> tuple[tuple[Kernel, Op], ...]:
        """Return every device op beside its kernel, in execution order."""
        return tuple((kernel, op) for kernel in self.kernels or () for op in kernel.ops)

    def to_markdown(self) -> str:
        """Return the report of the bundle as Markdown."""
        return _rendered("markdown", self)

    def _repr_html_(self) -> str:
        """Return a table of the ops and their lines, for a notebook's cell."""
        return _rendered("notebook", self)

    def counts(self) -> dict[Stage, int]:
        """Return the number of nodes, operations, ops or files of each stage."""
        pre_grad, post_grad = self.fx_pre_grad, self.fx_post_grad
        ir_pre, ir_post = self.loop_ir_pre, self.loop_ir_post
        return {
            Stage.FX_PRE_GRAD: len(pre_grad.nodes) if pre_grad else 0,
            Stage.FX_POST_GRAD: len(post_grad.nodes) if post_grad else 0,
            Stage.LOOP_IR_PRE: len(ir_pre.ops) if ir_pre else 0,
            Stage.LOOP_IR_POST: len(ir_post.ops) if ir_post else 0,
            Stage.OP_SPEC: len(self.ops),
            Stage.SUPER_DSC: sum(len(files.sdsc) for files in self.run.files),
        }


def _rendered(report: str, bundle: Bundle) -> str:
    # By name and late: a value knows of its reports and depends on none of them.
    text: str = import_module(f"torch_spyre_provenance.report.{report}").render(bundle)
    return text
