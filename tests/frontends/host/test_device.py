"""Making the device known to torch: once, safely, or not at all."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn
from torch._dynamo.device_interface import get_interface_for_device
from torch._inductor.codegen.common import get_device_op_overrides

from torch_spyre_provenance.frontends.host import device
from torch_spyre_provenance.frontends.host.runtime import (
    HostDeviceInterface,
    HostDeviceOpOverrides,
)


def run(program: str) -> str:
    """Run a program in a process of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


@pytest.fixture(autouse=True)
def _active():
    device.activate()


def test_activating_again_changes_nothing():
    """The second call keeps the registrations of the first."""
    before = tuple(device._registrations)
    device.activate()
    assert before == tuple(device._registrations)
    assert device.is_active()


def test_importing_activates_nothing():
    """The device appears when it is activated, not before."""
    program = """
        import torch
        from torch_spyre_provenance.frontends.host import device
        print(device.is_active(), hasattr(torch, "spyre"))
        device.activate()
        print(device.is_active(), torch.ones(1, device="spyre").device)
    """
    assert "False False\nTrue spyre:0\n" == run(program)


def test_threads_may_race():
    """Eight threads that activate at once make one device."""
    program = """
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier
        from torch_spyre_provenance.frontends.host import device
        barrier = Barrier(8)
        def activate(_):
            barrier.wait()
            device.activate()
        with ThreadPoolExecutor(8) as pool:
            print(len(list(pool.map(activate, range(8)))), len(device._registrations))
    """
    assert "8 2\n" == run(program)


@pytest.mark.parametrize(
    ("taking", "said"),
    [
        ("torch.utils.rename_privateuse1_backend('other')", "backend 'other' has it"),
        (
            "torch.utils.rename_privateuse1_backend('spyre')",
            "another package has registered",
        ),
        (
            "_setup_privateuseone_for_python_backend()",
            "backend 'privateuseone' has it",
        ),
        ("torch.spyre = object()", "torch.spyre exists"),
    ],
)
def test_a_taken_device_is_left_alone(taking, said):
    """Another backend's device is reported, kept, and torch goes on working."""
    program = f"""
        import torch
        from torch.utils.backend_registration import (
            _setup_privateuseone_for_python_backend,
        )
        from torch_spyre_provenance.errors import DeviceTakenError
        from torch_spyre_provenance.frontends.host import device
        {taking}
        name = torch._C._get_privateuse1_backend_name()
        try:
            device.activate()
        except DeviceTakenError as error:
            print(error)
        print(name == torch._C._get_privateuse1_backend_name(), device.is_active())
        print((torch.ones(2) + 1).tolist())
    """
    first, second, third = run(program).splitlines()
    assert said in first
    assert first.endswith("[device-taken]")
    assert ("False", "[2.0, 2.0]") == (second.split()[1], third)
    assert "True" == second.split()[0]


def test_the_host_library_may_be_missing(monkeypatch):
    """Where torch's C++ library is not found, only deep copies stay impossible."""
    monkeypatch.setattr(device, "_core_library", lambda: None)
    device.allow_storage_copies()


def test_torch_knows_the_device():
    """The questions that torch asks about accelerators have answers."""
    assert torch.device("spyre") == torch.accelerator.current_accelerator()
    assert 1 == torch.accelerator.device_count()
    assert "spyre" == torch.get_device_module("spyre").get_device_properties().type
    assert torch.ones(2).spyre().is_spyre


def test_dynamo_and_inductor_know_the_device():
    """The device's interface and code fragments are ours."""
    assert HostDeviceInterface is get_interface_for_device("spyre")
    assert isinstance(get_device_op_overrides("spyre"), HostDeviceOpOverrides)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_dynamo_traces_for_the_device(backend):
    """A module compiled without Inductor trains as it does in eager mode."""
    module = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).to("spyre")
    x = torch.randn(3, 8, device="spyre", requires_grad=True)
    module(x).sum().backward()
    expected, x.grad = x.grad, None
    torch.compile(module, backend=backend, fullgraph=True)(x).sum().backward()
    assert torch.equal(expected.cpu(), x.grad.cpu())


def test_nothing_of_torch_is_replaced():
    """Activation adds names to torch and changes none that were there."""
    program = """
        import sys
        import torch
        import torch._dynamo, torch._inductor.compile_fx
        import torch_spyre_provenance.frontends.host.device as device
        watched = {
            name: module
            for name, module in sys.modules.items()
            if name == "torch" or name.startswith("torch.")
        }
        owners = dict(watched)
        for name, module in watched.items():
            for key, value in vars(module).items():
                if isinstance(value, type) and value.__module__.startswith("torch"):
                    owners[f"{value.__module__}.{value.__qualname__}"] = value
        before = {name: dict(vars(owner)) for name, owner in owners.items()}
        device.activate()
        for name, attributes in before.items():
            for key, value in attributes.items():
                if vars(owners[name]).get(key) is not value:
                    print(name, key)
    """
    # Renaming the device is torch's own function, and so are the names it gives.
    allowed = {
        "torch.utils.backend_registration _privateuse1_backend_name",
        *(
            f"torch._C.{owner} {key}"
            for owner in ("_autograd.DeviceType", "_profiler.ProfilerActivity")
            for key in ("__repr__", "__str__", "name")
        ),
    }
    assert set(run(program).splitlines()) - allowed == set()
