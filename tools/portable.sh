#!/usr/bin/env bash
# Check by proxy that the C++ code compiles on systems other than this machine:
#   tools/portable.sh
# macOS: core, headers and glue with clang++ and libc++. Windows: the core with
# MinGW's g++. Compiles as C++17 and C++20, without warnings in our code from
# -Wall, -Wextra and -Wconversion; nothing is linked. Needs Debian's packages
# clang, libc++-dev, libc++abi-dev and g++-mingw-w64-x86-64-posix.
set -euo pipefail
cd "$(dirname "$0")/../src"

headers() {
  Rscript -e 'for (p in c("Rcpp", "RcppEigen", "BH", "RcppThread")) {
    cat("-isystem", system.file("include", package = p), "")
  }
  cat("-isystem", R.home("include"), "")'
}

# Number of jobs that xargs runs at a time.
jobs=${JOBS:-2}
system=$(headers)
# As g++ understands -Wconversion: vectors are indexed by int.
flags="-fsyntax-only -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror"
flags="$flags -I../inst/include -I."
flags="$flags -DEIGEN_DONT_PARALLELIZE -DRCPP_NO_MODULES $system"
# Debian's Rcpp, 1.0.10, uses std::result_of, which C++20 removed.
libcxx="-stdlib=libc++ -D_LIBCPP_ENABLE_CXX20_REMOVED_TYPE_TRAITS"
core=$(ls core/*.cpp)
units="entries.cpp glue.cpp $core"
# Each must compile by itself, too: one compiler tells.
parts=$(ls glue_*.cpp glue/*.cpp core/*/*.cpp core/*/*/*.cpp)

compile() {
  local name=$1 compiler=$2 standard=$3 files=$4
  echo "$name, C++$standard ..."
  # shellcheck disable=SC2086
  printf '%s\n' $files | xargs -P "$jobs" -I{} \
    $compiler -std=c++$standard $flags {}
}

for standard in 17 20; do
  compile "macOS (clang++, libc++)" "clang++ $libcxx" $standard "$units"
  compile "Windows (MinGW)" x86_64-w64-mingw32-g++-posix $standard "$core"
done
compile "Single files (clang++)" "clang++ $libcxx" 17 "$parts"
echo "Everything compiles without warnings."
