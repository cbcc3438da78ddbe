#!/bin/sh
# Runs a real systemd user manager for an account that exists only in here, until its input ends.
#
#   user_manager.sh FOLDER...      folders that the account must be able to reach
#
# No booted system, login, D-Bus or systemd of the host is needed: mounts, processes and control
# groups are private, and nothing is left behind. Prints "ready PID" once the manager answers; PID
# is the process whose namespaces `nsenter` enters. Ends with 77, and the reason, where it cannot run.
set -eu

ACCOUNT=retaind-test
NUMBER=4242
HOME_INSIDE=/run/home

cannot() {
    echo "cannot run here: $*"
    exit 77
}

outside() {
    [ "$(id -u)" = 0 ] || cannot "it needs root"
    for program in unshare setpriv nsenter systemctl; do
        command -v "$program" >/dev/null || cannot "there is no $program"
    done
    [ -x /lib/systemd/systemd ] || cannot "there is no /lib/systemd/systemd"
    unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$unified" ] || cannot "no cgroup2 is mounted"
    unshare --mount --pid --fork --mount-proc --cgroup sh -c 'mount --make-rprivate / && mount -t tmpfs none /run' \
        2>/dev/null || cannot "namespaces and mounts are not allowed"
    group=$unified/retaind-test-$$
    mkdir "$group" 2>/dev/null || cannot "no control group can be made under $unified"
    trap 'leave "$group"' EXIT
    trap 'exit 143' TERM INT HUP
    rc=0
    # The copy of standard input outlives the shell's habit of giving background jobs none.
    sh -c 'echo $$ >"$1/cgroup.procs"; shift
        exec unshare --mount --pid --fork --cgroup --kill-child sh "$@"' \
        sh "$group" "$0" --inside "$@" || rc=$?
    exit "$rc"
}

leave() { # control group: it can go once the last process in it has gone
    tries=0
    while [ -d "$1" ] && [ "$tries" -lt 40 ]; do
        find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
        [ ! -d "$1" ] || sleep 0.05
        tries=$((tries + 1))
    done
}

inside() {
    # Until it is replaced, /proc is the one of outside and knows this shell by its number there.
    read -r number_outside _ </proc/self/stat
    mount --make-rprivate /
    mount -t proc proc /proc
    mount -t tmpfs -o mode=755 tmpfs /run
    # The first is all that tells a booted systemd; units with mounts of their own need the others.
    mkdir -p /run/systemd/system /run/systemd/unit-root /run/systemd/inaccessible
    umount -R /sys/fs/cgroup
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
    make_reachable "$@"
    make_account
    start_journal
    start_manager
    echo "ready $number_outside"
    cat >/dev/null
    kill -TERM "$manager"
    wait "$manager" || true
}

make_reachable() { # folders: some may lie below one that only its owner enters, such as /root
    mkdir /run/kept
    number=0
    for folder in "$@"; do
        number=$((number + 1))
        mkdir "/run/kept/$number"
        mount --bind "$folder" "/run/kept/$number"
    done
    number=0
    for folder in "$@"; do
        number=$((number + 1))
        closed=$(closed_ancestor "$folder")
        [ -z "$closed" ] || mount -t tmpfs -o mode=755 tmpfs "$closed"
        [ -d "$folder" ] || {
            mkdir -p "$folder"
            mount --bind "/run/kept/$number" "$folder"
        }
    done
}

closed_ancestor() { # folder
    path=''
    IFS=/
    # shellcheck disable=SC2086 # split at its slashes
    for part in ${1#/}; do
        path=$path/$part
        if [ -d "$path" ] && ! as_account test -x "$path"; then
            echo "$path"
            break
        fi
    done
    unset IFS
}

as_account() {
    setpriv --reuid="$NUMBER" --regid="$NUMBER" --clear-groups "$@"
}

make_account() {
    for file in passwd group; do
        cp "/etc/$file" "/run/$file"
    done
    echo "$ACCOUNT:x:$NUMBER:$NUMBER::$HOME_INSIDE:/bin/sh" >>/run/passwd
    echo "$ACCOUNT:x:$NUMBER:" >>/run/group
    for file in passwd group; do
        mount --bind "/run/$file" "/etc/$file"
    done
    install -d -m 755 /run/user
    install -d -m 700 -o "$NUMBER" -g "$NUMBER" "/run/user/$NUMBER" "$HOME_INSIDE"
}

start_journal() {
    mkdir -p /run/systemd/journal /run/log/journal
    if [ ! -s /etc/machine-id ] && [ -e /etc/machine-id ]; then
        echo 0123456789abcdef0123456789abcdef >/run/machine-id
        mount --bind /run/machine-id /etc/machine-id
    fi
    /lib/systemd/systemd-journald >/run/journald.log 2>&1 &
}

start_manager() {
    # A subtree of its own, handed over as user@.service would.
    mkdir /sys/fs/cgroup/manager
    for file in . cgroup.procs cgroup.threads cgroup.subtree_control; do
        chown "$NUMBER:$NUMBER" "/sys/fs/cgroup/manager/$file"
    done
    # shellcheck disable=SC2016 # for the inner shell
    sh -c 'echo $$ >/sys/fs/cgroup/manager/cgroup.procs; exec "$@"' sh \
        setpriv --reuid="$NUMBER" --regid="$NUMBER" --clear-groups env -i \
        PATH=/usr/local/bin:/usr/bin:/bin USER="$ACCOUNT" LOGNAME="$ACCOUNT" HOME="$HOME_INSIDE" \
        XDG_RUNTIME_DIR="/run/user/$NUMBER" SYSTEMD_LOG_TARGET=journal \
        /lib/systemd/systemd --user >/run/manager.log 2>&1 &
    manager=$!
    tries=0
    while [ ! -S "/run/user/$NUMBER/systemd/private" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || cannot "the manager does not start: $(tail -n 3 /run/manager.log)"
        sleep 0.05
    done
}

if [ "${1:-}" = --inside ]; then
    shift
    inside "$@"
else
    outside "$@"
fi
