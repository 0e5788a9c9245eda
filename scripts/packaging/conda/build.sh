#!/usr/bin/env bash
set -euo pipefail
# shellcheck disable=SC2086 # CMAKE_ARGS is a list of words
cmake -S . -B build/conda -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_INSTALL_PREFIX="$PREFIX" \
  -DCKPT_TESTS=OFF -DCKPT_CUDA=OFF
cmake --build build/conda -j "${CPU_COUNT:-2}"
cmake --install build/conda --strip
