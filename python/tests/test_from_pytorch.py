"""A PyTorch network, its checkpoint converted, and the same fields from the program.

SCOPE_TORCH_PEER names a Python file with the network in PyTorch: `Scope(SMALL64)`, contexts to fields in stored coordinates.
SCOPE_PROGRAM names the program (target/release/scope). Without torch or the file, this is skipped.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

ROOT = pathlib.Path(__file__).parents[2]
MEANS = np.array([0.0, 9.67226952e-06])[:, None, None]
SIGMAS = np.array([0.2919494, 0.00417478])[:, None, None]


def peer():
    path = os.environ.get("SCOPE_TORCH_PEER")
    if not path:
        pytest.skip("SCOPE_TORCH_PEER names no file")
    spec = importlib.util.spec_from_file_location("peer", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["peer"] = module
    spec.loader.exec_module(module)
    torch.manual_seed(1)
    return module.Scope(module.SMALL64).eval()


def test_a_converted_checkpoint_gives_the_same_fields(tmp_path):
    network = peer()
    checkpoint, weights, sensors = (tmp_path / name for name in ("peer.pt", "peer.safetensors", "sensors.npz"))
    torch.save({"model": network.state_dict()}, checkpoint)
    constants = ",".join(repr(float(x)) for x in (MEANS[0, 0, 0], SIGMAS[0, 0, 0], MEANS[1, 0, 0], SIGMAS[1, 0, 0]))
    convert = [sys.executable, ROOT / "scripts/from-pytorch.py", checkpoint, weights, "--pde", "poisson",
               "--heads", "4", "--predictor-heads", "2", "--constants", constants]
    subprocess.run(convert, check=True)
    draws = np.random.default_rng(0)
    mask = np.zeros((2, 32, 32), np.float32)
    mask[1].flat[draws.choice(1024, 60, replace=False)] = 1
    values = np.where(mask > 0, draws.standard_normal((2, 32, 32)) * 0.003, 0).astype(np.float32)
    np.savez(sensors, values=values, mask=mask)
    program = os.environ.get("SCOPE_PROGRAM", ROOT / "target/release/scope")
    subprocess.run([program, "recover", "--model", weights, "--sensors", sensors, "--unprojected", "--device", "cpu",
                    "--out", tmp_path / "out"], check=True, capture_output=True)
    stored = ((values.astype(float) - MEANS) / (2 * SIGMAS)).astype(np.float32) * mask
    context = torch.tensor(np.stack([stored[0], mask[0], stored[1], mask[1]])[None])
    with torch.no_grad():
        expected = network(context)[0].numpy().astype(float) * 2 * SIGMAS + MEANS
    for field, name in zip(expected, "au"):
        got = np.load(tmp_path / "out" / f"{name}_unprojected.npy")
        assert np.abs(got - field).max() < 1e-5 * np.ptp(field)
