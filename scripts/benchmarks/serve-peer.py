#!/usr/bin/env python3
"""A plain FastAPI and PyTorch service with SCOPE's `small` network, to measure `scope serve` beside.

    SCOPE_TORCH_PEER=scope_torch.py uvicorn --app-dir scripts/benchmarks serve-peer:app --port 8700
    python3 scripts/benchmarks/serve-load.py --address 127.0.0.1:8700

What anybody would write first: one request, one pass in f32 on all cores, numpy's file as the answer. SCOPE_TORCH_PEER names the file of a
PyTorch implementation with the classes `Cfg` and `Scope`. Weights are not loaded, since time does not depend on them; the peer has no local
fits of the sensors, no error bands and no statement of trust, so it computes less. Needs fastapi, uvicorn, numpy and torch.
"""

import importlib.util
import io
import os
import sys

import numpy
import torch
from fastapi import FastAPI, Request, Response

spec = importlib.util.spec_from_file_location("scope_torch", os.environ["SCOPE_TORCH_PEER"])
peer = sys.modules["scope_torch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)

GRID = 128
network = peer.Scope(peer.Cfg(width=256, depth=6, heads=4, pwidth=256, pdepth=2, pheads=4)).eval()
app = FastAPI()


def context(table: bytes) -> torch.Tensor:
    """[1, 4, 128, 128]: values and mask of a, values and mask of u, from lines i, j, u."""
    rows = numpy.loadtxt(io.BytesIO(table), delimiter=",", skiprows=1, ndmin=2)
    planes = numpy.zeros((1, 4, GRID, GRID), numpy.float32)
    i, j = rows[:, 0].astype(int), rows[:, 1].astype(int)
    planes[0, 2, i, j], planes[0, 3, i, j] = rows[:, 2], 1
    return torch.from_numpy(planes)


@app.post("/v1/recover")
async def recover(request: Request) -> Response:
    with torch.inference_mode():
        fields = network(context(await request.body()))
    answer = io.BytesIO()
    numpy.save(answer, fields[0].numpy())
    return Response(answer.getvalue(), media_type="application/x-npy")
