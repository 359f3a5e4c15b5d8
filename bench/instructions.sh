#!/usr/bin/env bash
# Instructions of the generated functions beside the same formulas written by hand, counted by callgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "instructions: not run, valgrind is missing"; exit 0; }
cargo build --quiet --release -p roofline-verify --example instructions
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/instructions "$1" 2>&1 >/dev/null |
    awk '/Collected/ { print $NF }'
}
generated=$(count generated)
typed=$(count typed)
written=$(count written)
awk -v a="$generated" -v b="$written" -v t="$typed" 'BEGIN {
  printf "generated %d, written by hand %d instructions, for each call %+.3f\n", a, b, (a - b) / 1e6
  printf "typed %d, for each call %+.3f beside the plain\n", t, (t - a) / 1e6
}'
