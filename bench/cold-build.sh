#!/usr/bin/env bash
# CPU seconds of a cold debug build of a crate that uses only the macro, compared with a baseline that depends on syn with all
# features, serde's derive and serde_yaml. Three interleaved runs each; prints every run and the ratio of the medians.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

crate() { # name, dependencies, source
  mkdir -p "$work/$1/src"
  printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n' "$1" "$2" > "$work/$1/Cargo.toml"
  printf '%s\n' "$3" > "$work/$1/src/main.rs"
  (cd "$work/$1" && cargo fetch --quiet)
}
crate ours "roofline-macros = { path = \"$root/roofline-macros\" }" \
  'roofline_macros::roofline_contract!("roofline-model-v1.yaml"); fn main() {}'
crate baseline 'syn = { version = "2", features = ["full"] }
quote = "1"
proc-macro2 = "1"
serde = { version = "1", features = ["derive"] }
serde_yaml = "0.9"' 'fn main() {}'

cpu() { # user and system seconds of a cold build
  rm -rf "$work/$1/target"
  ( cd "$work/$1" && TIMEFORMAT='%U %S' && { time cargo build --quiet --offline 2>/dev/null; } 2>&1 | awk '{ print $1 + $2 }' )
}
for run in 1 2 3; do
  for name in ours baseline; do
    seconds=$(cpu "$name")
    echo "$name run $run: $seconds CPU s"
    echo "$seconds" >> "$work/$name.times"
  done
done
median() { sort -n "$work/$1.times" | sed -n 2p; }
awk -v a="$(median ours)" -v b="$(median baseline)" 'BEGIN { printf "medians: ours %.1f, baseline %.1f, ratio %.2f\n", a, b, a / b }'
