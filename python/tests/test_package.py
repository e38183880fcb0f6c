"""The package itself: documentation that runs, types, import time's ingredients."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import fieldscope
from fieldscope import _data, _methods

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("module", [fieldscope, _data, _methods])
def test_examples_in_the_documentation_hold(module):
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_import_loads_nothing_but_numpy():
    script = "import sys, fieldscope; print(sorted({'pandas', 'xarray', 'matplotlib', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_notebook_runs():
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "from-sensors-to-fields.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("what", [["-p", "fieldscope"], [str(EXAMPLES / "recover.py")]])
def test_types_are_strict(what):
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--cache-dir", "mypy-cache", *what]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
