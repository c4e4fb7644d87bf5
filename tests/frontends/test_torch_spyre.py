"""The adapter: torch-spyres that are whole, half there, broken, or of other ages."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from torch_spyre_provenance.errors import FrontEndError
from torch_spyre_provenance.frontends import torch_spyre as adapter

SOURCES = {
    "_C.py": "",
    "__init__.py": """
        def _autoload():
            from torch._inductor.codegen.common import register_backend_for_device
            from ._inductor.scheduler import SuperDSCScheduling
            from ._inductor.wrapper import SpyrePythonWrapperCodegen
            register_backend_for_device(
                "spyre", SuperDSCScheduling, SpyrePythonWrapperCodegen
            )
    """,
    "_inductor/__init__.py": "",
    "_inductor/config.py": "",
    "_inductor/passes.py": "",
    "_inductor/patches.py": "",
    "_inductor/op_spec.py": """
        from dataclasses import dataclass
        @dataclass
        class DebugHandle:
            id: int
            transform_history: tuple = ()
        @dataclass
        class OpSpec:
            op: str
            debug_handle: DebugHandle | None = None
    """,
    "_inductor/scheduler.py": """
        class SuperDSCScheduling:
            def define_kernel(self, src_code, node_schedule, kernel): ...
    """,
    "_inductor/wrapper.py": """
        class SpyrePythonWrapperCodegen:
            @staticmethod
            def create(is_subgraph, subgraph_name, parent_wrapper, parts=None): ...
            def write_header(self): ...
            def generate(self, is_inference): ...
    """,
    "execution/__init__.py": "",
    "execution/async_compile.py": """
        class SpyreAsyncCompile:
            def sdsc(self, kernel_name, specs, pool_size=0): ...
            def wait(self, scope): ...
    """,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An importable torch_spyre with the classes that recording builds on."""
    folder = tmp_path / "torch_spyre"
    for name, source in SOURCES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    yield folder
    _forget()


def _forget():
    for name in tuple(sys.modules):
        if name.split(".")[0] == "torch_spyre":
            del sys.modules[name]


def adapt():
    """The contract over the package that can be imported."""
    return adapter.adapt("torch-spyre", (("torch-spyre", "0.0.1"),))


@pytest.mark.usefixtures("package")
def test_the_contract_names_torch_spyres_own_classes():
    """Nothing is wrapped: the classes are torch-spyre's."""
    front_end = adapt()
    from torch_spyre._inductor import config
    from torch_spyre._inductor.scheduler import SuperDSCScheduling
    from torch_spyre._inductor.wrapper import SpyrePythonWrapperCodegen

    assert SuperDSCScheduling is front_end.scheduling
    assert SpyrePythonWrapperCodegen is front_end.wrapper
    assert config is front_end.config
    assert "torch_spyre.execution.async_compile:SpyreAsyncCompile" == (
        front_end.async_compile
    )


@pytest.mark.usefixtures("package")
def test_missing_seams_are_named_with_their_remedies():
    """An unpatched torch-spyre has no seam for two points, and each has a remedy."""
    front_end = adapt()
    assert front_end.pass_observers is None
    assert {"pre_grad_graph", "pass_observer"} == set(front_end.unavailable)
    assert "patches/compose_passes.py" in front_end.unavailable["pre_grad_graph"]
    assert "patches/observe_passes.py" in front_end.unavailable["pass_observer"]


def test_patched_seams_are_found(package):
    """A torch-spyre with our patches has every seam."""
    (package / "_inductor/passes.py").write_text("pass_observers = []\n")
    (package / "_inductor/patches.py").write_text("compose_passes = dict\n")
    front_end = adapt()
    from torch_spyre._inductor.passes import pass_observers

    assert pass_observers is front_end.pass_observers
    assert {} == front_end.unavailable


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", "transform_history"),
        ("transform_history: tuple = ()", "fusion_context: str = ''", "fusion_context"),
        ("transform_history: tuple = ()", "other: int = 0", "yes"),
        ("debug_handle: DebugHandle | None = None", "", "no"),
    ],
)
def test_generations_of_handles(package, old, new, expected):
    """Fields tell the generations apart, not versions."""
    path = package / "_inductor/op_spec.py"
    path.write_text(path.read_text().replace(old, new) if old else path.read_text())
    assert ("debug_handle", expected) in adapt().versions


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "_inductor/scheduler.py",
            "SuperDSCScheduling",
            "Renamed",
            "no SuperDSCScheduling in torch_spyre._inductor.scheduler",
        ),
        (
            "_inductor/scheduler.py",
            "define_kernel",
            "emit",
            "SuperDSCScheduling has no method define_kernel",
        ),
        (
            "execution/async_compile.py",
            "specs",
            "ks",
            "SpyreAsyncCompile.sdsc has no parameter specs",
        ),
        (
            "_inductor/wrapper.py",
            "class",
            "import absent_dependency\nclass",
            "does not load: ModuleNotFoundError: No module named 'absent_dependency'",
        ),
    ],
)
def test_what_recording_builds_on_must_be_there(package, name, old, new, message):
    """A torch-spyre of another shape is refused, and what it lacks is named."""
    path = package / name
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(FrontEndError, match=message):
        adapt()


def test_no_torch_spyre(monkeypatch):
    """Without torch-spyre the message says how one has it, or does without."""
    monkeypatch.setitem(sys.modules, "torch_spyre", None)
    with pytest.raises(FrontEndError, match="not installed: install it, compile"):
        adapter.load()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "is not torch-spyre, or not the whole of it"),
        ("from . import _D", "does not load: ImportError"),
        ("raise OSError('libsenlib.so: no such file')", "OSError: libsenlib.so"),
    ],
)
def test_a_half_installed_torch_spyre(package, source, message):
    """A package that does not import is reported by what it said."""
    (package / "__init__.py").write_text(source)
    with pytest.raises(FrontEndError, match=message):
        adapter.import_package()


def test_another_torch_spyre_than_expected(package, tmp_path):
    """A package from elsewhere is not taken for the checkout's."""
    with pytest.raises(FrontEndError, match=f"from {package}, not from {tmp_path}"):
        adapter.import_package(tmp_path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("from torch_spyre import _D", "cannot import name '_D'"),
        ("raise OSError('libsenlib.so: no such file')", "OSError: libsenlib.so"),
        (None, "No module named 'torch_spyre._C'"),
    ],
)
def test_an_extension_that_does_not_import(package, source, message):
    """It is found out before torch-spyre registers anything."""
    if source is None:
        (package / "_C.py").unlink()
    else:
        (package / "_C.py").write_text(source)
    (package / "__init__.py").write_text("def _autoload(): raise AssertionError\n")
    with pytest.raises(FrontEndError, match=message):
        adapter.load()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("from torch_spyre import absent", "cannot import name 'absent'"),
        ("raise RuntimeError('no device')", "RuntimeError: no device"),
    ],
)
def test_a_torch_spyre_that_does_not_register(package, body, message):
    """A torch-spyre that fails while it registers itself is reported."""
    (package / "__init__.py").write_text(f"def _autoload():\n    {body}\n")
    adapter.import_package()
    with pytest.raises(FrontEndError, match=message):
        adapter.run_autoload()


def test_loading_in_a_process_of_its_own(package):
    """A whole torch-spyre loads, and says which commit it is at, if it is a checkout.

    One that failed before says to start again.
    """
    (package.parent / ".git").mkdir()
    (package.parent / ".git" / "HEAD").write_text("0123abcd\n")
    program = """
        import sys
        from torch_spyre_provenance.errors import FrontEndError
        from torch_spyre_provenance.frontends import torch_spyre as adapter
        import torch_spyre
        autoload, torch_spyre._autoload = torch_spyre._autoload, lambda: None
        try:
            adapter.load()
        except FrontEndError as error:
            print(error)
        torch_spyre._autoload = autoload
        front_end = adapter.load()
        print(front_end.name, front_end.versions[0])
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
        cwd=package.parent,
    )
    first, second = done.stdout.splitlines()
    assert "an earlier attempt to load it failed" in first
    assert second.startswith("torch-spyre ('torch-spyre', 'at ")
    assert second.endswith(", commit 0123abcd')")
