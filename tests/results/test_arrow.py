"""Columns as Arrow arrays: the same as pyarrow's own, and pandas stays out."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tenbin.results.arrow import arrow_array

_TEXT = pa.list_(pa.string())


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (("a", None, "", "日本語", "b" * 300), pa.string()),
        ((1, None, -(2**63), 2**63 - 1), pa.int64()),
        ((0.1, None, -0.0, 1e-320, float("inf"), 3), pa.float64()),
        ((True, None, False, *[True] * 9), pa.bool_()),
        ((True, False), pa.bool_()),
        ((["a", None], (), None, ["b"]), _TEXT),
        (([0.5, None], [], None), pa.list_(pa.float64())),
        (([True], [False, True]), pa.list_(pa.bool_())),
        ((None, None), pa.string()),
        ((None, None), _TEXT),
        ((), pa.string()),
        ((), _TEXT),
    ],
)
def test_as_pyarrow_makes_them(values: tuple[object, ...], type: pa.DataType) -> None:
    made = arrow_array(values, type)
    made.validate(full=True)
    assert made.equals(pa.array(values, type=type))
    assert made.null_count == values.count(None)


def test_records_become_structs() -> None:
    type = pa.list_(pa.struct([("name", pa.string()), ("values", pa.list_(pa.float64()))]))
    one = {"name": "acc", "values": [1.0, 0.0]}
    two = {"name": None, "values": None}
    records = [[SimpleNamespace(**one), SimpleNamespace(**two)], None, [SimpleNamespace(**one)], []]
    made = arrow_array(records, type)
    made.validate(full=True)
    assert made.equals(pa.array([[one, two], None, [one], []], type=type))


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_is_joined() -> None:
    made = arrow_array(["a\ud83d", "\ud83d\ude00", "plain"], pa.string())
    assert made.to_pylist() == ["a\ufffd", "😀", "plain"]


def test_a_fraction_is_no_whole_number() -> None:
    with pytest.raises(TypeError):
        arrow_array([2.5], pa.int64())


def test_writing_samples_imports_no_pandas(tmp_path) -> None:
    code = """
import sys
from pathlib import Path
from tenbin.results.schema import Sample, SampleOutcome
from tenbin.results.write import write_samples
sample = Sample("a-1-1", "a", "1", "1", "ja", 0, 0, "d", outcomes=[SampleOutcome("acc", 1.0)])
write_samples(Path(sys.argv[1]), [sample])
assert "pyarrow" in sys.modules
sys.exit("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "samples.parquet")])
    assert done.returncode == 0
