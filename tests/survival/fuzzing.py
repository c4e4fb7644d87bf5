"""Damaged bundles for everything that reads one: ``fuzzing.py SEED COUNT``.

Half of them are damaged as bytes, half as JSON values, where the result is whole enough
for the reader more often. Prints one JSON object with what came of them.
"""

from __future__ import annotations

import copy
import json
import random
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch_spyre_provenance.analysis.attribution import Attributor
from torch_spyre_provenance.analysis.diff import compare
from torch_spyre_provenance.analysis.merging import merge
from torch_spyre_provenance.analysis.questions import answer
from torch_spyre_provenance.analysis.redaction import redact
from torch_spyre_provenance.analysis.verification import verify
from torch_spyre_provenance.errors import BundleFormatError, NotFoundError
from torch_spyre_provenance.export.rows import rows_of
from torch_spyre_provenance.model import Bundle, Redaction
from torch_spyre_provenance.report import (
    html,
    kernel,
    markdown,
    mermaid,
    mlir,
    notebook,
)
from torch_spyre_provenance.report.answers import answer_facts, answer_text
from torch_spyre_provenance.report.differences import difference_text
from torch_spyre_provenance.report.facts import report_facts
from torch_spyre_provenance.report.findings import findings_facts, findings_text
from torch_spyre_provenance.report.jobs import jobs_facts, jobs_text
from torch_spyre_provenance.store import codec
from torch_spyre_provenance.summary import audit_facts, summary_text

BUNDLES = Path(__file__).parents[1] / "bundles"
NAMES = ("simple_mlp_torch2.13", "plain_weight_torch2.13", "attention_torch2.11")

HOSTILE = (
    None,
    True,
    -1,
    0,
    1 << 62,
    1 << 64,
    1e300,
    "",
    "x" * 10_000,
    "\ud800",
    "\x1b]0;owned\x07\x1b[2J",
    "</script><script>alert(1)</script>",
    "```\n# heading\n| a | b |",
    "\u202egpj.exe\u2066",
    "../../../../etc/passwd",
    "a.b." * 500,
    "%s{0}{{7*7}}",
    "buf0",
    "op0",
    "0",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
)
"""What is put in the place of values."""


def damaged_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return a text with one to four places damaged."""
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(damaged) or 1)
        end = place + chance.randint(1, 40)
        match chance.randrange(5):
            case 0:
                damaged[place:end] = b""
            case 1:
                damaged[place:place] = chance.randbytes(chance.randint(1, 8))
            case 2:
                damaged[place:place] = damaged[place:end]
            case 3 if damaged:
                damaged[place % len(damaged)] ^= 1 << chance.randrange(8)
            case _:
                del damaged[chance.randrange(len(damaged) or 1) :]
    return bytes(damaged)


def damaged_value(value: Any, chance: random.Random) -> bytes:
    """Return a bundle with one to three values damaged, as JSON text."""
    value = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(list(places(value)))
        damage(holder, key, chance)
    return json.dumps(value).encode()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the places of all values inside a value."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def damage(holder: Any, key: Any, chance: random.Random) -> None:
    """Damage one value in its place."""
    old = holder[key]
    match chance.randrange(6):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(old))
        case 2 if isinstance(holder, list):
            chance.shuffle(holder)
        case 3 if isinstance(old, str):
            holder[key] = chance.choice([text for text in HOSTILE if type(text) is str])
        case 4 if type(old) is int:
            holder[key] = chance.choice((0, 1, 2, 5, 99, 10_000_000, (1 << 63) - 1))
        case _:
            holder[key] = copy.deepcopy(chance.choice(HOSTILE))


def use(value: Bundle, other: Bundle) -> None:
    """Give a bundle to everything that takes one."""
    facts = Attributor(value)
    findings = verify(value)
    markdown.render_facts(facts)
    html.render_facts(facts)
    mermaid.render_facts(facts)
    mlir.render_facts(facts)
    notebook.render(value)
    ask(facts)
    kernel.render_all(facts, Path("/out"), value.run.files)
    findings_text(Path("/out"), findings)
    summary_text(value, Path("/out"))
    difference_text(compare(other, value))
    jobs = merge([("/a", value), ("/b", other)])
    jobs_text(jobs)
    rows_of("a", value)
    json.dumps(
        [
            report_facts(facts),
            findings_facts(findings),
            audit_facts(value, Path("/out")),
            jobs_facts(jobs),
        ]
    )
    (hidden,) = redact((value,), Redaction.ALL)
    codec.loads(codec.dumps(hidden))


def ask(facts: Attributor) -> None:
    """Ask a bundle for things that it may or may not have."""
    names = [kernel.name for kernel in facts.bundle.kernels or ()][:1]
    for question in (*names, "models.py:17", "fc1", "0"):
        try:
            found = answer(facts, question)
        except NotFoundError:
            continue
        answer_text(facts, found)
        json.dumps(answer_facts(facts, found))


def memory() -> int:
    """Return the most memory that this process ever had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fuzz(seed: int, count: int) -> dict[str, Any]:
    """Return what came of some damaged bundles."""
    chance = random.Random(seed)  # noqa: S311  nothing here is secret
    texts = [(BUNDLES / f"{name}.json").read_bytes() for name in NAMES]
    whole = [codec.loads(text) for text in texts]
    values = [json.loads(text) for text in texts]
    for value in whole:
        use(value, whole[0])
    before, accepted, slowest, failures = memory(), 0, 0.0, []
    for number in range(count):
        which = chance.randrange(len(NAMES))
        make = damaged_value if number % 2 else damaged_bytes
        data = make((values if number % 2 else texts)[which], chance)
        start = time.process_time()
        try:
            use(codec.loads(data), whole[which])
            accepted += 1
        except BundleFormatError:
            pass
        except Exception:  # noqa: BLE001  it is what is looked for
            failures.append({"case": number, "error": traceback.format_exc()[-1500:]})
        slowest = max(slowest, time.process_time() - start)
    return {
        "cases": count,
        "accepted": accepted,
        "slowest": slowest,
        "memory": memory() - before,
        "failures": failures[:20],
    }


if __name__ == "__main__":
    json.dump(fuzz(int(sys.argv[1]), int(sys.argv[2])), sys.stdout, indent=1)
