"""Programs that nobody wrote for the checks of launches: they are silent, but for the races that are there."""

from __future__ import annotations

from typing import Any

import pytest
from workloads.cases import WORKLOADS
from workloads.device import Device

import ptxspec

#: workloads with a data race, and why they compute the same whoever wins
RACES = {
    "bfs": "a thread reads whether a node was reached while others of the same round reach it: each round writes one number",
}
#: a kernel is compiled in less than a second
QUICK = {"saxpy", "histogram", "warp_scan", "bfs"}


class CheckedModule:
    """A module whose launches are checked, and what they report."""

    def __init__(self, module: ptxspec.Module):
        self._module, self.findings = module, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def prepared(self, *args: Any, **options: Any) -> CheckedLaunch:
        return CheckedLaunch(self, self._module.prepared(*args, **options, check="race", findings="collect"))


class CheckedLaunch:
    """A launch that is prepared, of a module whose launches are checked."""

    def __init__(self, module: CheckedModule, prepared: ptxspec.PreparedLaunch):
        self._module, self._prepared = module, prepared

    def launch(self, *args: Any) -> ptxspec.Outcome:
        outcome = self._prepared.launch(*args)
        self._module.findings += outcome.findings
        return outcome


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in WORKLOADS]
)
def test_races_of_workloads(name: str) -> None:
    workload = WORKLOADS[name]
    module = CheckedModule(ptxspec.load(workload.ptx.read_text()))
    Device(module, workload.make(workload.small), engine="native", schedule="round-robin").run()  # type: ignore[arg-type]
    assert bool(module.findings) == (name in RACES), "\n".join(map(str, module.findings))
