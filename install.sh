#!/bin/sh
# Installs retaind for one user, from the checkout that this file lies in, and starts it.
#
# Each version gets an environment of its own in PREFIX/share/retaind/versions; the link `current`
# names the one in use, so that an installation that fails is undone by putting the link back.
# Nothing happens before the last line, which calls main.
set -eu

usage() {
    cat <<'EOF'
usage: ./install.sh [options]

Installs or upgrades retaind for this user, and starts it as a service.

  --dry-run        print what would be done, and touch nothing
  --uninstall      stop retaind and remove it; what it has kept stays
  --purge          with --uninstall: remove what it has kept, and its settings, too
  --no-start       install, but do not start
  --no-linger      do not ask systemd to keep the service running after logout
  --prefix DIR     install into DIR/bin and DIR/share (default: ~/.local)
  --python PATH    the Python to use, 3.11 or newer (default: the newest found)
  --extra NAME     install what this needs, too: mcp (retaind mcp) or cl100k (exact counts of
                   tokens); repeatable, and kept when retaind is installed again
  --offline DIR    install packages from the wheels in DIR only; fill it on a machine with
                   a network by: pip download -d DIR CHECKOUT 'hatchling>=1.25'
  --allow-root     install under sudo although the home folder is another user's
  -q, --quiet      print only warnings and errors
  -h, --help       print this

exit status: 0 done, 1 failed and undone, 2 wrong usage, 3 something is missing on this machine
EOF
}

# ---------------------------------------------------------------- saying

say() {
    [ -n "$quiet" ] || printf '%s\n' "$*"
}

complain() { # word what why fix
    printf '%s: %s. WHY: %s. FIX: %s\n' "$1" "$2" "$3" "$4" >&2
}

warn() { # what why fix
    complain warning "$@"
}

fail() { # status what why fix
    rc=$1
    shift
    complain error "$@"
    exit "$rc"
}

act() { # description command...: do it, or only say so
    what=$1
    shift
    if [ -n "$dry_run" ]; then
        printf 'would %s\n' "$what"
    else
        "$@"
    fi
}

# ---------------------------------------------------------------- options and places

parse_options() {
    quiet='' dry_run='' uninstall='' purge='' no_start='' no_linger='' allow_root=''
    prefix='' python='' offline='' extras=''
    while [ $# -gt 0 ]; do
        case $1 in
        --dry-run) dry_run=yes ;;
        --uninstall) uninstall=yes ;;
        --purge) purge=yes ;;
        --no-start) no_start=yes ;;
        --no-linger) no_linger=yes ;;
        --allow-root) allow_root=yes ;;
        -q | --quiet) quiet=yes ;;
        -h | --help) usage && exit 0 ;;
        --extra=*) add_extra "${1#*=}" ;;
        --prefix=* | --python=* | --offline=*) set_path "${1%%=*}" "${1#*=}" ;;
        --extra | --prefix | --python | --offline)
            [ $# -gt 1 ] || fail 2 "$1 needs a value" "it came last" "./install.sh --help"
            if [ "$1" = --extra ]; then add_extra "$2"; else set_path "$1" "$2"; fi
            shift
            ;;
        *) fail 2 "$1 is no option" "install.sh does not know it" "./install.sh --help" ;;
        esac
        shift
    done
    [ -z "$purge" ] || [ -n "$uninstall" ] ||
        fail 2 "--purge goes with --uninstall" "alone it would mean nothing" "./install.sh --uninstall --purge"
}

add_extra() { # name
    case $1 in
    mcp | cl100k) extras="$extras $1" ;;
    *) fail 2 "there is no extra '$1'" "there are mcp and cl100k" "./install.sh --help" ;;
    esac
}

set_path() { # option value
    case $2 in
    '') fail 2 "$1 needs a value" "it is empty" "./install.sh --help" ;;
    /*) path=$2 ;;
    */* | .) path=$PWD/$2 ;;
    *) if [ "$1" = --python ]; then path=$2; else path=$PWD/$2; fi ;;
    esac
    case $1 in
    --prefix) prefix=$path ;;
    --python) python=$path ;;
    --offline) offline=$path ;;
    esac
}

find_places() {
    [ -d "${HOME:-}" ] ||
        fail 3 "there is no home folder" "HOME is '${HOME:-}'" "export HOME=/your/home/folder"
    checkout=$(cd "$(dirname "$0")" && pwd -P)
    case $checkout in
    */share/retaind) prefix=${prefix:-${checkout%/share/retaind}} ;; # the copy that uninstalls
    esac
    share=${prefix:-$HOME/.local}/share/retaind
    bin=${prefix:-$HOME/.local}/bin
    versions=$share/versions
    current=$share/current
    manifest=$share/manifest.json
    log=$share/install.log
    system=$(uname -s)
    case $system in
    Darwin)
        platform=darwin
        unit=$HOME/Library/LaunchAgents/dev.retaind.agent.plist
        state=$HOME/Library/Application\ Support/retaind
        config=$state
        ;;
    *)
        platform=linux
        unit=$HOME/.config/systemd/user/retaind.service
        state=$(xdg "${XDG_STATE_HOME:-}" .local/state)/retaind
        config=$(xdg "${XDG_CONFIG_HOME:-}" .config)/retaind
        ;;
    esac
    [ -z "${RETAIND_STATE_DIR:-}" ] || state=$RETAIND_STATE_DIR
    if [ -z "${XDG_RUNTIME_DIR:-}" ] && [ -d "/run/user/$(id -u)" ]; then
        XDG_RUNTIME_DIR=/run/user/$(id -u)
        export XDG_RUNTIME_DIR
    fi
}

xdg() { # value default: a relative one does not count
    case $1 in
    /*) printf '%s' "$1" ;;
    *) printf '%s' "$HOME/$2" ;;
    esac
}

guard_root() {
    [ "$(id -u)" = 0 ] || return 0
    # shellcheck disable=SC2012 # the numeric owner of one folder, in a form that every ls has
    owner=$(ls -ldn "$HOME" | awk '{ print $3 }')
    if [ -n "${SUDO_USER:-}" ] && [ "$owner" != 0 ] && [ -z "$allow_root" ]; then
        fail 3 "this would install for root into the home of $SUDO_USER" \
            "sudo kept HOME=$HOME" "run ./install.sh without sudo"
    fi
    [ -n "$uninstall" ] ||
        warn "installing for root" "retaind then watches root's transcripts only" \
            "run ./install.sh as the user who runs the agents, unless that is root"
}

# ---------------------------------------------------------------- what the machine has

preflight() {
    missing=''
    case $system in
    Linux | Darwin) ;;
    *) lacks "retaind does not run on $system" "it knows Linux and macOS" "run it on one of these" ;;
    esac
    if [ -n "$offline" ] && [ ! -d "$offline" ]; then
        lacks "$offline is no folder" "--offline names the folder that holds the wheels" \
            "pip download -d '$offline' '$checkout' 'hatchling>=1.25'"
    fi
    find_python
    manager=none
    if [ -n "$python" ]; then
        facts=$(from_checkout detect)
        manager=${facts%% *}
        [ "$manager" = none ] || unit=${facts#* }
        from_checkout check "$share" "$bin" "$(dirname "$unit")" "$state" || missing=yes
    fi
    [ -z "$missing" ] || exit 3
}

lacks() { # what why fix: said at once, together with all else that is missing
    complain error "$@"
    missing=yes
}

find_python() {
    if [ -n "$python" ]; then
        suits "$python" && return
        lacks "$python cannot run retaind" "it is no CPython 3.11 or newer" \
            "./install.sh --python /usr/bin/python3"
        python=''
        return
    fi
    for python in python3.13 python3.12 python3.11 python3; do
        if suits "$python"; then return; fi
    done
    python=$(UV_PYTHON_DOWNLOADS=never uv python find '>=3.11' 2>/dev/null) && suits "$python" && return
    python=''
    lacks "there is no Python 3.11 or newer" "looked for python3.13 to python3.11, python3 and uv's" \
        "$(python_fix)"
}

suits() { # command: sets python to the interpreter behind it, for it may be a shim
    found=$("$1" -I -c 'import sys
if sys.version_info >= (3, 11) and sys.implementation.name == "cpython": print(sys.executable)' 2>/dev/null) || return 1
    [ -n "$found" ] || return 1
    python=$found
}

python_fix() {
    if [ "$system" = Darwin ]; then
        echo "brew install python@3.13"
    elif command -v apt-get >/dev/null; then
        echo "sudo apt-get install python3 python3-venv"
    elif command -v dnf >/dev/null; then
        echo "sudo dnf install python3.12"
    else
        echo "uv python install 3.13"
    fi
}

from_checkout() { # verb...: the service package of this checkout, before anything is installed
    verb=$1
    shift
    "$python" -I -B -c 'import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("retaind_service", run_name="__main__", alter_sys=True)' \
        "$checkout/service" "$verb" --system "$platform" "$@"
}

service() { # environment verb...: the service package of an installed version
    environment=$1
    verb=$2
    shift 2
    "$environment/bin/python" -I -m retaind_service "$verb" --system "$platform" "$@"
}

read_checkout() {
    facts=$(from_checkout fingerprint "$checkout" --manifest "$manifest") || exit 3
    version=${facts%% *}
    facts=${facts#* }
    fingerprint=${facts%% *}
    installed=${facts#* }
}

# ---------------------------------------------------------------- building

lock() { # one installation at a time; a lock whose process is gone is none
    mkdir -p "$share"
    if ! mkdir "$share/.installing" 2>/dev/null; then
        other=$(cat "$share/.installing/pid" 2>/dev/null) || other=''
        if [ -n "$other" ] && kill -0 "$other" 2>/dev/null; then
            fail 1 "another installation is under way" "process $other holds $share/.installing" \
                "wait for its end, then run ./install.sh again"
        fi
    fi
    mkdir -p "$share/.installing"
    locked=yes
    echo $$ >"$share/.installing/pid"
}

choose_folder() {
    name=$version
    short=$(printf '%.8s' "$fingerprint")
    number=1
    while [ -e "$versions/$name" ]; do
        name=$version-$short
        [ "$number" = 1 ] || name=$name-$number
        number=$((number + 1))
    done
    new=$versions/$name
}

read_extras() { # sets all_extras, with commas: those of the installation before stay
    all_extras=$(sed -n 's/^ *"extras": "\([a-z0-9,]*\)",$/\1/p' "$manifest" 2>/dev/null) || all_extras=''
    for extra in $extras; do
        case ,$all_extras, in
        *,"$extra",*) ;;
        *) all_extras=${all_extras:+$all_extras,}$extra ;;
        esac
    done
}

build() {
    say "installing retaind $version into $new"
    mkdir -p "$versions"
    stage=building
    : >"$log"
    keep_pip_inside
    set --
    [ -z "$offline" ] || set -- --no-index --find-links "$offline"
    fill "$@" >>"$log" 2>&1 ||
        fail 1 "the packages could not be installed" "$(last_error)" "less '$log'"
    "$new/bin/python" -I -m retaind selftest >>"$log" 2>&1 ||
        fail 1 "the new version fails its self-test" "$(last_error)" "less '$log'"
}

keep_pip_inside() { # settings of the user's pip would lead it out of the environment
    unset PIP_TARGET PIP_PREFIX PIP_ROOT
    PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1
    export PIP_USER PIP_REQUIRE_VIRTUALENV PIP_DISABLE_PIP_VERSION_CHECK
}

fill() { # options for the package installer...
    if command -v uv >/dev/null 2>&1; then
        UV_PYTHON_DOWNLOADS=never
        export UV_PYTHON_DOWNLOADS
        # uv would take the wheel that it built from an earlier state of the same folder.
        uv venv --python "$python" "$new" &&
            into "$new" --refresh-package retaind "$@" "$checkout${all_extras:+[$all_extras]}"
    elif pip_fills_others; then
        # Takes half the time of an environment with a pip of its own, and works without ensurepip.
        "$python" -I -m venv --without-pip "$new" &&
            into "$new" "$@" "$checkout${all_extras:+[$all_extras]}"
    else
        "$python" -I -m venv "$new" &&
            into "$new" "$@" "$checkout${all_extras:+[$all_extras]}"
    fi
}

into() { # environment, then what the package installer is to install there...
    there=$1/bin/python
    shift
    if command -v uv >/dev/null 2>&1; then
        uv pip install --python "$there" --compile-bytecode "$@"
    elif pip_fills_others; then
        "$python" -I -m pip --python "$there" install --compile "$@"
    else
        "$there" -I -m pip install --compile "$@"
    fi
}

add_extras() { # to the environment in use, by what the installed version says it needs for them
    : >"$log"
    keep_pip_inside
    # shellcheck disable=SC2086 # the names are words of ours
    "$current/bin/python" -I -c 'import importlib.metadata, sys
for line in importlib.metadata.requires("retaind") or ():
    what, _, when = line.partition(";")
    if any(f"\"{extra}\"" in when.replace("\x27", "\"") for extra in sys.argv[1:]): print(what)' \
        $extras >"$share/.extras"
    set -- -r "$share/.extras"
    [ -z "$offline" ] || set -- --no-index --find-links "$offline" "$@"
    into "$current" "$@" >>"$log" 2>&1 ||
        fail 1 "the packages of$extras could not be installed" "$(last_error)" "less '$log'"
    rm -f "$share/.extras" "$log"
    note_extras
    added=yes
    say "retaind has what it needs for:$extras"
}

note_extras() {
    [ -n "$all_extras" ] || return 0
    service "$current" extras --manifest "$manifest" "$all_extras" >/dev/null
}

pip_fills_others() { # since 22.3, by --python
    "$python" -I -m pip --python "$python" --version
}

last_error() {
    { grep -i 'error' "$log" || cat "$log"; } | tail -n 1 | sed 's/[. ]*$//'
}

# ---------------------------------------------------------------- bringing it up, or back

activate() {
    keep_what_was
    stage=activating
    place_unit "$new"
    stop_all
    point_current_to "$name"
    [ -z "$no_start" ] || return 0
    start_and_wait
}

keep_what_was() {
    before=$(readlink "$current" 2>/dev/null) || before=''
    kept_unit=$share/.unit-before
    rm -f "$kept_unit"
    [ ! -e "$unit" ] || cp -p "$unit" "$kept_unit"
}

place_unit() { # environment
    [ "$manager" != none ] || return 0
    service "$1" install --python "$current/bin/python" --manifest "$manifest" >/dev/null
}

unit_is_as_before() {
    [ "$manager" != none ] || return 0
    [ -e "$kept_unit" ] && cmp -s "$unit" "$kept_unit"
}

point_current_to() { # name of a version; a link is replaced in one step only by rename
    ln -s "versions/$1" "$share/.current.$$"
    "$python" -I -c 'import os, sys; os.replace(*sys.argv[1:])' "$share/.current.$$" "$current"
}

start() { # environment
    if [ "$manager" = none ]; then
        "$1/bin/python" -I -m retaind start >/dev/null
    else
        service "$1" restart >/dev/null
    fi
}

start_and_wait() { # both say why themselves when they fail
    start "$current" || exit 1
    found=$(service "$current" wait "$version" --timeout 30) || exit 1
}

roll_back() {
    stage=''
    say "undoing the installation" >&2
    last_log_lines >&2
    stop_all
    if [ -e "$kept_unit" ]; then
        cp -p "$kept_unit" "$unit"
    else
        remove_unit
    fi
    if [ -n "$before" ] && [ -x "$share/$before/bin/python" ]; then
        point_current_to "${before#versions/}"
        [ -n "$no_start" ] || start "$current" ||
            warn "the earlier version did not start either" "see above" "retaind start"
    else
        rm -f "$current"
    fi
    rm -rf "$new"
    rm -f "$kept_unit"
}

answers() { # whether a daemon does, by what `current` names
    [ -x "$current/bin/python" ] && "$current/bin/python" -I -m retaind status --json >/dev/null 2>&1
}

last_log_lines() {
    if [ "$manager" = none ]; then
        "$new/bin/python" -I -m retaind logs --lines 20 2>/dev/null || true
    else
        service "$new" logs --lines 20 2>/dev/null || true
    fi
}

on_exit() { # every way out ends here, signals included
    rc=$?
    trap - EXIT
    set +e
    # Whatever a command of ours ended with, a failure that is undone is 1; above 128 are signals.
    [ -z "$stage" ] || [ "$rc" -gt 128 ] || rc=1
    case $stage in
    building)
        rm -rf "$new"
        ! answers || say "the earlier version still runs" >&2
        ;;
    activating)
        roll_back
        ! answers || say "the earlier version runs again" >&2
        ;;
    esac
    [ -z "$locked" ] || rm -rf "$share/.installing"
    exit "$rc"
}

# ---------------------------------------------------------------- finishing

link_command() {
    link=$bin/retaind
    mkdir -p "$bin"
    if [ -L "$link" ] || [ ! -e "$link" ]; then
        case $(readlink "$link" 2>/dev/null) in
        "$current/bin/retaind") return 0 ;;
        '' | "$share"/*) ln -sf "$current/bin/retaind" "$link" && return 0 ;;
        esac
    fi
    warn "$link is not ours and was left alone" "another program or installation put it there" \
        "$current/bin/retaind status"
    link=''
}

enable_linger() {
    lingering=''
    [ "$manager" = systemd ] && [ -z "$no_linger" ] || return 0
    user=$(id -un)
    [ ! -e "/var/lib/systemd/linger/$user" ] || return 0
    if [ -n "$dry_run" ]; then
        act "let the service of $user linger after logout"
    elif loginctl --no-ask-password enable-linger >/dev/null 2>&1; then
        lingering=yes
    else
        warn "retaind will stop when you log out" "systemd did not let it linger" \
            "sudo loginctl enable-linger $user"
    fi
}

write_manifest() {
    cmp -s "$checkout/install.sh" "$share/install.sh" || cp "$checkout/install.sh" "$share/install.sh"
    set -- "$checkout" "$current" "$share/install.sh"
    [ "$manager" = none ] || set -- "$@" "$unit"
    [ -z "$link" ] || set -- "$@" "$link"
    [ -z "$lingering" ] || set -- --linger "$@"
    service "$current" record --manifest "$manifest" --state-dir "$state" "$@" >/dev/null
    note_extras
}

prune() { # keep the version in use and the one before, which some process may still run
    [ -z "$no_start" ] || return 0
    for folder in "$versions"/*; do
        case ${folder##*/} in
        "$name" | "${before#versions/}") ;;
        *) rm -rf "$folder" ;;
        esac
    done
}

report() {
    [ -z "$quiet" ] || return 0
    if [ -n "$no_start" ]; then
        echo "retaind $version is installed and not started. Start it by: retaind start"
    else
        echo "retaind $version is running${found:+: $found}"
        [ "$manager" != none ] ||
            echo "There is no service manager here: after a restart of this machine, run: retaind start"
    fi
    case :$PATH: in
    *:"$bin":*) ;;
    *)
        echo "$bin is not on your PATH. Add this line to your shell's profile:"
        echo "  export PATH=\"$bin:\$PATH\""
        ;;
    esac
    if [ -e "$HOME/.hindsight/claude-code.json" ]; then
        echo "You have settings of the Hindsight plugin. To take them over: retaind migrate hindsight-plugin"
    fi
    [ -z "$no_start" ] || return 0 # what follows needs what a daemon has kept
    echo "Try next:"
    echo "  retaind sessions"
    echo "  retaind search \"something you remember\""
}

# ---------------------------------------------------------------- the two ways through

install() {
    guard_root
    read_extras
    if [ "$checkout" = "$share" ] && [ -n "$extras" ] && [ -x "$current/bin/python" ]; then
        missing=''
        find_python
        [ -z "$missing" ] || exit 3
        [ -n "$dry_run" ] || lock
        act "install what retaind needs for$extras into $current" add_extras
        return
    fi
    preflight
    read_checkout
    [ -n "$dry_run" ] || lock
    if [ "$installed" = same ] && works "$current"; then
        [ -z "$extras" ] || act "install what retaind needs for$extras into $current" add_extras
        act "check that retaind $version, already installed, is healthy" refresh
        return
    fi
    choose_folder
    act "install retaind $version for $python into $new, and test it" build
    [ "$manager" = none ] || act "write $unit" :
    act "link $current to versions/$name" activate
    [ -n "$no_start" ] || [ -z "$dry_run" ] || act "start retaind and wait until it answers" :
    act "link $bin/retaind to $current/bin/retaind" link_command
    enable_linger
    act "write $manifest" write_manifest
    [ -n "$dry_run" ] || finish
}

finish() {
    stage=''
    rm -f "$kept_unit" "$log"
    prune
    report
}

works() { # environment
    [ -x "$1/bin/python" ] && "$1/bin/python" -I -m retaind selftest >/dev/null 2>&1
}

refresh() { # the same version again: mend what is not as it should be, and change nothing else
    keep_what_was
    place_unit "$current"
    link_command
    enable_linger
    write_manifest
    changed=''
    unit_is_as_before || changed=yes
    rm -f "$kept_unit"
    if [ -z "$no_start" ]; then
        if [ -n "$changed" ] || ! found=$(service "$current" wait "$version" --timeout 2 2>/dev/null); then
            changed=yes
            stop_all
            start_and_wait
        fi
    fi
    if [ -z "$changed" ] && [ -n "$added" ]; then
        say "retaind $version was already installed: nothing else changed"
    elif [ -z "$changed" ]; then
        say "retaind $version is already installed: nothing changed"
    else
        say "retaind $version was already installed; its service was brought up to date"
    fi
    report
}

# Uninstalling is done in the shell alone: it must work where the environment is broken.

uninstall() {
    guard_root
    read_manifest
    if [ -x "$share/current/bin/python" ] && hooks_are_installed; then
        act "take retaind's hooks out of the agents' settings" remove_hooks ||
            warn "retaind's hooks are still in the agents' settings" "they could not be taken out" \
                "remove what names retaind from ~/.claude/settings.json"
    fi
    there_was=''
    if is_installed; then
        there_was=yes
        act "stop retaind, and let it flush" stop_all
    else
        say "retaind is not installed in $share"
    fi
    if [ -e "$unit" ] || [ -L "$unit" ]; then
        act "remove $unit" remove_unit
    fi
    if [ "$was_lingering" = true ]; then
        act "end the lingering that the installation began" loginctl --no-ask-password disable-linger ||
            warn "lingering stays on" "systemd refused" "sudo loginctl disable-linger $(id -un)"
    fi
    case $(readlink "$bin/retaind" 2>/dev/null) in
    "$share"/*) act "remove $bin/retaind" rm -f "$bin/retaind" ;;
    esac
    if [ -d "$share" ]; then
        act "remove $share" remove_share
    fi
    if [ -n "$purge" ] && { [ -d "$state" ] || [ -d "$config" ]; }; then
        act "remove all that retaind kept in $state, and its settings in $config" remove_data
        purged=yes
    fi
    [ -z "$dry_run" ] || return 0
    if [ -n "$others" ]; then
        say "what retaind had kept in $others is removed; the other files there stay"
    elif [ -n "$purged" ]; then
        say "all that retaind had kept is removed"
    elif [ -d "$state" ]; then
        say "${there_was:+retaind is removed. }What it kept is still in $state"
    elif [ -n "$there_was" ]; then
        say "retaind is removed"
    fi
}

is_installed() { # or what is left of it, a process of ours included
    [ -d "$share" ] || [ -e "$unit" ] || [ -L "$unit" ] || detached_pid
}

hooks_are_installed() {
    for folder in "${CLAUDE_CONFIG_DIR:-$HOME/.claude}" "$HOME"/.claude*; do
        grep -q 'retaind' "$folder/settings.json" 2>/dev/null && return 0
    done
    return 1
}

remove_hooks() {
    "$share/current/bin/python" -I -m retaind hooks uninstall >/dev/null 2>&1
}

read_manifest() {
    was_lingering=''
    [ -f "$manifest" ] || return 0
    was_lingering=$(sed -n 's/^ *"linger": \([a-z]*\).*/\1/p' "$manifest" | head -n 1)
    recorded=$(recorded_paths | grep -E '/(retaind\.service|dev\.retaind\.agent\.plist)$' | head -n 1) || recorded=''
    [ -z "$recorded" ] || unit=$recorded
    recorded=$(sed -n 's/^ *"state_dir": "\(.*\)",$/\1/p' "$manifest" | unescape | head -n 1)
    [ -z "$recorded" ] || [ -n "${RETAIND_STATE_DIR:-}" ] || state=$recorded
}

recorded_paths() {
    sed -n 's/^ *{"path": "\(.*\)", "sha256": "[0-9a-f]*"},*$/\1/p' "$manifest" | unescape
}

unescape() { # the two characters that JSON escapes in a path
    sed 's/\\\(["\\]\)/\1/g'
}

stop_all() {
    if [ "$platform" = darwin ]; then
        stop_launchd
    elif command -v systemctl >/dev/null 2>&1; then
        systemctl --user --no-ask-password stop retaind.service >/dev/null 2>&1 || true
    fi
    stop_detached
}

stop_launchd() {
    for domain in "gui/$(id -u)" "user/$(id -u)"; do
        launchctl print "$domain/dev.retaind.agent" >/dev/null 2>&1 || continue
        launchctl bootout "$domain/dev.retaind.agent" >/dev/null 2>&1 || true
        tries=0
        while launchctl print "$domain/dev.retaind.agent" >/dev/null 2>&1 && [ "$tries" -lt 64 ]; do
            pause
            tries=$((tries + 1))
        done
    done
}

stop_detached() { # whoever holds the state folder; the process must be ours
    detached_pid || return 0
    kill -TERM "$pid" 2>/dev/null || return 0
    tries=0
    while runs_retaind "$pid"; do
        if [ "$tries" = 100 ]; then
            kill -KILL "$pid" 2>/dev/null || true
        fi
        [ "$tries" -lt 120 ] || return 0
        pause
        tries=$((tries + 1))
    done
}

detached_pid() { # sets pid
    pid=$(sed -n 's/.*"pid": *\([0-9][0-9]*\).*/\1/p' "$state/lock" 2>/dev/null) || return 1
    [ -n "$pid" ] && runs_retaind "$pid"
}

runs_retaind() { # pid
    if [ -r "/proc/$1/cmdline" ]; then
        words=$(tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null)
    else
        words=$(ps -o command= -p "$1" 2>/dev/null)
    fi
    case $words in
    *'-m retaind run '* | *'-m retaind run' | *'/retaind run '* | *'/retaind run') ;;
    *) return 1 ;;
    esac
}

pause() {
    sleep 0.25 2>/dev/null || sleep 1
}

remove_unit() {
    if [ "$platform" != darwin ] && command -v systemctl >/dev/null 2>&1; then
        systemctl --user --no-ask-password disable retaind.service >/dev/null 2>&1 || true
    fi
    rm -f "$unit" "$(dirname "$unit")/default.target.wants/retaind.service"
    if [ "$platform" != darwin ] && command -v systemctl >/dev/null 2>&1; then
        systemctl --user --no-ask-password daemon-reload >/dev/null 2>&1 || true
        systemctl --user --no-ask-password reset-failed retaind.service >/dev/null 2>&1 || true
    fi
}

remove_share() {
    rm -rf "$versions"
    rm -f "$current" "$manifest" "$log" "$share/install.sh" "$share"/.current.* "$share/.extras" "$share/.unit-before"
    rm -rf "$share/.installing"
    rmdir "$share" 2>/dev/null || warn "$share is not empty and stays" "it holds files that are not ours" "ls -la '$share'"
}

remove_data() {
    for folder in "$state" "$config" "$HOME/Library/Logs/retaind"; do
        case $folder in
        */retaind) rm -rf "$folder" ;;
        *) # a folder of the user's choice may hold more than ours
            rm -rf "$folder"/retaind.db* "$folder"/retaind.before-v* "$folder/quarantine" \
                "$folder/suspect" "$folder/lock" "$folder/log" "$folder/ctl.sock" \
                "$folder/tombstones.jsonl" "$folder"/reported_roots.json*
            [ ! -d "$folder" ] || rmdir "$folder" 2>/dev/null || others=$folder
            ;;
        esac
    done
}

main() {
    stage='' locked='' found='' added='' purged='' others=''
    unset PYTHONHOME PYTHONPATH
    parse_options "$@"
    find_places
    if [ -n "$uninstall" ]; then
        uninstall
        return
    fi
    trap on_exit EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    install
}

main "$@"
