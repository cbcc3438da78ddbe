"""Files of ours that the user may also have edited, and the manifest that tells."""

import json
import subprocess
from pathlib import Path

import pytest

from retaind_service import ServiceError, files, manifest


def test_a_file_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "unit"

    first = files.place(path, b"ours")
    written = path.stat().st_mtime_ns
    second = files.place(path, b"ours")

    assert (first.changed, second.changed) == (True, False)
    assert path.stat().st_mtime_ns == written
    assert [entry.name for entry in path.parent.iterdir()] == ["unit"]


def test_an_upgrade_replaces_our_own_text_without_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "unit"
    files.place(path, b"ours of yesterday")

    placed = files.place(path, b"ours", known_sha256=files.sha256(b"ours of yesterday"))

    assert path.read_bytes() == b"ours"
    assert placed.backup is None


def test_what_the_user_wrote_is_kept_beside(tmp_path: Path) -> None:
    path = tmp_path / "unit"
    path.write_bytes(b"edited")

    placed = files.place(path, b"ours", known_sha256=files.sha256(b"ours of yesterday"))

    assert path.read_bytes() == b"ours"
    assert placed.backup == tmp_path / "unit.bak"
    assert placed.backup.read_bytes() == b"edited"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(ServiceError, match=r"cannot write .*\. WHY: .*\. FIX: "):
        files.place(tmp_path / "file" / "unit", b"ours")


ODD = Path('/home/a "b" \\ é/.config/systemd/user/retaind.service')
MANIFEST = manifest.Manifest(
    version="0.1.0",
    checkout_sha256="c0ffee",
    python=Path("/usr/bin/python3.11"),
    manager="systemd",
    linger=True,
    state_dir=Path("/home/a/.local/state/retaind"),
    environment={"PATH": "/usr/bin", "CLAUDE_CONFIG_DIR": '/a "b"'},
    files={ODD: "ab" * 32, Path("/home/a/.local/bin/retaind"): ""},
)


def test_a_manifest_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"

    assert manifest.save(path, MANIFEST)
    assert not manifest.save(path, MANIFEST)

    assert manifest.load(path) == MANIFEST
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == "0.1.0"


def test_a_shell_reads_the_paths_of_a_manifest_without_any_python(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    manifest.save(path, MANIFEST)
    script = (Path(__file__).parents[2] / "install.sh").read_text(encoding="utf-8")
    functions = script.rpartition('main "$@"')[0]

    told = subprocess.run(
        ["sh", "-c", f"{functions}\nmanifest=$1\nrecorded_paths", "sh", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout.splitlines() == [str(file) for file in MANIFEST.files]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 1'])
def test_a_manifest_that_makes_no_sense_is_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(content, encoding="utf-8")

    assert manifest.load(path) is None
    assert manifest.load(tmp_path / "absent.json") is None
