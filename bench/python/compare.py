"""Compares the Python package, with 100,000 points as numpy arrays in one call, with the generated Rust.

    python compare.py

Requires the wheel of a release build. Both evaluate every equation into columns, interleaved; prints medians.
"""

import pathlib
import statistics
import subprocess
import time

import numpy

import roofline

HERE = pathlib.Path(__file__).parent
POINTS, ROUNDS = 100_000, 31
ROWS = numpy.arange(POINTS, dtype=float)
WIDE = ROWS % 8191 + 1
QUANTITIES = {
    "roofline-model-v1": {"total_params": (ROWS + 1) * 1e6, "bits_per_weight": 4, "bandwidth": 200, "compute": 5000},
    "operation-v1": {
        "tokens": ROWS % 4096 + 1,
        "dense_params": WIDE * 4096,
        "in_features": WIDE,
        "out_features": 4096,
        "bandwidth": 200,
        "compute": 5000,
    },
}


def checksum(at, contract):
    columns = [numpy.ascontiguousarray(at[name]).view(numpy.uint64) for name in contract.equations]
    return int(sum(int(column.sum(dtype=numpy.uint64)) for column in columns) % 2**64)


def main():
    subprocess.run(["cargo", "build", "--release", "--quiet", "--manifest-path", HERE / "Cargo.toml"], check=True)
    program = HERE / "target" / "release" / "roofline-columns"
    rust = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for name, quantities in QUANTITIES.items():
        contract = roofline.contract(name)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            rust.stdin.write(name + "\n")
            rust.stdin.flush()
            seconds, sums = rust.stdout.readline().split()
            theirs.append(float(seconds))
            start = time.perf_counter()
            at = contract.evaluate(**quantities)
            ours.append(time.perf_counter() - start)
        assert checksum(at, contract) == int(sums), f"{name}: Python and Rust differ"
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        print(f"{name}: Rust {1e3 * theirs:.2f} ms, Python {1e3 * ours:.2f} ms, {ours / theirs:.2f} x")
    rust.stdin.close()
    rust.wait()


if __name__ == "__main__":
    main()
