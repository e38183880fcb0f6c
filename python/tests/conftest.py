"""What tests share: a model, readings of a record, and the command where it was built."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import fieldscope

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def model() -> fieldscope.Model:
    return fieldscope.load("poisson", device="cpu")


@pytest.fixture(scope="session")
def record() -> fieldscope.Records:
    return fieldscope.generate("poisson", 2, seed=5, split="test")


@pytest.fixture(scope="session")
def readings(record: fieldscope.Records) -> tuple[np.ndarray, np.ndarray]:
    """Points on pixels, and u there."""
    i, j = np.nonzero(fieldscope.mask("inverse/uniform/500")[1])
    return np.column_stack([i, j]) / 127.0, record.u[0, i, j].astype(np.float64)


@pytest.fixture(scope="session")
def scope() -> str:
    """The command, from the environment or the checkout's own build."""
    built = ROOT / "target/release/scope"
    found = os.environ.get("SCOPE") or (str(built) if built.exists() else shutil.which("scope"))
    if found is None:
        pytest.skip("the command scope is not built")
    return found
