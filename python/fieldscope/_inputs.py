"""Readings as people have them, turned into what the library reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldscope import _native

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Path: TypeAlias = "str | os.PathLike[str]"
Noise: TypeAlias = "float | str | Sequence[float | str] | Mapping[str, float | str]"
Scale: TypeAlias = "str | Mapping[str, float | str]"
# Readings of one problem, besides arrays of points and values.
Problem: TypeAlias = "Path | pd.DataFrame | xr.Dataset | xr.DataArray | Mapping[str, Any] | tuple[ArrayLike, ArrayLike]"

CHANNELS = ("a", "u")


Floats: TypeAlias = NDArray[np.float64]


def numbers_of(values: ArrayLike, what: str) -> NDArray[Any]:
    """Numbers of any kind as they are, with their mask if they have one."""
    try:
        if isinstance(values, list | tuple) and any(isinstance(each, np.ma.MaskedArray) for each in values):
            values = np.ma.array(values)
        array = np.asanyarray(values)
    except ValueError as error:
        raise ValueError(f"{what} cannot be made one array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} must be numbers, and are {array.dtype}")
    return array


def floats(values: ArrayLike, what: str) -> Floats:
    """Numbers of any kind as float64; an array that has them already is not copied."""
    array = numbers_of(values, what)
    if np.ma.is_masked(array):
        raise ValueError(f"{what} are masked in {np.ma.getmaskarray(array).sum()} places: fill these, or leave them out")
    return np.asarray(array, dtype=np.float64)


def floats_and_masked(values: ArrayLike, what: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers of any kind as float64, and where they are masked."""
    array = numbers_of(values, what)
    masked = np.ma.getmaskarray(array)
    return np.asarray(np.ma.filled(array, 0) if masked.any() else array, dtype=np.float64), masked


def points_of(points: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Points [n, 2], and which of them are masked. Columns of a DataFrame that are called x and y are taken by name."""
    names = [str(name).lower() for name in getattr(points, "columns", ())]
    array, masked = floats_and_masked(points, "points")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"points have the shape {array.shape}: expected (n, 2), x and y of each")
    return array[:, ::-1] if names == ["y", "x"] else array, masked[:, 0] | masked[:, 1]


def channel_of(channel: str) -> str:
    """A channel's name, checked."""
    if not isinstance(channel, str):
        raise TypeError(f'channel must be "a" or "u", and is {type(channel).__name__}')
    if channel not in CHANNELS:
        raise ValueError(f'"{channel}" is no channel: expected "a" or "u"')
    return channel


# A channel, points, values, and the numbers of those that were not measured.
OfChannel: TypeAlias = "tuple[str, Floats, Floats, list[int]]"
Readings: TypeAlias = "list[OfChannel]"


def of_channel(channel: str, points: Floats, values: Floats, unmeasured: NDArray[np.bool_]) -> OfChannel:
    """Readings as the library takes them."""
    return channel_of(channel), points, values, np.flatnonzero(unmeasured).tolist()


def readings_of(points: ArrayLike, values: ArrayLike, channel: str) -> Readings:
    """Readings of one channel, or of both at the same points where values are a mapping. What is masked was not measured."""
    places, nowhere = points_of(points)
    named = values if isinstance(values, Mapping) else {channel_of(channel): values}
    readings = []
    for name, of_name in named.items():
        numbers, masked = floats_and_masked(of_name, "values")
        if numbers.shape != (len(places),):
            raise ValueError(f"values have the shape {numbers.shape}, and there are {len(places)} points: expected one each")
        readings.append(of_channel(name, places, numbers, masked | nowhere))
    return readings


def sensors_of(
    method: _native.Method,
    points: Any,
    values: Any,
    channel: str,
    columns: Mapping[str, str] | None,
    missing: Iterable[Any] | None,
) -> _native.Sensors:
    """The readings of one problem, or of many where a table tells them apart."""
    if values is not None:
        _require_no_table_options(columns, missing)
        return _native.Sensors.of_arrays([readings_of(points, values, channel)])
    return _of_problem(method, points, channel, columns, missing)


def _of_problem(
    method: _native.Method,
    problem: Any,
    channel: str,
    columns: Mapping[str, str] | None,
    missing: Iterable[Any] | None,
) -> _native.Sensors:
    readings = _of_arrays(method, problem, channel)
    if readings is not None:
        _require_no_table_options(columns, missing)
        return _native.Sensors.of_arrays([readings])
    named, marks = columns_text(columns), missing_text(missing)
    if isinstance(problem, str | os.PathLike):
        return _native.Sensors.open(problem, named, marks, method)
    if hasattr(problem, "to_csv") and hasattr(problem, "columns"):
        return _native.Sensors.parse("the table", _csv_of_frame(problem), named, marks, method)
    if isinstance(problem, Mapping):
        return _native.Sensors.parse("the table", _csv(problem), named, marks, method)
    kind = type(problem)
    package = "" if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}."
    raise TypeError(
        f"readings cannot be {package}{kind.__name__}: give points and values, a table (DataFrame of pandas, "
        "file or mapping of columns), a Dataset or DataArray of xarray, or a mapping of channels to points and values"
    )


def _of_arrays(method: _native.Method, problem: Any, channel: str) -> Readings | None:
    """The readings of a problem that is no table."""
    if _is_gridded(problem):
        return of_dataset(method, problem, channel)
    if isinstance(problem, Mapping) and any(_is_pair(each) for each in problem.values()):
        return _of_channels(problem)
    if isinstance(problem, tuple) and len(problem) == 2:
        return readings_of(problem[0], problem[1], channel)
    return None


def _require_no_table_options(columns: Any, missing: Any) -> None:
    if columns is not None or missing is not None:
        raise TypeError("columns and missing are for tables: leave them out, or give a table")


def columns_text(columns: Mapping[str, str] | None) -> str | None:
    """The names of columns as the command takes them."""
    if columns is None:
        return None
    if not isinstance(columns, Mapping):
        raise TypeError(
            'columns must be a mapping of what columns hold to their names, as in {"x": "lon", "y": "lat", "u": "head"}, and is '
            f"{type(columns).__name__}"
        )
    for name in columns.values():
        if "," in str(name):
            raise ValueError(f'columns has the name "{name}", and names with a comma cannot be stated: rename the column')
    return ",".join(f"{meaning}={name}" for meaning, name in columns.items()) or None


def missing_text(missing: Any) -> str | None:
    """What stands for an absent reading as the command takes it: one mark, or several."""
    if missing is None or isinstance(missing, str):
        return missing
    marks = missing if isinstance(missing, Iterable) else [missing]
    return ",".join(str(mark) for mark in marks) or None


def _is_pair(of_channel: Any) -> bool:
    """Whether it is points and values, and no column of two numbers."""
    return isinstance(of_channel, tuple | list) and len(of_channel) == 2 and np.ndim(of_channel[0]) > 0


def _of_channels(problem: Mapping[str, Any]) -> Readings:
    """{"a": (points, values), "u": (points, values)}."""
    readings: Readings = []
    for channel, pair in problem.items():
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise TypeError(f'"{channel}" must be points and values, a pair, and is {type(pair).__name__}')
        readings += readings_of(pair[0], pair[1], channel)
    return readings


def _csv_of_frame(frame: Any) -> bytes:
    """A DataFrame as the text of a table: an index with names counts as columns, and numbers keep every bit."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    single = {name: "float64" for name, dtype in frame.dtypes.items() if dtype in (np.float32, np.float16)}
    text: str = frame.astype(single).to_csv(index=False)
    return text.encode()


def _csv(columns: Mapping[str, Any]) -> bytes:
    """A mapping of columns as the text of a table; numbers keep every bit."""
    arrays = {name: _column(values, str(name)) for name, values in columns.items()}
    lengths = {name: array.shape for name, array in arrays.items()}
    if any(array.ndim != 1 for array in arrays.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"columns have the shapes {lengths}: expected the same length, (n,)")
    if not arrays:
        raise ValueError("there are no columns: give x, y and a or u")
    lines = [",".join(_quoted(str(name)) for name in arrays)]
    lines += [",".join(_cell(value) for value in row) for row in zip(*(array.tolist() for array in arrays.values()), strict=True)]
    return "\n".join(lines).encode()


def _column(values: Any, name: str) -> NDArray[Any]:
    """Cells of any kind; those that are masked become empty."""
    try:
        return np.asanyarray(values)
    except ValueError as error:
        raise ValueError(f'the column "{name}" cannot be made one array: {error}') from None


def _cell(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return repr(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def _is_gridded(problem: Any) -> bool:
    """Whether it is a Dataset or a DataArray of xarray."""
    return hasattr(problem, "data_vars") or (hasattr(problem, "to_dataset") and hasattr(problem, "dims"))


def of_dataset(method: _native.Method, data: Any, channel: str) -> Readings:
    """Variables a and u over points (one dimension, with coordinates x and y) or over a grid (dimensions x and y): where a value is NaN,
    nothing was measured. Names of the problem itself are understood too."""
    problem = json.loads(method.problem)
    own = {name: [name, problem["channels"][name]] for name in CHANNELS}
    dataset = data if hasattr(data, "data_vars") else _as_dataset(data, own, channel)
    readings: Readings = []
    for name, names in own.items():
        called = next((each for each in names if each in dataset.data_vars), None)
        if called is not None:
            axes = _axes_of(dataset, problem["axes"])
            values, x, y = _broadcast(dataset[called], *axes)
            measured = ~np.isnan(values)
            points = np.column_stack([x[measured], y[measured]])
            readings.append(of_channel(name, points, values[measured], np.zeros(len(points), dtype=np.bool_)))
    if not readings:
        has = sorted(map(str, dataset.data_vars))
        raise ValueError(f'the dataset has no variable "a" or "u": it has {has}; rename it, as in dataset.rename({{"head": "u"}})')
    return readings


def _as_dataset(array: Any, own: Mapping[str, list[str]], channel: str) -> Any:
    """A DataArray as a data set: it measures what its name says, or `channel` where it has none."""
    name = channel_of(channel) if array.name is None else array.name
    if not any(name in names for names in own.values()):
        raise ValueError(f'the DataArray is called "{name}": expected "a" or "u"; rename it, as in array.rename("u")')
    return array.to_dataset(name=name)


def _axes_of(dataset: Any, own: Sequence[str]) -> tuple[Any, Any]:
    """The coordinates x and y, or what the problem calls them."""
    for names in (("x", "y"), own):
        if set(names) <= set(dataset.variables):
            return dataset[names[0]], dataset[names[1]]
    raise ValueError(
        f'the dataset has no coordinates "x" and "y": it has {sorted(map(str, dataset.variables))}; rename them, as in '
        'dataset.rename({"lon": "x", "lat": "y"})'
    )


def _broadcast(variable: Any, x: Any, y: Any) -> tuple[Floats, ...]:
    """Every value and where it is."""
    for dimension in set(variable.dims) - set(x.dims) - set(y.dims):
        if variable.sizes[dimension] > 1:
            raise ValueError(
                f'the variable "{variable.name}" is over "{dimension}" too, and readings are of one problem: take one, as in '
                f'dataset.isel({{"{dimension}": 0}}), or recover_many of a list of them'
            )
    x, y = (axis.broadcast_like(variable).transpose(*variable.dims) for axis in (x, y))
    return tuple(floats(each.values, "values").ravel() for each in (variable, x, y))


def many_sensors(
    method: _native.Method,
    problems: Any,
    values: Any,
    channel: str,
    columns: Mapping[str, str] | None,
    missing: Iterable[Any] | None,
) -> _native.Sensors:
    """Problems that share their points, or each with its own; or a table with a column that tells them apart."""
    if values is not None:
        _require_no_table_options(columns, missing)
        return _native.Sensors.of_arrays(_stacked(problems, values, channel))
    if isinstance(problems, Sequence | Iterator) and not isinstance(problems, str | bytes):
        _require_no_table_options(columns, missing)
        each = [_one_of_many(method, problem, channel, number) for number, problem in enumerate(problems, 1)]
        return _native.Sensors.of_arrays(each)
    return _of_problem(method, problems, channel, columns, missing)


def _stacked(points: Any, values: Any, channel: str) -> list[Readings]:
    """The readings of problems whose values are one array, or one of each channel."""
    places, nowhere = floats_and_masked(points, "points")
    all_readings: list[Readings] | None = None
    for name, of_name in (values if isinstance(values, Mapping) else {channel: values}).items():
        numbers, masked = floats_and_masked(of_name, "values")
        if numbers.ndim != 2:
            raise ValueError(f"values have the shape {numbers.shape}: expected (problems, n)")
        shape = (*numbers.shape, 2)
        if places.shape not in (shape, shape[1:]) or (all_readings is not None and len(all_readings) != len(numbers)):
            raise ValueError(
                f"points have the shape {places.shape} and values {numbers.shape}: expected (n, 2) or (problems, n, 2), and "
                "(problems, n)"
            )
        all_readings = all_readings or [[] for _ in numbers]
        unmeasured = masked | np.broadcast_to(nowhere, shape).any(axis=-1)
        for readings, at, of_one, left_out in zip(all_readings, np.broadcast_to(places, shape), numbers, unmeasured, strict=True):
            readings.append(of_channel(name, at, of_one, left_out))
    return all_readings or []


def _one_of_many(method: _native.Method, problem: Any, channel: str, number: int) -> Readings:
    try:
        readings = _of_arrays(method, tuple(problem) if _is_pair(problem) else problem, channel)
    except (TypeError, ValueError) as error:
        raise type(error)(f"problem {number}: {error}") from None
    if readings is None:
        raise TypeError(
            f"problem {number} cannot be {type(problem).__name__}: give points and values, a pair, or a mapping of channels to pairs; "
            'tables of several problems are one table with a column "problem"'
        )
    return readings
