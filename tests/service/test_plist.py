"""The property list of launchd: every key, and a schema that tells a good one from a bad one."""

import plistlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind_service import Layout, launchd

PYTHON = Path("/Users/ada/.local/share/retaind/current/bin/python")
LAYOUT = Layout(PYTHON, Path("/Users/ada"), {"CLAUDE_CONFIG_DIR": "/data/claude"})

TYPES: dict[str, type] = {
    "Label": str,
    "ProgramArguments": list,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "ThrottleInterval": int,
    "ExitTimeOut": int,
    "ProcessType": str,
    "LowPriorityIO": bool,
    "Nice": int,
    "Umask": int,
    "EnvironmentVariables": dict,
    "StandardOutPath": str,
    "StandardErrorPath": str,
    "SoftResourceLimits": dict,
    "WorkingDirectory": str,
}


def faults(content: dict[str, Any]) -> list[str]:
    """List what launchd would ignore or choke on."""
    found = [f"unknown key {key}" for key in content.keys() - TYPES.keys()]
    found += [f"no {key}" for key in TYPES.keys() - content.keys()]
    found += [
        f"{key} is no {kind.__name__}"
        for key, kind in TYPES.items()
        if key in content and type(content[key]) is not kind
    ]
    if content.get("ExitTimeOut") == 0:
        found.append("ExitTimeOut 0 stalls the shutdown of the machine")
    if content.get("ProcessType") not in {"Standard", "Background", "Adaptive", "Interactive"}:
        found.append("no such ProcessType")
    paths = [content.get("ProgramArguments", [""])[0]]
    paths += [content.get(key, "") for key in ("StandardErrorPath", "WorkingDirectory")]
    found += [f"{path} is not absolute" for path in paths if not str(path).startswith("/")]
    variables = content.get("EnvironmentVariables", {})
    found += [f"{name} is no string" for name, value in variables.items() if type(value) is not str]
    return found


def test_the_property_list_says_exactly_this_key_by_key() -> None:
    assert plistlib.loads(launchd.plist_bytes(LAYOUT)) == {
        "Label": "dev.retaind.agent",
        "ProgramArguments": [str(PYTHON), "-I", "-m", "retaind", "run"],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 20,
        "ProcessType": "Standard",
        "LowPriorityIO": True,
        "Nice": 5,
        "Umask": 63,
        "EnvironmentVariables": {
            "CLAUDE_CONFIG_DIR": "/data/claude",
            "RETAIND_SUPERVISOR": "launchd",
        },
        "StandardOutPath": "/dev/null",
        "StandardErrorPath": "/Users/ada/Library/Logs/retaind/launchd.err.log",
        "SoftResourceLimits": {"NumberOfFiles": 8192},
        "WorkingDirectory": "/Users/ada",
    }


def test_the_property_list_has_no_fault() -> None:
    assert faults(plistlib.loads(launchd.plist_bytes(LAYOUT))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"ExitTimeOut": 0},
        {"KeepAlive": "yes"},
        {"StandardErrorPath": "~/x"},
        {"RunAtLoadd": True},
        {"EnvironmentVariables": {"A": 1}},
    ],
)
def test_the_schema_sees_a_fault(wrong: dict[str, Any]) -> None:
    assert faults(plistlib.loads(launchd.plist_bytes(LAYOUT)) | wrong)


def test_the_error_log_lies_in_a_state_folder_of_ones_own_choice() -> None:
    layout = Layout(PYTHON, Path("/Users/ada"), {"RETAIND_STATE_DIR": "/Volumes/x/retaind"})

    content = plistlib.loads(launchd.plist_bytes(layout))

    assert content["StandardErrorPath"] == "/Volumes/x/retaind/log/launchd.err.log"


@given(st.text(st.characters(min_codepoint=0x20, exclude_categories=["Cs", "Cc", "Cn"])))
def test_every_value_comes_back_as_it_was_recorded(value: str) -> None:
    layout = Layout(PYTHON, Path("/Users/ada"), {"RETAIND_X": value})

    content = plistlib.loads(launchd.plist_bytes(layout))

    assert content["EnvironmentVariables"]["RETAIND_X"] == value
