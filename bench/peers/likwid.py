"""Sets `roofline machine` beside likwid-bench: both in turn, several times, medians. Prints a Markdown table.

    python3 likwid.py path/to/roofline [ROUNDS]
"""

import json
import re
import statistics
import subprocess
import sys

KERNELS = [
    ("read", "load_avx", "read_gb_s", "512MB", "MByte/s"),
    ("copy", "copy_mem_avx", "copy_gb_s", "512MB", "MByte/s"),
    ("triad", "stream_mem_avx_fma", "triad_gb_s", "512MB", "MByte/s"),
    ("f32", "peakflops_sp_avx_fma", "f32_gflops", "32kB", "MFlops/s"),
]


def likwid(test: str, size: str, threads: int, figure: str) -> float:
    command = ["likwid-bench", "-t", test, "-w", f"S0:{size}:{threads}"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^{figure}:\s+([0-9.]+)", output, re.MULTILINE)
    if not found:
        sys.exit(f"likwid-bench {test} printed no {figure}")
    return float(found.group(1)) / 1e3


def main() -> None:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ours: dict = {}
    theirs: dict = {}
    for _ in range(rounds):
        output = subprocess.run([program, "machine", "--no-cache", "--format", "json"], capture_output=True, text=True, check=True)
        machine = json.loads(output.stdout)
        for side in ("single", "all"):
            roofs = machine[side]
            for name, test, key, size, figure in KERNELS:
                ours.setdefault((name, side), []).append(roofs[key])
                theirs.setdefault((name, side), []).append(likwid(test, size, roofs["threads"], figure))
    print(f"{machine['cpu']}, {machine['isa']}, {rounds} rounds in turn, medians (best)\n")
    print("| roof | threads | roofline machine | likwid-bench | which | ratio of medians | ratio of bests |")
    print("|---|---|---|---|---|---|---|")
    for name, test, _, _, _ in KERNELS:
        for side in ("single", "all"):
            a, b = ours[name, side], theirs[name, side]
            threads = machine[side]["threads"]
            shown = [f"{statistics.median(x):.1f} ({max(x):.1f})" for x in (a, b)]
            ratios = f"{statistics.median(a) / statistics.median(b):.2f} | {max(a) / max(b):.2f}"
            print(f"| {name} | {threads} | {shown[0]} | {shown[1]} | {test} | {ratios} |")


main()
