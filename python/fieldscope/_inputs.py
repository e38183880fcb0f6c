"""Readings as people have them, turned into what the library reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
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
Problem: TypeAlias = "Path | pd.DataFrame | xr.Dataset | Mapping[str, Any] | tuple[ArrayLike, ArrayLike]"

CHANNELS = ("a", "u")


def floats(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Numbers of any kind as float64; an array that has them already is not copied."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} cannot be made one array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} must be numbers, and are {array.dtype}")
    return np.asarray(array, dtype=np.float64)


def points_of(points: ArrayLike) -> NDArray[np.float64]:
    """Points [n, 2]."""
    array = floats(points, "points")
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"points have the shape {array.shape}: expected (n, 2), x and y of each")
    return array


def channel_of(channel: str) -> str:
    """A channel's name, checked."""
    if not isinstance(channel, str):
        raise TypeError(f'channel must be "a" or "u", and is {type(channel).__name__}')
    if channel not in CHANNELS:
        raise ValueError(f'"{channel}" is no channel: expected "a" or "u"')
    return channel


Readings: TypeAlias = "list[tuple[str, NDArray[np.float64], NDArray[np.float64]]]"


def readings_of(points: ArrayLike, values: ArrayLike, channel: str) -> Readings:
    """Readings of one channel, or of both at the same points where values are a mapping."""
    places = points_of(points)
    named = values if isinstance(values, Mapping) else {channel_of(channel): values}
    readings = []
    for name, of_channel in named.items():
        numbers = floats(of_channel, "values")
        if numbers.shape != (len(places),):
            raise ValueError(f"values have the shape {numbers.shape}, and there are {len(places)} points: expected one each")
        readings.append((channel_of(name), places, numbers))
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
        if columns is not None or missing is not None:
            raise TypeError("columns and missing are for tables: leave them out, or give a table")
        return _native.Sensors.of_arrays([readings_of(points, values, channel)])
    return _of_problem(method, points, columns, missing)


def _of_problem(
    method: _native.Method, problem: Any, columns: Mapping[str, str] | None, missing: Iterable[Any] | None
) -> _native.Sensors:
    named = None if columns is None else ",".join(f"{meaning}={name}" for meaning, name in columns.items())
    marks = None if missing is None else ",".join(str(mark) for mark in missing)
    if isinstance(problem, str | os.PathLike):
        return _native.Sensors.open(problem, named, marks, method)
    if hasattr(problem, "to_csv") and hasattr(problem, "columns"):
        text = problem.to_csv(index=False)
        return _native.Sensors.parse("the table", text.encode(), named, marks, method)
    if hasattr(problem, "data_vars"):
        return _native.Sensors.of_arrays([_of_dataset(problem)])
    if isinstance(problem, Mapping):
        if any(_is_pair(of_channel) for of_channel in problem.values()):
            return _native.Sensors.of_arrays([_of_channels(problem)])
        return _native.Sensors.parse("the table", _csv(problem), named, marks, method)
    if isinstance(problem, tuple) and len(problem) == 2:
        return _native.Sensors.of_arrays([readings_of(problem[0], problem[1], "u")])
    raise TypeError(
        f"readings cannot be {type(problem).__name__}: give points and values, a table (DataFrame, file or mapping of columns), "
        "an xarray.Dataset, or a mapping of channels to points and values"
    )


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


def _csv(columns: Mapping[str, Any]) -> bytes:
    """A mapping of columns as the text of a table; numbers keep every bit."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    lengths = {name: array.shape for name, array in arrays.items()}
    if any(array.ndim != 1 for array in arrays.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"columns have the shapes {lengths}: expected the same length, (n,)")
    if not arrays:
        raise ValueError("there are no columns: give x, y and a or u")
    lines = [",".join(str(name) for name in arrays)]
    lines += [",".join(_cell(value) for value in row) for row in zip(*(array.tolist() for array in arrays.values()), strict=True)]
    return "\n".join(lines).encode()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return "" if value is None else repr(value)


def _of_dataset(dataset: Any) -> Readings:
    """Variables a and u over points (one dimension, with coordinates x and y) or over a grid (dimensions x and y): where a value is NaN,
    nothing was measured."""
    readings: Readings = []
    for channel in CHANNELS:
        if channel not in dataset.data_vars:
            continue
        variable = dataset[channel]
        if not {"x", "y"} <= set(dataset.variables):
            raise ValueError(f'the dataset has no coordinates "x" and "y": it has {sorted(map(str, dataset.variables))}')
        values, x, y = _broadcast(variable, dataset["x"], dataset["y"])
        measured = ~np.isnan(values)
        readings.append((channel, np.column_stack([x[measured], y[measured]]), values[measured]))
    if not readings:
        raise ValueError(f'the dataset has no variable "a" or "u": it has {sorted(map(str, dataset.data_vars))}')
    return readings


def _broadcast(variable: Any, x: Any, y: Any) -> tuple[NDArray[np.float64], ...]:
    x, y = (axis.broadcast_like(variable).transpose(*variable.dims) for axis in (x, y))
    return tuple(floats(each.values, "values").ravel() for each in (variable, x, y))


def many_sensors(method: _native.Method, problems: Any, values: Any, channel: str) -> _native.Sensors:
    """Problems that share their points, or each with its own; or a table with a column that tells them apart."""
    if values is None:
        if isinstance(problems, Sequence) and not isinstance(problems, str | bytes):
            return _native.Sensors.of_arrays([_one_of_many(problem, channel) for problem in problems])
        return _of_problem(method, problems, None, None)
    numbers = floats(values, "values")
    if numbers.ndim != 2:
        raise ValueError(f"values have the shape {numbers.shape}: expected (problems, n)")
    places = floats(problems, "points")
    if places.ndim == 2:
        places = np.broadcast_to(places, (len(numbers), *places.shape))
    if places.ndim != 3 or places.shape != (*numbers.shape, 2):
        raise ValueError(
            f"points have the shape {np.shape(problems)} and values {numbers.shape}: expected (n, 2) or (problems, n, 2), and "
            "(problems, n)"
        )
    name = channel_of(channel)
    return _native.Sensors.of_arrays([[(name, at, of_one)] for at, of_one in zip(places, numbers, strict=True)])


def _one_of_many(problem: Any, channel: str) -> Readings:
    if isinstance(problem, tuple) and len(problem) == 2:
        return readings_of(problem[0], problem[1], channel)
    if hasattr(problem, "data_vars"):
        return _of_dataset(problem)
    if isinstance(problem, Mapping):
        return _of_channels(problem)
    raise TypeError(f"a problem of many cannot be {type(problem).__name__}: give points and values, a pair")


def noise_text(noise: Noise | None) -> str | None:
    """A noise as the command takes it."""
    if noise is None or isinstance(noise, str):
        return noise
    if isinstance(noise, Mapping):
        if set(noise) - set(CHANNELS):
            raise ValueError(f'noise is stated of "a" and "u", and of {sorted(noise)} here')
        noise = [noise.get(channel, 0.0) for channel in CHANNELS]
    if isinstance(noise, bool):
        raise TypeError("noise must be a standard deviation, or one for a and one for u")
    if isinstance(noise, int | float | np.floating | np.integer):
        return repr(float(noise))
    try:
        return ",".join(each if isinstance(each, str) else repr(float(each)) for each in noise)
    except (TypeError, ValueError):
        raise TypeError("noise must be a standard deviation, or one for a and one for u") from None


def scale_text(scale: Scale | None) -> str | None:
    """What values are multiples of, as the command takes it."""
    if scale is None or isinstance(scale, str):
        return scale
    if not isinstance(scale, Mapping):
        raise TypeError('scale must be a mapping, as in {"length": 500.0, "u": 400.0}')
    return ",".join(f"{key}={value if isinstance(value, str) else repr(float(value))}" for key, value in scale.items())


def numbers_or_none(numbers: Sequence[float] | None, count: int, what: str) -> list[float] | None:
    """So many numbers, if any."""
    if numbers is None:
        return None
    array = floats(numbers, what)
    if array.shape != (count,):
        raise ValueError(f"{what} has the shape {array.shape}: expected {count} numbers")
    return [float(number) for number in array]

def mask_or_none(known: ArrayLike | None, name: str) -> list[list[bool]] | None:
    """The rows of a mask, if it is given."""
    if known is None:
        return None
    mask = np.asarray(known) != 0
    if mask.ndim != 2:
        raise ValueError(f"{name} has the shape {mask.shape}: expected (rows, columns) of the grid")
    return mask.tolist()  # type: ignore[no-any-return]
