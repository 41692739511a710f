"""Campaigns: nothing is lost, whatever becomes of a process, of a worker of a cluster, or of the campaign."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import judges
import pytest

from ptxspec.base import campaigns, parallel, processes
from ptxspec.base.campaigns import Journal, WorkerOptions
from ptxspec.base.processes import Reply

HOWS = ["fine", "crash", "print", "hang", "raise", "leave", "strange", "also fine"]
KINDS = ["done", "ended", "done", "late", "raised", "ended", "raised", "done"]


def named(items: Any) -> list[tuple[str, Any]]:
    return [(str(item), item) for item in items]


def test_each_item_has_its_outcome() -> None:
    """An item that ends its process, or hangs, is one of them; the others go on."""
    found = {o.name: o.reply for o in campaigns.run(judges.behaves, named(HOWS), WorkerOptions(jobs=2), seconds=2.5)}
    assert [found[how].kind for how in HOWS] == KINDS
    assert found["print"].value == "print" and found["also fine"].value == "also fine"
    assert "SIGSEGV" in found["crash"].message and "status 3" in found["leave"].message
    assert "2.5 seconds" in found["hang"].message
    assert isinstance(found["raise"].value, ValueError) and "behaves" in found["raise"].message
    assert str(found["strange"].value) == "Wrong: 1 2"


def test_items_are_taken_as_there_is_room() -> None:
    """So that there may be items without end."""
    taken: list[int] = []

    def endless() -> Iterator[tuple[str, int]]:
        for number in range(1 << 30):
            taken.append(number)
            yield str(number), number

    outcomes = campaigns.run(judges.square, endless(), WorkerOptions(jobs=1))
    first = [next(outcomes).reply.value for _ in range(3)]
    outcomes.close()  # type: ignore[attr-defined]  # a generator
    assert len(set(first)) == 3 and set(first) <= {number * number for number in taken} and len(taken) < 12


def test_an_item_whose_process_something_else_ended_is_tried_again(tmp_path: Path) -> None:
    (outcome,) = campaigns.run(judges.once, [("one", str(tmp_path / "was here"))], WorkerOptions(jobs=1))
    assert outcome.reply == processes.Reply("done", "done")


def test_what_a_process_leaves_behind_does_not_hold_it_up() -> None:
    begun = time.monotonic()
    (outcome,) = campaigns.run(judges.behaves, named(["orphan"]), WorkerOptions(jobs=1))
    assert outcome.reply.kind == "ended" and time.monotonic() - begun < 15


def test_a_function_of_a_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from ptxspec.base import campaigns\ndef judge(x): return x\nlist(campaigns.run(judge, [('a', 1), ('b', 2)]))"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert run.returncode == 1 and "cannot import judge, which stands in a script" in run.stderr


def test_last_words_are_told() -> None:
    process = processes.Process(listens=True)
    try:
        assert process.ask(judges.behaves, "fine") == processes.Reply("done", "fine")
        assert process.ask(os.system, "echo last words >&2; kill -9 $PPID").message.endswith("SIGKILL: last words")
        assert process.ask(judges.behaves, "fine").value == "fine"
    finally:
        process.close()


# all or nothing -----------------------------------------------------------------------------------------------------------


def test_on_all_cores() -> None:
    assert sorted(parallel.on_all_cores(judges.square, range(5))) == [0, 1, 4, 9, 16]
    assert list(parallel.on_all_cores(lambda x: -x, [7])) == [-7]  # here and now
    with pytest.raises(ValueError, match="as it is wanted") as raised:
        list(parallel.on_all_cores(judges.behaves, ["fine", "raise"], WorkerOptions(jobs=2)))
    assert "behaves" in raised.value.__notes__[0]
    with pytest.raises(ChildProcessError, match=r"crash.*SIGSEGV"):
        list(parallel.on_all_cores(judges.behaves, ["fine", "crash"], WorkerOptions(jobs=2)))


# journals -----------------------------------------------------------------------------------------------------------------


def test_an_interrupted_campaign_resumes(tmp_path: Path) -> None:
    """What was reached is not done again: not by a campaign that was killed, with half a line in its journal."""
    code = f"""
        import sys; sys.path[:0] = {[str(Path(judges.__file__).parent)]!r}
        import judges
        from ptxspec.base import campaigns
        own = campaigns.Journal("journal", {{"of": "squares"}})
        for outcome in campaigns.run(judges.slow_square, [(str(i), (".", i)) for i in range(6)], campaigns.WorkerOptions(1), journal=own):
            print(outcome.name, flush=True)
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(campaigns.__file__).parents[2])}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment)
    assert running.stdout is not None
    reached = [running.stdout.readline().strip() for _ in range(2)]
    running.send_signal(signal.SIGKILL)
    running.communicate()
    with open(tmp_path / "journal", "a") as file:
        file.write('["5", "do')
    own = Journal(tmp_path / "journal", {"of": "squares"})
    assert set(reached) <= set(own.known)
    asked = {p.name: p.read_text().count("\n") for p in tmp_path.glob("*.asked")}
    items = [(str(i), (str(tmp_path), i)) for i in range(6)]
    found = {o.name: o for o in campaigns.run(judges.slow_square, items, WorkerOptions(1), journal=own)}
    assert {name: o.reply.value for name, o in found.items()} == {str(i): i * i for i in range(6)}
    assert {name for name, o in found.items() if o.known} == set(own.known) >= set(reached)
    for name in own.known:
        assert (tmp_path / f"{name}.asked").read_text().count("\n") == asked[f"{name}.asked"] == 1
    again = Journal(tmp_path / "journal", {"of": "squares"})
    assert len(again.known) == 6 and again.known["5"].value == 25


def test_a_journal_keeps_findings_and_no_faults_of_the_judge(tmp_path: Path) -> None:
    own = Journal(tmp_path / "j", {})
    list(campaigns.run(judges.behaves, named(["leave", "raise"]), WorkerOptions(1), journal=own))
    assert {n: r.kind for n, r in Journal(tmp_path / "j", {}).known.items()} == {"leave": "ended"}


@pytest.mark.parametrize("text", ['{"campaign": {"of": "cubes"}}\n', "precious", "precious\n"])
def test_a_journal_of_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "j").write_text(text)
    with pytest.raises(ValueError, match="is no journal"):
        Journal(tmp_path / "j", {"of": "squares"})
    assert (tmp_path / "j").read_text() == text


@pytest.mark.parametrize(
    "row",
    ["[" * 100_000, "[1]", "{}", "7", '["a", "done", 1]', '["a", "raised", 1, ""]', '[7, "done", 1, ""]', '["a", "done", NaN, ""]', '["a", "done", 1, 2]'],
)  # fmt: skip
def test_a_row_that_is_no_outcome_is_told_with_its_line(row: str, tmp_path: Path) -> None:
    Journal(tmp_path / "j", {}).add("x", Reply("done", 1))
    with open(tmp_path / "j", "a") as file:
        file.write(f"{row}\n")
    with pytest.raises(ValueError, match="line 3 is no outcome"):
        Journal(tmp_path / "j", {})


def test_a_journal_is_a_file_and_no_link(tmp_path: Path) -> None:
    """A pipe is not waited for, and nothing is written through a link."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "precious").write_text("")
    (tmp_path / "link").symlink_to("precious")
    (tmp_path / "to pipe").symlink_to("pipe")
    for name, said in (("pipe", "no file"), ("link", "is a link"), ("to pipe", "is a link"), (".", "no file")):
        with pytest.raises(ValueError, match=said):
            Journal(tmp_path / name, {})
    assert (tmp_path / "precious").read_text() == ""


# clusters -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two workers, each a process."""
    distributed = pytest.importorskip("distributed", reason="NO DASK: campaigns on clusters were NOT tested")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own:
            yield own


@pytest.mark.slow
def test_a_worker_of_a_cluster_is_killed_and_nothing_is_lost(cluster: Any, tmp_path: Path) -> None:
    """In the middle of its item, which another one takes over. Items that end or hang their process are findings there too."""
    items = [(str(i), (str(tmp_path), i)) for i in range(12)]
    where = WorkerOptions(scheduler=cluster.scheduler_address)
    found: dict[str, Any] = {}
    killed = 0
    for name, reply, _ in campaigns.run(judges.slow_square, items, where):
        found[name] = reply
        if not killed:
            victim = next(iter(cluster.workers.values()))
            killed = victim.pid
            os.kill(killed, signal.SIGKILL)
    assert {name: reply.value for name, reply in found.items()} == {str(i): i * i for i in range(12)}
    hows = {o.name: o.reply for o in campaigns.run(judges.behaves, named(HOWS), where, seconds=2.5)}
    assert [hows[how].kind for how in HOWS] == KINDS


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="NO DASK: campaigns on clusters were NOT tested")
    monkeypatch.setattr(campaigns, "CONNECTING", 1)
    with pytest.raises(OSError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(campaigns.run(judges.square, named([1]), WorkerOptions(scheduler="tcp://127.0.0.1:9")))
    with pytest.raises(OSError, match="no Dask scheduler answers at nonsense://"):
        list(campaigns.run(judges.square, named([1]), WorkerOptions(scheduler="nonsense://x")))


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(campaigns.MissingDask, match=r"pip install 'ptxspec\[campaigns\]'"):
        list(campaigns.run(judges.square, named([1]), WorkerOptions(scheduler="tcp://127.0.0.1:9")))


def test_the_extra_has_what_a_cluster_needs() -> None:
    import tomllib

    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    assert {word.split(">")[0] for word in extras["campaigns"]} == {"dask", "distributed"}
    assert any(one.startswith("ptxspec[") and "campaigns" in one for one in extras["test"])


# who has them ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module", ["ptxspec.query.identities", "ptxspec_workshop.mutation", "ptxspec_workshop.record.program_recorder"]
)
def test_campaigns_say_who_does_the_work(module: str) -> None:
    run = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True)
    assert run.returncode == 0 and "--jobs" in run.stdout and "--scheduler" in run.stdout, run.stderr
