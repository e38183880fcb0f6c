"""Models and posteriors go to other processes; a fork of one that has worked is refused, and does not wait for ever."""

import multiprocessing
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest

import fieldscope

POINTS = np.array([[0.2, 0.3], [0.6, 0.7]])
VALUES = np.array([0.001, 0.002])


def field(method, values):
    return np.array(method.recover(POINTS, values, noise="1%").u)


@pytest.mark.parametrize("kind", ["model", "exact"])
def test_a_method_works_in_another_process(kind):
    method = fieldscope.load("poisson", device="cpu") if kind == "model" else fieldscope.exact("poisson", resolution=32)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        (there,) = pool.map(partial(field, method), [VALUES])
    assert np.array_equal(there, field(method, VALUES))


def test_a_fit_and_a_data_set_are_pickled_as_their_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fieldscope.generate("poisson", 64, seed=3, resolution=32, out="train")
    fit = fieldscope.fit_linear("train", 5, "fit.safetensors")
    packed = pickle.dumps((fit, fieldscope.open_data("train")))
    monkeypatch.chdir("/")
    again, data = pickle.loads(packed)
    assert np.array_equal(field(again, VALUES), field(fit, VALUES)) and len(data) == 64


def test_recoveries_say_what_to_send_instead(model):
    recovery = model.recover(POINTS, VALUES)
    with pytest.raises(TypeError, match=r"dict\(recovery.arrays\)"):
        pickle.dumps(recovery)
    assert set(pickle.loads(pickle.dumps(dict(recovery.arrays)))) == set(recovery.arrays)


def forked(method, said):
    try:
        field(method, VALUES)
    except RuntimeError as error:
        said.put(str(error))


@pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux")
def test_a_fork_is_refused(model):
    field(model, VALUES)
    context = multiprocessing.get_context("fork")
    said = context.Queue()
    child = context.Process(target=forked, args=(model, said))
    child.start()
    try:
        assert 'get_context("spawn")' in said.get(timeout=60)
    finally:
        child.kill()
        child.join()
