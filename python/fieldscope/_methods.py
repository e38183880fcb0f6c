"""Ways from sensors to fields."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import Any

from numpy.typing import ArrayLike

from fieldscope import _native
from fieldscope._data import Data, open_data
from fieldscope._inputs import Noise, Path, Scale, many_sensors, sensors_of
from fieldscope._options import (
    flag,
    mask_or_none,
    noise_text,
    number_or_none,
    numbers_or_none,
    scale_text,
    seed_of,
    text,
    threads_or_none,
    whole_number,
    whole_number_or_none,
)
from fieldscope._recovery import PosteriorRecovery, Recoveries, Recovery

# Where shipped models are, and the variable that names folders of others.
_SHIPPED = FilePath(__file__).parent / "models"
_VARIABLE = "SCOPE_MODELS"


@dataclass(frozen=True)
class Problem:
    """What a pair of fields is, and the grid that they are recovered on.

    `channels` has what a and u are, `units` their units and `present` whether they exist; `axes` has what axis 0 and axis 1 are called,
    `domain` where they begin and end (x0, x1, y0, y1), and `unit` that of coordinates, where a problem file states one.
    """

    name: str
    title: str
    channels: dict[str, str]
    units: dict[str, str]
    present: dict[str, bool]
    rows: int
    columns: int
    domain: tuple[float, float, float, float]
    axes: tuple[str, str]
    unit: str
    has_disk: bool


def _listener(progress: Callable[[int, int], object] | None) -> Callable[[str], object] | None:
    if progress is None:
        return None

    def hear(news: str) -> None:
        told = json.loads(news)
        progress(told["done"], told["of"])

    return hear


class _Method:
    """A way from sensors to fields. It is pickled as what it was made from, and made again in another process."""

    def __init__(self, native: _native.Method, made: Callable[[], _Method]) -> None:
        self._native = native
        self._made = made

    def __reduce__(self) -> tuple[Callable[[], _Method], tuple[()]]:
        return self._made, ()

    @cached_property
    def problem(self) -> Problem:
        """The problem that it recovers, and its grid."""
        known = json.loads(self._native.problem)
        return Problem(**known | {"domain": tuple(known["domain"]), "axes": tuple(known["axes"])})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.problem.name}: {self._native.place}>"


class Model(_Method):
    """A trained network. Threads may share it."""

    @cached_property
    def card(self) -> dict[str, Any] | None:
        """Its card: data, training, held-out errors; none of a run or a file without one."""
        return None if self._native.card is None else json.loads(self._native.card)

    @property
    def device(self) -> str:
        """Where it computes: "cpu" or "cuda"."""
        return self._native.device

    def recover(
        self,
        points: Any,
        values: Any = None,
        channel: str = "u",
        noise: Noise | None = None,
        *,
        domain: Sequence[float] | None = None,
        scale: Scale | None = None,
        edge_value: float | None = None,
        geometry: Sequence[float] | None = None,
        known: ArrayLike | None = None,
        drop_suspects: bool = False,
        calibrate: int | None = None,
        unprojected: bool = False,
        columns: Mapping[str, str] | None = None,
        missing: Iterable[Any] | None = None,
    ) -> Recovery:
        """Recovers both fields from readings of one problem.

        `points` are ``[n, 2]`` and `values` ``[n]`` of one channel, or a mapping of channels to values at the same points. Instead of both,
        `points` may be a DataFrame, the path of a file, a mapping of columns, an ``xarray.Dataset`` with a or u, or
        ``{"a": (points, values), "u": (points, values)}``. What a masked array masks was not measured. The other arguments are the
        options of ``scope recover``.
        """
        sensors = sensors_of(self._native, points, values, channel, columns, missing)
        options = self._options(
            noise, domain, scale, edge_value, geometry, known, drop_suspects, calibrate, unprojected
        )
        _require_one(sensors)
        return self._recover(sensors, options, None)[0]

    def recover_many(
        self,
        points: Any,
        values: Any = None,
        channel: str = "u",
        noise: Noise | None = None,
        *,
        domain: Sequence[float] | None = None,
        scale: Scale | None = None,
        edge_value: float | None = None,
        geometry: Sequence[float] | None = None,
        known: ArrayLike | None = None,
        drop_suspects: bool = False,
        calibrate: int | None = None,
        unprojected: bool = False,
        columns: Mapping[str, str] | None = None,
        missing: Iterable[Any] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Recoveries[Recovery]:
        """Recovers several problems together, which is faster than one after the other.

        `values` are ``[problems, n]``, or a mapping of channels to such arrays, at `points` ``[n, 2]`` or ``[problems, n, 2]``. Instead of
        both, `points` may be a list of problems, each ``(points, values)``, a mapping of channels to such pairs or an ``xarray.Dataset``,
        or a table or file with a column "problem". All have the same `domain`, `geometry` and so on.
        `progress` hears how many problems are done, of how many.
        """
        sensors = many_sensors(self._native, points, values, channel, columns, missing)
        options = self._options(
            noise, domain, scale, edge_value, geometry, known, drop_suspects, calibrate, unprojected
        )
        return self._recover(sensors, options, progress)

    def _options(
        self,
        noise: Noise | None,
        domain: Sequence[float] | None,
        scale: Scale | None,
        edge_value: float | None,
        geometry: Sequence[float] | None,
        known: ArrayLike | None,
        drop_suspects: bool,
        calibrate: int | None,
        unprojected: bool,
    ) -> dict[str, Any]:
        return _options(
            noise=noise_text(noise),
            domain=numbers_or_none(domain, 4, "domain"),
            scale=scale_text(scale),
            edge_value=number_or_none(edge_value, "edge_value"),
            geometry=numbers_or_none(geometry, 3, "geometry"),
            known=mask_or_none(known, "known"),
            drop_suspects=flag(drop_suspects, "drop_suspects"),
            calibrate=whole_number_or_none(calibrate, "calibrate"),
            unprojected=flag(unprojected, "unprojected"),
        )

    def _recover(
        self, sensors: _native.Sensors, options: dict[str, Any], progress: Callable[[int, int], object] | None
    ) -> Recoveries[Recovery]:
        recovered = self._native.recover(sensors, options, _listener(progress))
        each = [Recovery(one, sensors.name, sensors.notes) for one in recovered]
        return Recoveries(each, sensors.name, sensors.notes)


class Posterior(_Method):
    """A Gaussian posterior of both fields: the exact one, or that of a linear fit. Threads may share it."""

    def recover(
        self,
        points: Any,
        values: Any = None,
        channel: str = "u",
        noise: Noise | None = None,
        *,
        domain: Sequence[float] | None = None,
        scale: Scale | None = None,
        edge_value: float | None = None,
        known: ArrayLike | None = None,
        drop_suspects: bool = False,
        deviations: bool = True,
        samples: int = 0,
        seed: int = 20261013,
        columns: Mapping[str, str] | None = None,
        missing: Iterable[Any] | None = None,
    ) -> PosteriorRecovery:
        """The posterior given readings of one problem, which may come as `Model.recover` takes them. `samples` are drawn with it."""
        sensors = sensors_of(self._native, points, values, channel, columns, missing)
        options = _options_of_posterior(
            noise, domain, scale, edge_value, known, drop_suspects, deviations, samples, seed
        )
        _require_one(sensors)
        return self._recover(sensors, options, None)[0]

    def recover_many(
        self,
        points: Any,
        values: Any = None,
        channel: str = "u",
        noise: Noise | None = None,
        *,
        domain: Sequence[float] | None = None,
        scale: Scale | None = None,
        edge_value: float | None = None,
        known: ArrayLike | None = None,
        drop_suspects: bool = False,
        deviations: bool = True,
        samples: int = 0,
        seed: int = 20261013,
        columns: Mapping[str, str] | None = None,
        missing: Iterable[Any] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Recoveries[PosteriorRecovery]:
        """The posteriors given readings of several problems, which may come as `Model.recover_many` takes them."""
        sensors = many_sensors(self._native, points, values, channel, columns, missing)
        options = _options_of_posterior(
            noise, domain, scale, edge_value, known, drop_suspects, deviations, samples, seed
        )
        return self._recover(sensors, options, progress)

    def _recover(
        self, sensors: _native.Sensors, options: dict[str, Any], progress: Callable[[int, int], object] | None
    ) -> Recoveries[PosteriorRecovery]:
        recovered = self._native.recover(sensors, options, _listener(progress))
        alone = [sensors] if len(sensors) == 1 else [sensors.one(number) for number in range(len(sensors))]
        each = [PosteriorRecovery(one, of_one, self, options) for one, of_one in zip(recovered, alone, strict=True)]
        return Recoveries(each, sensors.name, sensors.notes)


def _options_of_posterior(
    noise: Noise | None,
    domain: Sequence[float] | None,
    scale: Scale | None,
    edge_value: float | None,
    known: ArrayLike | None,
    drop_suspects: bool,
    deviations: bool,
    samples: int,
    seed: int,
) -> dict[str, Any]:
    return _options(
        noise=noise_text(noise),
        domain=numbers_or_none(domain, 4, "domain"),
        scale=scale_text(scale),
        edge_value=number_or_none(edge_value, "edge_value"),
        known=mask_or_none(known, "known"),
        drop_suspects=flag(drop_suspects, "drop_suspects"),
        deviations=flag(deviations, "deviations"),
        samples=whole_number(samples, "samples"),
        seed=seed_of(seed),
    )


def _options(**stated: Any) -> dict[str, Any]:
    usual = {
        "noise": None,
        "domain": None,
        "scale": None,
        "edge_value": None,
        "geometry": None,
        "known": None,
        "drop_suspects": False,
        "calibrate": None,
        "unprojected": False,
        "deviations": True,
        "samples": 0,
        "seed": 20261013,
    }
    return usual | stated


def _require_one(sensors: _native.Sensors) -> None:
    if len(sensors) != 1:
        raise ValueError(f"{sensors.name} has readings of {len(sensors)} problems: expected one, or take recover_many")


def _folders() -> list[str]:
    named = [folder for folder in os.environ.get(_VARIABLE, "").split(os.pathsep) if folder]
    return [*named, str(_SHIPPED)]


def load(model: Path, *, device: str = "auto", threads: int | None = None) -> Model:
    """A trained network: the name of a shipped model, a weight file, or the folder of a run.

    >>> load("poisson").problem.rows
    128
    """
    native = _native.Method.network(model, _folders(), text(device, "device"), threads_or_none(threads))
    return Model(native, partial(load, _from_anywhere(model), device=device, threads=threads))


def _from_anywhere(path: Path) -> str:
    """A path that holds in other folders too; what is no path is a name."""
    return os.path.abspath(path) if os.path.exists(path) else os.fspath(path)


def models() -> list[str]:
    """The names of the models at hand.

    >>> models()
    ['cylinder', 'darcy', 'helmholtz', 'ns', 'poisson']
    """
    return _native.models(_folders())


def exact(problem: str, *, resolution: int = 128) -> Posterior:
    """The exact posterior of "poisson", "helmholtz" or the first field of "ns"."""
    native = _native.Method.exact(text(problem, "problem"), whole_number(resolution, "resolution"))
    return Posterior(native, partial(exact, problem, resolution=resolution))


def linear(path: Path) -> Posterior:
    """The posterior of a linear fit: a file that `fit_linear` or ``scope fit linear`` wrote."""
    return Posterior(_native.Method.linear(path), partial(linear, _from_anywhere(path)))


def fit_linear(data: Data | Path, modes: int, out: Path) -> Posterior:
    """Fits the linear method to the records of a set, writes it to a new file, and gives it back."""
    _native.fit_linear(open_data(data)._native, whole_number(modes, "modes"), out)
    return linear(out)
