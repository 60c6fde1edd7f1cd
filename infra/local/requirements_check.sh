#!/bin/sh
# Has this machine what it takes to make the environment? Runs before there is one.
#
# Needs: Python 3.11 or newer with venv, ensurepip and its headers; make; gcc with
# the C library's headers. Names everything that is missing at once, with the
# command that installs it. PYTHON chooses the interpreter (default python3).
#
# Exit: 0 all there, 2 something is missing.
set -u

PYTHON=${PYTHON:-python3}
MINIMUM=3.11
missing=
packages=

have() { command -v "$1" >/dev/null 2>&1; }

# lacks WHAT APT DNF PACMAN
lacks() {
    missing="$missing
  - $1"
    case $manager in
        apt) new=$2 ;;
        dnf) new=$3 ;;
        pacman) new=$4 ;;
        *) new= ;;
    esac
    for package in $new; do
        case " $packages " in
            *" $package "*) ;;
            *) packages="$packages $package" ;;
        esac
    done
}

if have apt-get; then manager=apt
elif have dnf; then manager=dnf
elif have pacman; then manager=pacman
else manager=none
fi

usable=no
if ! have "$PYTHON"; then
    lacks "Python $MINIMUM or newer ($PYTHON is not on the PATH)" \
        "python3 python3-venv python3-dev" "python3 python3-devel" "python"
elif ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    found=$("$PYTHON" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)
    lacks "Python $MINIMUM or newer ($PYTHON is ${found:-not a working Python}); a newer one beside it is chosen with PYTHON=python$MINIMUM" \
        "python$MINIMUM python$MINIMUM-venv python$MINIMUM-dev" \
        "python$MINIMUM python$MINIMUM-devel" "python"
else
    usable=yes
fi

if ! have make; then lacks "make" make make make; fi

compiler=yes
if ! have "${CC:-gcc}"; then
    lacks "a C compiler (${CC:-gcc} is not on the PATH)" "gcc libc6-dev" gcc gcc
    compiler=no
fi

if [ $usable = yes ]; then
    if ! "$PYTHON" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        lacks "the modules venv and ensurepip of $PYTHON" python3-venv python3 python
    fi
    include=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    if [ ! -f "$include/Python.h" ]; then
        lacks "the headers of $PYTHON (no $include/Python.h)" python3-dev python3-devel python
    elif [ $compiler = yes ] &&
        ! echo '#include <Python.h>' |
        "${CC:-gcc}" "-I$include" -fsyntax-only -x c - >/dev/null 2>&1; then
        lacks "the C library's headers (${CC:-gcc} cannot compile a file that includes Python.h)" \
            libc6-dev glibc-devel glibc
    fi
fi

[ -z "$missing" ] && exit 0

echo "This machine lacks what daskperf is built with:$missing" >&2
if [ "$(id -u)" = 0 ]; then sudo=; else sudo="sudo "; fi
case $manager in
    apt) echo "Install it with:
  ${sudo}apt-get update && ${sudo}apt-get install -y$packages" >&2 ;;
    dnf) echo "Install it with:
  ${sudo}dnf install -y$packages" >&2 ;;
    pacman) echo "Install it with:
  ${sudo}pacman -S --needed$packages" >&2 ;;
    *) echo "Install it with this system's package manager, then try again." >&2 ;;
esac
exit 2
