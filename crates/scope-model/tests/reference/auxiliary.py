"""Golden files of the auxiliary operators, computed with PyTorch's own layers in double precision. Parameters, contexts and seeds
follow from a formula that the test repeats, and gradients are kept as one projection each, so that the files stay small. Run it in
this folder to write ../golden/aux_*.safetensors again:

    python auxiliary.py
"""

import json
import math

import torch
import torch.nn.functional as F

from operators import coordinates, with_coordinates, write

torch.set_default_dtype(torch.float64)
UNITS = {"a": {"mean": 0.1, "deviation": 0.4}, "u": {"mean": -0.2, "deviation": 0.6}}


def numbers(seed, *shape):
    """Numbers between -1 and 1 that look random: the same as in the test."""
    mask = 0xFFFFFFFF
    out = []
    for k in range(math.prod(shape)):
        h = (k * 2654435761 & mask) ^ (seed * 40503 & mask)
        h = ((h ^ (h >> 15)) * 2246822519) & mask
        h = ((h ^ (h >> 13)) * 3266489917) & mask
        out.append((h ^ (h >> 16)) / 2147483648 - 1)
    return torch.tensor(out).to(torch.float32).to(torch.float64).reshape(shape)


def seed_of(name):
    """Of a parameter, by its name."""
    seed = 7
    for byte in name.encode():
        seed = (seed * 31 + byte) % 65521
    return seed


class Parameters(dict):
    """Named parameters in the layout of our weight files, by the formula."""

    def __init__(self):
        super().__init__()
        self.statistics = {}

    def of(self, name, *shape, mean=0.0):
        if name not in self:
            values = (mean + 0.3 * numbers(seed_of(name), *shape)).to(torch.float32).to(torch.float64)
            self[name] = values.requires_grad_()
        return self[name]

    def linear(self, x, name, o):
        return F.linear(x, self.of(f"{name}.weight", o, x.shape[-1]), self.of(f"{name}.bias", o))

    def conv(self, x, name, o, bias=True):
        weight = self.of(f"{name}.weight", o, x.shape[1], 3, 3)
        return F.conv2d(x, weight, self.of(f"{name}.bias", o) if bias else None, padding=1)

    def batch_norm(self, x, name, training):
        n = x.shape[1]
        weight, bias = self.of(f"{name}.weight", n, mean=1.0), self.of(f"{name}.bias", n)
        if name not in self.statistics:
            self.statistics[name] = [0.3 * numbers(seed_of(f"{name}.running_mean"), n),
                                     1.0 + 0.3 * numbers(seed_of(f"{name}.running_var"), n)]
            self.statistics[name] = [t.to(torch.float32).to(torch.float64) for t in self.statistics[name]]
        mean, var = self.statistics[name]
        return F.batch_norm(x, mean, var, weight, bias, training, 0.1, 1e-5)


def fno(p, sizes, x, training):
    w, m, last = sizes["width"], sizes["modes"] // 2, sizes["layers"] - 1
    x = x.permute(0, 2, 3, 1)
    v = p.linear(F.gelu(p.linear(x, "lift.fc1", sizes["lifting"])), "lift.fc2", w)
    for k in range(sizes["layers"]):
        name = f"layers.{k}"
        weight = p.of(f"{name}.spectral.weight", 2 * m, m + 1, 2, w, w)
        weight = torch.complex(weight[:, :, 0], weight[:, :, 1])  # kx, ky, in, out
        spectrum = torch.fft.rfft2(v, dim=(1, 2), norm="forward")
        mixed = torch.zeros_like(spectrum)
        mixed[:, :m, :m + 1] = torch.einsum("bxyi,xyio->bxyo", spectrum[:, :m, :m + 1], weight[:m])
        mixed[:, -m:, :m + 1] = torch.einsum("bxyi,xyio->bxyo", spectrum[:, -m:, :m + 1], weight[m:])
        far = torch.fft.irfft2(mixed, s=v.shape[1:3], dim=(1, 2), norm="forward")
        u = far + p.of(f"{name}.spectral.bias", w) + F.linear(v, p.of(f"{name}.skip.weight", w, w))
        u = u if k == last else F.gelu(u)
        u = p.linear(F.gelu(p.linear(u, f"{name}.narrow.fc1", sizes["narrow"])), f"{name}.narrow.fc2", w)
        u = u + p.of(f"{name}.gate", w) * v
        v = u if k == last else F.gelu(u)
    v = p.linear(F.gelu(p.linear(v, "project.fc1", sizes["lifting"])), "project.fc2", 1)
    return v.permute(0, 3, 1, 2)


def deeponet(p, sizes, x, training):
    b, _, size, _ = x.shape
    double = lambda v: F.interpolate(v, scale_factor=2, mode="nearest")
    leaky = lambda v: F.leaky_relu(v, 0.01)
    for k in range(sizes["levels"]):
        v = p.conv(x, f"branch.levels.{k}.same", x.shape[1])
        x = F.avg_pool2d(leaky(double(v)), 2)
        v = p.conv(x, f"branch.levels.{k}.down", sizes["channels"] << k)
        x = F.avg_pool2d(leaky(double(v)), 4, 4, padding=1, count_include_pad=True)
    for k in range(sizes["residual"]):
        x = 0.1 * p.conv(leaky(x), f"branch.residual.{k}", x.shape[1]) + 0.9 * x
    coefficients = p.linear(x.permute(0, 2, 3, 1).reshape(b, -1), "branch.fc", sizes["basis"])
    t = leaky(p.linear(coordinates(size).reshape(2, -1).T, "trunk.0.linear", sizes["trunk"]))
    for k in range(1, sizes["trunk_depth"]):
        t = p.batch_norm(leaky(p.linear(t, f"trunk.{k}.linear", sizes["trunk"])), f"trunk.{k}.bn", training)
    t = p.linear(t, "trunk.last", sizes["basis"])
    field = (coefficients @ t.T + p.of("offset", 1)) / math.sqrt(sizes["basis"])
    return field.reshape(b, 1, size, size)


def unet(p, sizes, x, training):
    def double(v, name, o):
        for k in range(2):
            v = F.relu(p.batch_norm(p.conv(v, f"{name}.conv{k}", o, bias=False), f"{name}.bn{k}", training))
        return v

    skips, w = [], sizes["width"]
    for level in range(sizes["levels"]):
        skips.append(double(x, f"down.{level}", w << level))
        x = F.max_pool2d(skips[-1], 2)
    x = double(x, "bottom", w << sizes["levels"])
    for level in reversed(range(sizes["levels"])):
        name, o, c = f"up.{level}.transposed", w << level, x.shape[1]
        weight = p.of(f"{name}.spread.weight", 4 * o, c).reshape(o, 2, 2, c).permute(3, 0, 1, 2)
        x = F.conv_transpose2d(x, weight, p.of(f"{name}.bias", o), stride=2)
        x = double(torch.cat([x, skips.pop()], 1), f"up.{level}.double", o)
    return p.linear(x.permute(0, 2, 3, 1), "last", 1).permute(0, 3, 1, 2)


def cno(p, sizes, x, training):
    levels = sizes["levels"]
    channels = [sizes["multiplier"] // 2 << level for level in range(levels + 1)]

    def resize(v, to):
        return F.interpolate(v, size=(to, to), mode="bicubic", antialias=True, align_corners=False)

    def activation(v, to, name):
        size = v.shape[-1]
        v = resize(F.leaky_relu(resize(v, 2 * size), 0.01), size)
        v = v if to == size else resize(v, to)
        return v + p.of(f"{name}.shift", v.shape[1])[:, None, None]

    def block(v, name, o, to):
        return activation(p.batch_norm(p.conv(v, f"{name}.conv", o), f"{name}.bn", training), to, name)

    def residuals(v, name, count):
        for k in range(count):
            c, at = v.shape[1], f"{name}.{k}"
            h = activation(p.batch_norm(p.conv(v, f"{at}.conv0", c), f"{at}.bn0", training), v.shape[-1], at)
            v = v + p.batch_norm(p.conv(h, f"{at}.conv1", c), f"{at}.bn1", training)
        return v

    def pair(v, name, o):
        h = activation(p.conv(v, f"{name}.conv0", sizes["latent"]), v.shape[-1], name)
        return p.conv(h, f"{name}.conv1", o)

    v, skips = pair(x, "lift", channels[0]), []
    for level in range(levels):
        skip = residuals(v, f"skips.{level}", sizes["residual"])
        skips.append(block(skip, f"invariant.{level}", channels[level], v.shape[-1]))
        v = block(v, f"down.{level}", channels[level + 1], v.shape[-1] // 2)
    v = block(residuals(v, "neck", sizes["neck"]), f"invariant.{levels}", channels[levels], v.shape[-1])
    for k in range(levels):
        v = block(v, f"joined.{k}", v.shape[1], v.shape[-1])
        v = torch.cat([block(v, f"up.{k}", channels[levels - k - 1], v.shape[-1] * 2), skips.pop()], 1)
    return pair(v, "project", 1)


CASES = {
    "fno": (fno, {"resolution": 8, "width": 4, "modes": 4, "layers": 2, "lifting": 6, "narrow": 3}),
    "deeponet": (deeponet, {"resolution": 8, "channels": 4, "levels": 2, "residual": 2, "basis": 5, "trunk": 6,
                            "trunk_depth": 3}),
    "unet": (unet, {"resolution": 8, "width": 3, "levels": 2}),
    "cno": (cno, {"resolution": 8, "levels": 2, "residual": 1, "neck": 1, "multiplier": 4, "latent": 5}),
}

if __name__ == "__main__":
    for case, (network, sizes) in CASES.items():
        config = {"architecture": "auxiliary", "units": UNITS, "sizes": {case: sizes}}
        p, size = Parameters(), sizes["resolution"]
        values, chosen = numbers(1, 3, 2, size, size), numbers(2, 3, 2, size, size)
        masks = (chosen > 0.2).to(values.dtype)
        seed = numbers(3, 3, 2, size, size)

        def forward(training):
            units = torch.tensor([[UNITS[c]["mean"], UNITS[c]["deviation"]] for c in "au"])[:, :, None, None]
            seen = masks * (values - units[:, 0]) / units[:, 1]
            context = torch.stack([seen, masks], 2).reshape(3, 4, size, size)
            hidden = network(p, sizes, with_coordinates(context), training)
            return hidden * units[:, 1] + units[:, 0]

        fields = forward(True)
        (fields * seed).sum().backward()
        with torch.no_grad():
            evaluated = forward(False)
        names = sorted(name for name, t in p.items() if t.grad is not None)
        projections = [torch.stack([(p[name].grad * numbers(11, *p[name].shape)).sum(), p[name].grad.norm()]) for name in names]
        after = [torch.cat([t for name in sorted(p.statistics) for t in p.statistics[name]])] if p.statistics else []
        tensors = {"fields": fields, "evaluated": evaluated, "gradients": torch.stack(projections)}
        tensors.update({"after": t for t in after})
        write(f"../golden/aux_{case}.safetensors", tensors,
              {"config": json.dumps(config), "names": json.dumps(names), "torch": torch.__version__})
        print(case, sum(t.numel() for t in p.values()), "parameters")
