"""The four operators in PyTorch, as strong as we can make them, and the time of their training steps: bf16 autocast, fused
AdamW, gradients cut to norm 1, the same loss; as it is, as one CUDA graph, and compiled and then as one CUDA graph.

    python scripts/benchmarks/operators-peer.py [--models fno,deeponet,cno,transolver] [--batch 125] [--budget 240] [--json FILE]

Each model runs in a process of its own with its share of the budget (seconds); what does not fit in time or memory is
said and left out. `--check` runs tiny steps on the processor and compares forms of one model with each other.
"""

import argparse
import json
import math
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

SIZE = 128
COUNTS = {"fno": 5_029_946, "deeponet": 4_977_354, "cno": 4_774_776, "transolver": 4_792_482}
# Forms of one model that compute the same, the most promising first.
FORMS = {
    "fno": ["dft-bf16", "dft", "fft"],
    "deeponet": ["channels-last", "channels-first"],
    "cno": ["matmul-last", "matmul", "interpolate"],
    "transolver": ["plain", "accumulate", "checkpoint"],
}


def coordinates(size):
    line = torch.linspace(0, 1, size)
    return torch.stack(torch.meshgrid(line, line, indexing="ij"))[None]


class Pixels(nn.Module):
    """Contexts with coordinates beside them."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("at", coordinates(size))

    def forward(self, context):
        return torch.cat([context, self.at.expand(context.shape[0], -1, -1, -1)], 1)


class Spectral(nn.Module):
    def __init__(self, width, modes, points, form):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(2 * modes, modes, width, width, 2) / width**2)
        self.modes, self.form = modes, form
        k = torch.cat([torch.arange(modes), torch.arange(-modes, 0)])
        p = torch.arange(points)
        rows = 2 * math.pi * torch.outer(k, p) / points  # kx, p
        columns = 2 * math.pi * torch.outer(p, torch.arange(modes)) / points  # q, ky
        cos, sin = rows.cos(), rows.sin()
        share = torch.where(torch.arange(modes) == 0, 1.0, 2.0)[:, None] / points**2
        # (re, im) of columns from real rows; both transforms along rows; real rows from (re, im) of columns.
        self.register_buffer("across", torch.cat([columns.cos(), -columns.sin()], 1))
        self.register_buffer("down", torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)]))
        self.register_buffer("up", torch.cat([torch.cat([cos.T, -sin.T], 1), torch.cat([sin.T, cos.T], 1)]))
        self.register_buffer("back", torch.cat([share * columns.cos().T, -share * columns.sin().T]))

    def mix(self, spectrum):
        return torch.einsum("bixy,xyio->boxy", spectrum, torch.view_as_complex(self.weight))

    def forward(self, v):
        m, points = self.modes, v.shape[-1]
        if self.form == "fft":
            with torch.autocast(v.device.type, enabled=False):
                spectrum = torch.fft.rfft2(v.float())
                mixed = self.mix(torch.cat([spectrum[:, :, :m, :m], spectrum[:, :, -m:, :m]], 2))
                whole = mixed.new_zeros(*mixed.shape[:2], points, points // 2 + 1)
                whole[:, :, :m, :m], whole[:, :, -m:, :m] = mixed[:, :, :m], mixed[:, :, m:]
                return torch.fft.irfft2(whole, s=(points, points))
        with torch.autocast(v.device.type, torch.bfloat16, enabled=self.form == "dft-bf16"):
            v = v if self.form == "dft-bf16" else v.float()
            h = (v @ self.across).unflatten(-1, (2, m)).movedim(-2, 2).flatten(2, 3)  # b, c, (re | im, p), ky
            h = (self.down @ h).unflatten(2, (2, 2 * m)).float()  # b, c, re | im, kx, ky
            h = torch.view_as_real(self.mix(torch.complex(h[:, :, 0], h[:, :, 1]))).movedim(-1, 2).flatten(2, 3)
            h = (self.up @ h).unflatten(2, (2, points)).movedim(2, -2).flatten(-2)  # b, c, p, (re | im, ky)
            return h @ self.back


class Fno(nn.Module):
    def __init__(self, form, size=SIZE, width=40, modes=14, layers=4, projection=128, padding=9):
        super().__init__()
        self.pixels, self.size, self.padding = Pixels(size), size, padding
        self.lift = nn.Linear(6, width)
        self.spectral = nn.ModuleList(Spectral(width, modes, size + padding, form) for _ in range(layers))
        self.pointwise = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(layers))
        self.fc1, self.fc2 = nn.Linear(width, projection), nn.Linear(projection, 2)

    def forward(self, context):
        v = self.lift(self.pixels(context).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        v = F.pad(v, (0, self.padding, 0, self.padding))
        for k, (spectral, pointwise) in enumerate(zip(self.spectral, self.pointwise)):
            v = spectral(v) + pointwise(v)
            if k + 1 < len(self.spectral):
                v = F.gelu(v)
        v = v[:, :, : self.size, : self.size].permute(0, 2, 3, 1)
        return self.fc2(F.gelu(self.fc1(v))).permute(0, 3, 1, 2)


class DeepOnet(nn.Module):
    def __init__(self, form, size=SIZE, channels=(32, 64, 128, 192), hidden=360, basis=256, trunk=128):
        super().__init__()
        self.pixels, self.last, self.basis = Pixels(size), form == "channels-last", basis
        widths = (6, *channels)
        self.convs = nn.ModuleList(
            nn.Conv2d(c, o, 3 if k else 5, stride=2, padding=1 if k else 2)
            for k, (c, o) in enumerate(zip(widths, channels))
        )
        self.fc1 = nn.Linear(channels[-1] * (size >> len(channels)) ** 2, hidden)
        self.fc2 = nn.Linear(hidden, 2 * basis)
        self.trunk = nn.ModuleList([nn.Linear(2, trunk), nn.Linear(trunk, trunk), nn.Linear(trunk, basis)])
        self.offset = nn.Parameter(torch.zeros(2))
        self.register_buffer("at", coordinates(size)[0].flatten(1).T.contiguous())

    def forward(self, context):
        x = self.pixels(context)
        x = x.to(memory_format=torch.channels_last) if self.last else x
        for conv in self.convs:
            x = F.gelu(conv(x))
        x = self.fc2(F.gelu(self.fc1(x.flatten(1)))).unflatten(1, (2, self.basis))
        t = self.at
        for k, layer in enumerate(self.trunk):
            t = layer(t) if k + 1 == len(self.trunk) else F.gelu(layer(t))
        fields = x @ t.T + self.offset[:, None]
        return fields.unflatten(2, (context.shape[-1], context.shape[-1]))


def resize_matrix(n, m):
    """The antialiased bicubic resize from n to m points."""
    cubic = lambda x: ((1.5 * x - 2.5) * x * x + 1 if x < 1 else ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0)
    stretch = max(n / m, 1)
    matrix = torch.zeros(m, n, dtype=torch.float64)
    for i in range(m):
        centre = n / m * (i + 0.5)
        for j in range(max(int(centre - 2 * stretch + 0.5), 0), min(int(centre + 2 * stretch + 0.5), n)):
            matrix[i, j] = cubic(abs((j - centre + 0.5) / stretch))
    return (matrix / matrix.sum(1, keepdim=True)).float()


class Filtered(nn.Module):
    """A leaky ReLU on twice the grid."""

    def __init__(self, form, n, m):
        super().__init__()
        self.form, self.n, self.m = form, n, m
        if form != "interpolate":
            self.register_buffer("fine", resize_matrix(n, 2 * n))
            self.register_buffer("coarse", resize_matrix(2 * n, m))

    def resize(self, x, matrix, to):
        if x.shape[-1] == to:
            return x
        if self.form == "interpolate":
            return F.interpolate(x, size=(to, to), mode="bicubic", antialias=True)
        return matrix @ (x @ matrix.T)

    def forward(self, x):
        fine = getattr(self, "fine", None)
        x = F.leaky_relu(self.resize(x, fine, 2 * self.n), 0.01)
        return self.resize(x, getattr(self, "coarse", None), self.m)


class Residual(nn.Module):
    def __init__(self, form, c, n):
        super().__init__()
        conv = lambda: nn.Conv2d(c, c, 3, padding=1)
        self.inner = nn.Sequential(conv(), nn.BatchNorm2d(c), Filtered(form, n, n), conv(), nn.BatchNorm2d(c))

    def forward(self, v):
        return v + self.inner(v)


class Cno(nn.Module):
    def __init__(self, form, size=SIZE, levels=3, residual=2, neck=4, multiplier=52, latent=64):
        super().__init__()
        self.last = form == "matmul-last"
        form = "matmul" if self.last else form
        channels = [multiplier // 2 << level for level in range(levels + 1)]
        side = [size >> level for level in range(levels + 1)]
        conv = lambda c, o: nn.Conv2d(c, o, 3, padding=1)
        block = lambda c, o, n, m: nn.Sequential(conv(c, o), nn.BatchNorm2d(o), Filtered(form, n, m))
        pair = lambda c, o: nn.Sequential(conv(c, latent), Filtered(form, size, size), conv(latent, o))
        chain = lambda count, level: nn.Sequential(*(Residual(form, channels[level], side[level]) for _ in range(count)))
        self.pixels, self.lift, self.project = Pixels(size), pair(6, channels[0]), pair(2 * channels[0], 2)
        self.down = nn.ModuleList(block(channels[l], channels[l + 1], side[l], side[l + 1]) for l in range(levels))
        self.skips = nn.ModuleList(chain(residual, level) for level in range(levels))
        self.neck = chain(neck, levels)
        self.invariant = nn.ModuleList(block(c, c, n, n) for c, n in zip(channels, side))
        self.up = nn.ModuleList(
            block(channels[l] * (1 if l == levels else 2), channels[l - 1], side[l], side[l - 1])
            for l in range(levels, 0, -1)
        )

    def forward(self, context):
        x = self.pixels(context)
        v, skips = self.lift(x.to(memory_format=torch.channels_last) if self.last else x), []
        for skip, invariant, down in zip(self.skips, self.invariant, self.down):
            skips.append(invariant(skip(v)))
            v = down(v)
        v = self.invariant[-1](self.neck(v))
        for up in self.up:
            v = torch.cat([up(v), skips.pop()], 1)
        return self.project(v)


class Block(nn.Module):
    def __init__(self, size, width, heads, slices, expansion):
        super().__init__()
        self.size, self.heads, d = size, heads, width // heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.conv_x, self.conv_fx = (nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.slice = nn.Linear(d, slices)
        self.temperature = nn.Parameter(torch.full((1, heads, 1, 1), 0.5))
        self.tokens = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, expansion * width), nn.Linear(expansion * width, width)

    def attend(self, v):
        b, n, width = v.shape
        image = v.view(b, self.size, self.size, width).permute(0, 3, 1, 2)  # channels last in memory
        split = lambda x: x.permute(0, 2, 3, 1).reshape(b, n, self.heads, -1).transpose(1, 2)  # b, heads, n, d
        g, f = split(self.conv_x(image)), split(self.conv_fx(image))
        weights = (self.slice(g) / self.temperature.clamp(0.1, 5)).softmax(-1)
        tokens = weights.transpose(-1, -2) @ f / (weights.sum(2)[..., None] + 1e-5)
        q, k, value = self.tokens(tokens).chunk(3, -1)
        tokens = F.scaled_dot_product_attention(q, k, value)
        return self.out((weights @ tokens).transpose(1, 2).reshape(b, n, width))

    def forward(self, v):
        v = v + self.attend(self.ln1(v))
        return v + self.fc2(F.gelu(self.fc1(self.ln2(v))))


class Transolver(nn.Module):
    def __init__(self, form, size=SIZE, width=160, depth=8, heads=8, slices=32, expansion=2):
        super().__init__()
        self.pixels, self.again = Pixels(size), form == "checkpoint"
        self.lift = nn.Sequential(nn.Linear(6, expansion * width), nn.GELU(), nn.Linear(expansion * width, width))
        self.blocks = nn.ModuleList(Block(size, width, heads, slices, expansion) for _ in range(depth))
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, context):
        b, _, size, _ = context.shape
        v = self.lift(self.pixels(context).permute(0, 2, 3, 1).reshape(b, size * size, 6))
        for block in self.blocks:
            v = checkpoint(block, v, use_reentrant=False) if self.again and self.training else block(v)
        return self.head(self.ln(v)).reshape(b, size, size, 2).permute(0, 3, 1, 2)


MODELS = {"fno": Fno, "deeponet": DeepOnet, "cno": Cno, "transolver": Transolver}


def count(model):
    return sum(p.numel() for p in model.parameters())


class Training:
    """A model, its optimiser, and one step on inputs that stay where they are."""

    def __init__(self, name, form, batch, device, compiled=False, **sizes):
        torch.manual_seed(0)
        self.model = MODELS[name](form, **sizes).to(device)
        if form in ("channels-last", "matmul-last") or name == "transolver":
            convs = [part for part in self.model.modules() if isinstance(part, nn.Conv2d)]
            for part in convs:
                part.to(memory_format=torch.channels_last)
        size, self.device, self.form = sizes.get("size", SIZE), device, form
        self.context = torch.randn(batch, 4, size, size, device=device)
        self.fields = torch.randn(batch, 2, size, size, device=device)
        self.parts = 5 if form == "accumulate" else 1
        self.forward = torch.compile(self.losses, dynamic=False) if compiled else self.losses
        on_gpu = device == "cuda"
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=torch.tensor(1e-6, device=device) if on_gpu else 1e-6, weight_decay=0.05,
            fused=on_gpu, capturable=on_gpu)

    def losses(self, context, fields):
        # The processor has no bf16 interpolation.
        with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda" or self.form != "interpolate"):
            out = self.model(context)
        difference = (out.float() - fields).flatten(2).norm(dim=2)
        return (difference / fields.flatten(2).norm(dim=2)).mean()

    def step(self):
        self.optimiser.zero_grad(set_to_none=True)
        total = 0.0
        for context, fields in zip(self.context.chunk(self.parts), self.fields.chunk(self.parts)):
            loss = self.forward(context, fields) / self.parts
            loss.backward()
            total = total + loss.detach()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
        self.optimiser.step()
        return total


def captured(training):
    """A step as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            training.step()
    torch.cuda.current_stream().wait_stream(stream)
    training.optimiser.zero_grad(set_to_none=True)
    torch.cuda.empty_cache()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        training.step()
    return graph.replay


def median_ms(step, seconds=1.5):
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    times, began = [], time.time()
    while len(times) < 5 or (time.time() - began < seconds and len(times) < 100):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        step()
        events[1].record()
        events[1].synchronize()
        times.append(events[0].elapsed_time(events[1]))
    return sorted(times)[len(times) // 2]


def measure(name, form, way, batch):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    training = Training(name, form, batch, "cuda", compiled="compile" in way)
    step = captured(training) if "graph" in way else training.step
    ms = median_ms(step)
    return {"model": name, "form": form, "way": way, "batch": batch, "ms": ms,
            "gib": torch.cuda.max_memory_reserved() / 2**30, "parameters": count(training.model)}


def ways(name):
    """Forms and ways to run them, what is likely to win first: time may run out."""
    first = FORMS[name][0]
    return [(form, way) for form in FORMS[name] for way in ("graph", "compile+graph")] + [(first, "eager")]


def measure_model(name, batch, until):
    """Lines of JSON, one as soon as each way is measured."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    for form, way in ways(name):
        if time.time() > until:
            return
        try:
            row = measure(name, form, way, batch)
        except Exception as error:  # out of memory is a result too
            reason = "out of memory" if isinstance(error, torch.OutOfMemoryError) else repr(error)[:300]
            row = {"model": name, "form": form, "way": way, "batch": batch, "failed": reason}
            torch.cuda.empty_cache()
        print(json.dumps(row), flush=True)
        torch._dynamo.reset()


def measure_all(models, batch, budget):
    rows, began = [], time.time()
    for place, name in enumerate(models):
        left = (budget - (time.time() - began)) / (len(models) - place)
        command = [sys.executable, __file__, "--one", name, "--batch", str(batch), "--budget", str(left)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            out, _ = process.communicate(timeout=left + 20)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        for row in lines:
            value = f"{row['ms']:9.2f} ms {row['gib']:7.2f} GiB" if "ms" in row else row["failed"]
            print(f"{row['model']:<12}{row['form']:<16}{row['way']:<16}{value}", flush=True)
        rows += lines
    return rows


def check():
    """Counts of the full sizes, and forms that agree, on the processor."""
    tiny = {"fno": dict(size=12, width=4, modes=3, layers=3, projection=6, padding=3),
            "deeponet": dict(size=16, channels=(4, 6), hidden=10, basis=7, trunk=5),
            "cno": dict(size=16, levels=2, residual=1, neck=2, multiplier=4, latent=6),
            "transolver": dict(size=8, width=8, depth=2, heads=2, slices=3)}
    for name, model in MODELS.items():
        assert count(model(FORMS[name][0])) == COUNTS[name], (name, count(model(FORMS[name][0])))
        results = []
        for form in FORMS[name]:
            training = Training(name, form, 5, "cpu", **tiny[name])
            with torch.no_grad():
                results.append(training.model.eval()(training.context))
            training.model.train()
            loss = training.step()
            assert torch.isfinite(loss), (name, form)
        apart = max(float((result - results[-1]).norm() / results[-1].norm()) for result in results)
        print(f"{name}: {COUNTS[name]:,} parameters; forms are {apart:.1e} apart")
        assert apart < 1e-2, name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--batch", type=int, default=125)
    parser.add_argument("--budget", type=float, default=240)
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    if arguments.one:
        return measure_model(arguments.one, arguments.batch, time.time() + arguments.budget)
    rows = measure_all(arguments.models.split(","), arguments.batch, arguments.budget)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"torch": torch.__version__, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
