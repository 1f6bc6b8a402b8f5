#!/usr/bin/env bash
# Run the tests with the address and undefined behaviour sanitizers of g++:
#   tools/sanitize.sh [--filter=regex] [--extended]
# R itself needs no special build: the sanitizer runtime is preloaded. A
# finding ends the test process, which counts as a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

makevars=$(mktemp)
trap 'rm -f "$makevars"' EXIT
flags="-g -O1 -fno-omit-frame-pointer"
flags="$flags -fsanitize=address,undefined -fno-sanitize=vptr"
flags="$flags -fno-sanitize-recover=undefined"
cat > "$makevars" <<MAKEVARS
CXXFLAGS = $flags
CXX14FLAGS = $flags
CXX17FLAGS = $flags
CXX20FLAGS = $flags
LDFLAGS = -fsanitize=address,undefined
MAKEVARS

# Missing packages are installed without the sanitizers.
Rscript tools/deps.R tests

export R_MAKEVARS_USER="$makevars"
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1:${UBSAN_OPTIONS:-}"
# libstdc++ is preloaded too, so that exceptions are intercepted correctly.
KERNELBAYES_PRELOAD="$(g++ -print-file-name=libasan.so)"
KERNELBAYES_PRELOAD+=" $(g++ -print-file-name=libstdc++.so)"
export KERNELBAYES_PRELOAD
Rscript tools/test.R "$@"
