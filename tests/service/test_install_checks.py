"""What a machine may lack, and how it is said."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from retaind_service import ServiceError, checkout, checks

FORM = re.compile(r"error: [^.]+.*\. WHY: .+\. FIX: .+")


def found(folder: Path, **variables: str) -> list[str]:
    environ = {"PATH": os.environ["PATH"], **variables}
    return [str(problem) for problem in checks.problems((folder,), environ=environ)]


def test_a_good_machine_lacks_nothing_and_nothing_is_written(tmp_path: Path) -> None:
    assert found(tmp_path / "share" / "retaind") == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "share").write_bytes(b"")

    (problem,) = found(tmp_path / "share" / "retaind")

    assert f"{tmp_path}/share is in the way" in problem


def test_all_that_is_missing_is_said_together_in_one_form(tmp_path: Path) -> None:
    (tmp_path / "share").write_bytes(b"")

    problems = found(tmp_path / "share", RETAIND_SOCKET="/run/" + "x" * 120)

    assert len(problems) == 2
    assert all(FORM.fullmatch(problem) for problem in problems)


@pytest.mark.parametrize(("system", "limit"), [("linux", 107), ("darwin", 103)])
def test_the_socket_must_fit_into_an_address_counted_in_bytes(
    tmp_path: Path, system: str, limit: int
) -> None:
    def problems(socket: str) -> tuple[checks.Problem, ...]:
        environ = {"PATH": os.environ["PATH"], "RETAIND_SOCKET": socket}
        return checks.problems((tmp_path,), system=system, environ=environ)

    fits = "/" + "é" * ((limit - 1) // 2)

    assert len(os.fsencode(fits)) == limit
    assert problems(fits) == ()
    assert len(problems(fits + "x")) == 1


@pytest.mark.parametrize("name", ["two\nlines", "a'b", 'a"b', "a\\b"])
def test_a_folder_from_which_systemd_runs_nothing_is_refused(tmp_path: Path, name: str) -> None:
    (problem,) = found(tmp_path / name)

    assert "quote, a backslash or a control character" in problem


def test_a_folder_of_somebody_else_is_refused() -> None:
    script = """
import os
from pathlib import Path
from retaind_service import checks
if os.geteuid() == 0:
    os.setuid(65534)
print(*checks.problems((Path("/usr/share/retaind"),)), sep="\\n")
"""

    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert "error: cannot write to /usr/share. WHY: " in told.stdout


def test_a_checkout_is_known_by_its_content_alone(tmp_path: Path) -> None:
    here = Path(__file__).parents[2]
    for name in ("pyproject.toml", "daemon/retaind/__init__.py", "service/retaind_service/port.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((here / name).read_bytes())
    first = checkout.read(tmp_path)

    compiled = tmp_path / "daemon/retaind/__pycache__/x.pyc"
    compiled.parent.mkdir()
    compiled.write_bytes(b"compiled")
    again = checkout.read(tmp_path)
    (tmp_path / "service/retaind_service/port.py").write_bytes(b"changed")

    assert first == again
    assert checkout.read(tmp_path).sha256 != first.sha256
    assert checkout.read(tmp_path).version == first.version == checkout.read(here).version


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="is no checkout of retaind"):
        checkout.read(tmp_path)
