"""The module: results with units, contracts, and errors with the messages of the program."""

import concurrent.futures
import doctest
import importlib.metadata
import json
import pathlib
import pickle
import re
import subprocess
import sys
import warnings

import pytest

import roofline

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 1000,
}
README = pathlib.Path(__file__).parent.parent / "README.md"
CONTRACT = """\
metadata:
  version: 1.0.0
  description: Time of a copy
quantities:
  size: {unit: GB, domain: "[0, 100]", doc: Size of the data.}
  speed: {unit: GB/s, domain: "[1, 10]", default: 5, doc: Bandwidth.}
equations:
  time: {formula: time = size / speed, unit: s, doc: Time.}
"""


def test_documentation_examples_run():
    failed, tried = doctest.testmod(roofline)
    assert tried > 8 and failed == 0


def test_a_prediction_has_units_and_the_json_of_the_program():
    result = roofline.predict("llama-3.1-8b", quant="q4_k_m", on="rtx-4090")
    speed = result["decode_ceiling"]
    assert (speed.unit, speed.value == float(speed)) == ("token/s", True)
    assert result.data["schema"].startswith("roofline.predict/")
    printed = subprocess.run(
        [sys.executable, "-m", "roofline", "predict", "llama-3.1-8b", "--quant=q4_k_m", "--on=rtx-4090", "--format=json"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(printed.stdout) == result.to_dict() == json.loads(result.to_json())
    assert "memory-bound" in str(result)
    assert result.svg().startswith("<svg") and "<html" in result.html()
    assert result._repr_html_() == result.svg()


def test_a_result_can_be_drawn_again(tmp_path: pathlib.Path):
    result = roofline.predict("llama-3.1-8b", on="t4", svg=tmp_path / "drawn.svg")
    assert (tmp_path / "drawn.svg").read_text(encoding="utf-8") == result.svg()


def test_figures_of_several_devices_need_a_subject():
    result = roofline.predict("llama-3.1-8b", on=["rtx-4090", "rtx-3090"])
    with pytest.raises(KeyError, match="ambiguous"):
        result["decode_ceiling"]
    ratio = result["decode_ceiling", "rtx-4090"] / result["decode_ceiling", "rtx-3090"]
    assert ratio == pytest.approx(1008 / 936.2, rel=1e-3)
    with pytest.raises(KeyError, match="unknown figure or field"):
        result["colour"]


def test_a_failed_requirement_is_not_an_exception():
    result = roofline.predict("llama-3.1-8b", on="t4", require="decode_ceiling >= 1e6")
    assert not result.passed and result["requirements"][0]["holds"] is False
    assert roofline.predict("llama-3.1-8b", on="l4", require="decode_ceiling >= 1").passed


def test_errors_have_the_message_of_the_program():
    for use, message in [
        (lambda: roofline.predict("no-such-model"), "no-such-model: unknown model"),
        (lambda: roofline.predict("llama-3.1-8b", colour=1), "--colour"),
        (lambda: roofline.profile("nowhere.gguf"), "nowhere.gguf"),
        (lambda: roofline.contract("nowhere.yaml"), "nowhere.yaml"),
        (lambda: roofline.contract(CONTRACT.replace("GB/s", "GB/ss")), "unknown unit `ss`"),
        (lambda: roofline.predict("llama-3.1-8b", on="t4", batch=[1, 2]), "^the argument '--batch"),
        (lambda: roofline.predict("llama-3.1-8b", on="t4", format="text"), "--format: not supported in Python"),
        (lambda: roofline.predict("llama-3.1-8b", on="t4", svg="-"), "--svg: not supported in Python"),
        (lambda: roofline.predict("llama-3.1-8b", on="all", where="decode_ceiling > 1e9"), "no prediction meets --where"),
        (lambda: roofline.predict("llama-3.1-8b", on="t4", require="help"), "decode_ceiling"),
        (lambda: roofline.machine(clear_cache=True), "--clear-cache: not supported in Python"),
        (lambda: roofline.contract(b"\xff.yaml"), "expected UTF-8"),
    ]:
        with pytest.raises(roofline.Error, match=message):
            use()
    assert issubclass(roofline.Error, ValueError)


def test_a_config_is_profiled_operation_by_operation(tmp_path: pathlib.Path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    result = roofline.profile(config, on="rtx-4090")
    assert result["operations"] and result["schema"].startswith("roofline.profile/")
    assert roofline.profile(str(config).encode(), on="rtx-4090").data == result.data


def test_readme_examples_run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pandas")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if "torch" not in block]
    assert len(blocks) == 2
    for block in blocks:
        names = {}
        exec(block, names)
    assert (repr(names["at"]["throughput_ceiling"]), names["at"]["bottleneck"]) == ("57.14 token/s", "Bandwidth")


def test_a_contract_computes_one_point_or_whole_columns():
    copy = roofline.contract(CONTRACT)
    assert copy.quantities["speed"]["default"] == 5 and copy.equations["time"]["unit"] == "s"
    at = copy.evaluate(size=10)
    assert (at["time"], at["time"].unit, at.to_dict()) == (2.0, "s", {"time": 2.0})
    assert list(copy.evaluate(size=[10, 20], speed=[5, 10])["time"]) == [2.0, 2.0]
    # The same unit in another notation.
    assert copy.evaluate(size=roofline.Quantity(10, "Gbyte"))["time"] == 2.0
    for quantities, message in [
        ({"size": 101}, "size = 101 is outside its domain"),
        ({"size": [1, 2, -1]}, "row 2: size = -1 is outside its domain"),
        ({}, "missing value for size"),
        ({"size": 1, "time": 2}, "unknown quantity 'time'"),
        ({"size": "much"}, "expected a number"),
        ({"size": ["1", "much"]}, "size = 'much': invalid value"),
        ({"size": [[1, 2]]}, "expected a number"),
        ({"size": {}}, "expected a number"),
        ({"size": {1, 2}}, "expected a number"),
        ({"size": b"ab"}, "expected a number"),
        ({"size": 1 + 2j}, "expected a number"),
        ({"size": roofline.Quantity(1, "MB")}, "size = 1 MB: wrong unit; expected GB"),
        ({"size": [roofline.Quantity(1, "s")]}, "size = 1 s: wrong unit; expected GB"),
        ({"size": 10**400}, "expected a number"),
        ({"size": float("nan")}, "size = NaN is outside its domain"),
        ({"size": [1, 2], "speed": [1, 2, 3]}, "speed: 3 values, but other columns have 2"),
    ]:
        with pytest.raises(roofline.Error, match=message):
            copy.evaluate(**quantities)


def test_results_and_contracts_can_be_pickled():
    copy = pickle.loads(pickle.dumps(roofline.contract(CONTRACT)))
    assert copy.evaluate(size=10)["time"] == 2.0
    result = roofline.predict("llama-3.1-8b", on=iter(["t4"]))
    assert pickle.loads(pickle.dumps(result))["decode_ceiling"] == result["decode_ceiling"]
    assert pickle.loads(pickle.dumps(result["decode_ceiling"])).unit == "token/s"


def test_warnings_of_the_program_are_python_warnings():
    claim = """
obligations:
  - id: squared
    type: bound
    formal: time * time >= 0 [s*s]
"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        roofline.contract(CONTRACT + claim)
    with pytest.warns(UserWarning, match="uses the units of the ceiling"):
        roofline.predict("llama-3.1-8b", on="p40", precision="bf16", allow_fallback=True)


def test_the_version_is_that_of_the_wheel():
    assert roofline.__version__ == importlib.metadata.version("roofline-model")


def test_classifiers_name_their_variants():
    model = roofline.contract("roofline-model-v1")
    at = model.evaluate(total_params=[7e9, 1000], bits_per_weight=[4, 32], bandwidth=[200, 1000], compute=[5000, 1])
    assert list(at["bottleneck"]) == ["Bandwidth", "Compute"]
    assert at["bw_ceiling"][0] == pytest.approx(57.142857)


def test_numpy_and_pandas_columns_are_evaluated():
    numpy = pytest.importorskip("numpy")
    model = roofline.contract("roofline-model-v1")
    params = numpy.arange(1, 100_001) * 1e6
    at = model.evaluate(total_params=params, bits_per_weight=4, bandwidth=200, compute=5000)
    assert isinstance(at["bw_ceiling"], numpy.ndarray)
    numpy.testing.assert_allclose(at["bw_ceiling"], 200e9 / (params / 2), rtol=1e-15)
    pandas = pytest.importorskip("pandas")
    empty = model.evaluate(total_params=numpy.array([]), bits_per_weight=4, bandwidth=200, compute=5000)
    assert [len(column) for column in empty.values()] == [0] * len(empty)
    for column, message in [
        (numpy.ones((2, 2)), "total_params: 2 dimensions"),
        (numpy.array([1 + 2j]), "expected a number"),
        (numpy.array(["2020-01-01"], dtype="M8[D]"), "expected a number"),
    ]:
        with pytest.raises(roofline.Error, match=message):
            model.evaluate(total_params=column, bits_per_weight=4, bandwidth=200, compute=5000)
    masked = numpy.ma.array([1e9, 2e9], mask=[False, True])
    with pytest.warns(UserWarning, match="masked"), pytest.raises(roofline.Error, match="row 1: total_params = NaN"):
        model.evaluate(total_params=masked, bits_per_weight=4, bandwidth=200, compute=5000)
    every = numpy.arange(1, 9) * 1e9
    for column in [every.astype(">f8"), every.astype("f4"), every.astype("i8"), numpy.repeat(every, 2)[::2]]:
        at = model.evaluate(total_params=column, bits_per_weight=4, bandwidth=200, compute=5000)
        assert list(at["model_bytes"]) == list(every / 2)
    frame = model.evaluate(total_params=pandas.Series([7e9]), bits_per_weight=4, bandwidth=200, compute=5000).to_frame()
    assert frame.loc[0, "bottleneck"] == "Bandwidth"
    assert len(roofline.predict("llama-3.1-8b", on=["t4", "l4"]).to_frame()) == 2


def test_quantities_convert_to_pint():
    pint = pytest.importorskip("pint")
    speed = roofline.Quantity(2.0, "GB/s").to_pint(pint.UnitRegistry())
    assert speed.to("byte/s").magnitude == pytest.approx(2e9)
    registry = pint.UnitRegistry()
    for name in ("operation-v1", "inference-latency-v1", "cost-v1", "hardware-v1"):
        opened = roofline.contract(name)
        for known in (*opened.quantities.values(), *opened.equations.values()):
            assert roofline.Quantity(2.0, known["unit"]).to_pint(registry).magnitude == 2.0
    assert roofline.Quantity(2.0, "GFLOP/s").to_pint(registry).to("flop/s").magnitude == pytest.approx(2e9)
    with pytest.raises(pint.DimensionalityError):
        roofline.Quantity(2.0, "token/s").to_pint(registry).to("sample/s")


def test_pint_quantities_are_converted():
    pint = pytest.importorskip("pint")
    numpy = pytest.importorskip("numpy")
    registry = pint.UnitRegistry()
    copy = roofline.contract(CONTRACT)
    assert copy.evaluate(size=registry.Quantity(10_000, "MB"))["time"] == 2.0
    assert list(copy.evaluate(size=registry.Quantity(numpy.array([10_000, 20_000]), "MB"))["time"]) == [2.0, 4.0]
    for size, message in [(registry.Quantity(1, "s"), "Cannot convert"), (registry.Quantity(1, ""), "missing unit; expected GB")]:
        with pytest.raises(roofline.Error, match=message):
            copy.evaluate(size=size)


def test_the_module_runs_the_program():
    run = subprocess.run([sys.executable, "-m", "roofline", "predict", "no-such-model"], capture_output=True, text=True)
    assert (run.returncode, "unknown model" in run.stderr) == (2, True)


def test_ctrl_c_ends_a_measurement():
    program = """
import os, signal, threading, roofline
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    roofline.machine(no_cache=True)
except KeyboardInterrupt:
    print("interrupted")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "interrupted\n"), run.stderr


def test_threads_predict_at_the_same_time():
    expected = roofline.predict("llama-3.1-8b", on="t4")["decode_ceiling"]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(roofline.predict, "llama-3.1-8b", on="t4") for _ in range(8)]
        assert [future.result()["decode_ceiling"] for future in futures] == [expected] * 8


def test_a_measured_machine_is_drawn_without_measuring_again():
    # A small size, because an unoptimized build would take minutes.
    machine = roofline.machine(quick=True, no_cache=True, size="64MiB")
    assert machine["read_gb_s"] > 0 and machine["read_gb_s"].unit == "GB/s"
    assert machine.svg().startswith("<svg") and "memory read" in str(machine)
