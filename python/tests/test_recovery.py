"""Fields are the command's in every bit, whatever the readings come in."""

import filecmp
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import fieldscope

MODELS = Path(fieldscope.__file__).parent / "models"


def run(scope, *arguments):
    environment = os.environ | {"SCOPE_MODELS": str(MODELS)}
    subprocess.run([scope, *map(str, arguments)], check=True, capture_output=True, env=environment)


def table(readings):
    points, values = readings
    return pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "u": values})


def same_folders(one, other):
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    assert filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


def test_a_saved_folder_is_the_command_s_in_every_byte(model, readings, scope, tmp_path):
    sensors = tmp_path / "sensors.csv"
    table(readings).to_csv(sensors, index=False)
    run(scope, "recover", "--model", "poisson", "--device", "cpu", "--sensors", sensors, "--out", tmp_path / "command")
    model.recover(sensors).save(tmp_path / "python")
    same_folders(tmp_path / "command", tmp_path / "python")


def test_arrays_give_the_fields_of_the_command(model, readings, scope, tmp_path):
    table(readings).to_csv(tmp_path / "s.csv", index=False)
    out = tmp_path / "out"
    run(scope, "recover", "--model", "poisson", "--device", "cpu", "--sensors", tmp_path / "s.csv", "--out", out)
    recovery = model.recover(*readings)
    for name, array in recovery.arrays.items():
        assert np.array_equal(array, np.load(out / f"{name}.npy")), name
    assert set(recovery.band68) == set(recovery.band95) == {"a", "u"}


@pytest.fixture(scope="module")
def coarse_readings():
    """60 readings of u on pixels of a 32 x 32 record, with noise of 1% of its standard deviation, as it is stated below."""
    u = fieldscope.generate("poisson", 1, seed=5, split="test", resolution=32).u[0]
    rng = np.random.default_rng(1)
    i, j = rng.integers(1, 31, (2, 60))
    return np.column_stack([i, j]) / 31.0, u[i, j] + 0.01 * u.std() * rng.normal(size=60)


def test_the_exact_posterior_is_the_command_s(coarse_readings, scope, tmp_path):
    sensors = tmp_path / "s.csv"
    table(coarse_readings).to_csv(sensors, index=False)
    arguments = ["--noise", "1%", "--samples", 2, "--resolution", 32]
    run(scope, "recover", "--method", "exact", "--pde", "poisson", "--sensors", sensors, *arguments, "--out", tmp_path / "c")
    recovery = fieldscope.exact("poisson", resolution=32).recover(sensors, noise="1%", samples=2)
    recovery.save(tmp_path / "p")
    same_folders(tmp_path / "c", tmp_path / "p")
    drawn = recovery.sample(2)
    assert all(np.array_equal(drawn[channel], recovery.samples[channel]) for channel in "au")
    assert recovery.mean["u"] is recovery.u and recovery.sd["u"].shape == (32, 32)
    assert not recovery.is_contradicted


def test_readings_that_contradict_the_problem_are_said_to(coarse_readings, scope, tmp_path):
    points, values = coarse_readings
    shuffled = points, np.random.default_rng(2).permutation(values)
    recovery = fieldscope.exact("poisson", resolution=32).recover(*shuffled, noise="1%")
    assert recovery.is_contradicted and any("contradict" in warning for warning in recovery.warnings)
    table(shuffled).to_csv(tmp_path / "s.csv", index=False)
    command = [scope, "recover", "--method", "exact", "--pde", "poisson", "--noise", "1%", "--resolution", "32"]
    ended = subprocess.run([*command, "--sensors", tmp_path / "s.csv", "--out", tmp_path / "c"], capture_output=True, text=True)
    assert ended.returncode == 3
    assert np.array_equal(np.load(tmp_path / "c/u.npy"), recovery.u)


@pytest.mark.parametrize("kind", ["float32", "fortran", "strided", "lists", "pandas", "xarray", "grid", "dict", "columns", "many"])
def test_whatever_readings_come_in_the_fields_are_the_same(model, readings, record, kind):
    points, values = readings
    expected = model.recover(points, values).u
    grid = np.where(fieldscope.mask("inverse/uniform/500")[1], record.u[0].astype(np.float64), np.nan)
    axis = np.arange(128) / 127.0
    given = {
        "float32": lambda: model.recover(points, values.astype(np.float32)),
        "fortran": lambda: model.recover(np.asfortranarray(points), values),
        "strided": lambda: model.recover(np.repeat(points, 2, axis=0)[::2], np.repeat(values, 3)[::3]),
        "lists": lambda: model.recover(points.tolist(), values.tolist()),
        "pandas": lambda: model.recover(table(readings)),
        "xarray": lambda: model.recover(
            xr.Dataset({"u": ("sensor", values)}, {"x": ("sensor", points[:, 0]), "y": ("sensor", points[:, 1])})
        ),
        "grid": lambda: model.recover(xr.Dataset({"u": (("x", "y"), grid)}, {"x": axis, "y": axis})),
        "dict": lambda: model.recover({"u": (points, values)}),
        "columns": lambda: model.recover({"x": points[:, 0], "y": points[:, 1], "u": values}),
        "many": lambda: model.recover_many(points, np.stack([values, values]))[1],
    }
    assert np.array_equal(given[kind]().u, expected)


def test_threads_share_a_model(model, readings):
    points, values = readings
    expected = [model.recover(points, factor * values).u for factor in (0.5, 1.0, 1.5)]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda factor: model.recover(points, factor * values).u, (0.5, 1.0, 1.5)))
    assert all(np.array_equal(one, other) for one, other in zip(expected, together, strict=True))


def test_arrays_are_views_that_outlive_their_recovery(model, readings):
    recovery = model.recover(*readings)
    u, first = recovery.u, float(recovery.u[3, 4])
    assert not u.flags.writeable and not u.flags.owndata
    del recovery
    assert float(u[3, 4]) == first


def test_a_domain_is_where_the_sensors_are(model, readings):
    points, values = readings
    recovery = model.recover(500 * points, values, domain=(0, 500, 0, 500))
    assert np.array_equal(recovery.u, model.recover(points, values).u)
    assert recovery.x[-1] == 500 and np.allclose(recovery.sensors["x"], 500 * points[:, 0])


def test_a_data_set_of_xarray_has_fields_and_sensors(model, readings):
    recovery = model.recover(*readings)
    dataset = recovery.to_xarray()
    assert dataset.sizes == {"x": 128, "y": 128, "sensor": 500}
    assert dataset.attrs["Conventions"] == "CF-1.11" and dataset["u"].dims == ("x", "y")
    assert np.array_equal(dataset["u"], recovery.u)
    assert len(recovery.plot().axes) >= 4
    assert recovery.picture().startswith(b"\x89PNG")


def test_files_of_the_command_open_in_xarray_and_pyvista(readings, scope, tmp_path):
    sensors = tmp_path / "sensors.csv"
    table(readings).to_csv(sensors, index=False)
    opened = {}
    for kind in ("netcdf", "zarr", "vti"):
        out = tmp_path / kind
        run(scope, "recover", "--model", "poisson", "--device", "cpu", "--sensors", sensors, "--format", kind, "--out", out)
        opened[kind] = out
    fields = xr.load_dataset(opened["netcdf"] / "fields.nc")
    for name in ("a", "u", "a_band68", "u_band95"):
        assert np.array_equal(fields[name].values, np.load(opened["netcdf"] / f"{name}.npy")), name
    assert fields.sizes == {"x": 128, "y": 128, "sensor": 500} and fields.x.values[-1] == 1.0
    assert np.array_equal(fields.sensor_value.values, readings[1])
    zarr = pytest.importorskip("zarr")
    assert fields.identical(xr.open_zarr(zarr.storage.ZipStore(opened["zarr"] / "fields.zarr.zip", mode="r")).load())
    pyvista = pytest.importorskip("pyvista")
    image = pyvista.read(opened["vti"] / "fields.vti")
    turned = image.point_data["a"].reshape(128, 128).T
    assert np.array_equal(turned, np.load(opened["vti"] / "a.npy")) and image.spacing[0] == pytest.approx(1 / 127)
