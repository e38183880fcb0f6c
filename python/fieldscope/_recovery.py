"""What was recovered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from fieldscope import _native
from fieldscope._inputs import Path
from fieldscope._options import seed_of, whole_number

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from fieldscope._methods import Posterior

Field: TypeAlias = NDArray[np.float32]
R = TypeVar("R", bound="Recovery")

# Array files of a result folder, and what they are called in a data set.
_ENDING = ".npy"
_LONG_NAMES = {
    "": "",
    "_band68": "half-width that holds 68% of pixels",
    "_band95": "half-width that holds 95% of pixels",
    "_sd": "standard deviation",
    "_map": "more probable value",
    "_probability": "probability of the larger value",
    "_unprojected": "before known facts were imposed",
    "_samples": "draws from the posterior",
}


class Recovery:
    """Both complete fields of one problem, and how far to trust them.

    Arrays are float32 ``[rows, columns]`` in the units of the readings, axis 0 is x. They show the result's own memory and
    cannot be written to: copy what you want to change.
    """

    def __init__(self, native: _native.Recovered, sensors: str, notes: Sequence[str]) -> None:
        self._native = native
        self._sensors = sensors
        self._notes = list(notes)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a recovery cannot be pickled: send its arrays, as in dict(recovery.arrays), or save it to a folder")

    @property
    def a(self) -> Field:
        """The input field."""
        return self._field("a")

    @property
    def u(self) -> Field:
        """The response field."""
        return self._field("u")

    @property
    def band68(self) -> dict[str, Field]:
        """Half-widths that hold 68% of all pixels, by channel; empty where they are not known (`without_bands` says why)."""
        return self._of_channels("_band68")

    @property
    def band95(self) -> dict[str, Field]:
        """Half-widths that hold 95% of all pixels, by channel."""
        return self._of_channels("_band95")

    @cached_property
    def arrays(self) -> dict[str, Field]:
        """All arrays of fields by name, those of the files that `save` writes: "a", "u", "u_band68", "a_map" and so on."""
        names = (name.removesuffix(_ENDING) for name in self._native.arrays())
        found = ((name, self._native.array(name + _ENDING)) for name in names)
        return {name: array for name, array in found if array is not None}

    @property
    def x(self) -> NDArray[np.float64]:
        """Where the rows are, in the coordinates of the sensors."""
        return self._native.coordinates()[0]

    @property
    def y(self) -> NDArray[np.float64]:
        """Where the columns are."""
        return self._native.coordinates()[1]

    @cached_property
    def sensors(self) -> dict[str, NDArray[Any]]:
        """The readings that were used: "x", "y", "channel" ("a" or "u") and "value"."""
        x, y, channel, value = self._native.readings()
        return {"x": x, "y": y, "channel": np.array(["a", "u"])[channel], "value": value}

    @property
    def name(self) -> str:
        """What the problem is called."""
        return self._native.name

    @cached_property
    def trust(self) -> dict[str, Any]:
        """What is known of the method with sensors like these, as `summary.json` has it: coverage, held-out errors, misfit, warnings."""
        summary: dict[str, Any] = json.loads(self._native.summary)
        return summary

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting the fields, in sentences."""
        return self._native.warnings

    @property
    def remarks(self) -> list[str]:
        """What the method itself has to say."""
        return self._native.remarks

    @property
    def without_bands(self) -> str | None:
        """Why there are no error bands, if there are none."""
        return self._native.without_bands

    @property
    def is_contradicted(self) -> bool:
        """Whether the readings contradict the model: the command's exit code 3."""
        return self._native.is_contradicted

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` of this problem says."""
        whole: dict[str, Any] = json.loads(self._native.whole_summary(self._sensors, self._notes))
        return whole

    def save(self, folder: Path) -> None:
        """Writes the folder that ``scope recover`` writes. It must be new or empty."""
        _native.save([self._native], folder, self._sensors, self._notes, 1)

    def to_xarray(self) -> xr.Dataset:
        """A data set with CF attributes: fields over x and y, the readings over a second dimension, "sensor"."""
        import xarray as xr

        summary = self.summary
        x, y = self._native.coordinates()
        units = summary.get("field_units") or {}
        variables: dict[str, Any] = {}
        for name, array in self.arrays.items():
            channel, kind = name[0], name[1:]
            long_name = dict(zip("au", summary["channels"], strict=True))[channel]
            if kind:
                long_name += f", {_LONG_NAMES.get(kind, kind)}"
            unit = "1" if kind == "_probability" else units.get(channel)
            attributes = {"long_name": long_name} | ({"units": unit} if unit else {})
            variables[name] = (("x", "y"), array, attributes)
        variables |= self._sample_variables()
        readings = self.sensors
        for key in ("channel", "value"):
            variables[f"sensor_{key}"] = ("sensor", readings[key], {"long_name": f"{key} of the reading"})
        names, unit = self._native.axes()
        length = {"units": unit} if unit else {}
        coordinates: dict[str, Any] = {}
        for number, (axis, places) in enumerate((("x", x), ("y", y))):
            said = f"{names[number]}, along axis {number}"
            coordinates[axis] = (axis, places, {"axis": axis.upper(), "long_name": said} | length)
            of_sensors = {"long_name": f"{names[number]} of the sensor"} | length
            coordinates[f"sensor_{axis}"] = ("sensor", readings[axis], of_sensors)
        attributes = {
            "Conventions": "CF-1.11",
            "title": f"{summary['pde']}, recovered from sensors",
            "source": f"{summary['method']['name']}: {summary['method']['file']}",
            "comment": "; ".join(self.warnings) or "no warnings",
        }
        return xr.Dataset(variables, coords=coordinates, attrs=attributes)

    def plot(self) -> Figure:
        """A figure of both fields with the sensors on them, and of the narrower band or standard deviation where it is known."""
        from fieldscope._plot import plot

        return plot(self)

    def picture(self) -> bytes:
        """The picture that the command draws, as PNG."""
        return self._native.picture(f"{self.summary['pde']}, recovered from sensors")

    def _repr_png_(self) -> bytes:
        return self.picture()

    def __repr__(self) -> str:
        field = next(self.arrays[channel] for channel in "au" if channel in self.arrays)
        shape = " x ".join(str(length) for length in field.shape if length) or "no"
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<{type(self).__name__} of {self.summary['pde']}: {shape} points from {len(self.sensors['x'])} readings{warned}>"

    def _field(self, name: str) -> Field:
        if name not in self.arrays:
            raise AttributeError(f"the problem has no field {name}")
        return self.arrays[name]

    def _of_channels(self, kind: str) -> dict[str, Field]:
        return {channel: self.arrays[channel + kind] for channel in "au" if channel + kind in self.arrays}

    def _sample_variables(self) -> dict[str, Any]:
        return {}


class PosteriorRecovery(Recovery):
    """What a posterior says: its mean, standard deviations and draws of both fields."""

    def __init__(
        self, native: _native.Recovered, sensors: _native.Sensors, method: Posterior, options: dict[str, Any]
    ) -> None:
        super().__init__(native, sensors.name, sensors.notes)
        self._method = method
        self._given = sensors
        self._options = options

    @property
    def mean(self) -> dict[str, Field]:
        """The mean of a and of u: the recovered fields."""
        return self._of_channels("")

    @property
    def sd(self) -> dict[str, Field]:
        """The standard deviation of every pixel of a and of u; empty with ``deviations=False``."""
        return self._of_channels("_sd")

    @property
    def samples(self) -> dict[str, Field]:
        """The draws that `recover(samples=n)` made, ``[n, rows, columns]``."""
        return {channel: self._native.samples(channel) for channel in self.mean}

    def sample(self, count: int, *, seed: int = 20261013) -> dict[str, Field]:
        """Draws of both fields from their distribution given the readings, ``[count, rows, columns]`` each. The posterior is computed
        again: where draws are wanted from the first, `recover(samples=n)` saves that time."""
        options = self._options | {"samples": whole_number(count, "count"), "seed": seed_of(seed), "deviations": False}
        (drawn,) = self._method._native.recover(self._given, options, None)
        return {channel: drawn.samples(channel) for channel in self.mean}

    def _sample_variables(self) -> dict[str, Any]:
        samples = {channel: draws for channel, draws in self.samples.items() if len(draws)}
        return {f"{channel}_samples": (("sample", "x", "y"), draws) for channel, draws in samples.items()}


class Recoveries(Sequence[R]):
    """What was recovered of several problems, in their order."""

    def __init__(self, recoveries: Sequence[R], sensors: str, notes: Sequence[str]) -> None:
        self._recoveries = list(recoveries)
        self._sensors = sensors
        self._notes = list(notes)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Recoveries[R]: ...
    def __getitem__(self, index: int | slice) -> R | Recoveries[R]:
        if isinstance(index, slice):
            return Recoveries(self._recoveries[index], self._sensors, self._notes)
        return self._recoveries[index]

    def __len__(self) -> int:
        return len(self._recoveries)

    @property
    def a(self) -> Field:
        """All input fields, ``[problems, rows, columns]``: a copy."""
        return self._stacked("a")

    @property
    def u(self) -> Field:
        """All response fields, ``[problems, rows, columns]``: a copy."""
        return self._stacked("u")

    def _stacked(self, channel: str) -> Field:
        if not self._recoveries:
            raise ValueError("nothing was recovered: there were no problems")
        return np.stack([recovery._field(channel) for recovery in self])

    def save(self, folder: Path, *, pictures: int = 1) -> None:
        """Writes the folder that ``scope recover`` writes for these problems, with pictures of the first ones."""
        _native.save([each._native for each in self], folder, self._sensors, self._notes, whole_number(pictures, "pictures"))

    def __repr__(self) -> str:
        return f"<Recoveries of {len(self)} problems>"
