#!/usr/bin/env python3
"""Many clients at once against `scope serve`: every answer must be the command's, in every bit.

    python3 scripts/benchmarks/serve-load.py --program target/release/scope --requests 10000 --clients 50
    python3 scripts/benchmarks/serve-load.py --address 127.0.0.1:8700      # a service that runs already, such as serve-peer.py: times only

Needs numpy. Prints how many answers were lost or wrong, percentiles of the time to an answer, answers a second, and on Linux the time of
the processor that the service took for each.
"""
import argparse, http.client, json, os, pathlib, subprocess, tempfile, threading, time

import numpy

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--program", default="target/release/scope")
arguments.add_argument("--requests", type=int, default=10_000)
arguments.add_argument("--clients", type=int, default=50)
arguments.add_argument("--sensors", type=int, default=500)
arguments.add_argument("--layouts", type=int, default=20, help="different sets of sensors")
arguments.add_argument("--address", help="HOST:PORT of another service, whose answers are not compared")
arguments.add_argument("--process", type=int, help="the number of that service's process, to tell its time of the processor")
arguments = arguments.parse_args()
program = str(pathlib.Path(arguments.program).resolve())


def tables_of(folder):
    """Sensors of u at random pixels of fresh records: of other fields more is computed, for they are unlike the model's."""
    records = folder / "records"
    command = [program, "data", "generate", "poisson", "--count", str(arguments.layouts), "--seed", "99", "--out", records]
    subprocess.run(command, check=True, capture_output=True)
    scaling = json.loads((records / "meta.json").read_text())["u"]
    fields = numpy.load(records / "fields.npy", mmap_mode="r")[:, 1] * 2.0 * scaling["sigma"] + scaling["mean"]
    for k, u in enumerate(fields):
        pixels = numpy.random.default_rng(k).choice(u.size, arguments.sensors, replace=False)
        rows = (f"{i},{j},{u[i, j]:.9e}" for i, j in zip(*numpy.unravel_index(pixels, u.shape)))
        yield "i,j,u\n" + "\n".join(rows) + "\n"


def of_command(folder, name, text):
    """Both fields as `scope recover` writes them."""
    sensors, out = folder / f"{name}.csv", folder / name
    sensors.write_text(text)
    command = [program, "recover", "--model", "poisson", "--sensors", sensors, "--out", out, "--device", "cpu"]
    subprocess.run(command, check=True, capture_output=True)
    return numpy.stack([numpy.load(out / "a.npy"), numpy.load(out / "u.npy")]).tobytes()


with tempfile.TemporaryDirectory() as folder:
    tables = list(tables_of(pathlib.Path(folder)))
    expected = [b"" if arguments.address else of_command(pathlib.Path(folder), str(k), text) for k, text in enumerate(tables)]

address = arguments.address
if not address:
    service = subprocess.Popen([program, "serve", "--port", "0", "--device", "cpu"], stdout=subprocess.PIPE, text=True)
    address = service.stdout.readline().split()[0].removeprefix("http://")
times, refused, lost, wrong, lock = [], 0, 0, 0, threading.Lock()
work = iter(range(arguments.requests))


def client():
    global refused, lost, wrong
    connection = http.client.HTTPConnection(address, timeout=120)
    headers = {"content-type": "text/csv", "accept": "application/x-npy"}
    while True:
        with lock:
            k = next(work, None)
        if k is None:
            return
        begin = time.perf_counter()
        try:
            connection.request("POST", "/v1/recover?model=poisson", tables[k % len(tables)], headers)
            answer = connection.getresponse()
            body = answer.read()
        except OSError:
            with lock:
                lost += 1
            connection.close()
            continue
        with lock:
            times.append(time.perf_counter() - begin)
            if answer.status != 200:
                refused += 1
            elif not body.endswith(expected[k % len(tables)]):
                wrong += 1


def processor_seconds(process):
    """What a process has taken of the processor so far, all its threads together."""
    stat = pathlib.Path(f"/proc/{process}/stat")
    if not process or not stat.exists():
        return float("nan")
    user, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


process = arguments.process if arguments.address else service.pid
before = processor_seconds(process)
threads = [threading.Thread(target=client) for _ in range(arguments.clients)]
begin = time.perf_counter()
[thread.start() for thread in threads]
[thread.join() for thread in threads]
seconds = time.perf_counter() - begin
each = 1000 * (processor_seconds(process) - before) / arguments.requests
code = 0
if not arguments.address:
    service.terminate()
    code = service.wait()
    print(f"the service ended with {code}")
p50, p99 = numpy.percentile(times, [50, 99])
print(f"{arguments.requests} requests, {arguments.clients} clients: {lost} lost, {wrong} wrong, {refused} refused")
print(f"p50 {p50:.3f} s, p99 {p99:.3f} s, {arguments.requests / seconds:.1f} answers a second, {each:.1f} ms of the processor each")
raise SystemExit(bool(lost or wrong or refused or code))
