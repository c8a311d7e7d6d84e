"""Rows through the functions of a task file: `process_docs`, `custom_dataset`, few-shot samples.

A function gets what lm-eval gives it: a `datasets.Dataset` of the split, in which every row has
every column. It is called after its folder was trusted, once per split and run.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tenbin.data.readers.formats import RowFile
from tenbin.data.rows import Row, describe_value
from tenbin.data.sources.hub import datasets_library, each_row
from tenbin.errors import DataError
from tenbin.records import DataFile, Dataset, FewshotPlan, TaskFunction

_RANDOM_SEED = 0
_NUMPY_SEED = 1234
"""Both as in lm-eval: functions that shuffle without a generator of their own give what they give
there in a run of one task."""
_PART = 10_000
"""Rows whose types are inferred together."""


def as_dataset(files: Sequence[RowFile], recorded: list[DataFile], needed_for: str) -> Any:
    """Return the rows of files as a `datasets.Dataset`, and record the files.

    Parquet keeps its types. Types of other rows are inferred from all of them, as the datasets
    library does for JSON: a key that a row lacks is None, and a column of several types keeps its
    values as they are. Unlike there, a text that looks like a date stays a text.
    """
    library = datasets_library(needed_for)
    if all(file.path.name.lower().endswith(".parquet") for file in files):
        import pyarrow  # type: ignore[import-untyped,unused-ignore]

        tables = [_recorded_table(file, recorded) for file in files]
        try:
            return library.Dataset(pyarrow.concat_tables(tables))
        except Exception as error:  # pyarrow's and the library's, of many classes
            raise _untyped(files[0], error) from error
    try:
        return _inferred(files, recorded, library)
    except DataError:
        raise
    except Exception as error:
        raise _untyped(files[0], error) from error


def _recorded_table(file: RowFile, recorded: list[DataFile]) -> Any:
    table = file.table()
    recorded.append(file.record(table.num_rows))
    return table


def _inferred(files: Sequence[RowFile], recorded: list[DataFile], library: Any) -> Any:
    """Make a data set of rows in parts, whose tables take a fraction of the rows' memory.

    Parts of different types, such as one in which a column is empty, are made anew as one.
    """
    # Added in datasets 4.7: before, a column of several types is an error.
    known = inspect.signature(library.Dataset.from_dict).parameters
    mixed = {"on_mixed_types": "use_json"} if "on_mixed_types" in known else {}
    parts: list[Any] = []
    for columns in _columns(files, recorded, _PART):
        parts.append(library.Dataset.from_dict(columns, **mixed))
        # By type, which has an order: equal features may hold the keys of a row in another one.
        if parts[-1].features.type != parts[0].features.type:
            del parts, recorded[:]
            (columns,) = _columns(files, recorded, sys.maxsize)
            return library.Dataset.from_dict(columns, **mixed)
    return parts[0] if len(parts) == 1 else library.concatenate_datasets(parts)


def _columns(
    files: Sequence[RowFile], recorded: list[DataFile], most: int
) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of at most so many rows at a time; a key that a row lacks is None."""
    columns: dict[str, list[Any]] = {}
    held = 0
    for file in files:
        count = 0
        for row in file.rows():
            if held == most:
                yield columns
                columns, held = {}, 0
            for name in row.values:
                if name not in columns:
                    columns[name] = [None] * held
            for name, column in columns.items():
                column.append(row.values.get(name))
            held += 1
            count += 1
        recorded.append(file.record(count))
    yield columns


def _untyped(file: RowFile, error: Exception) -> DataError:
    reason = f"{type(error).__name__}: {_first_line(error)}"
    return DataError(
        f"{file.path}: its rows are no table of the datasets library, which `process_docs` takes: "
        f"{reason}",
        "each column needs one type in all rows and files",
    )


def processed_rows(function: TaskFunction, rows: Any, split: str, origin: str) -> Iterator[Row]:
    """Yield the rows that `process_docs` makes of a split.

    Args:
        function: The task's function.
        rows: A `datasets.Dataset`.
        split: Its name, for messages.
        origin: Where the rows were read.

    Raises:
        DataError: The function failed, or gave something other than rows.
    """
    where = f"{function}, split `{split}`"
    made = _call(function, where, rows)
    number = 0
    for values in _each(made, where):
        number += 1
        if not isinstance(values, Mapping):
            raise DataError(
                f"{where}: gave {describe_value(values)} as row {number}; accepted: a mapping"
            )
        yield Row(values, f"row {number} after process_docs of {origin}")
    if number == 0:
        raise DataError(f"{where}: gave no rows")


def made_splits(dataset: Dataset, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the splits that a task's `custom_dataset` makes.

    Args:
        dataset: The data set, whose metadata and options the function gets.
        arguments: The arguments of the model, which lm-eval adds to the metadata: some functions
            take the tokenizer from there.

    Raises:
        DataError: The function failed, or gave something other than splits.
    """
    function = dataset.custom_dataset
    assert function is not None
    datasets_library(f"{function}")
    metadata = {**dataset.metadata, **arguments}
    if twice := sorted(metadata.keys() & dataset.options.keys()):
        raise DataError(
            f"{function}: `{twice[0]}` is in metadata and in dataset_kwargs, and both are given to "
            "the function",
            "take it out of one of them",
        )
    made = _call(function, f"{function}", **metadata, **dataset.options)
    if not isinstance(made, Mapping):
        raise DataError(
            f"{function}: gave {type(made).__name__}; accepted: a dict from split to Dataset"
        )
    return made


def split_of(made: Mapping[str, Any], function: TaskFunction, split: str) -> Any:
    """Return one split of those that `custom_dataset` made."""
    if split not in made:
        has = ", ".join(map(str, made)) or "none"
        raise DataError(f"{function}: made no split `{split}`", f"it made {has}")
    return made[split]


def sample_rows(plan: FewshotPlan, file: str) -> Iterator[Row]:
    """Yield the few-shot examples that a task file holds itself, or that its function gives.

    Raises:
        DataError: The function failed, or an example is no mapping.
    """
    samples: Any = plan.samples
    if isinstance(samples, TaskFunction):
        file = str(samples)
        samples = _each(_call(samples, file), file)
    for number, values in enumerate(samples):
        where = f"{file}, few-shot sample {number}"
        if not isinstance(values, Mapping):
            raise DataError(f"{where}: {describe_value(values)} is no mapping")
        yield Row(values, where)


def _call(function: TaskFunction, where: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of a task file, always from the same random state and without its bars."""
    numpy = sys.modules.get("numpy")
    before = random.getstate(), numpy.random.get_state() if numpy is not None else None
    random.seed(_RANDOM_SEED)
    if numpy is not None:
        numpy.random.seed(_NUMPY_SEED)
    try:
        with _without_bars():
            made = function(*arguments, **options)
            # A generator runs its code as it is gone through.
            return list(made) if isinstance(made, Iterator) else made
    except Exception as error:
        raise _failed(where, error) from error
    finally:
        random.setstate(before[0])
        if numpy is not None:
            numpy.random.set_state(before[1])


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep `Dataset.map` from drawing over the progress that tenbin shows."""
    library = sys.modules.get("datasets")
    if library is None or library.are_progress_bars_disabled():
        yield
        return
    library.disable_progress_bars()
    try:
        yield
    finally:
        library.enable_progress_bars()


def _each(made: Any, where: str) -> Iterator[Any]:
    """Yield the rows that a function gave."""
    if isinstance(made, str | bytes | Mapping) or not isinstance(made, Iterable):
        raise DataError(
            f"{where}: gave {type(made).__name__}; accepted: a Dataset or a list of rows"
        )
    try:
        yield from each_row(made)
    except Exception as error:  # a column that cannot be decoded
        raise _failed(where, error) from error


def _failed(where: str, error: Exception) -> DataError:
    return DataError(
        f"{where}: {type(error).__name__}: {_first_line(error)}",
        "this is an error in the task's own function, or its rows are not those it was written for",
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
