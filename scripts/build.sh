#!/usr/bin/env bash
# Installs what is missing, configures and builds one preset: scripts/build.sh PRESET FOLDER [CMAKE OPTION…]
# Quick when there is nothing to do.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=$1 folder=$2
shift 2

if [ "$preset" = release ]; then
  "$root/scripts/install_packages.sh"
else
  "$root/scripts/install_packages.sh" --tests
fi

cd "$root"
# Ninja configures again by itself when a CMakeLists.txt changes, but knows nothing of presets and options.
if [ $# -gt 0 ] || [ ! "$folder/build.ninja" -nt CMakePresets.json ]; then
  cmake --preset "$preset" -B "$folder" "$@" >&2
fi

# A compiler that sees libtorch takes up to 1 GB: no more of them at a time than fit into memory.
cores=$(nproc)
gigabytes=$(awk '/^MemAvailable:/ {print int($2 / 1000000)}' /proc/meminfo)
jobs=$((gigabytes < cores ? gigabytes : cores))
cmake --build "$folder" --parallel $((jobs > 0 ? jobs : 1)) >&2
