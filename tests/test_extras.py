"""What to do about a missing extra depends on how retaind was installed."""

from pathlib import Path

from retaind.extras import how_to_add


def test_beside_the_installers_copy_the_installer_adds_it(tmp_path: Path) -> None:
    environment = tmp_path / "versions" / "0.1.0"
    environment.mkdir(parents=True)
    (tmp_path / "install.sh").write_bytes(b"")
    (tmp_path / "current").symlink_to("versions/0.1.0")

    wanted = f"{tmp_path.resolve()}/install.sh --extra mcp"
    assert how_to_add("mcp", str(environment)) == wanted
    assert how_to_add("mcp", str(tmp_path / "current")) == wanted


def test_anywhere_else_pip_adds_it(tmp_path: Path) -> None:
    assert how_to_add("cl100k", str(tmp_path)) == "pip install 'retaind[cl100k]'"
