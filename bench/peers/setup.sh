#!/usr/bin/env bash
# Makes the Python environment of the peers: about two minutes and 6 GB (PyPI's torch brings its GPU libraries along).
#   bench/peers/setup.sh [FOLDER]     default: build/peers
set -euo pipefail
folder=${1:-"$(dirname "${BASH_SOURCE[0]}")/../../build/peers"}
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet torch==2.15.0 onnxruntime==1.32.0 openvino==2026.4.0 onnx==1.23.2 numpy
echo "made $folder: run $folder/bin/python bench/peers/compare.py --help"
