"""Figures of recoveries, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fieldscope._recovery import Recovery

# What is drawn beside a field, the first of these that there is.
_WIDTHS = {"_band68": "68% band, half-width", "_sd": "standard deviation", "_probability": "probability"}


def plot(recovery: Recovery) -> Figure:
    """A row for each field; x to the right and y upwards."""
    from matplotlib.figure import Figure

    rows = [channel for channel in "au" if channel in recovery.arrays]
    figure = Figure(figsize=(9.0, 3.6 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), 2, squeeze=False)
    names = dict(zip("au", recovery.summary["channels"], strict=True))
    units = recovery.summary.get("field_units") or {}
    along, length = recovery._native.axes()
    x, y = recovery.x, recovery.y
    for channel, (left, right) in zip(rows, axes, strict=True):
        kind = next((kind for kind in _WIDTHS if channel + kind in recovery.arrays), None)
        panels = [(left, channel, f"{channel}: {_with_unit(names[channel], units.get(channel))}")]
        if kind is not None:
            panels.append((right, channel + kind, _WIDTHS[kind]))
        else:
            right.axis("off")
        for panel, name, title in panels:
            image = panel.pcolormesh(x, y, recovery.arrays[name].T, shading="nearest", cmap="viridis")
            figure.colorbar(image, ax=panel)
            panel.set_title(title)
            panel.set_aspect("equal")
            panel.set_xlabel(_with_unit(along[0], length))
            panel.set_ylabel(_with_unit(along[1], length))
        measured = recovery.sensors["channel"] == channel
        left.plot(recovery.sensors["x"][measured], recovery.sensors["y"][measured], "k.", markersize=2)
    return figure


def _with_unit(name: str, unit: str | None) -> str:
    return f"{name} ({unit})" if unit else name
