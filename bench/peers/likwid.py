"""Compares `roofline machine` with likwid-bench: interleaved, best of many short bursts of each. Prints a Markdown table.

    python3 likwid.py path/to/roofline [ROUNDS]

`roofline machine` reports the best of some hundred passes over its memory. likwid-bench would average over a second, so it is run
repeatedly for one pass each, and its best result is used. Other load then affects both equally.
"""

import json
import re
import statistics
import subprocess
import sys

# Name, our JSON key, likwid test, working set (None: as large as ours, which exceeds the caches), iterations, bursts per round, and
# likwid metric.
TESTS = [
    ("read", "read_gb_s", "load_{}", None, 1, 8, "MByte/s"),
    ("copy", "copy_gb_s", "copy_mem_{}", None, 1, 8, "MByte/s"),
    ("triad", "triad_gb_s", "stream_sp_mem_{}_fma", None, 1, 8, "MByte/s"),
    ("f32", "f32_gflops", "peakflops_sp_{}_fma", "32kB", 2000, 25, "MFlops/s"),
    ("f64", "f64", "peakflops_{}_fma", "32kB", 2000, 25, "MFlops/s"),
]


def burst(test: str, size: str, threads: int, iterations: int, figure: str) -> float:
    command = ["likwid-bench", "-t", test, "-w", f"S0:{size}:{threads}", "-i", str(iterations)]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.search(rf"^{figure}:\s+([0-9.]+)", output, re.MULTILINE)
    if not found:
        sys.exit(f"{' '.join(command)}: no {figure} in the output")
    return float(found.group(1)) / 1e3


def roof(roofs: dict, key: str) -> float:
    if key in roofs:
        return roofs[key]
    return next(one["gop_s"] for one in roofs["arithmetic"] if one["numbers"] == key)


def main() -> None:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    ours: dict = {}
    theirs: dict = {}
    for _ in range(rounds):
        command = [program, "machine", "--no-cache", "--format", "json"]
        machine = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        wide = machine["isa"].startswith(("avx512", "amx"))
        for side in ("single", "all"):
            for name, key, test, size, iterations, bursts, figure in TESTS:
                size = size or f"{machine['size'] // 1000}kB"
                test = test.format("avx512" if wide else "avx")
                threads = machine[side]["threads"]
                ours.setdefault((name, side), []).append(roof(machine[side], key))
                found = [burst(test, size, threads, iterations, figure) for _ in range(bursts)]
                theirs.setdefault((name, side, test), []).extend(found)
    print(f"{machine['cpu']}, {machine['isa']}, {rounds} interleaved rounds; best result, and in parentheses the median\n")
    print("| roof | threads | roofline machine | likwid-bench | likwid test | ratio of bests |")
    print("|---|---|---|---|---|---|")
    for (name, side, test), b in theirs.items():
        a = ours[name, side]
        shown = [f"{max(x):.1f} ({statistics.median(x):.1f})" for x in (a, b)]
        print(f"| {name} | {machine[side]['threads']} | {shown[0]} | {shown[1]} | {test} | {max(a) / max(b):.2f} |")


main()
