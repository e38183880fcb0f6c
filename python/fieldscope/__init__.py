"""Recover complete physical fields from sparse sensors.

A pair of fields (a, u) obeys a PDE, a few points of a, of u or of both are measured, and one pass of a trained network
returns both complete fields with error bands:

>>> import numpy as np
>>> import fieldscope
>>> model = fieldscope.load("poisson")
>>> model.problem.channels["u"]
'solution'
>>> x, y = np.random.default_rng(0).random((2, 200))
>>> recovery = model.recover(np.column_stack([x, y]), 0.004 * np.sin(np.pi * x) * np.sin(np.pi * y))
>>> recovery.u.shape, recovery.u.dtype
((128, 128), dtype('float32'))

Values are in physical units, in and out; axis 0 of every field is x, and axis 1 is y. What is computed here is what the
command ``scope`` computes, in every bit. The guide is docs/python.md.
"""

from fieldscope._data import Data, Records, generate, import_own, mask, open_data, write_data
from fieldscope._evaluation import Evaluation, evaluate
from fieldscope._methods import Model, Posterior, Problem, exact, fit_linear, linear, load, models
from fieldscope._native import __version__
from fieldscope._placement import Placement, place
from fieldscope._recovery import PosteriorRecovery, Recoveries, Recovery
from fieldscope._training import Progress, Run, train

__all__ = [
    "Data",
    "Evaluation",
    "Model",
    "Placement",
    "Posterior",
    "PosteriorRecovery",
    "Problem",
    "Progress",
    "Records",
    "Recoveries",
    "Recovery",
    "Run",
    "__version__",
    "evaluate",
    "exact",
    "fit_linear",
    "generate",
    "import_own",
    "linear",
    "load",
    "mask",
    "models",
    "open_data",
    "place",
    "train",
    "write_data",
]
