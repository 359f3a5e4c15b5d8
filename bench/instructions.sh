#!/usr/bin/env bash
# Compares the instruction counts of generated functions and handwritten ones with callgrind.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "instructions: not run (valgrind not found)"; exit 0; }
cargo build --quiet --release -p roofline-verify --example instructions
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/instructions "$1" 2>&1 >/dev/null |
    awk '/Collected/ { print $NF }'
}
generated=$(count generated)
typed=$(count typed)
handwritten=$(count handwritten)
awk -v a="$generated" -v b="$handwritten" -v t="$typed" 'BEGIN {
  printf "generated: %d instructions, handwritten: %d, difference per call: %+.3f\n", a, b, (a - b) / 1e6
  printf "typed: %d instructions, difference per call to untyped: %+.3f\n", t, (t - a) / 1e6
}'
