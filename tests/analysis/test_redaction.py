"""Redacted bundles: nothing of the original is left, and every figure is the same."""

from __future__ import annotations

from collections import Counter

import pytest
from attrs import evolve, fields, has
from bundle_factory import RECORDED, bundle, fx, kernel, line, recorded, spec
from hypothesis import HealthCheck, given, settings
from small_bundles import small_bundles

from torch_spyre_provenance import model
from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.coverage import measure_coverage
from torch_spyre_provenance.analysis.diff import compare
from torch_spyre_provenance.analysis.frames import POLICY
from torch_spyre_provenance.analysis.lineage import build_lineage
from torch_spyre_provenance.analysis.losses import find_losses
from torch_spyre_provenance.analysis.matrix import build_matrix
from torch_spyre_provenance.analysis.pseudonyms import (
    Numbering,
    Originals,
    Pseudonyms,
    path_parts,
)
from torch_spyre_provenance.analysis.redaction import redact
from torch_spyre_provenance.analysis.sdsc import link_files
from torch_spyre_provenance.analysis.text_kinds import KINDS, Kind, text_attributes
from torch_spyre_provenance.analysis.verification import verify
from torch_spyre_provenance.model import ModuleCall, Observation, Redaction
from torch_spyre_provenance.store import codec

FORMS = (Redaction.PATHS, Redaction.SOURCE, Redaction.ALL)
PATHS = (
    "/home/alice/secret/model.py",
    "/home/alice/torch/model.py",
    "/home/alice/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
    "/home/alice/venv/lib/python3.11/site-packages/acme/layers.py",
    "/home/alice/pytorch/torch/nn/functional.py",
    "/usr/lib/python3.12/contextlib.py",
    "/var/torchinductor_alice/ab/cabc.py",
    "/home/alice/torch_spyre_provenance/simple_mlp.py",
    "<eval_with_key>.13",
    "<ipython-input-3-acme>",
    "relative/acme.py",
    "C:\\Users\\alice\\model.py",
)


def figures(value):
    """Return what the analyses count."""
    facts = Attributor(value)
    lineage = build_lineage(facts)
    return (
        measure_coverage(facts.attributions),
        [
            (found.evidence, found.rule, len(found.locations))
            for found in facts.attributions
        ],
        [(loss.pass_name, len(loss.lost)) for loss in find_losses(value)],
        build_matrix(value),
        Counter(
            (e.start.level, e.end.level, e.evidence, e.rule) for e in lineage.edges
        ),
        Counter(entity.ref.level for entity in lineage.entities),
        [link.state for link in link_files(value)],
        len(verify(value)),
        value.counts(),
    )


@pytest.mark.parametrize("what", FORMS)
@pytest.mark.parametrize("name", RECORDED)
def test_every_figure_stays(name, what):
    """Coverage, rules, losses, matrix, lineage and checks are what they were."""
    value = recorded(name)
    (redacted,) = redact((value,), what)
    assert figures(value) == figures(redacted)
    assert what is redacted.redaction


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(small_bundles())
def test_every_figure_of_any_program_stays(value):
    """The same holds for programs that nobody thought of."""
    (redacted,) = redact((value,), Redaction.ALL)
    assert figures(value) == figures(redacted)


@pytest.mark.parametrize("what", FORMS)
def test_redacting_is_the_same_each_time(what):
    """Stand-ins follow from the bundle alone."""
    value = recorded("attention_torch2.13")
    assert redact((value,), what) == redact((value,), what)


def test_bundles_redacted_together_stay_comparable():
    """What differs between two redacted bundles is what differed before."""
    old, new = recorded("simple_mlp_torch2.11"), recorded("simple_mlp_torch2.13")
    hidden = redact((old, new), Redaction.ALL)
    counts = [
        [len(getattr(found, each.name)) for each in fields(type(found))]
        for found in (compare(old, new), compare(*hidden))
    ]
    assert counts[0] == counts[1]


def test_every_text_of_the_model_has_a_kind():
    """A new attribute has to say what it holds before anything is redacted."""
    classes = [
        cls for cls in vars(model).values() if isinstance(cls, type) and has(cls)
    ]
    known = {
        (cls, name) for cls in classes for name, kind in text_attributes(cls) if kind
    }
    assert set(KINDS) == known


def test_an_attribute_that_nobody_judged_stops_the_redaction():
    """A class with a text that no table names cannot be walked."""

    @model.bundle.frozen
    class New:
        note: str

    with pytest.raises(TypeError, match=r"nobody said what New\.note holds"):
        text_attributes(New)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_keeps_its_owner_and_loses_its_names(path):
    """Whose frame it is decides about lines; where it lies is nobody's business."""
    originals = Originals(
        parts={text for text, is_public in path_parts(path) if not is_public}
    )
    hidden = Pseudonyms.of(originals).path(path)
    assert POLICY.owner(path) is POLICY.owner(hidden)
    assert not any(word in hidden for word in ("alice", "acme", "secret", "Users"))
    assert path.count("/") == hidden.count("/")
    assert path.startswith("/") == hidden.startswith("/")


def test_stand_ins_are_in_the_order_of_their_originals():
    """What was sorted by name stays sorted."""
    originals = [f"name_{number}" for number in range(120)]
    numbering = Numbering.of("n", originals)
    assert sorted(originals) == sorted(originals, key=numbering.__getitem__)


def test_names_of_pytorch_stay_and_names_of_the_model_go():
    """ATen operators, torch's modules and built-in functions are no secret."""
    value = bundle(
        stacks=line(3, "x = self.acme(x)", file="/home/alice/acme.py")
        and (line(3, "x = self.acme(x)", file="/home/alice/acme.py"),),
        pre=(
            evolve(
                fx("acme_1", "acme_ops.gelu2.default", stack=0),
                modules=(
                    ModuleCall(path="layers.0.acme", type="acme.nn.Fancy"),
                    ModuleCall(path="layers.0.acme.fc", type="torch.nn.Linear"),
                ),
            ),
            fx("mm", "torch.matmul", "acme_1"),
        ),
        post=(fx("mm_1", "aten.mm.default"),),
        observations=(
            Observation(
                point="x",
                stage=None,
                failed=1,
                error="KeyError: 'acme' in /home/alice/x.py",
            ),
        ),
        ir_post=(),
        kernels=(kernel(spec(0), name="sdsc_fused_acme_0"),),
    )
    text = codec.dumps(redact((value,), Redaction.ALL)[0]).decode()
    assert "acme" not in text
    assert "alice" not in text
    for kept in ("torch.nn.Linear", "torch.matmul", "aten.mm.default", ".0."):
        assert kept in text


def test_paths_go_alone_where_only_they_are_to_go():
    """Source and names stay; a path that an error quotes goes as well."""
    value = evolve(
        recorded("simple_mlp_torch2.13"),
        observations=(
            Observation(
                point="x", stage=None, failed=1, error="OSError: '/home/alice/a/b.py'"
            ),
        ),
    )
    text = codec.dumps(redact((value,), Redaction.PATHS)[0]).decode()
    assert "/models/" not in text
    assert "alice" not in text
    assert "laptop" not in text
    assert "OSError" in text
    assert "x = self.fc1(x)" in text


def test_source_goes_alone_where_only_it_is_to_go():
    """Paths stay; lines, digests and texts that may quote source go."""
    text = codec.dumps(
        redact((recorded("simple_mlp_torch2.13"),), Redaction.SOURCE)[0]
    ).decode()
    assert "/models/models.py" in text
    assert "self.fc1" not in text
    assert "Original ATen" not in text


def test_redacting_again_does_not_take_back_what_is_said():
    """A bundle without names stays called so when its paths are redacted once more."""
    (once,) = redact((recorded("simple_mlp_torch2.13"),), Redaction.ALL)
    (twice,) = redact((once,), Redaction.PATHS)
    assert Redaction.ALL is twice.redaction


def test_nothing_is_done_where_nothing_is_asked():
    """The bundle is the same object."""
    value = bundle()
    assert value is redact((value,), Redaction.NONE)[0]


def test_ids_follow_from_the_new_content():
    """A handle's id would otherwise prove a guess of its path."""
    value = recorded("attention_torch2.13")
    (redacted,) = redact((value,), Redaction.PATHS)
    before = {op.handle.id for _, op in value.ops if op.handle and op.handle.source}
    after = {op.handle.id for _, op in redacted.ops if op.handle and op.handle.source}
    assert before.isdisjoint(after)
    assert () == verify(redacted)


def test_an_id_of_an_unknown_recipe_is_replaced_as_well():
    """The same id has the same stand-in wherever it stands."""
    value = recorded("simple_mlp_torch2.13")
    (first, *rest) = value.kernels[0].ops
    other = evolve(first, handle=evolve(first.handle, id=5))
    value = evolve(value, kernels=(evolve(value.kernels[0], ops=(other, *rest)),))
    (redacted,) = redact((value,), Redaction.ALL)
    assert redacted.kernels[0].ops[0].handle.id not in (5, first.handle.id)


def test_kinds_cover_what_tells_of_people():
    """Paths, places, source and names are all somewhere."""
    assert set(Kind) == set(KINDS.values())
