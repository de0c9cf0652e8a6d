#!/usr/bin/env bash
# Makes a checkout ready to use: scripts/setup.sh demo|test
#
#   demo  .venv with the package and whichever CUDA tools are missing
#   test  the same plus the test tools, node modules, and browsers from the system's packages
#
# Safe to run again: a stamp over everything that decides the result makes a second call a matter of
# milliseconds. Nothing outside the checkout is touched except system packages, and those only where
# a program is absent.
set -euo pipefail

mode=${1:?usage: scripts/setup.sh demo|test}
cd "$(dirname "$0")/.."
venv=.venv
py=$venv/bin/python

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"
    else die "needs root to run: $*"
    fi
}

apt_updated=
apt_install() {
    command -v apt-get >/dev/null || die "please install: $*"
    say "system packages: $*"
    if [ -z "$apt_updated" ]; then
        as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
        apt_updated=1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.11 python3.12 python3.13 python3.14; do
        if command -v "$candidate" >/dev/null &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    die "needs Python 3.11 or newer"
}

# Programs that no wheel brings.
if ! command -v g++ >/dev/null; then apt_install g++; fi   # nvcc's host compiler
if [ "$mode" = test ]; then
    absent=()
    command -v chromium >/dev/null || absent+=(chromium)
    command -v firefox-esr >/dev/null || command -v firefox >/dev/null || absent+=(firefox-esr)
    command -v node >/dev/null || absent+=(nodejs)
    command -v npm >/dev/null || absent+=(npm)
    if [ ${#absent[@]} -gt 0 ]; then apt_install "${absent[@]}"; fi
fi

# The environment.
if [ ! -x "$py" ]; then
    python=$(find_python)
    say "environment in $venv ($("$python" --version))"
    if ! "$python" -m venv "$venv"; then   # Debian splits ensurepip off
        rm -rf "$venv"
        apt_install python3-venv
        "$python" -m venv "$venv"
    fi
fi

extras=
if [ "$mode" = test ]; then extras='[test]'; fi
stamp=$venv/.setup-$mode
want=$(cat pyproject.toml scripts/setup.sh scripts/missing_tools.py | sha256sum | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ] || ! "$py" -c 'import warpglass' 2>/dev/null; then
    say "python packages"
    "$py" -m pip install -qq --disable-pip-version-check --upgrade 'pip>=23.1' >&2
    "$py" -m pip install -qq --disable-pip-version-check -e ".$extras" >&2
    printf '%s\n' "$want" >"$stamp"
fi

# Only the CUDA programs that the machine does not have: a toolkit of one's own wins.
mapfile -t wheels < <("$py" scripts/missing_tools.py)
if [ ${#wheels[@]} -gt 0 ]; then
    say "CUDA tools: ${wheels[*]}"
    "$py" -m pip install -qq --disable-pip-version-check "${wheels[@]}" >&2
fi

if [ "$mode" = test ] && [ -f package-lock.json ]; then
    want=$(sha256sum package-lock.json | cut -d' ' -f1)
    if [ "$(cat node_modules/.setup 2>/dev/null)" != "$want" ]; then
        say "node modules"
        npm ci --no-audit --no-fund --loglevel=error >&2
        printf '%s\n' "$want" >node_modules/.setup
    fi
fi
