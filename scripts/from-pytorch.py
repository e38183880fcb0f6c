#!/usr/bin/env python3
"""Turns a PyTorch checkpoint with the paper's parameter names into a weight file of ours.

    scripts/from-pytorch.py CHECKPOINT.pt OUT.safetensors --pde poisson (--data DIR | --constants MEAN_A,SIGMA_A,MEAN_U,SIGMA_U)
                            [--heads 8] [--predictor-heads 8]

The checkpoint is a state_dict, or a dictionary with one under "model" or "state_dict". It is read with weights_only=True: nothing in
it is executed. Names are those of the paper's parts (encoder.blocks.0.qkv.weight, ..., predictor, cond, decoder); a prefix "module."
or "_orig_mod." is dropped. Sizes follow from the shapes; the number of attention heads does not, and is stated. The
normalisation is that of a data set of the problem (--data DIR), or stated (--constants).
`scope model info --model OUT` reads the result. Needs torch, numpy and safetensors.
"""
import argparse
import json
import math
import pathlib
import sys

import torch
from safetensors.torch import save_file


def refuse(sentence):
    sys.exit(f"error: {sentence}")


def state_of(path):
    """The parameters of a checkpoint by name, in single precision."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    for key in ("model", "state_dict"):
        if isinstance(state.get(key), dict):
            state = state[key]
    named = {}
    for name, value in state.items():
        for prefix in ("module.", "_orig_mod."):
            name = name.removeprefix(prefix)
        if torch.is_tensor(value):
            named[name] = value.detach().to(torch.float32).contiguous()
    if "encoder.patch.weight" not in named:
        refuse(f"{path} has no parameter encoder.patch.weight: it is not a checkpoint of this network")
    if not all(bool(torch.isfinite(value).all()) for value in named.values()):
        refuse(f"{path} has parameters that are not finite")
    return named


def count(state, path):
    """How many numbered parts follow a path."""
    return len({name.split(".")[path.count(".") + 1] for name in state if name.startswith(path + ".")})


def config_of(state, heads, predictor_heads):
    width, channels, patch, _ = state["encoder.patch.weight"].shape
    tokens = state["encoder.pos"].shape[0]
    side = math.isqrt(tokens)
    if side * side != tokens:
        refuse(f"{tokens} tokens make no square grid")
    widths = lambda part: [state[f"decoder.{part}.{k}.weight"].shape[0] for k in range(count(state, f"decoder.{part}") - 1)]
    return {
        "resolution": side * patch, "patch": patch, "context_channels": channels, "fields": 2,
        "latent": state["encoder.head.weight"].shape[0],
        "expansion": state["encoder.blocks.0.fc1.weight"].shape[0] // width,
        "encoder": {"width": width, "depth": count(state, "encoder.blocks"), "heads": heads},
        "predictor": {"width": state["predictor.pos"].shape[1], "depth": count(state, "predictor.blocks"), "heads": predictor_heads},
        "decoder": {"mlp": widths("mlp"), "conv": widths("conv")},
    }


def constants_of(options):
    if options.constants:
        mean_a, sigma_a, mean_u, sigma_u = (float(x) for x in options.constants.split(","))
        return {"mean": mean_a, "sigma": sigma_a}, {"mean": mean_u, "sigma": sigma_u}
    if options.data:
        meta = json.loads((options.data / "meta.json").read_text())
        return tuple({key: meta[c][key] for key in ("mean", "sigma")} for c in "au")
    refuse("state the normalisation with --data DIR (a data set of the problem) or --constants MEAN_A,SIGMA_A,MEAN_U,SIGMA_U")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pde", required=True)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--predictor-heads", type=int, default=8)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--constants")
    options = parser.parse_args()
    if options.out.exists():
        refuse(f"{options.out} already exists: name another file, or remove it first")
    state = state_of(options.checkpoint)
    a, u = constants_of(options)
    entry = {"format": 1, "pde": options.pde, "a": a, "u": u,
             "config": config_of(state, options.heads, options.predictor_heads)}
    partial = options.out.with_name(options.out.name + ".part")
    save_file(state, partial, metadata={"scope": json.dumps(entry)})
    partial.rename(options.out)
    print(f"wrote {options.out}: {sum(value.numel() for value in state.values()):,} parameters")


if __name__ == "__main__":
    main()
