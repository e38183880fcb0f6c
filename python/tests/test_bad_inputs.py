"""What cannot be used is refused with a sentence that says what is wrong."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import fieldscope

POINTS = np.array([[0.2, 0.3], [0.6, 0.7]])
VALUES = np.array([0.001, 0.002])
EXACT = fieldscope.exact("poisson", resolution=32)
TWO = pd.DataFrame({"problem": ["p", "q"], "x": [0.2, 0.6], "y": [0.3, 0.7], "u": VALUES})
OVER_TIME = xr.Dataset({"u": (("time", "n"), np.stack([VALUES, VALUES]))}, {"x": ("n", POINTS[:, 0]), "y": ("n", POINTS[:, 1])})

BAD = {
    "points of three columns": (lambda m: m.recover(np.ones((2, 3)), VALUES), ValueError, r"expected \(n, 2\)"),
    "points of one axis": (lambda m: m.recover([0.1, 0.2], VALUES), ValueError, r"expected \(n, 2\)"),
    "too few values": (lambda m: m.recover(POINTS, VALUES[:1]), ValueError, "expected one each"),
    "text for values": (lambda m: m.recover(POINTS, ["x", "y"]), TypeError, "must be numbers"),
    "complex values": (lambda m: m.recover(POINTS, VALUES + 1j), TypeError, "must be numbers"),
    "ragged points": (lambda m: m.recover([[0.1, 0.2], [0.3]], VALUES), ValueError, "cannot be made one array"),
    "a value that is NaN": (lambda m: m.recover(POINTS, [0.1, np.nan]), ValueError, "sensor 2: the value is not finite"),
    "a coordinate that is infinite": (lambda m: m.recover([[np.inf, 0.2]], [0.1]), ValueError, "not finite"),
    "a point outside": (lambda m: m.recover([[1.5, 0.2]], [0.1]), ValueError, r"lies outside the unit square.*domain="),
    "no readings": (lambda m: m.recover(np.ones((0, 2)), []), ValueError, "no measurements"),
    "another channel": (lambda m: m.recover(POINTS, VALUES, "v"), ValueError, "no channel"),
    "a channel that is a number": (lambda m: m.recover(POINTS, VALUES, 1), TypeError, "channel must be"),
    "a value too large": (lambda m: m.recover(POINTS, [1e300, 0.0]), ValueError, "units"),
    "contradicting readings": (lambda m: m.recover(POINTS[[0, 0]], [-0.004, 0.004]), ValueError, "both measure u"),
    "a noise below zero": (lambda m: m.recover(POINTS, VALUES, noise=-1), ValueError, "standard deviation"),
    "a noise of no kind": (lambda m: m.recover(POINTS, VALUES, noise=object()), TypeError, "noise must be"),
    "an empty domain": (lambda m: m.recover(POINTS, VALUES, domain=(1, 0, 0, 1)), ValueError, "smaller one first"),
    "three numbers of a domain": (lambda m: m.recover(POINTS, VALUES, domain=(0, 1, 0)), ValueError, "expected 4"),
    "an unknown scale": (lambda m: m.recover(POINTS, VALUES, scale={"z": 2}), ValueError, "z=2"),
    "a disk where there is none": (lambda m: m.recover(POINTS, VALUES, geometry=(1, 2, 3)), ValueError, "no geometry"),
    "few fresh records": (lambda m: m.recover(POINTS, VALUES, calibrate=3), ValueError, "19 to 2000"),
    "a table without places": (lambda m: m.recover(pd.DataFrame({"u": VALUES})), ValueError, "the table"),
    "a data set without fields": (lambda m: m.recover(xr.Dataset({"v": ("n", VALUES)})), ValueError, 'no variable "a" or "u"'),
    "readings of no kind": (lambda m: m.recover(3), TypeError, "readings cannot be int"),
    "a file that is not there": (lambda m: m.recover("nowhere.csv"), OSError, "nowhere.csv"),
    "many of another shape": (lambda m: m.recover_many(POINTS, np.ones((3, 5))), ValueError, "expected"),
    "an unknown model": (lambda m: fieldscope.load("poison"), ValueError, "poisson"),
    "an unknown device": (lambda m: fieldscope.load("poisson", device="tpu"), ValueError, "auto, cpu, cuda"),
    "no exact posterior": (lambda m: fieldscope.exact("darcy"), ValueError, "no exact posterior"),
    "an odd grid": (lambda m: fieldscope.generate("poisson", 1, resolution=33), ValueError, "33"),
    "an unknown condition": (lambda m: fieldscope.mask("forward/uniform"), ValueError, "forward/uniform"),
    "columns as text": (lambda m: m.recover(pd.DataFrame({"u": VALUES}), columns="x=x"), TypeError, "columns must be a mapping"),
    "columns for arrays": (lambda m: m.recover({"u": (POINTS, VALUES)}, columns={"u": "u"}), TypeError, "for tables"),
    "columns for a data set": (lambda m: m.recover(OVER_TIME.isel(time=0), missing=[-1]), TypeError, "for tables"),
    "a data set over time": (lambda m: m.recover(OVER_TIME), ValueError, r'over "time" too, .*isel\(.*"time": 0'),
    "an array of another name": (lambda m: m.recover(OVER_TIME["u"].rename("v")), ValueError, 'DataArray is called "v"'),
    "a second problem that does not fit": (lambda m: m.recover_many([(POINTS, VALUES)] + [(POINTS, [1])]), ValueError, "problem 2"),
    "no problems at all": (lambda m: m.recover_many([]).u, ValueError, "there were no problems"),
    "noise of every reading": (lambda m: m.recover(POINTS, VALUES, noise=[0.1] * 3), ValueError, "noise has 3 numbers"),
    "a noise of bytes": (lambda m: m.recover(POINTS, VALUES, noise=b"1%"), TypeError, "noise must be"),
    "a noise that is NaN": (lambda m: m.recover(POINTS, VALUES, noise=np.nan), ValueError, 'noise is "nan"'),
    "a scale of nothing": (lambda m: m.recover(POINTS, VALUES, scale={"u": None}), TypeError, "scale must have numbers"),
    "an edge of text": (lambda m: m.recover(POINTS, VALUES, edge_value="0"), TypeError, "edge_value must be a number"),
    "a flag of text": (lambda m: m.recover(POINTS, VALUES, drop_suspects="no"), TypeError, "must be True or False"),
    "half a record": (lambda m: m.recover(POINTS, VALUES, calibrate=20.5), TypeError, "calibrate must be a whole number"),
    "no threads": (lambda m: fieldscope.load("poisson", threads=0), ValueError, "threads is 0: expected .* 1 to 1024"),
    "a million threads": (lambda m: fieldscope.load("poisson", threads=10**6), ValueError, "1 to 1024"),
    "a count below zero": (lambda m: fieldscope.generate("poisson", -1), ValueError, "count is -1"),
    "a seed below zero": (lambda m: fieldscope.generate("poisson", 1, seed=-1), ValueError, "seed is -1"),
    "more than memory holds": (lambda m: fieldscope.generate("poisson", 10**15), MemoryError, "cannot hold"),
    "a record below zero": (lambda m: fieldscope.mask("inverse/uniform/500", -1), ValueError, "a record is -1"),
    "a method of text": (lambda m: fieldscope.evaluate("poisson", "data"), TypeError, "method must be a Model"),
    "given readings of two problems": (lambda m: fieldscope.place(EXACT, 1, given=TWO), ValueError, "of 2 problems"),
    "data that are not there": (lambda m: fieldscope.open_data("nowhere"), ValueError, "does not exist"),
}


@pytest.mark.parametrize("kind", BAD)
def test_it_is_refused(model, kind):
    call, exception, sentence = BAD[kind]
    with pytest.raises(exception, match=sentence):
        call(model)
