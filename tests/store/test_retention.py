"""Pruning takes the oldest bundles, and never what it did not write."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from attrs import evolve
from bundle_factory import bundle, run_facts
from filelock import FileLock

from torch_spyre_provenance.errors import OutputError
from torch_spyre_provenance.publish import Publisher
from torch_spyre_provenance.store import find_bundles, write_bundle
from torch_spyre_provenance.store.record import text_of
from torch_spyre_provenance.store.retention import ABANDONED_AFTER, Pruned, prune


def filled(root, count):
    """Return the directories of some bundles, the first one the oldest."""
    directories = []
    for number in range(count):
        directory = write_bundle(root, bundle(), {"report.md": b"text"})
        os.utime(directory / "bundle.json", (1000 + number, 1000 + number))
        directories.append(directory)
    return directories


def test_the_oldest_go(tmp_path):
    """As many stay as are asked for."""
    made = filled(tmp_path, 5)
    pruned = prune(tmp_path, 2)
    assert Pruned(removed=tuple(made[:3]), kept=tuple(made[3:])) == pruned
    assert tuple(made[3:]) == find_bundles(tmp_path)
    assert not any(path.exists() for path in made[:3])


def test_looking_removes_nothing(tmp_path):
    """A dry run tells what would go."""
    made = filled(tmp_path, 3)
    assert tuple(made[:2]) == prune(tmp_path, 1, only_look=True).removed
    assert tuple(made) == find_bundles(tmp_path)


def test_young_bundles_stay(tmp_path):
    """An age can be asked for as well; a bundle of the future is young."""
    made = filled(tmp_path, 3)
    assert tuple(made[:1]) == prune(tmp_path, 0, 100.5, now=1101).removed
    assert () == prune(tmp_path, 0, 10, now=500).removed


def test_what_we_did_not_write_stays(tmp_path):
    """Foreign files, links, other tools' directories: all as they were."""
    outside = tmp_path / "outside"
    (mine,) = filled(outside, 1)
    root = tmp_path / "root"
    with_note, with_link, with_directory, plain = filled(root, 4)
    (with_note / "notes.txt").write_text("mine")
    (with_link / "report.md").unlink()
    (with_link / "report.md").symlink_to(mine / "report.md")
    (with_directory / "more").mkdir()
    (root / "linked").symlink_to(mine)
    (root / "file").write_text("mine")
    other = root / "other"
    other.mkdir()
    (other / "bundle.json").write_text('{"name": "of another tool"}')
    before = sorted(map(str, root.rglob("*")))

    pruned = prune(root, 0)

    gone = {str(path) for path in (plain, plain / "bundle.json", plain / "report.md")}
    lock = str(root / ".torch_spyre_provenance.lock")
    after = set(map(str, root.rglob("*"))) - {lock}
    assert set(before) - gone == after
    assert (plain,) == pruned.removed
    assert 6 == len(pruned.foreign)
    assert mine.exists()


def test_a_dead_writers_directory_goes_once_it_is_old(tmp_path):
    """A report and half a bundle are left by a kill; a living writer is left alone."""
    (made,) = filled(tmp_path, 1)
    (made / "bundle.json").unlink()
    (made / ".bundle.json.abcd1234").write_bytes(b"{")
    os.utime(made, (1000, 1000))
    assert () == prune(tmp_path, 0, now=1000 + ABANDONED_AFTER - 1).removed
    assert (made,) == prune(tmp_path, 9, now=1000 + ABANDONED_AFTER).removed


def test_two_at_once_do_not_meet(tmp_path):
    """Where somebody holds the lock, the other one leaves it to him."""
    made = filled(tmp_path, 2)
    with FileLock(tmp_path / ".torch_spyre_provenance.lock"):
        assert Pruned() == prune(tmp_path, 0)
    assert tuple(made) == find_bundles(tmp_path)


def test_pruning_while_others_write(tmp_path):
    """Writers and pruners in threads: nobody fails, and the newest are there.

    Each bundle has a name of its own, as `run_facts.bundle_name` gives it.
    """
    publisher = Publisher(keep=5)

    def publish(number):
        publisher.publish(evolve(bundle(), run=run_facts(f"writer-{number}")), tmp_path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(publish, range(60)))
    prune(tmp_path, 5)
    assert 5 == len(find_bundles(tmp_path))


def test_a_report_of_a_bundle_that_was_swept_away(tmp_path):
    """It is not written, and that is no failure; without a limit it would be one."""
    directory = tmp_path / "gone"
    Publisher(keep=1).render(bundle(), directory)
    assert not directory.exists()
    with pytest.raises(OutputError):
        Publisher().render(bundle(), directory)


def test_a_recording_keeps_at_most_twice_as_many(tmp_path):
    """The directory is swept while the recording goes on, not at its end alone."""
    publisher = Publisher(keep=3)
    most = 0
    for _ in range(20):
        publisher.write(text_of(bundle()), tmp_path)
        most = max(most, len(find_bundles(tmp_path)))
    assert most <= 6


def test_a_directory_that_is_not_there_is_an_output_error(tmp_path):
    """One line, and nothing is made."""
    with pytest.raises(OutputError):
        prune(tmp_path / "none", 1)
    assert not (tmp_path / "none").exists()
