"""`python -I -m retaind_service VERB`: what install.sh and the curious call.

Exit status: 0 done, 1 failed with one line on standard error, 2 usage, 3 the machine lacks something.
`status` also ends with 3 when the service does not run.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import retaind_service as service
from retaind_service import answers, checkout, checks, environment, manifest
from retaind_service.port import Layout, Manager, ServiceError

_NOT_RUNNING_RC = 3
_LACKING_RC = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit status."""
    arguments = _parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    try:
        return verb(arguments)
    except ServiceError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


def _manager(arguments: argparse.Namespace) -> Manager:
    return service.manager(system=arguments.system)


def _say(arguments: argparse.Namespace, facts: Mapping[str, Any], text: str) -> None:
    line = json.dumps(facts, default=str, ensure_ascii=False) if arguments.json else text
    sys.stdout.write(line + "\n")


def _detect(arguments: argparse.Namespace) -> int:
    manager = _manager(arguments)
    facts = {"manager": manager.kind, "path": manager.path}
    _say(arguments, facts, f"{manager.kind} {manager.path or ''}".rstrip())
    return 0


def _check(arguments: argparse.Namespace) -> int:
    found = checks.problems(tuple(arguments.folder), system=arguments.system)
    for problem in found:
        sys.stderr.write(f"{problem}\n")
    return _LACKING_RC if found else 0


def _fingerprint(arguments: argparse.Namespace) -> int:
    here = checkout.read(arguments.checkout)
    there = manifest.load(arguments.manifest)
    same = there is not None and there.checkout_sha256 == here.sha256
    facts = {"version": here.version, "sha256": here.sha256, "installed": same}
    _say(arguments, facts, f"{here.version} {here.sha256} {'same' if same else 'other'}")
    return 0


def _install(arguments: argparse.Namespace) -> int:
    earlier = manifest.load(arguments.manifest)
    recording = environment.record(os.environ, earlier.environment if earlier else None)
    manager = _manager(arguments)
    known = earlier.files.get(manager.path) if earlier and manager.path else None
    layout = Layout(arguments.python, Path.home(), recording.kept)
    placed = manager.install(layout, known_sha256=known)
    for name in recording.secrets:
        sys.stderr.write(
            f"warning: {name} is not given to the service. WHY: its unit is no safe for secrets. "
            "FIX: put it in a file of mode 0600, and name that file in retaind's configuration\n"
        )
    if placed.backup:
        sys.stderr.write(
            f"warning: {placed.path} had been edited and was replaced. WHY: upgrades rewrite it. "
            f"FIX: move your changes from {placed.backup} to a drop-in\n"
        )
    _say(arguments, asdict(placed), f"{'wrote' if placed.changed else 'kept'} {placed.path}")
    return 0


def _uninstall(arguments: argparse.Namespace) -> int:
    removed = _manager(arguments).uninstall()
    _say(arguments, {"removed": removed}, "\n".join(f"removed {path}" for path in removed))
    return 0


def _start(arguments: argparse.Namespace) -> int:
    _manager(arguments).start()
    return _status(arguments)


def _stop(arguments: argparse.Namespace) -> int:
    _manager(arguments).stop()
    return 0


def _restart(arguments: argparse.Namespace) -> int:
    _manager(arguments).restart()
    return _status(arguments)


def _status(arguments: argparse.Namespace) -> int:
    manager = _manager(arguments)
    state = manager.state()
    facts = {"manager": manager.kind, "installed": manager.installed(), **asdict(state)}
    _say(arguments, facts, f"{state.activity} ({manager.kind}) {state.detail}".rstrip())
    return 0 if state.activity == "running" else _NOT_RUNNING_RC


def _logs(arguments: argparse.Namespace) -> int:
    command = _manager(arguments).logs_command(arguments.lines, follow=arguments.follow)
    return subprocess.call(command)  # noqa: S603 - our own words, never a shell


def _wait(arguments: argparse.Namespace) -> int:
    command = (sys.executable, "-I", "-m", "retaind", "status", "--json")
    status = answers.wait(command, arguments.version, timeout_s=arguments.timeout)
    _say(arguments, status, answers.summary(status))
    return 0


def _record(arguments: argparse.Namespace) -> int:
    earlier = manifest.load(arguments.manifest)
    here = checkout.read(arguments.checkout)
    recording = environment.record(os.environ, earlier.environment if earlier else None)
    changed = manifest.save(
        arguments.manifest,
        manifest.Manifest(
            version=here.version,
            checkout_sha256=here.sha256,
            python=Path(sys.executable).resolve(),
            manager=service.detect(system=arguments.system),
            linger=arguments.linger or (earlier is not None and earlier.linger),
            state_dir=arguments.state_dir,
            environment=recording.kept,
            files=manifest.hashes(tuple(arguments.file)),
            extras=earlier.extras if earlier else "",
        ),
    )
    _say(arguments, {"changed": changed}, "changed" if changed else "unchanged")
    return 0


def _extras(arguments: argparse.Namespace) -> int:
    earlier = manifest.load(arguments.manifest)
    if earlier is None:
        raise ServiceError(
            f"{arguments.manifest} is no record of an installation",
            why="it is gone or damaged",
            fix="./install.sh",
        )
    changed = manifest.save(arguments.manifest, replace(earlier, extras=arguments.names))
    _say(arguments, {"changed": changed}, "changed" if changed else "unchanged")
    return 0


def _adder(parser: argparse.ArgumentParser) -> Callable[..., argparse.ArgumentParser]:
    """Return what adds a verb to a parser: a function is given, and its line of help."""
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print one JSON object")
    shared.add_argument("--system", default=sys.platform, help="as sys.platform has it")

    def verb(run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        name = run.__name__.strip("_")
        added = verbs.add_parser(name, parents=[shared], help=text, description=text)
        added.set_defaults(verb=run)
        return added

    return verb


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="retaind_service", description=__doc__)
    verb = _adder(parser)
    verb(_detect, "which service manager answers, and where its unit belongs")
    verb(_uninstall, "stop, disable and remove the unit")
    verb(_start, "start the service and wait until it is ready")
    verb(_stop, "stop the service and wait for its end")
    verb(_restart, "start the service from its unit as it is now")
    verb(_status, "what the manager says of the service")
    logs = verb(_logs, "the end of the service's log")
    logs.add_argument("-n", "--lines", type=int, default=50)
    logs.add_argument("-f", "--follow", action="store_true")
    check = verb(_check, "list what stands in the way of installing")
    check.add_argument("folder", type=Path, nargs="+")
    fingerprint = verb(_fingerprint, "the version and hash of a checkout")
    fingerprint.add_argument("checkout", type=Path)
    install = verb(_install, "write the unit and enable it")
    install.add_argument("--python", type=Path, required=True)
    wait = verb(_wait, "wait until the daemon of a version answers")
    wait.add_argument("version")
    wait.add_argument("--timeout", type=float, default=30.0)
    record = verb(_record, "write the manifest")
    record.add_argument("checkout", type=Path)
    record.add_argument("file", type=Path, nargs="*")
    record.add_argument("--linger", action="store_true")
    record.add_argument("--state-dir", type=Path, required=True)
    extras = verb(_extras, "note in the manifest which extras are installed")
    extras.add_argument("names")
    for added in (fingerprint, install, record, extras):
        added.add_argument("--manifest", type=Path, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
