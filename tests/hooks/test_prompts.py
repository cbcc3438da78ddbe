"""What an agent is given at its prompts: of other sessions, no noise, and nothing twice."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.process import home, wait_until
from hooks.events import ASKING, HERON, PROJECT, Hooked, said
from retaind.core.recall import only_urges
from retaind.core.words import STOP_WORDS

QUESTION = "Where does the heron nest?"


def test_a_prompt_is_answered_with_what_another_session_said(hooked: Hooked) -> None:
    block = hooked.prompt(QUESTION)

    assert block.startswith("<retaind_memories>\n")
    assert block.endswith("\n</retaind_memories>")
    assert "By the old weir." in block


def test_the_asking_session_is_not_reminded_of_itself(hooked: Hooked) -> None:
    assert hooked.prompt(QUESTION, session=HERON) == ""


def test_a_setting_lets_a_session_be_reminded_of_itself(hooked: Hooked) -> None:
    hooked.configure("[recall]\nown_session = true\n")

    assert "By the old weir." in hooked.prompt(QUESTION, session=HERON)


def test_a_fork_is_not_reminded_of_its_parent_before_it_has_a_transcript(hooked: Hooked) -> None:
    start = {"session_id": HERON, "cwd": PROJECT, "source": "resume"}
    hooked.run("SessionStart", start)

    assert hooked.prompt(QUESTION) == ""
    assert hooked.prompt("So where does the heron nest?") == ""


def test_a_session_that_was_announced_itself_is_no_fork(hooked: Hooked) -> None:
    hooked.run("SessionStart", {"session_id": HERON, "cwd": PROJECT, "source": "resume"})
    hooked.run("SessionStart", {"session_id": ASKING, "cwd": PROJECT, "source": "startup"})

    assert "By the old weir." in hooked.prompt(QUESTION)


def test_no_session_is_given_the_same_memory_twice(hooked: Hooked) -> None:
    assert "By the old weir." in hooked.prompt(QUESTION)

    assert hooked.prompt("Tell me again where the heron nests.") == ""
    assert "By the old weir." in hooked.prompt(QUESTION, session="another")


def test_what_was_given_is_known_after_a_crash(hooked: Hooked) -> None:
    assert "By the old weir." in hooked.prompt(QUESTION)
    hooked.home.kill()
    hooked.home.start()

    assert hooked.prompt("Tell me again where the heron nests.") == ""


def test_a_session_that_is_forgotten_leaves_no_trace_of_what_it_was_given(hooked: Hooked) -> None:
    assert hooked.prompt(QUESTION) != ""
    hooked.write(ASKING, said(ASKING, QUESTION, "So I was told."))
    hooked.home.flush()

    assert hooked.home.cli("forget", ASKING, "--yes").returncode == 0

    with closing(sqlite3.connect(hooked.home.state / "retaind.db")) as connection:
        assert connection.execute("SELECT count(*) FROM given").fetchone() == (0,)


def test_a_prompt_that_two_hooks_tell_of_is_answered_once(hooked: Hooked) -> None:
    assert hooked.prompt(QUESTION, prompt_id="p1") != ""

    assert hooked.prompt("Who mends the weir? The miller?", prompt_id="p1") == ""


def test_a_memory_that_neighbours_one_that_was_given_is_still_to_be_had(hooked: Hooked) -> None:
    hooked.prompt(QUESTION)

    assert "The miller mends the weir." in hooked.prompt("Who mends the weir?")


@pytest.mark.parametrize(
    "prompt",
    ["yes", "go on", "", "   ", "Run the tests again, please!", "looks good, commit",
     "What will the weather be in Lisbon tomorrow afternoon?",
     "Write a haiku about sourdough bread for my grandmother"],
)  # fmt: skip
def test_noise_is_answered_with_nothing(shared: Hooked, prompt: str) -> None:
    assert shared.prompt(prompt) == ""


def test_the_floor_decides_how_much_of_a_prompt_a_memory_must_have(hooked: Hooked) -> None:
    prompt = "Which heron colour, plumage, beak and feather pattern shall I paint?"
    assert hooked.prompt(prompt) == ""

    hooked.configure("[recall]\nfloor = 0.0\n")

    assert "heron" in hooked.prompt(prompt + " Now!")


def test_what_the_own_project_says_comes_first(hooked: Hooked) -> None:
    here = said("h", "Which paint for the boat?", "Green paint for the boat.", cwd="/work/harbour")
    there = said("t", "Which paint for the boat?!", "Red paint for the boat.", cwd="/work/fleet")
    hooked.write("55555555-0000-4000-8000-000000000005", here)
    hooked.write("66666666-0000-4000-8000-000000000006", there)
    hooked.home.flush()

    at_harbour = hooked.prompt("Which paint for the boat again?", "a", cwd="/work/harbour")
    with_fleet = hooked.prompt("Which paint for the boat again?", "b", cwd="/work/fleet")

    assert at_harbour.index("Green paint") < at_harbour.index("Red paint")
    assert with_fleet.index("Red paint") < with_fleet.index("Green paint")


def test_the_block_fits_the_budget(hooked: Hooked) -> None:
    hooked.configure("[recall]\nmax_tokens = 120\n")

    block = hooked.prompt(QUESTION)

    assert 0 < len(block) <= 4 * 120


def test_recall_is_switched_off_by_one_setting(hooked: Hooked) -> None:
    hooked.configure("[recall]\nauto = false\n")
    assert hooked.prompt(QUESTION) == ""

    assert hooked.home.json("recall", QUESTION)["block"]


def test_a_shorter_prompt_than_the_least_is_not_answered(hooked: Hooked) -> None:
    hooked.configure("[recall]\nmin_prompt_chars = 40\n")

    assert hooked.prompt(QUESTION) == ""


def test_a_session_of_which_nothing_is_kept_is_given_nothing(hooked: Hooked) -> None:
    hooked.configure('[exclude]\nprojects = ["/work/secret"]\n')

    assert hooked.prompt(QUESTION, cwd="/work/secret/deep") == ""
    assert hooked.prompt(QUESTION, "another", cwd="/work/open") != ""


def test_a_variable_sets_each_key_of_the_policy(tmp_path: Path) -> None:
    variables = {
        "RETAIND_RECALL_AUTO": "false",
        "RETAIND_RECALL_DEADLINE_MS": "500",
        "RETAIND_RECALL_MIN_PROMPT_CHARS": "9",
        "RETAIND_RECALL_FLOOR": "0.5",
        "RETAIND_RECALL_OWN_SESSION": "true",
        "RETAIND_RECALL_PROJECT_FIRST": "false",
    }
    with home(tmp_path, **variables) as place:
        shown = place.json("config", "recall")

    for name in variables:
        key = "recall." + name.removeprefix("RETAIND_RECALL_").lower()
        assert shown[key]["origin"] == name


@pytest.mark.parametrize(
    "marks",
    [{"settings.json": "{}"}, {".claude.json": "{}"}, {}],
    ids=lambda marks: str(list(marks)),
)
def test_a_folder_that_looks_like_claude_codes_is_learnt_and_known_after_a_restart(
    hooked: Hooked, tmp_path: Path, marks: dict[str, str]
) -> None:
    config = tmp_path / "elsewhere" / ("agent" if marks else "claude-7")
    path = _transcript_in(config, marks)

    hooked.run("Stop", {"transcript_path": str(path)})
    wait_until(lambda: path.name in hooked.home.sessions(), "the folder is learnt")

    hooked.home.stop()
    with path.open("ab") as file:
        file.write(said(ASKING, "And the otter?", first=3))
    hooked.home.start()
    size = path.stat().st_size
    wait_until(
        lambda: hooked.home.sessions()[path.name]["captured_bytes"] == size, "all is captured"
    )


def test_no_other_folder_is_learnt(hooked: Hooked, tmp_path: Path) -> None:
    plain = _transcript_in(tmp_path / "agent", {})
    at_home = _transcript_in(tmp_path, {"settings.json": "{}"})
    shared = _transcript_in(tmp_path / "shared", {"settings.json": "{}"})
    (tmp_path / "shared").chmod(0o777)
    paths = [
        plain,
        at_home,
        shared,
        Path("/etc/passwd"),
        tmp_path / "no" / "projects" / "-x" / "a.jsonl",
    ]

    for path in paths:
        hooked.run("Stop", {"transcript_path": str(path)})
    hooked.home.flush()

    roots = [root["path"] for root in hooked.home.status()["watch"]["roots"]]
    assert roots == [str(hooked.home.claude)]


def test_a_learnt_folder_that_is_gone_is_no_trouble(hooked: Hooked, tmp_path: Path) -> None:
    config = tmp_path / "elsewhere" / "claude"
    path = _transcript_in(config, {})
    hooked.run("Stop", {"transcript_path": str(path)})
    wait_until(lambda: path.name in hooked.home.sessions(), "the folder is learnt")

    shutil.rmtree(config)
    hooked.home.flush()

    assert hooked.home.status()["state"] == "running"


@pytest.mark.parametrize("prompt", ["go on", "Yes, please continue.", "run the tests", "fix it"])
def test_a_prompt_that_only_urges_is_known(prompt: str) -> None:
    assert only_urges(prompt)


@pytest.mark.parametrize("prompt", ["run the migration", "fix the heron", "tests of the parser?"])
def test_a_prompt_with_a_subject_does_more_than_urge(prompt: str) -> None:
    assert not only_urges(prompt)
    assert not set(prompt.split()) <= STOP_WORDS


def _transcript_in(config: Path, marks: dict[str, str]) -> Path:
    folder = config / "projects" / "-work-river"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in marks.items():
        (config / name).write_text(text)
    path = folder / f"{ASKING}.jsonl"
    path.write_bytes(said(ASKING, "Where does the heron nest?", "By the old weir."))
    return path
