"""The package itself: documentation that runs, types, import time's ingredients."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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


# The guide's own numbers would take half an hour.
SMALLER = {
    "\"poisson\", 1000, seed=7": "\"poisson\", 64, seed=7, resolution=32",
    "data.read(0, 10)": "data.read(0, 2)",
    "evaluate(model, data, limit=100)": "evaluate(fieldscope.fit_linear(data, 5, 'few.safetensors'), data, limit=2)",
    'model="small", minutes=25': 'model="tiny", recipe="fo", draws=64, device="cpu"',
    "random_layouts=100": "random_layouts=5",
}


def test_the_guide_s_examples_run(model, readings, tmp_path, monkeypatch):
    guide = (EXAMPLES.parents[1] / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    for stated, smaller in SMALLER.items():
        assert any(stated in block for block in blocks), stated
        blocks = [block.replace(stated, smaller) for block in blocks]
    monkeypatch.chdir(tmp_path)
    points, values = readings
    np.savetxt("sensors.csv", np.column_stack([points, values]), "%.17g", ",", header="x,y,u", comments="")
    fields = "[fields.a]\nname = 'start'\n[fields.u]\nname = 'end'\n[grid]\nrows = 32\ncolumns = 32\n"
    Path("problem.toml").write_text(f"name = 'guide'\n{fields}")
    a = np.random.default_rng(0).normal(size=(20, 32, 32))
    known = {"points": points[:40], "values": values[:40], "a": a, "u": a / 2}
    for block in blocks:
        exec(block, known)
    assert np.array_equal(known["recovery"].u, model.recover(points, values).u)
    assert np.array_equal(np.load("recovered/u.npy"), known["recovery"].u)


def public(one):
    """The names that users see of a class or a function, with what they are."""
    members = vars(one).items() if isinstance(one, type) else ()
    return [(name, member) for name, member in members if not name.startswith("_") and not isinstance(member, str | int)]


@pytest.mark.parametrize("name", [name for name in fieldscope.__all__ if not name.startswith("_")])
def test_every_name_says_what_it_is(name):
    one = getattr(fieldscope, name)
    fields = getattr(one, "__dataclass_fields__", {})
    assert one.__doc__, name
    assert [member for member, what in public(one) if member not in fields and not what.__doc__] == []


def test_stubs_are_those_of_the_native_half():
    command = [sys.executable, "-m", "mypy.stubtest", "fieldscope._native", "--ignore-missing-stub"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("what", [["-p", "fieldscope"], [str(EXAMPLES / "recover.py")]])
def test_types_are_strict(what):
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--cache-dir", "mypy-cache", *what]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
