#!/usr/bin/env bash
# From a fresh checkout to a trained, scored and visible model: installs Debian packages that are missing (asks for sudo unless root), builds
# attend, and runs `attend quickstart`, which takes the options that are given here (--help names them).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$root/scripts/build.sh" release "$root/build/release"
exec "$root/build/release/bin/attend" quickstart "$@"
