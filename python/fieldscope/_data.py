"""Records: made, read and written; and masks."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fieldscope import _native
from fieldscope._inputs import Path, floats
from fieldscope._options import MOST_SEED, fold_or_none, number_or_none, seed_of, text, whole_number, whole_number_or_none

Field: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Records:
    """Pairs of fields in physical units, ``[n, rows, columns]`` each, and the disks (row, column and radius in pixels) of those that have
    one."""

    a: Field
    u: Field
    geometry: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.a)

    def __repr__(self) -> str:
        count, rows, columns = self.a.shape
        return f"<Records: {count} of {rows} x {columns} points>"


class Data:
    """A data set's folder, verified when it is opened."""

    def __init__(self, folder: Path) -> None:
        self._native = _native.Dataset(folder)
        self.meta: dict[str, Any] = json.loads(self._native.meta)

    def __reduce__(self) -> tuple[type[Data], tuple[str]]:
        return Data, (os.path.abspath(self._native.folder),)

    @property
    def folder(self) -> FilePath:
        """Where it is."""
        return FilePath(self._native.folder)

    def __len__(self) -> int:
        return len(self._native)

    def read(self, first: int = 0, count: int | None = None) -> Records:
        """Some records in physical units; all by default."""
        first = whole_number(first, "first")
        rest = max(len(self) - first, 0)
        a, u = self._native.read(first, rest if count is None else whole_number(count, "count"))
        disks = self.folder / "geometry.npy"
        geometry = np.load(disks)[first : first + len(a)] if disks.exists() else None
        return Records(a, u, geometry)

    def stored(self) -> NDArray[np.float32]:
        """All records as they are stored, ``[n, 2, rows, columns]``: the file itself, mapped and not copied."""
        mapped: NDArray[np.float32] = np.load(self.folder / "fields.npy", mmap_mode="r")
        return mapped

    def __repr__(self) -> str:
        return f"<Data of {len(self)} records: {self.folder}>"


def open_data(data: Data | Path) -> Data:
    """Opens a data set's folder, and verifies it."""
    return data if isinstance(data, Data) else Data(data)


def _listener(progress: Callable[[int, int], object] | None) -> Callable[[str], object] | None:
    if progress is None:
        return None
    return lambda news: progress(*(json.loads(news)[key] for key in ("done", "of")))


def generate(
    problem: str,
    count: int,
    seed: int = 20260913,
    *,
    split: str = "train",
    resolution: int = 128,
    out: Path | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Records:
    """Makes records with the problem's own solver: those that ``scope data generate`` writes, in every bit. With `out` they are also
    written there as a data set.

    >>> generate("poisson", 2, seed=7, resolution=32).u.shape
    (2, 32, 32)
    """
    options = {
        "problem": text(problem, "problem"),
        "count": whole_number(count, "count", 1),
        "seed": seed_of(seed),
        "split": text(split, "split"),
        "resolution": whole_number(resolution, "resolution"),
    }
    if out is not None:
        _native.generate_folder(options, out, _listener(progress))
        return Data(out).read()
    return Records(*_native.generate(options, _listener(progress)))


def write_data(
    out: Path,
    problem: str,
    a: ArrayLike,
    u: ArrayLike,
    *,
    split: str = "train",
    geometry: ArrayLike | None = None,
    source: str = "arrays of Python",
) -> Data:
    """Writes records of one of the five problems, in physical units, as a new data set. `source` says where they come from."""
    fields = (floats(a, "a"), floats(u, "u"))
    if fields[0].ndim != 3 or fields[0].shape != fields[1].shape or not len(fields[0]):
        shapes = f"a and u have the shapes {fields[0].shape} and {fields[1].shape}"
        raise ValueError(f"{shapes}: expected (n, rows, columns), the same, with n from 1 up")
    disks = None if geometry is None else floats(geometry, "geometry")
    if disks is not None and disks.ndim != 2:
        raise ValueError(f"geometry has the shape {disks.shape}: expected (n, 3)")
    _native.write_folder(out, text(problem, "problem"), text(split, "split"), fields, disks, text(source, "source"))
    return Data(out)


def import_own(
    problem: Path,
    out: Path,
    *,
    a: ArrayLike | None = None,
    u: ArrayLike | None = None,
    known: ArrayLike | None = None,
    test_fraction: float | None = None,
    fold: tuple[int, int] | None = None,
    calibration_fraction: float | None = None,
    groups: ArrayLike | Path | None = None,
) -> tuple[Data, Data]:
    """Writes records of a problem of your own, whose file is `problem`, as the data sets ``out/train`` and ``out/test``.

    `known` says where each record's fields are known without sensors, of problems whose file gives values there: ``[n, rows, columns]``,
    not zero at these points. A tenth of the records is held out for testing, or `test_fraction`. A `fold` such as ``(2, 5)`` holds out the
    second of five parts instead: over all five every record is held out once, for cross-validation. A `calibration_fraction` is held out
    besides, for error bands, as ``out/calibration``. Records of one number in `groups` ``[n]``, or in such a file, stay in one set. What is
    noticed of the records, such as neighbours that are much alike, is a `UserWarning`.
    """
    if fold is not None and test_fraction is not None:
        raise ValueError("fold and test_fraction both say what is held out: give one of them")
    stated = 0.1 if test_fraction is None else number_or_none(test_fraction, "test_fraction")
    held_out = fold_or_none(fold) or stated
    calibration = number_or_none(calibration_fraction, "calibration_fraction")
    with tempfile.TemporaryDirectory() as scratch:

        def saved(name: str, array: ArrayLike | None) -> str | None:
            if array is None:
                return None
            path = os.path.join(scratch, f"{name}.npy")
            np.save(path, np.ascontiguousarray(floats(array, name)))
            return path

        files = (saved("a", a), saved("u", u), saved("known", known))
        numbers = groups if isinstance(groups, str | os.PathLike) else saved("groups", groups)
        try:
            _, _, notes = _native.import_own(problem, files, out, held_out, calibration, numbers)
        except ValueError as error:
            # Users know their arrays by name, and not the files of a moment.
            raise ValueError(str(error).replace(scratch + os.sep, "")) from None
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Data(FilePath(out) / "train"), Data(FilePath(out) / "test")


def mask(
    condition: str,
    records: int | Iterable[int] = 0,
    *,
    problem: str = "poisson",
    resolution: int = 128,
    split: str = "test",
    draw: int = 0,
    seed: int | None = None,
) -> NDArray[np.bool_]:
    """Where a and u are seen under a condition: booleans ``[2, rows, columns]``, or ``[n, 2, rows, columns]`` for several records.

    >>> mask("forward/uniform/500").sum(axis=(1, 2)).tolist()
    [500, 0]
    """
    several = isinstance(records, Iterable)
    numbers = records if isinstance(records, Iterable) else [records]
    options = {
        "condition": text(condition, "condition"),
        "problem": text(problem, "problem"),
        "resolution": whole_number(resolution, "resolution"),
        "records": [whole_number(number, "a record") for number in numbers],
        "split": text(split, "split"),
        "draw": whole_number(draw, "draw"),
        "seed": whole_number_or_none(seed, "seed", 0, MOST_SEED),
    }
    seen = _native.mask(options)
    return seen if several else seen.reshape(seen.shape[1:])
