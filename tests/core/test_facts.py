"""How a session's project is named, and to what its folder is mapped, from facts given as arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.facts import ancestors, map_directory, project_of


@pytest.mark.parametrize(
    ("cwd", "existing", "common", "project"),
    [
        ("/home/me/proj", ["/home/me/proj"], "/home/me/proj/.git", "proj"),
        ("/home/me/proj/src/deep", ["/home/me/proj/src"], "/home/me/proj/.git", "proj"),
        ("/tmp/worktree-7", ["/tmp/worktree-7"], "/home/me/proj/.git", "proj"),
        ("/home/me/proj/.worktrees/gone", ["/home/me/proj"], ".git", "proj"),
        ("/home/me/proj/src", ["/home/me/proj/src"], "../.git", "proj"),
        ("/home/me/tree", ["/home/me/tree"], "/srv/bare.git", "bare.git"),
        ("/home/me/proj/lib", ["/home/me/proj/lib"], "/home/me/proj/.git/modules/lib", "lib"),
        ("/home/me/plain", ["/home/me/plain"], None, "plain"),
        ("/home/me/plain/", [], None, "plain"),
        ("/home/me//plain/./", [], None, "plain"),
        ("/home/me/gone", ["/home/me"], None, "gone"),
        ("C:\\Users\\me\\proj\\", [], None, "proj"),
        ("/home/me/back\\slash", [], None, "back\\slash"),
        ("/", ["/"], None, None),
        ("/work", ["/work"], "/.git", "work"),
        ("", [], None, None),
        (None, [], None, None),
    ],
)
def test_a_project_is_its_repository_else_the_folder_where_it_started(
    cwd: str | None, existing: list[str], common: str | None, project: str | None
) -> None:
    assert project_of(cwd, existing, common) == project


def test_ancestors_go_from_the_folder_up_to_the_root() -> None:
    assert ancestors("/a/b/c/") == ("/a/b/c", "/a/b", "/a", "/")
    assert ancestors("/") == ("/",)
    assert ancestors("") == ancestors("relative/path") == ()


@pytest.mark.parametrize(
    ("cwd", "mapped"),
    [
        ("/work", "all"),
        ("/work/", "all"),
        ("/work/a", "a"),
        ("/work/a/src", "a"),
        ("/work/ab", "all"),
        ("/workshop", "root"),
        ("/work/a/b/c/d", "deep"),
        ("", None),
        (None, None),
    ],
)
def test_the_longest_mapped_folder_above_a_session_wins(
    cwd: str | None, mapped: str | None
) -> None:
    mapping = {"/": "root", "/work": "all", "/work/a/": "a", "/work/a/b/c": "deep"}

    assert map_directory(cwd, mapping) == mapped


def test_what_lies_under_no_mapped_folder_is_not_mapped() -> None:
    assert map_directory("/home/me", {"/work": "all", "": "nothing"}) is None


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5))
def test_a_folder_is_mapped_like_the_nearest_mapped_ancestor(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    above = ancestors(path)

    for folder in above:
        mapping = {folder: "it", "/elsewhere": "other"}
        assert map_directory(path, mapping) == "it"
    assert map_directory(path, dict.fromkeys(above[1:], "above") | {path: "itself"}) == "itself"
