"""Records, evaluation, placement, fits; training that is interrupted and goes on."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import fieldscope


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "train"
    fieldscope.generate("poisson", 64, seed=3, resolution=32, out=folder)
    return folder


def test_made_records_are_those_of_a_folder(small, scope, tmp_path):
    subprocess.run(
        [scope, "data", "generate", "poisson", "--count", "64", "--seed", "3", "--resolution", "32", "--out", tmp_path / "c"],
        check=True,
        capture_output=True,
    )
    made = fieldscope.generate("poisson", 64, seed=3, resolution=32)
    read = fieldscope.open_data(tmp_path / "c").read()
    assert np.array_equal(made.a, read.a) and np.array_equal(made.u, read.u)
    assert (small / "fields.npy").read_bytes() == (tmp_path / "c/fields.npy").read_bytes()


def test_written_records_read_back(small, tmp_path):
    records = fieldscope.open_data(small).read(0, 3)
    data = fieldscope.write_data(tmp_path / "mine", "poisson", records.a, records.u)
    again = data.read()
    assert len(data) == 3 and np.allclose(again.u, records.u, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="with n from 1 up"):
        fieldscope.write_data(tmp_path / "none", "poisson", records.a[:0], records.u[:0])
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="already exists"):
        fieldscope.write_data(tmp_path / "mine", "poisson", records.a, records.u)


def test_records_of_one_s_own_are_imported(tmp_path):
    problem = tmp_path / "heat.toml"
    problem.write_text(
        'name = "heat"\n[fields.a]\nname = "start"\nunit = "K"\n[fields.u]\nname = "end"\nunit = "K"\n'
        '[grid]\nrows = 32\ncolumns = 32\npoints = "nodes"\n[domain]\nx = [0.0, 2.0]\ny = [0.0, 2.0]\nunit = "m"\n'
    )
    rng = np.random.default_rng(1)
    a = rng.normal(size=(40, 32, 32))
    train, test = fieldscope.import_own(problem, tmp_path / "out", a=a, u=0.5 * a, test_fraction=0.1)
    assert len(train) + len(test) == 40
    folds = [fieldscope.import_own(problem, tmp_path / f"fold-{k}", a=a, u=0.5 * a, fold=(k, 4)) for k in (1, 2, 3, 4)]
    with pytest.raises(ValueError, match="^u.npy is not a usable file of fields"):
        fieldscope.import_own(problem, tmp_path / "turned", a=a, u=a[:, :16])
    for wrong, sentence in {(1, 2, 3): "two whole numbers", (0, 4): "fold is 0"}.items():
        with pytest.raises(ValueError, match=sentence):
            fieldscope.import_own(problem, tmp_path / "wrong", a=a, u=a, fold=wrong)
    with pytest.raises(ValueError, match="give one of them"):
        fieldscope.import_own(problem, tmp_path / "wrong", a=a, u=a, fold=(1, 4), test_fraction=0.2)
    with pytest.raises(ValueError, match="a are masked in"):
        fieldscope.import_own(problem, tmp_path / "wrong", a=np.ma.masked_less(a, 0), u=a)
    assert [len(test) for _, test in folds] == [10, 10, 10, 10]
    held_out = np.concatenate([test.read().a for _, test in folds])
    assert np.allclose(np.sort(held_out[:, 0, 0]), np.sort(a[:, 0, 0]), atol=1e-6)


def test_what_is_noticed_of_records_is_a_warning(tmp_path):
    problem = tmp_path / "flow.toml"
    problem.write_text('name = "flow"\n[fields.u]\nname = "speed"\n[grid]\nrows = 32\ncolumns = 32\n')
    steps = np.random.default_rng(0).normal(size=(60, 32, 32))
    steps[1:] *= 0.05
    with pytest.warns(UserWarning, match="groups"):
        fieldscope.import_own(problem, tmp_path / "out", u=steps.cumsum(axis=0))


def test_a_problem_of_one_field_on_the_globe_goes_all_the_way(tmp_path):
    problem = tmp_path / "sea.toml"
    problem.write_text(
        'name = "sea"\n[fields.u]\nname = "level"\nunit = "m"\n[grid]\nrows = 32\ncolumns = 40\n'
        '[domain]\nx = [40.0, 50.0]\ny = [40.0, 60.0]\nunit = "deg"\nnames = ["lat", "lon"]\n'
        "[known]\nper_record = true\nvalue = 0.0\n"
    )
    x, y = np.arange(32)[:, None] / 32, np.arange(40)[None] / 40
    phase = np.arange(160)[:, None, None] * 0.7
    land = np.zeros((160, 32, 40), bool)
    land[:, :4, :4] = True
    u = np.where(land, 0.0, np.sin(5 * x + phase) + np.cos((3 + phase / 60) * y - phase))
    groups = np.arange(160) // 2
    train, test = fieldscope.import_own(
        problem, tmp_path / "out", u=u, known=land, groups=groups, test_fraction=0.1, calibration_fraction=0.2
    )
    assert (len(train), len(test), len(fieldscope.open_data(tmp_path / "out/calibration"))) == (112, 16, 32)
    fit = fieldscope.fit_linear(train, 8, tmp_path / "fit.safetensors")
    (tmp_path / "gauges.csv").write_text("Lat [deg],Lon [deg],level\n45.0,58.0,0.4\n42.0,51.0,-0.3\n")
    table = {"lon": [58.0, 51.0], "lat": [45.0, 42.0], "u": [0.4, -0.3]}
    recovered = [fit.recover(readings, noise="1%", known=land[0]) for readings in (tmp_path / "gauges.csv", table)]
    assert all(np.array_equal(one.u, recovered[0].u) for one in recovered)
    assert recovered[0].sensors["x"].tolist() == [42.0, 45.0] and (recovered[0].u[:4, :4] == 0).all()
    assert repr(recovered[0]).startswith("<PosteriorRecovery of sea: 32 x 40 points from 2 readings")
    assert set(recovered[0].sample(2)) == {"u"}
    axes = recovered[0].to_xarray()
    assert (axes.x.long_name, axes.x.units, axes.sensor_y.units) == ("lat, along axis 0", "deg", "deg")
    named = xr.Dataset({"level": ("n", [0.4, -0.3])}, {"lat": ("n", [45.0, 42.0]), "lon": ("n", [58.0, 51.0])})
    assert np.array_equal(fit.recover(named, noise="1%", known=land[0]).u, recovered[0].u)
    assert (fit.problem.axes, fit.problem.unit) == (("lat", "lon"), "deg")
    assert set(fieldscope.place(fit, 1, noise="1%").sd) == {"u"}
    with pytest.raises(ValueError, match="known is NaN at 1280 points"):
        fit.recover(named, known=np.full((32, 40), np.nan))
    assert len(fieldscope.place(fit, 1, given=tmp_path / "gauges.csv", noise="1%").points) == 1


def test_masks_have_their_budget():
    assert fieldscope.mask("joint/cluster/500", range(3)).shape == (3, 2, 128, 128)
    assert fieldscope.mask("joint/uniform/500", 7).sum(axis=(1, 2)).tolist() == [500, 500]


def test_a_fit_is_evaluated_and_places_sensors(small, tmp_path):
    fit = fieldscope.fit_linear(small, 10, tmp_path / "fit.safetensors")
    evaluation = fieldscope.evaluate(fit, small, ["inverse/uniform/500"], limit=4)
    assert len(evaluation.values["inverse/uniform/500"]["u"]) == 4
    assert evaluation.conditions["inverse/uniform/500"]["u"]["count"] == 4
    placed = fieldscope.place(fit, 3, noise="1%")
    assert placed.points.shape == (3, 2)
    allowed = np.zeros((32, 32), dtype=bool)
    allowed[4, 5] = True
    assert np.array_equal(fieldscope.place(fit, 1, allowed=allowed).points, [[4 / 31, 5 / 31]])


LENGTH = {"model": "tiny", "recipe": "fo", "draws": 4000, "device": "cpu", "threads": 1}


def test_an_interrupted_run_goes_on_bit_for_bit(small, tmp_path):
    whole = fieldscope.train(small, tmp_path / "whole", **LENGTH | {"draws": 400})
    heard = []

    def stop(progress):
        heard.append(progress.draws)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fieldscope.train(small, tmp_path / "cut", **LENGTH | {"draws": 400}, progress=stop)
    assert heard and len(heard) == 1
    run = fieldscope.train(small, tmp_path / "cut", **LENGTH | {"draws": 400}, resume=True)
    assert (run.folder / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()
    assert run.load(device="cpu").problem.rows == 32


def test_ctrl_c_leaves_a_run_that_resumes(small, tmp_path):
    out = tmp_path / "run"
    # A shell starts what runs in its background with SIGINT ignored, and children inherit that.
    script = (
        "import fieldscope, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"fieldscope.train({str(small)!r}, {str(out)!r}, model='tiny', recipe='fo', draws=10**7, device='cpu', threads=1,\n"
        "    progress=lambda p: print(p.draws, flush=True))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    guard = threading.Timer(120, child.kill)
    guard.start()
    assert child.stdout is not None and child.stdout.readline().strip().isdigit()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate()
    guard.cancel()
    assert "KeyboardInterrupt" in errors and child.returncode != 0
    assert any(Path(out / "state").iterdir())
    length = {"model": "tiny", "recipe": "fo", "draws": 10**7, "device": "cpu", "threads": 1}
    draws = []

    def stop(progress):
        draws.append(progress.draws)
        raise StopIteration

    with pytest.raises(StopIteration):
        fieldscope.train(small, out, **length, resume=True, progress=stop)
    assert draws[0] > 0
    with pytest.raises(ValueError, match="already holds a run"):
        fieldscope.train(small, out, **length)
