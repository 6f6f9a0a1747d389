#!/usr/bin/env bash
# Installs and starts the real parts that some tests need (tests/real_parts.py lists them), and runs these tests.
#
#     tools/test-real.sh [--install | --installed] [--strict] [--without PART,PART...] [ARGUMENT OF PYTEST...]
#
# Java, PostgreSQL, Chromium, LibreOffice and node come from the packages of Debian or Ubuntu, as far as they are missing and root
# may install them; everything else comes from the package index, into .venv-real, in the versions that .venv has of
# what both need. PostgreSQL runs in build/real and listens on no port. --install installs only, and --installed takes
# what there is.
#
# A part that cannot be had is named with the reason, and its tests are left out, as are those of the parts that
# --without names. Status: 0 if all other tests passed, 1 if one failed or was skipped, 2 with --strict if none failed
# but a part could not be had.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-real
root=build/real
mkdir -p "$root"

only_install=
installed=
strict=
without=
while [[ ${1:-} =~ ^--(install|installed|strict|without)$ ]]; do
    case $1 in
        --install) only_install=1 ;;
        --installed) installed=1 ;;
        --strict) strict=1 ;;
        --without)
            without=$2
            shift
            ;;
    esac
    shift
done

say() { printf '%s\n' "$*"; }

postgresql() {
    local program
    for program in "$(command -v "$1" || true)" /usr/lib/postgresql/*/bin/"$1"; do
        if [ -x "$program" ]; then
            printf '%s\n' "$program"
            return
        fi
    done
    return 1
}

install_programs() {
    local wanted=() sudo=()
    command -v java >/dev/null || wanted+=(default-jre-headless)
    postgresql initdb >/dev/null || wanted+=(postgresql)
    if [[ ",$without," != *,chromium,* ]]; then
        command -v chromium chromium-browser google-chrome >/dev/null || wanted+=(chromium)
    fi
    command -v node >/dev/null || wanted+=(nodejs)
    if [[ ",$without," != *,libreoffice,* ]]; then
        command -v soffice libreoffice >/dev/null || wanted+=(libreoffice-calc)
    fi
    [ ${#wanted[@]} -gt 0 ] || return 0
    say "installing ${wanted[*]}"
    if ! command -v apt-get >/dev/null; then
        say "not installed, as there is no apt-get: ${wanted[*]}"
        return
    fi
    if [ "$(id -u)" -ne 0 ]; then
        sudo=(sudo -n)
        if ! sudo -n true 2>/dev/null; then
            say "not installed, as only root may: ${wanted[*]}"
            return
        fi
    fi
    local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive timeout 300 apt-get --quiet --option DPkg::Lock::Timeout=60
        --option Acquire::Retries=1 --option Acquire::http::Timeout=20 --option Acquire::https::Timeout=20)
    local package
    "${apt[@]}" update >"$root/apt.log" 2>&1 </dev/null || true
    if ! "${apt[@]}" install --yes --no-install-recommends "${wanted[@]}" >>"$root/apt.log" 2>&1 </dev/null; then
        for package in "${wanted[@]}"; do  # one that cannot be had must not keep the others away
            "${apt[@]}" install --yes --no-install-recommends "$package" >>"$root/apt.log" 2>&1 </dev/null ||
                say "not installed by apt-get (see $root/apt.log): $package: $(tail -n 1 "$root/apt.log")"
        done
    fi
}

uv_install() {
    UV_HTTP_TIMEOUT=30 timeout 300 "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" \
        --constraint "$root/constraints.txt" "$@" >>"$root/index.log" 2>&1 </dev/null
}

install_packages() {
    [ ! "$venv/installed" -nt pyproject.toml ] || return 0
    : >"$root/index.log"
    tools/make-venv.sh "$venv"
    if ! timeout 100 "$venv/bin/python" -m pip install --quiet --retries 1 --timeout 20 uv >>"$root/index.log" 2>&1; then
        say "nothing installed from the package index (see $root/index.log): $(tail -n 1 "$root/index.log")"
        return
    fi
    # The same numba, above all: what one version has compiled, another would compile again.
    : >"$root/constraints.txt"
    [ ! -x .venv/bin/python ] || .venv/bin/python -m pip freeze --exclude-editable >"$root/constraints.txt"
    say "installing the packages of the extra 'real'"
    # anbexact itself is imported from this folder: no build that could meet another one here.
    pwd >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/anbexact.pth"
    if uv_install --requirement pyproject.toml --extra real; then
        touch "$venv/installed"
        return
    fi
    say "they cannot be had together, so each is installed alone: $(tail -n 1 "$root/index.log")"
    local package
    for package in test onnx skops arviz dask ibis mlflow numpyro pymc spark; do
        uv_install --requirement pyproject.toml --extra "$package" ||
            say "not installed: the extra $package: $(tail -n 1 "$root/index.log")"
    done
    for package in distributed 'ibis-framework[duckdb]' jpmml-evaluator onnxruntime playwright 'psycopg[binary]' skl2onnx; do
        uv_install "$package" || say "not installed: $package: $(tail -n 1 "$root/index.log")"
    done
}

# The server refuses to be run by root, and the path of its socket must be short.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

start_postgresql() {
    local initdb pg_ctl
    if ! initdb=$(postgresql initdb) || ! pg_ctl=$(postgresql pg_ctl); then return 0; fi
    server=$(mktemp -d)
    chmod 755 "$server"
    [ "$(id -u)" -ne 0 ] || chown postgres "$server"
    if as_server timeout 60 "$initdb" -D "$server/data" -U postgres -A trust -E UTF8 --no-sync >"$root/postgresql.log" 2>&1 &&
        as_server timeout 60 "$pg_ctl" -D "$server/data" -w -l "$server/log" \
            -o "-k $server -c listen_addresses= -c fsync=off" start >>"$root/postgresql.log" 2>&1; then
        export ANBEXACT_POSTGRESQL="host=$server dbname=postgres user=postgres"
    else
        say "PostgreSQL does not start: $(tail -n 1 "$root/postgresql.log")"
    fi
}

server=
stop_postgresql() {
    [ -n "$server" ] || return 0
    as_server "$(postgresql pg_ctl)" -D "$server/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$server"
}

if [ -z "$installed" ]; then
    install_programs
    install_packages
fi
[ -z "$only_install" ] || exit 0

if [ ! -x "$venv/bin/pytest" ]; then
    say 'no real part can be had: pytest is not installed'
    [ -z "$strict" ] || exit 2
    exit 0
fi
trap stop_postgresql EXIT
start_postgresql
here=
missing=
while IFS= read -r line; do
    case $line in
        *': ') [[ ",$without," == *",${line%: },"* ]] || here+=${here:+,}${line%: } ;;
        *) missing+="    $line"$'\n' ;;
    esac
done < <("$venv/bin/python" tests/real_parts.py)
status=0
if [ -n "$here" ]; then
    timeout 900 "$venv/bin/pytest" -n auto --dist worksteal --tier=full -q --disable-warnings --real "$here" \
        --real-table "$root/parts.csv" "$@" </dev/null || status=1
fi
[ -z "$without" ] || say "left out, as --without says: $without"
if [ -z "$missing" ]; then
    say "all${without:+ other} real parts are here"
else
    printf 'real parts that cannot be had, whose tests were left out:\n%s' "$missing"
    [ -z "$strict" ] || [ $status -ne 0 ] || status=2
fi
exit $status
