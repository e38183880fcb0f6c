"""What is asked for besides readings, turned into what the library reads."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fieldscope._inputs import CHANNELS, Noise, Scale, floats

# The most threads that the command takes, and the largest seed.
MOST_THREADS = 1024
MOST_SEED = 2**64 - 1

_NOISE = "noise must be a standard deviation, or one for a and one for u"


def whole_number(number: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """A whole number within bounds."""
    try:
        found = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, and is {number!r}") from None
    if found < least or (most is not None and found > most):
        expected = f"from {least} up" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} is {found}: expected a whole number {expected}")
    return found


def whole_number_or_none(number: Any, what: str, least: int = 0, most: int | None = None) -> int | None:
    """The same, where it is stated."""
    return None if number is None else whole_number(number, what, least, most)


def seed_of(seed: Any) -> int:
    """A seed of random streams."""
    return whole_number(seed, "seed", 0, MOST_SEED)


def threads_or_none(threads: Any) -> int | None:
    """A number of threads, where it is stated."""
    return whole_number_or_none(threads, "threads", 1, MOST_THREADS)


def number_or_none(number: Any, what: str) -> float | None:
    """A number, where it is stated."""
    if number is None:
        return None
    if isinstance(number, str | bytes):
        raise TypeError(f"{what} must be a number, and is {number!r}")
    try:
        return float(number)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, and is {type(number).__name__}") from None


def flag(stated: Any, what: str) -> bool:
    """True or False: 0, "no" and the like may mean something else."""
    if not isinstance(stated, bool | np.bool_):
        raise TypeError(f"{what} must be True or False, and is {stated!r}")
    return bool(stated)


def text(stated: Any, what: str) -> str:
    """A name."""
    if not isinstance(stated, str):
        raise TypeError(f"{what} must be text, and is {type(stated).__name__}")
    return stated


def text_or_none(stated: Any, what: str) -> str | None:
    """A name, where it is stated."""
    return None if stated is None else text(stated, what)


def noise_text(noise: Noise | None) -> str | None:
    """A noise as the command takes it."""
    if noise is None or isinstance(noise, str):
        return noise
    if isinstance(noise, Mapping):
        if set(noise) - set(CHANNELS):
            raise ValueError(f'noise is stated of "a" and "u", and of {", ".join(map(repr, noise))} here')
        noise = [noise.get(channel, 0.0) for channel in CHANNELS]
    if np.ndim(noise) == 0:
        return _deviation(noise)
    if isinstance(noise, bytes) or not isinstance(noise, Sequence | np.ndarray):
        raise TypeError(_NOISE)
    if len(noise) > 2:
        raise ValueError(f"noise has {len(noise)} numbers: expected one for both fields, or one for a and one for u")
    return ",".join(_deviation(each) for each in noise)


def _deviation(stated: Any) -> str:
    """One standard deviation."""
    if isinstance(stated, str):
        return stated
    if isinstance(stated, bool | bytes | None):
        raise TypeError(_NOISE)
    try:
        return repr(float(stated))
    except (TypeError, ValueError):
        raise TypeError(_NOISE) from None


def scale_text(scale: Scale | None) -> str | None:
    """What values are multiples of, as the command takes it."""
    if not scale and scale != "":
        return None
    if isinstance(scale, str):
        return scale
    if not isinstance(scale, Mapping):
        raise TypeError('scale must be a mapping, as in {"length": 500.0, "u": 400.0}')
    numbers = {key: value if isinstance(value, str) else number_or_none(value, f"scale of {key}") for key, value in scale.items()}
    if None in numbers.values():
        raise TypeError(f"scale must have numbers, and is {scale}")
    return ",".join(f"{key}={value}" for key, value in numbers.items())


def numbers_or_none(numbers: Sequence[float] | None, count: int, what: str) -> list[float] | None:
    """So many numbers, if any."""
    if numbers is None:
        return None
    array = floats(numbers, what)
    if array.shape != (count,):
        raise ValueError(f"{what} has the shape {array.shape}: expected {count} numbers")
    return [float(number) for number in array]


def mask_or_none(known: ArrayLike | None, name: str) -> list[list[bool]] | None:
    """The rows of a mask, if it is given: not zero where it holds."""
    if known is None:
        return None
    numbers = floats(known, name)
    if numbers.ndim != 2:
        raise ValueError(f"{name} has the shape {numbers.shape}: expected (rows, columns) of the grid")
    if np.isnan(numbers).any():
        points = np.isnan(numbers).sum()
        raise ValueError(f"{name} is NaN at {points} points: expected True or False, or numbers, zero where it does not hold")
    return (numbers != 0).tolist()  # type: ignore[no-any-return]


def settings_text(settings: Mapping[str, Any] | None) -> list[str]:
    """The settings of a recipe as the command takes them."""
    if settings is None:
        return []
    if not isinstance(settings, Mapping):
        raise TypeError(f'settings must be a mapping, as in {{"peak_rate": 3e-4}}, and is {type(settings).__name__}')
    return [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()]


def fold_or_none(fold: Any) -> tuple[int, int] | None:
    """Which part of how many, if any."""
    if fold is None:
        return None
    if not isinstance(fold, Iterable) or isinstance(fold, str):
        raise TypeError(f"fold must be two whole numbers, as in (2, 5), and is {fold!r}")
    numbers = [whole_number(number, "fold", 1) for number in fold]
    if len(numbers) != 2:
        raise ValueError(f"fold is {fold!r}: expected two whole numbers, as in (2, 5)")
    return numbers[0], numbers[1]
