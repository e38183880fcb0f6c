"""Golden files of the operators, computed with PyTorch's own layers (FFT, strided convolutions, antialiased bicubic
interpolation, batch norm) in double precision. Run it in this folder to write ../golden/*.safetensors again:

    python operators.py
"""

import json
import math
import struct

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


class Parameters(dict):
    """Named parameters in the layout of our weight files, drawn when first asked for."""

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        self.statistics = {}

    def draw(self, *shape):
        return torch.randn(*shape, generator=self.generator)

    def of(self, name, *shape, scale=0.3, mean=0.0):
        if name not in self:
            values = (mean + scale * self.draw(*shape)).to(torch.float32).to(torch.float64)
            self[name] = values.requires_grad_()
        return self[name]

    def linear(self, x, name, o):
        return F.linear(x, self.of(f"{name}.weight", o, x.shape[-1]), self.of(f"{name}.bias", o))

    def conv(self, x, name, o):
        return F.conv2d(x, self.of(f"{name}.weight", o, x.shape[1], 3, 3), self.of(f"{name}.bias", o), padding=1)

    def layer_norm(self, x, name):
        n = x.shape[-1]
        weight, bias = self.of(f"{name}.weight", n, mean=1.0), self.of(f"{name}.bias", n)
        return F.layer_norm(x, (n,), weight, bias, 1e-5)

    def batch_norm(self, x, name, training):
        n = x.shape[1]
        weight, bias = self.of(f"{name}.weight", n, mean=1.0), self.of(f"{name}.bias", n)
        if name not in self.statistics:
            mean, var = 0.1 * self.draw(n), 1.0 + self.draw(n).abs()
            self.statistics[name] = [t.to(torch.float32).to(torch.float64) for t in (mean, var)]
        mean, var = self.statistics[name]
        return F.batch_norm(x, mean, var, weight, bias, training, 0.1, 1e-5)


def coordinates(size):
    line = torch.linspace(0, 1, size)
    return torch.stack(torch.meshgrid(line, line, indexing="ij"))  # rows, columns


def with_coordinates(context):
    b, _, size, _ = context.shape
    return torch.cat([context, coordinates(size).expand(b, 2, size, size)], 1)


def fno(p, config, context, training):
    n, m, w = config["resolution"], config["modes"], config["width"]
    v = p.linear(with_coordinates(context).permute(0, 2, 3, 1), "lift", w).permute(0, 3, 1, 2)
    v = F.pad(v, (0, config["padding"], 0, config["padding"]))
    for k in range(config["layers"]):
        weight = p.of(f"layers.{k}.spectral.weight", 2 * m, m, 2, w, w)
        weight = torch.complex(weight[:, :, 0], weight[:, :, 1])  # kx, ky, in, out
        spectrum = torch.fft.rfft2(v)
        mixed = torch.zeros_like(spectrum)
        mixed[:, :, :m, :m] = torch.einsum("bixy,xyio->boxy", spectrum[:, :, :m, :m], weight[:m])
        mixed[:, :, -m:, :m] = torch.einsum("bixy,xyio->boxy", spectrum[:, :, -m:, :m], weight[m:])
        near = p.linear(v.permute(0, 2, 3, 1), f"layers.{k}.pointwise", w).permute(0, 3, 1, 2)
        v = torch.fft.irfft2(mixed, s=v.shape[-2:]) + near
        if k + 1 < config["layers"]:
            v = F.gelu(v)
    v = v[:, :, :n, :n].permute(0, 2, 3, 1)
    return p.linear(F.gelu(p.linear(v, "fc1", config["projection"])), "fc2", 2).permute(0, 3, 1, 2)


def deeponet(p, config, context, training):
    size, b = config["resolution"], context.shape[0]
    x = with_coordinates(context) if config["branch_coordinates"] else context
    for k, o in enumerate(config["channels"]):
        side = config["stem"] if k == 0 else 3
        weight = p.of(f"branch.conv{k}.weight", o, side, side, x.shape[1]).permute(0, 3, 1, 2)
        x = F.conv2d(x, weight, p.of(f"branch.conv{k}.bias", o), stride=2, padding=side // 2)
        x = F.gelu(p.batch_norm(x, f"branch.bn{k}", training) if config["normalised"] else x)
    x = x.permute(0, 2, 3, 1).reshape(b, -1)
    x = p.linear(F.gelu(p.linear(x, "branch.fc1", config["hidden"])), "branch.fc2", 2 * config["basis"])
    at = coordinates(size).reshape(2, -1).T
    features = [at] if config["trunk_coordinates"] else []
    for k in range(config["frequencies"]):
        angle = math.pi * 2**k * at
        features += [torch.stack([angle[:, 0].sin(), angle[:, 0].cos(), angle[:, 1].sin(), angle[:, 1].cos()], 1)]
    t = torch.cat(features, 1)
    for k in range(config["trunk_depth"]):
        t = F.gelu(p.linear(t, f"trunk.{k}", config["trunk"]))
    t = p.linear(t, f"trunk.{config['trunk_depth']}", config["basis"])
    fields = torch.einsum("bfk,pk->bfp", x.reshape(b, 2, -1), t) + p.of("offset", 2)[:, None]
    return fields.reshape(b, 2, size, size)


def cno(p, config, context, training):
    levels = config["levels"]
    channels = [config["multiplier"] // 2 << level for level in range(levels + 1)]

    def resize(x, to):
        return F.interpolate(x, size=(to, to), mode="bicubic", antialias=True, align_corners=False)

    def activation(x, to):
        return resize(F.leaky_relu(resize(x, 2 * x.shape[-1]), 0.01), to)

    def block(x, name, o, to):
        return activation(p.batch_norm(p.conv(x, f"{name}.conv", o), f"{name}.bn", training), to)

    def residuals(x, name, count):
        for k in range(count):
            c = x.shape[1]
            h = p.batch_norm(p.conv(x, f"{name}.{k}.conv0", c), f"{name}.{k}.bn0", training)
            h = p.conv(activation(h, x.shape[-1]), f"{name}.{k}.conv1", c)
            x = x + p.batch_norm(h, f"{name}.{k}.bn1", training)
        return x

    def pair(x, name, o):
        h = activation(p.conv(x, f"{name}.conv0", config["latent"]), x.shape[-1])
        return p.conv(h, f"{name}.conv1", o)

    v, skips = pair(with_coordinates(context), "lift", channels[0]), []
    for level in range(levels):
        skip = residuals(v, f"skips.{level}", config["residual"])
        skips.append(block(skip, f"invariant.{level}", channels[level], v.shape[-1]))
        v = block(v, f"down.{level}", channels[level + 1], v.shape[-1] // 2)
    v = residuals(v, "neck", config["neck"])
    v = block(v, f"invariant.{levels}", channels[levels], v.shape[-1])
    for k in range(levels):
        v = block(v, f"up.{k}", channels[levels - k - 1], v.shape[-1] * 2)
        v = torch.cat([v, skips.pop()], 1)
    return pair(v, "project", 2)


def transolver(p, config, context, training):
    b, _, size, _ = context.shape
    w, heads, slices = config["width"], config["heads"], config["slices"]
    hidden, d, n = config["expansion"] * w, w // heads, size * size
    x = with_coordinates(context).permute(0, 2, 3, 1).reshape(b, n, 6)
    v = p.linear(F.gelu(p.linear(x, "lift.0", hidden)), "lift.1", w)
    for k in range(config["depth"]):
        name = f"blocks.{k}"
        image = p.layer_norm(v, f"{name}.ln1").permute(0, 2, 1).reshape(b, w, size, size)

        def split(x):
            return x.reshape(b, heads, d, n).transpose(2, 3)  # b, heads, n, d

        g, f = split(p.conv(image, f"{name}.conv_x", w)), split(p.conv(image, f"{name}.conv_fx", w))
        temperature = p.of(f"{name}.temperature", heads, scale=0.1, mean=0.5).clamp(0.1, 5)
        weights = (p.linear(g, f"{name}.slice", slices) / temperature[:, None, None]).softmax(-1)
        tokens = torch.einsum("bhnd,bhns->bhsd", f, weights) / (weights.sum(2)[..., None] + 1e-5)
        q, key, value = F.linear(tokens, p.of(f"{name}.tokens.weight", 3 * d, d)).chunk(3, -1)
        tokens = (q @ key.transpose(-1, -2) / math.sqrt(d)).softmax(-1) @ value
        o = torch.einsum("bhsd,bhns->bhnd", tokens, weights).transpose(1, 2).reshape(b, n, w)
        v = v + p.linear(o, f"{name}.out", w)
        h = F.gelu(p.linear(p.layer_norm(v, f"{name}.ln2"), f"{name}.fc1", hidden))
        v = v + p.linear(h, f"{name}.fc2", w)
    return p.linear(p.layer_norm(v, "ln"), "head", 2).reshape(b, size, size, 2).permute(0, 3, 1, 2)


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().to(torch.float32).contiguous()
        raw = values.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


DEEPONET = {"resolution": 16, "stem": 5, "channels": [4, 6], "normalised": False, "branch_coordinates": True,
            "hidden": 10, "basis": 7, "trunk": 5, "trunk_depth": 2, "trunk_coordinates": True, "frequencies": 0}
CASES = {
    "fno": (fno, {"architecture": "fno", "resolution": 12, "width": 4, "modes": 3, "layers": 3, "projection": 6,
                  "padding": 3}),
    "deeponet": (deeponet, {"architecture": "deeponet", **DEEPONET}),
    "deeponet_normalised": (deeponet, {"architecture": "deeponet", **DEEPONET, "stem": 3, "normalised": True,
                                       "branch_coordinates": False, "trunk_coordinates": False, "frequencies": 2}),
    "cno": (cno, {"architecture": "cno", "resolution": 16, "levels": 2, "residual": 1, "neck": 2, "multiplier": 4,
                  "latent": 6}),
    "transolver": (transolver, {"architecture": "transolver", "resolution": 8, "width": 8, "depth": 2, "heads": 2,
                                "slices": 3, "expansion": 2}),
}

if __name__ == "__main__":
    for number, (case, (forward, config)) in enumerate(CASES.items()):
        p, size = Parameters(number), config["resolution"]
        values = p.draw(3, 2, size, size)
        masks = (torch.rand(3, 2, size, size, generator=p.generator) < 0.3).to(values.dtype)
        context = torch.stack([values * masks, masks], 2).reshape(3, 4, size, size).to(torch.float32).to(torch.float64)
        seed = p.draw(3, 2, size, size).to(torch.float32).to(torch.float64)
        with torch.no_grad():
            forward(p, config, context, False)  # draws the parameters
        before = {f"{name}.{kind}": t.clone() for name, pair in p.statistics.items()
                  for kind, t in zip(("running_mean", "running_var"), pair)}
        fields = forward(p, config, context, True)
        (fields * seed).sum().backward()
        with torch.no_grad():
            evaluated = forward(p, config, context, False)
        after = {f"after.{name}.{kind}": t for name, pair in p.statistics.items()
                 for kind, t in zip(("running_mean", "running_var"), pair)}
        gradients = {f"gradient.{name}": t.grad for name, t in p.items()}
        tensors = {"context": context, "seed": seed, "fields": fields, "evaluated": evaluated,
                   **{f"param.{name}": t for name, t in {**p, **before}.items()}, **gradients, **after}
        write(f"../golden/{case}.safetensors", tensors, {"config": json.dumps(config), "torch": torch.__version__})
        print(case, sum(t.numel() for t in p.values()), "parameters")
