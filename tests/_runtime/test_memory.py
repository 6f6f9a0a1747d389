"""How much memory there is: of the machine, of groups of processes, of this process; what is said without any."""

import resource
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from anbexact import ANBClassifier, DiscreteTable, RefittedClassifier, SearchTooLargeError, TANClassifier, learn_anb
from anbexact._runtime import memory
from anbexact._runtime.memory import available_memory, refused_without_memory
from anbexact.cli import main
from anbexact.datasets import load_monks
from anbexact.search.exact import learn

FREE, TOTAL = 8_000, 16_000
STAT = "anon 300\ninactive_file 20\nactive_file 30\nslab_reclaimable 5\n"
STAT_1 = "inactive_file 1\nactive_file 1\ntotal_inactive_file 20\ntotal_active_file 30\n"
UNLIMITED_1 = 9223372036854771712


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 kB free of 16 kB, without groups and limits."""
    found = SimpleNamespace(available=FREE, total=TOTAL)
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: found)
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "self")
    monkeypatch.setattr(memory, "_answer", (-1.0, 0))
    monkeypatch.setattr(memory, "jobs_at_once", lambda: 1)  # whatever else these tests run beside
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return tmp_path


def group_2(root, path, limit, used):
    folder = root / "cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(STAT)


def group_1(root, path, limit, used):
    folder = root / "cgroup/memory" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(STAT_1)


class TestGroups:
    def test_none(self, machine):
        assert available_memory() == FREE

    def test_a_container_that_sees_its_own_group_as_the_root(self, machine):
        (machine / "self").write_text("0::/\n")
        group_2(machine, "", 4_000, 1_000)
        assert available_memory() == 3_055

    @pytest.mark.parametrize(
        ("outer", "inner", "expected"), [(4_000, 6_000, 1_055), ("max", 2_500, 2_055), (16_000, "max", FREE)]
    )
    def test_the_least_of_the_groups_around_this_process(self, machine, outer, inner, expected):
        (machine / "self").write_text("0::/user.slice/job.scope\n")
        group_2(machine, "user.slice", outer, 3_000)
        group_2(machine, "user.slice/job.scope", inner, 500)
        group_2(machine, "system.slice", 10, 10)  # another's
        assert available_memory() == expected

    @pytest.mark.parametrize(("high", "expected"), [(3_000, 2_055), ("max", 3_055), (9_000, 3_055)])
    def test_a_limit_above_which_processes_are_slowed_down(self, machine, high, expected):
        group_2(machine, "", 4_000, 1_000)
        (machine / "cgroup/memory.high").write_text(f"{high}\n")
        assert available_memory() == expected

    def test_version_1(self, machine):
        (machine / "self").write_text("5:cpu,cpuacct:/elsewhere\n4:memory:/docker/ab:c\n0::/\n")
        group_1(machine, "", UNLIMITED_1, 9_000)
        group_1(machine, "docker", 5_000, 2_500)
        group_1(machine, "docker/ab:c", 3_000, 500)
        assert available_memory() == 2_550
        (machine / "cgroup/memory/docker/ab:c/memory.usage_in_bytes").write_text("2000")
        memory._answer = (-1.0, 0)
        assert available_memory() == 1_050

    def test_a_container_of_version_1_whose_own_path_is_outside(self, machine):
        (machine / "self").write_text("4:memory:/docker/abc\n")
        group_1(machine, "", 3_000, 1_000)
        assert available_memory() == 2_050

    def test_without_a_list_of_the_own_groups(self, machine):
        group_2(machine, "", 4_000, 1_000)
        assert available_memory() == 3_055

    def test_more_than_all_is_used(self, machine):
        group_2(machine, "", 1_000, 2_000)
        assert available_memory() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limits")
@pytest.mark.parametrize(("limit", "size"), [(resource.RLIMIT_AS, "vms"), (resource.RLIMIT_DATA, "data")])
@pytest.mark.usefixtures("machine")
def test_limits_of_the_process(monkeypatch, limit, size):
    used = SimpleNamespace(vms=5_000, data=4_000)
    monkeypatch.setattr(memory.psutil, "Process", lambda: SimpleNamespace(memory_info=lambda: used))
    allowed = {limit: 7_000}
    monkeypatch.setattr(resource, "getrlimit", lambda asked: (allowed.get(asked, resource.RLIM_INFINITY), -1))
    assert available_memory() == 7_000 - getattr(used, size)


NUMPYS = "Unable to allocate 64.0 MiB for an array with shape (8388608,) and data type float64"
OUT_OF_MEMORY = [MemoryError(), MemoryError("Allocation failed (probably too large)."), MemoryError(NUMPYS)]


class TestMemoryRunsOut:
    @pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=str)
    def test_the_refusal_says_what_helps(self, error):
        with (
            pytest.raises(SearchTooLargeError, match="memory ran out while trying it: pass max_parents=") as raised,
            refused_without_memory("trying it"),
        ):
            raise error
        assert raised.value.__cause__ is error

    @pytest.mark.parametrize(
        "error", [MemoryError("the tables would take 8 GB"), SearchTooLargeError("too many sets")]
    )
    def test_what_is_refused_by_name_stays(self, error):
        with pytest.raises(MemoryError) as raised, refused_without_memory("trying it"):
            raise error
        assert raised.value is error

    def test_numpy_is_understood(self):
        with pytest.raises(SearchTooLargeError), refused_without_memory("trying it"):
            np.empty(1 << 60, dtype=np.int8)

    @pytest.mark.parametrize(
        "attempt",
        [
            lambda X, y: learn_anb(DiscreteTable.from_frame(X, y)),
            lambda X, y: ANBClassifier(ess=1.0).fit(X, y),
            lambda X, y: RefittedClassifier(ANBClassifier(ess=1.0)).fit(X, y),
        ],
    )
    def test_every_door(self, attempt, monkeypatch):
        def fail(*_):
            raise MemoryError(NUMPYS)

        monkeypatch.setattr(learn.ExactSearch, "exhaustive", fail)
        with pytest.raises(SearchTooLargeError, match="over 6 features: pass max_parents="):
            attempt(*load_monks(1))

    def test_the_fit_as_a_whole(self, monkeypatch):
        def fail(*_):
            raise MemoryError

        monkeypatch.setattr(TANClassifier, "_read", fail)
        with pytest.raises(SearchTooLargeError, match="while fitting the TANClassifier"):
            TANClassifier().fit(*load_monks(1))

    @pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=str)
    def test_the_command(self, error, monkeypatch, tmp_path, capsys):
        monkeypatch.chdir(tmp_path)
        X, y = load_monks(1)
        pd.DataFrame(X).assign(monk=y.to_numpy()).to_csv("monks.csv", index=False)
        assert main(["fit", "monks.csv", "--class", "monk", "--model", "nb", "-o", "model.json"]) == 0

        def fail(*_):
            raise error

        monkeypatch.setattr("anbexact.cli.predict.run", fail)
        monkeypatch.setattr("anbexact.cli.fitting.learn", fail)
        for command in (["fit", "--model", "anb", "monks.csv", "--class", "monk"],):
            assert main(command) == 1
            assert "memory ran out: pass fewer rows or columns" in capsys.readouterr().err
