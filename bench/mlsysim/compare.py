"""Compares `inference-latency-v1` with the Engine of the mlsysim package on the same inputs.

    pip install mlsysim
    cargo build --release
    python bench/mlsysim/compare.py target/release/roofline

Where both models agree, the results must match up to rounding. Differences are expressed as inputs of the contract and noted below.
Energy is excluded, because mlsysim scales power with utilization and the contract uses the full TDP. The device registries are
compared at the end. Not part of CI.
"""

import json
import subprocess
import sys
import warnings

from mlsysim import Engine
from mlsysim.core.units import resolve_precision
from mlsysim.hardware import Hardware
from mlsysim.models import Models

warnings.simplefilter("ignore")

PAIRS = [
    (Models.Language.Llama2_7B, Hardware.Cloud.A100, "fp16", 1),
    (Models.Language.Llama3_8B, Hardware.Cloud.H100, "fp16", 1),
    (Models.Language.Llama3_8B, Hardware.Cloud.H100, "int8", 16),
    (Models.Language.BERT_Large, Hardware.Cloud.T4, "fp16", 32),
    (Models.Vision.ResNet50, Hardware.Cloud.V100, "fp32", 64),
    (Models.Language.Mixtral_8x7B, Hardware.Cloud.MI300X, "fp16", 1),
    (Models.Language.Llama3_70B, Hardware.Cloud.H200, "fp16", 4),
]
SIZES = {"fp32": 4, "fp16": 2, "int8": 1}
REGISTRY = {
    "a100_sxm_80gb": Hardware.Cloud.A100,
    "h100_sxm": Hardware.Cloud.H100,
    "h200_sxm": Hardware.Cloud.H200,
    "b200_hgx": Hardware.Cloud.B200,
    "mi300x": Hardware.Cloud.MI300X,
    "mi250x": Hardware.Cloud.MI250X,
    "t4": Hardware.Cloud.T4,
    "tpu_v4": Hardware.Cloud.TPUv4,
    "gaudi3_oam": Hardware.Cloud.Gaudi3,
}


def contract(program, **inputs):
    """Evaluates the contract."""
    settings = [part for name, value in inputs.items() for part in ("--set", f"{name}={value!r}")]
    command = [program, "eval", "inference-latency-v1", "--format", "json", *settings]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(program):
    worst = 0.0
    for model, device, precision, batch in PAIRS:
        theirs = Engine.solve(model, device, batch_size=batch, precision=precision, efficiency=0.5)
        graph = model.lower(resolve_precision(precision)[1])
        weights = graph.weight_bytes.to("byte").magnitude
        size = SIZES[precision]
        ours = contract(
            program,
            total_params=float(round(weights / size)),
            param_size=size,
            sample_flops=graph.total_ops.to("flop").magnitude,
            # mlsysim estimates activations as a tenth of the weights per sample.
            sample_state=0.1 * weights,
            batch=batch,
            efficiency=0.5,
            # The overhead of mlsysim is dispatch plus a cost per layer.
            overhead=theirs.latency_overhead.to("microsecond").magnitude,
            tdp=device.tdp.to("watt").magnitude,
            capacity=device.memory.capacity.to("byte").magnitude / 1e9,
            bandwidth=theirs.peak_bw_actual.to("byte/second").magnitude / 1e9,
            # The peak of mlsysim includes the efficiency.
            compute=theirs.peak_flops_actual.to("flop/second").magnitude / 1e9 / 0.5,
        )["outputs"]
        print(f"{model.name} on {device.name}, {precision}, batch {batch}")
        for name, value in {
            "compute_time": theirs.latency_compute.to("second").magnitude,
            "memory_time": theirs.latency_memory.to("second").magnitude,
            "latency": theirs.latency.to("second").magnitude,
            "throughput": theirs.throughput.to("1/second").magnitude,
            "weight_bytes": theirs.memory_footprint.to("byte").magnitude,
        }.items():
            error = abs(ours[name] / value - 1)
            worst = max(worst, error)
            print(f"  {name:14} {ours[name]:.9g}  mlsysim {value:.9g}  error {error:.1e}")
    print(f"\nlargest difference {worst:.1e}")
    print("\nregistries (16-bit Tflop/s, GB/s, GB, W): roofline | mlsysim")
    command = [program, "devices", "--format", "json"]
    known = {d["name"]: d for d in json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["devices"]}
    for name, device in REGISTRY.items():
        peaks = dict(known[name]["peaks_gflop_s"])
        print(
            f"  {name:14} {peaks.get('fp16', peaks.get('bf16')) / 1e3:g} {known[name]['bandwidth_gb_s']:g} "
            f"{known[name]['capacity_gb']:g} {known[name]['tdp_w']}  |  "
            f"{device.compute.peak_flops.to('Tflop/second').magnitude:g} "
            f"{device.memory.bandwidth.to('byte/second').magnitude / 1e9:g} "
            f"{device.memory.capacity.to('byte').magnitude / 1e9:.4g} {device.tdp}"
        )
    return 0 if worst < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
