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


KINDS = ["float32", "fortran", "strided", "big-endian", "lists", "pandas", "index", "nullable", "y before x", "xarray", "grid"]
KINDS += ["turned grid", "data array", "dict", "columns", "named columns", "cells of numpy", "many", "generator", "many of channels"]


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_readings_come_in_the_fields_are_the_same(model, readings, record, kind):
    points, values = readings
    expected = model.recover(points, values).u
    grid = np.where(fieldscope.mask("inverse/uniform/500")[1], record.u[0].astype(np.float64), np.nan)
    axis = np.arange(128) / 127.0
    given = {
        "float32": lambda: model.recover(points, values.astype(np.float32)),
        "fortran": lambda: model.recover(np.asfortranarray(points), values),
        "strided": lambda: model.recover(np.repeat(points, 2, axis=0)[::2], np.repeat(values, 3)[::3]),
        "big-endian": lambda: model.recover(points.astype(">f8"), values.astype(">f8")),
        "lists": lambda: model.recover(points.tolist(), values.tolist()),
        "pandas": lambda: model.recover(table(readings)),
        "index": lambda: model.recover(table(readings).set_index(["x", "y"])),
        "nullable": lambda: model.recover(table(readings).convert_dtypes()),
        "y before x": lambda: model.recover(table(readings)[["y", "x"]], values),
        "xarray": lambda: model.recover(
            xr.Dataset({"u": ("sensor", values)}, {"x": ("sensor", points[:, 0]), "y": ("sensor", points[:, 1])})
        ),
        "grid": lambda: model.recover(xr.Dataset({"u": (("x", "y"), grid)}, {"x": axis, "y": axis})),
        "turned grid": lambda: model.recover(xr.Dataset({"u": (("y", "x"), grid.T)}, {"x": axis, "y": axis})),
        "data array": lambda: model.recover(xr.DataArray(grid, {"x": axis, "y": axis}, ("x", "y"), name="u")),
        "dict": lambda: model.recover({"u": (points, values)}),
        "columns": lambda: model.recover({"x": points[:, 0], "y": points[:, 1], "u": values}),
        "named columns": lambda: model.recover({"x": points[:, 0], "y": points[:, 1], "u (m, mean)": values}),
        "cells of numpy": lambda: model.recover(
            {"x": [*points[:, 0], 0.5], "y": [*points[:, 1], 0.5], "u": [*map(np.float64, values), None]}
        ),
        "many": lambda: model.recover_many(points, np.stack([values, values]))[1],
    }
    given |= {
        "generator": lambda: model.recover_many([points, values] for _ in range(2))[1],
        "many of channels": lambda: model.recover_many(points, {"u": np.stack([values, values])})[1],
    }
    assert np.array_equal(given[kind]().u, expected)


def test_what_is_masked_was_not_measured(model, readings):
    points, values = readings
    left_out = np.arange(len(values)) % 3 == 0
    # What lies under a mask is often a mark such as 99.
    masked = np.ma.masked_array(np.where(left_out, 99.0, values), left_out)
    expected = model.recover(points[~left_out], values[~left_out]).u
    nowhere = np.ma.masked_array(points, np.column_stack([left_out, left_out]))
    table_of_masked = {"x": points[:, 0], "y": points[:, 1], "u": masked}
    for recovery in (
        model.recover(points, masked),
        model.recover(nowhere, values),
        model.recover(table_of_masked),
        model.recover_many(points, [masked, masked])[1],
        model.recover_many([(points, values), (points, masked)])[1],
    ):
        assert len(recovery.sensors["x"]) == 333 and np.array_equal(recovery.u, expected)
    wrong = masked.copy()
    wrong[4] = np.nan
    with pytest.raises(ValueError, match="sensor 5: the value is not finite; .* numpy.ma.masked_invalid"):
        model.recover(points, wrong)


@pytest.mark.parametrize("missing", ["-9999", -9999, [-9999.0], ["NA", "-9999"]])
def test_marks_of_missing_readings_come_alone_or_several(model, readings, missing):
    frame = table(readings)
    frame.loc[::7, "u"] = -9999.0
    assert len(model.recover(frame, missing=missing).sensors["x"]) == 428


def test_a_frame_of_single_precision_is_read_as_arrays_are(coarse_readings):
    points, values = (array.astype(np.float32) for array in coarse_readings)
    posterior = fieldscope.exact("poisson", resolution=32)
    given = [posterior.recover(points, values, noise="1%"), posterior.recover(table((points, values)), noise="1%")]
    assert np.array_equal(given[0].a, given[1].a)


def test_posteriors_of_many_problems_are_those_of_each(coarse_readings):
    points, values = coarse_readings
    posterior = fieldscope.exact("poisson", resolution=32)
    many = posterior.recover_many(points, np.stack([values, 2 * values]), noise="1%", samples=1)
    alone = posterior.recover(points, 2 * values, noise="1%")
    assert np.array_equal(many[1].u, alone.u) and np.array_equal(many[1].sd["a"], alone.sd["a"])
    assert np.array_equal(many[1].sample(1)["a"], many[1].samples["a"])


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
