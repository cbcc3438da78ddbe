#!/bin/sh
# Install the coding agent that tests/agents drives, in the version that is pinned there, below the folder
# $RETAIND_AGENTS (by default ~/.cache/retaind-agents). Does nothing when it is there already.
# No package's install script runs: the program itself is all that is needed.
set -eu
pinned=$(cd "$(dirname "$0")/../tests/agents" && pwd)/package.json
version=$(sed -n 's|.*"@anthropic-ai/claude-code": "\([0-9.]*\)".*|\1|p' "$pinned")
folder=${RETAIND_AGENTS:-$HOME/.cache/retaind-agents}
target=$folder/claude-code-$version

fail() {
    echo "error: cannot install Claude Code $version for the tests. WHY: $1. FIX: $2" >&2
    exit 3
}

# It appears whole or not at all: see the last line.
[ -d "$target" ] && exit 0
command -v npm >/dev/null 2>&1 || fail "there is no npm" "install Node.js 18 or newer"
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
[ "$major" -ge 18 ] || fail "Node.js 18 or newer is needed" "install a newer one"
mkdir -p "$folder"
partial=$(mktemp -d "$folder/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT
cp "$pinned" "$partial/package.json"
(cd "$partial" && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error) >&2 ||
    fail "npm could not install it" "read npm's message above"
"$(echo "$partial"/node_modules/@anthropic-ai/claude-code-*/claude)" --version >/dev/null ||
    fail "its program does not run on this machine" "set RETAIND_AGENTS to a folder where programs may run"
mv "$partial" "$target"
