#!/usr/bin/env bash
# Installs the Debian packages that are missing: of packages.txt, and with --tests of packages-test.txt too. Quick, and without any right, where none is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lists=(packages.txt)
case ${1-} in
  '') ;;
  --tests) lists+=(packages-test.txt) ;;
  *)
    printf 'install_packages: expected --tests or nothing, got %s\n' "$1" >&2
    exit 2
    ;;
esac
mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "${lists[@]}")

stop() {
  printf 'install_packages: %s\n' "$@" >&2
  exit 1
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  stop "expected Debian 12 (dpkg and apt-get), found neither; install what these packages hold by other means:" "  ${wanted[*]}" \
    "then build with: cmake --preset release && cmake --build --preset release"
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

install=(apt-get install -y --no-install-recommends "${missing[@]}")
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || stop "these packages are missing, and only root may install them (there is no sudo); as root, run:" "  ${install[*]}"
  as_root=(sudo)
fi
as_root+=(env DEBIAN_FRONTEND=noninteractive)

echo "install_packages: installing ${#missing[@]} of ${#wanted[@]} packages: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -q >&2 || stop "apt-get update failed (see above); when it works, run as root:" "  ${install[*]}"
"${as_root[@]}" "${install[@]}" -q >&2 || stop "the packages could not be installed (see above); attend is built on Debian 12; run as root:" "  ${install[*]}"
