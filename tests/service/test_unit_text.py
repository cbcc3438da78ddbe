"""The unit of systemd: every key, and words that come back as they went in."""

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind_service import Layout, systemd

PYTHON = Path("/home/ada/.local/share/retaind/current/bin/python")
LAYOUT = Layout(
    PYTHON, Path("/home/ada"), {"CLAUDE_CONFIG_DIR": "/data/claude", "PATH": "/usr/bin"}
)

SERVICE = {
    "Type": ["notify"],
    "NotifyAccess": ["main"],
    "ExecStart": [f'"{PYTHON}" -I -m retaind run'],
    "ExecReload": ["/bin/kill -HUP $MAINPID"],
    "Environment": [
        '"CLAUDE_CONFIG_DIR=/data/claude"',
        '"PATH=/usr/bin"',
        '"RETAIND_SUPERVISOR=systemd"',
    ],
    "Restart": ["on-failure"],
    "RestartSec": ["2s"],
    "RestartPreventExitStatus": ["2 78"],
    "SuccessExitStatus": ["143"],
    "WatchdogSec": ["60s"],
    "TimeoutStartSec": ["30s"],
    "TimeoutStopSec": ["20s"],
    "KillMode": ["mixed"],
    "RuntimeDirectory": ["retaind"],
    "RuntimeDirectoryMode": ["0700"],
    "UMask": ["0077"],
    "Nice": ["10"],
    "IOSchedulingClass": ["best-effort"],
    "IOSchedulingPriority": ["6"],
    "CPUWeight": ["20"],
    "MemoryHigh": ["192M"],
    "MemoryMax": ["384M"],
    "TasksMax": ["64"],
    "OOMScoreAdjust": ["500"],
    "LimitNOFILE": ["8192"],
    "NoNewPrivileges": ["yes"],
    "LockPersonality": ["yes"],
    "RestrictRealtime": ["yes"],
    "RestrictSUIDSGID": ["yes"],
    "RestrictNamespaces": ["yes"],
    "MemoryDenyWriteExecute": ["yes"],
    "SystemCallArchitectures": ["native"],
    "SystemCallFilter": ["@system-service"],
    "SystemCallErrorNumber": ["EPERM"],
    "RestrictAddressFamilies": ["AF_UNIX AF_INET AF_INET6"],
}


def parsed(text: str) -> dict[str, dict[str, list[str]]]:
    sections: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            sections[section][key].append(value)
    return sections


def test_the_unit_says_exactly_this_key_by_key() -> None:
    unit = parsed(systemd.unit_text(LAYOUT))

    assert unit.keys() == {"Unit", "Service", "Install"}
    assert unit["Service"] == SERVICE
    assert unit["Unit"]["StartLimitIntervalSec"] == ["300"]
    assert unit["Unit"]["StartLimitBurst"] == ["5"]
    assert unit["Install"] == {"WantedBy": ["default.target"]}


def test_a_folder_that_systemd_places_elsewhere_by_version_is_not_asked_for() -> None:
    unit = parsed(systemd.unit_text(LAYOUT))

    assert not {"StateDirectory", "LogsDirectory", "CacheDirectory"} & unit["Service"].keys()


def test_a_dollar_in_the_path_of_python_is_not_expanded() -> None:
    unit = parsed(systemd.unit_text(Layout(Path("/opt/$x/python"), Path("/home/ada"))))

    assert unit["Service"]["ExecStart"] == ['":/opt/$x/python" -I -m retaind run']


def unquoted(text: str) -> str:
    """Read one quoted word as systemd does: quotes, then C escapes, then specifiers."""
    assert text[0] == text[-1] == '"'
    out, rest = "", text[1:-1]
    while rest:
        head, rest = rest[0], rest[1:]
        assert head != '"', "a quote inside would end the word"
        assert head >= " ", "a control character would end the line or the word"
        if head != "\\":
            out += head
        elif rest[0] == "x":
            out, rest = out + chr(int(rest[1:3], 16)), rest[3:]
        else:
            assert rest[0] in '\\"'
            out, rest = out + rest[0], rest[1:]
    pieces = out.split("%%")
    assert not any("%" in piece for piece in pieces), "a single percent sign begins a specifier"
    return "%".join(pieces)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_every_value_comes_back_as_it_was_recorded(value: str) -> None:
    layout = Layout(PYTHON, Path("/home/ada"), {"RETAIND_X": value})

    lines = [
        line.removeprefix("Environment=")
        for line in systemd.unit_text(layout).split("\n")
        if line.startswith('Environment="RETAIND_X')
    ]

    assert [unquoted(line) for line in lines] == [f"RETAIND_X={value}"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", ["plain", "we ird%u é $x"])
def test_systemd_finds_nothing_to_say_about_the_unit(tmp_path: Path, name: str) -> None:
    python = tmp_path / name / "python"
    python.parent.mkdir()
    python.symlink_to("/bin/true")
    unit = tmp_path / "retaind.service"
    layout = Layout(python, tmp_path, {"CLAUDE_CONFIG_DIR": '/a b/"c"/%d/$e', "PATH": "/usr/bin"})
    unit.write_text(systemd.unit_text(layout), encoding="utf-8")

    told = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.returncode, told.stderr) == (0, "")
