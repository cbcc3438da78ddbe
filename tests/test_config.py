"""Configuration: what a file and the environment give, and how errors name the place and the fix."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.config import Settings, effective, load
from retaind.config.keys import KEYS, target, variable
from retaind.config.lines import find_line
from retaind.core.policy import RetainPolicy
from retaind.errors import ConfigError

HOME = {"HOME": "/home/someone"}


def read(tmp_path: Path, text: str, environ: Mapping[str, str] | None = None) -> Settings:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load(path, HOME | dict(environ or {}))


def value_of(settings: Settings, key: str) -> object:
    value: object = settings
    for name in target(key):
        value = getattr(value, name)
    return value


def refusal(tmp_path: Path, text: str, environ: Mapping[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, environ)
    assert caught.value.exit_code == 78
    assert caught.value.fix
    return str(caught.value)


def test_without_a_file_every_default_works(tmp_path: Path) -> None:
    settings = load(tmp_path / "missing.toml", HOME)

    assert settings.watch.mode == "auto"
    assert settings.watch.scan_interval_s == 60.0
    assert settings.vault.keep == "forever"
    assert settings.retain == RetainPolicy()
    assert settings.local.enabled
    assert settings.local.idle_s == 2.0
    assert not settings.hindsight.enabled
    assert settings.hindsight.backfill == "none"
    assert set(settings.origins.values()) == {"default"}
    assert set(settings.origins) == set(KEYS)


def test_every_key_has_a_place_in_the_settings() -> None:
    for key in KEYS:
        value_of(Settings(), key)


def test_every_default_is_accepted_by_its_own_rule() -> None:
    for key, rule in KEYS.items():
        value = value_of(Settings(), key)
        if isinstance(value, tuple):
            value = dict(value) if rule.is_map else list(value)
        rule.read(value)


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("watch.mode", '"scan"', "scan"),
        ("watch.scan_interval_s", "5", 5.0),
        ("vault.keep", '"retained"', "retained"),
        ("vault.keep", "30", 30),
        ("roots.claude_code", '["~/other", "/srv/c"]', ("/home/someone/other", "/srv/c")),
        ("exclude.paths", '["~/x/**"]', ("/home/someone/x/**",)),
        ("retain.format", '"jsonl"', "jsonl"),
        ("retain.roles", '["user"]', ("user",)),
        ("retain.metadata", '{ team = "a", host = "b" }', (("team", "a"), ("host", "b"))),
        ("redact.enabled", "false", False),
        ("metering.tokenizer", '"cl100k"', "cl100k"),
        ("memory.local.idle_s", "0.5", 0.5),
        ("memory.local.llm.model", '"m"', "m"),
        ("memory.hindsight.url", '"http://h:8888/"', "http://h:8888"),
        ("memory.hindsight.token_file", '"~/t"', "/home/someone/t"),
        ("memory.hindsight.backfill", "7", 7),
        ("bank.granularity", '["agent", "user"]', ("agent", "user")),
        ("recall.tag_groups", "[{ any = [1] }]", [{"any": [1]}]),
        ("recall.min_scores", "{ semantic = 1 }", (("semantic", 1.0),)),
        ("hooks.post_retain", '["~/bin/hook", "-x"]', ("/home/someone/bin/hook", "-x")),
        ("log.level", '"debug"', "debug"),
    ],
)
def test_a_key_of_the_file_reaches_its_setting(
    tmp_path: Path, key: str, text: str, expected: object
) -> None:
    settings = read(tmp_path, f"# a comment\n{key} = {text}\n")

    assert value_of(settings, key) == expected
    assert settings.origins[key] == f"{tmp_path / 'config.toml'}:2"


@pytest.mark.parametrize(
    ("name", "text", "key", "expected"),
    [
        ("RETAIND_WATCH_MODE", "scan", "watch.mode", "scan"),
        ("RETAIND_MEMORY_LOCAL_IDLE_S", "0.2", "memory.local.idle_s", 0.2),
        ("RETAIND_MEMORY_LOCAL_ENABLED", "yes", "memory.local.enabled", True),
        ("RETAIND_MEMORY_LOCAL_ENABLED", "Off", "memory.local.enabled", False),
        ("RETAIND_REDACT_ENABLED", "0", "redact.enabled", False),
        ("RETAIND_VAULT_KEEP", "30", "vault.keep", 30),
        ("RETAIND_EXCLUDE_PROJECTS", "/a, /b", "exclude.projects", ("/a", "/b")),
        ("RETAIND_EXCLUDE_PROJECTS", '["/a,b"]', "exclude.projects", ("/a,b",)),
        ("RETAIND_RETAIN_METADATA", "a=1,b=2", "retain.metadata", (("a", "1"), ("b", "2"))),
        ("RETAIND_RETAIN_METADATA", '{"a": "1"}', "retain.metadata", (("a", "1"),)),
        ("RETAIND_RECALL_MIN_SCORES", "a=0.5", "recall.min_scores", (("a", 0.5),)),
        ("RETAIND_HOOKS_POST_RETAIN", '["c", "a"]', "hooks.post_retain", ("c", "a")),
        ("RETAIND_MEMORY_HINDSIGHT_TOKEN", "1234", "memory.hindsight.token", "1234"),
        ("RETAIND_PROJECTS", '{"/p": "off"}', "projects", (("/p", "off"),)),
    ],
)
def test_a_variable_reaches_its_setting(
    tmp_path: Path, name: str, text: str, key: str, expected: object
) -> None:
    settings = read(tmp_path, "", {name: text})

    assert value_of(settings, key) == expected
    assert settings.origins[key] == name


def test_every_key_has_a_variable_of_its_own() -> None:
    assert len({variable(key) for key in KEYS}) == len(KEYS)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    settings = read(tmp_path, "[watch]\nmode = 'auto'\n", {"RETAIND_WATCH_MODE": "scan"})

    assert settings.watch.mode == "scan"


def test_an_empty_variable_counts_as_not_set(tmp_path: Path) -> None:
    settings = read(tmp_path, "watch.mode = 'scan'", {"RETAIND_WATCH_MODE": ""})

    assert settings.watch.mode == "scan"


def test_variables_that_are_no_settings_are_left_alone(tmp_path: Path) -> None:
    read(tmp_path, "", {"RETAIND_STATE_DIR": "/x", "RETAIND_SUPERVISOR": "launchd"})


def test_modes_of_projects_come_longest_folder_first(tmp_path: Path) -> None:
    settings = read(
        tmp_path, '[projects."~/a"]\nmode = "off"\n[projects."~/a/b/"]\nmode = "metadata"\n'
    )

    assert settings.exclusion.modes == (
        ("/home/someone/a/b", "metadata"),
        ("/home/someone/a", "off"),
    )


def test_recall_asks_the_server_when_the_local_memory_is_off(tmp_path: Path) -> None:
    settings = read(tmp_path, "memory.local.enabled = false\nmemory.hindsight.url = 'http://h'\n")

    assert settings.recall.memory == "hindsight"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("\n[wach]\nmode = 'scan'\n", ":2", ["wach", "did you mean watch"]),
        ("[watch]\n\nmoed = 'scan'\n", ":3", ["watch.moed", "did you mean watch.mode"]),
        ("[watch]\nmode = 'sacn'\n", ":2", ["watch.mode", "auto", "scan", "sacn"]),
        ("[memory.local]\nidle_s = 'x'\n", ":2", ["memory.local.idle_s", "seconds"]),
        ("[memory.local]\nidle_s = true\n", ":2", ["memory.local.idle_s", "seconds"]),
        ("memory.local.idle_s = -1\n", ":1", ["memory.local.idle_s", "from 0 to 86400"]),
        ("memory.local.idle_s = nan\n", ":1", ["memory.local.idle_s"]),
        ("memory = 3\n", ":1", ["memory is a section"]),
        ("[memory]\nlocal = { idle_s = 'x' }\n", ":2", ["memory.local.idle_s"]),
        ('[projects."/a"]\nmode = "of"\n', ":2", ['projects."/a" has the mode "of"', "off"]),
        ('[projects."a"]\nmode = "off"\n', ":1", ['projects."a" must be an absolute path']),
        ('[projects."/a"]\nmod = "off"\n', ":1", ['projects."/a" takes one key, mode']),
        ('[projects]\n"/a" = "off"\n"/b" = "of"\n', ":3", ['projects."/b"', "off"]),
        ("[watch\nmode = 1\n", ":1", ["not TOML"]),
        ("[watch]\nmode = scan\n", ":2", ["not TOML"]),
        ("memory.hindsight.url = 'ftp://x'\n", ":1", ["memory.hindsight.url", "http://"]),
        ("memory.hindsight.url = 'http://x:99999'\n", ":1", ["memory.hindsight.url"]),
        ("recall.memory = 'hindsight'\n", ":1", ["memory.hindsight.url"]),
        ("memory.local.extractor = 'llm'\n", ":1", ["memory.local.llm.base_url"]),
        ("memory.hindsight.overlap_turns = 10\n", ":1", ["every_n_turns"]),
        ("roots.claude_code = ['relative']\n", ":1", ["absolute"]),
        ("retain.roles = ['boss']\n", ":1", ["user", "assistant"]),
    ],
)
def test_a_bad_line_is_named_with_file_line_key_and_fix(
    tmp_path: Path, text: str, place: str, words: list[str]
) -> None:
    message = refusal(tmp_path, text)

    assert str(tmp_path / "config.toml") + place in message
    for word in words:
        assert word in message


def test_a_bad_variable_is_named(tmp_path: Path) -> None:
    assert "RETAIND_WATCH_MODE" in refusal(tmp_path, "", {"RETAIND_WATCH_MODE": "x"})


def test_a_mistyped_variable_is_named_with_its_neighbour(tmp_path: Path) -> None:
    message = refusal(tmp_path, "", {"RETAIND_WATCH_MOED": "scan"})

    assert "RETAIND_WATCH_MOED" in message
    assert "did you mean RETAIND_WATCH_MODE" in message


def test_a_bad_token_is_not_shown(tmp_path: Path) -> None:
    message = refusal(tmp_path, "memory.hindsight.token = ['s3cret']\n")

    assert "s3cret" not in message


def test_a_file_that_is_not_utf_8_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"# fine\n\xff\xfe\n")

    with pytest.raises(ConfigError, match=r"config\.toml:2"):
        load(path, HOME)


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, HOME)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")
    path.chmod(0)

    with pytest.raises(ConfigError, match="cannot be read"):
        load(path, HOME)


def test_the_effective_configuration_hides_the_token(tmp_path: Path) -> None:
    settings = read(tmp_path, "memory.hindsight.token = 's3cret'\n")

    shown = effective(settings)

    assert set(shown) == set(KEYS)
    assert "s3cret" not in repr(shown)
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("source", "path", "line"),
    [
        ("a = 1\n[b]\nc = 2\n", ("b", "c"), 3),
        ("[a]\nx = 1\n[b]\nx = 1\n", ("b", "x"), 4),
        ("[a]\nb.c = 1\n", ("a", "b", "c"), 2),
        ('["a b".\'c\']\n"d e" = 1 # note\n', ("a b", "c", "d e"), 2),
        ("[a] # note\nb = { c = 1 }\n", ("a", "b", "c"), 2),
        ("[a]\nb = 1\n", ("c",), None),
    ],
)
def test_the_line_of_a_key_is_found(source: str, path: tuple[str, ...], line: int | None) -> None:
    assert find_line(source, path) == line


@given(st.text())
def test_any_text_gives_settings_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    message = str(path)

    try:
        load(path, HOME)
    except ConfigError as error:
        message = str(error)

    assert str(path) in message
