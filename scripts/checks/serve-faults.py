#!/usr/bin/env python3
"""What `scope serve` does under attack: each promise of docs/serve.md, tried on the real program.

    python3 scripts/checks/serve-faults.py --program target/release/scope

Needs Linux and nothing but Python; takes about three minutes, for it waits for the limits of time themselves.
"""
import argparse, contextlib, http.client, json, pathlib, random, resource, signal, socket, struct, subprocess, threading, time

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--program", default="target/release/scope")
PROGRAM = str(pathlib.Path(arguments.parse_args().program).resolve())
TABLE = ("x,y,u\n" + "".join(f"{k % 25 / 25},{k // 25 / 20},{0.001 * (k % 7)}\n" for k in range(500))).encode()
RECOVER = "/v1/recover?model=poisson"
HEADERS = {"content-type": "text/csv", "accept": "application/x-npy"}
HEAD = f"POST {RECOVER} HTTP/1.1\r\nhost: scope\r\ncontent-type: text/csv\r\naccept: application/x-npy\r\n"
MEBIBYTE = 1 << 20


@contextlib.contextmanager
def serving():
    """A service on a free port: its process, and host and port."""
    process = subprocess.Popen([PROGRAM, "serve", "--port", "0", "--device", "cpu"], stdout=subprocess.PIPE, text=True)
    host, port = process.stdout.readline().split()[0].removeprefix("http://").split(":")
    try:
        yield process, (host, int(port))
    finally:
        process.kill()


def ask(address, method="POST", path=RECOVER, body=TABLE, headers=HEADERS, timeout=120):
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def answer_of(stream):
    """Status and body of an answer after which the connection is closed or goes on."""
    answer = http.client.HTTPResponse(stream)
    answer.begin()
    return answer.status, answer.read()


def largest_memory(process):
    """The most memory that a process has had so far, in bytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def stopped_during_load():
    """What has begun is answered, in every bit, and the program ends with 0."""
    with serving() as (process, address):
        expected = ask(address)[1]
        begun, answered, wrong, lock, stop = [0], [0], [], threading.Lock(), threading.Event()

        def client():
            while not stop.is_set():
                try:
                    stream = socket.create_connection(address, timeout=120)
                    stream.sendall(f"{HEAD}expect: 100-continue\r\nconnection: close\r\ncontent-length: {len(TABLE)}\r\n\r\n".encode())
                    if not stream.recv(25).startswith(b"HTTP/1.1 100"):
                        continue  # not begun
                except OSError:
                    continue
                with lock:
                    begun[0] += 1
                try:
                    stream.sendall(TABLE)
                    status, body = answer_of(stream)
                    good = (status, body) == (200, expected)
                except (OSError, http.client.HTTPException) as error:
                    good, status = False, error
                with lock:
                    answered[0] += good
                    if not good:
                        wrong.append(status)

        clients = [threading.Thread(target=client) for _ in range(30)]
        [one.start() for one in clients]
        while answered[0] < 100:
            time.sleep(0.01)
        with lock:
            before = begun[0] - answered[0]
        process.send_signal(signal.SIGTERM)
        code = process.wait()
        stop.set()
        [one.join() for one in clients]
        assert not wrong and begun == answered and code == 0, (begun, answered, wrong[:3], code)
        return f"{before} under way when it was stopped, all {begun[0]} that had begun answered, exit code {code}"


def slow_body():
    """A body a byte a second: 408 after 30 s, and others are answered meanwhile."""
    with serving() as (_, address):
        stream = socket.create_connection(address, timeout=60)
        stream.sendall(f"{HEAD}connection: close\r\ncontent-length: {len(TABLE)}\r\n\r\n".encode())
        begin, others = time.monotonic(), 0
        stream.settimeout(1)
        while True:
            stream.sendall(b"x")
            assert ask(address)[0] == 200
            others += 1
            with contextlib.suppress(TimeoutError):
                if stream.recv(1, socket.MSG_PEEK):
                    break
            assert time.monotonic() - begin < 60
        stream.settimeout(10)
        status, body = answer_of(stream)
        assert status == 408 and b"30 s" in body, (status, body)
        return f"408 after {time.monotonic() - begin:.0f} s, {others} others answered meanwhile"


def slow_head():
    """A head that stays incomplete: 408 after 30 s; a connection on which nothing is asked is ended without a word."""
    with serving() as (_, address):
        begun, idle = (socket.create_connection(address, timeout=60) for _ in range(2))
        begun.sendall(HEAD.encode())
        begin = time.monotonic()
        status, body = answer_of(begun)
        assert status == 408 and b"the head" in body and not idle.recv(1), (status, body)
        return f"408 after {time.monotonic() - begin:.0f} s; an idle connection was ended without an answer"


def many_bodies():
    """40 bodies of 15 MiB that do not end: no more than 256 MiB of them are held, and others are answered once they are gone."""
    part = b" " * (15 * MEBIBYTE)
    with serving() as (process, address):
        assert ask(address)[0] == 200
        before = largest_memory(process)
        streams, held, heard = [], 0, 0
        for _ in range(40):
            stream = socket.create_connection(address, timeout=60)
            stream.sendall(f"{HEAD}content-length: {16 * MEBIBYTE}\r\n\r\n".encode())
            with contextlib.suppress(OSError):  # One that is refused is not read on.
                stream.sendall(part)
            streams.append(stream)
        for stream in streams:
            stream.settimeout(0.2)
            try:
                status, body = answer_of(stream)
                assert status == 429 and b"ask again" in body, (status, body)
                heard += 1
            except TimeoutError:
                held += 1
            except (OSError, http.client.HTTPException):
                pass  # The connection was ended under the client's hands.
        more = (largest_memory(process) - before) / MEBIBYTE
        [stream.close() for stream in streams]
        while ask(address)[0] != 200:
            pass
        assert heard and 15 * held <= 256 and more < 600, (heard, held, more)
        return f"{held} held, {len(streams) - held} refused, {more:.0f} MiB of memory more; others were answered afterwards"


def slow_reader():
    """An answer of megabytes that is read slowly: others are answered, and it arrives whole."""
    with serving() as (_, address):
        problems = "problem," + TABLE.decode().split("\n")[0] + "\n" + "".join(f"{k},0.3,0.4,0.00{k % 9}\n" for k in range(32))
        headers = f"POST {RECOVER} HTTP/1.1\r\nhost: scope\r\nconnection: close\r\ncontent-type: text/csv\r\ncontent-length: {len(problems)}\r\n\r\n"
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.settimeout(120)
        stream.connect(address)
        stream.sendall(headers.encode() + problems.encode())
        parts = [stream.recv(100)]
        for _ in range(20):
            assert ask(address)[0] == 200
            parts.append(stream.recv(1000))
        while part := stream.recv(MEBIBYTE):
            parts.append(part)
        answer = b"".join(parts)
        head, body = answer.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200") and len(json.loads(body)["fields"]) == 32
        return f"20 others answered meanwhile, all {len(body):,} bytes arrived"


def gigabyte():
    """A body of 1 GB is refused before it comes, or once it is too long; memory stays where it was."""
    with serving() as (process, address):
        assert ask(address)[0] == 200
        before = largest_memory(process)
        stream = socket.create_connection(address, timeout=30)
        stream.sendall(f"{HEAD}connection: close\r\ncontent-length: 1000000000\r\n\r\n".encode())
        assert answer_of(stream)[0] == 413
        stream = socket.create_connection(address, timeout=30)
        stream.sendall(f"{HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        sent, chunk = 0, b"100000\r\n" + b"5" * MEBIBYTE + b"\r\n"
        with contextlib.suppress(OSError):  # The connection ends under the client's hands.
            while sent < 1000:
                stream.sendall(chunk)
                sent += 1
        with contextlib.suppress(OSError):
            assert answer_of(stream)[0] == 413
        more = (largest_memory(process) - before) / MEBIBYTE
        assert sent < 1000 and more < 64 and ask(address)[0] == 200
        return f"413 at once; without a length, ended after some {sent} MiB; {more:.0f} MiB of memory more"


def malformed_tensors():
    """Broken inference requests: always a status of 4xx with a sentence, or an answer where the change does not matter."""
    good = {"inputs": [{"name": "sensors", "shape": [2, 4], "datatype": "FP64", "parameters": {"binary_data_size": 64}}]}
    numbers = struct.pack("<8d", 0.25, 0.5, 1, 0.003, 0.75, 0.5, 0, 0.4)
    chance = random.Random(20261118)
    odd = [None, -1, 0, 2**63, 1e308, float("nan"), "", "FP16", [], [[]], {}, [4, 2], [2**40, 2**40], True]
    counts = {}
    with serving() as (_, address):
        for _ in range(1000):
            request = json.loads(json.dumps(good))
            place = chance.choice([request, request["inputs"][0], request["inputs"][0]["parameters"]])
            place[chance.choice([*place, "outputs", "data", "id"])] = chance.choice(odd)
            text = json.dumps(request).encode()
            if chance.random() < 0.3:
                text = text[: chance.randrange(len(text))]
            binary = bytearray(numbers)
            if chance.random() < 0.5:
                binary = binary[: chance.randrange(len(binary))] + bytes(chance.randrange(3))
            length = len(text) if chance.random() < 0.8 else chance.choice(["-1", "x", 10**30, 7])
            status, body = ask(address, path="/v2/models/poisson/infer", body=text + bytes(binary), headers={"inference-header-content-length": str(length)})
            assert status == 200 or (400 <= status < 500 and len(json.loads(body)["error"]) > 10), (status, body, text)
            counts[status] = counts.get(status, 0) + 1
        assert ask(address)[0] == 200
    return "answers by status: " + ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))


def too_many_connections():
    """1,100 connections, each with a request: 1,024 are served, the others once there is room; idle ones are ended."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    request = b"GET /v2/health/live HTTP/1.1\r\nhost: scope\r\n\r\n"
    with serving() as (_, address):
        streams = [socket.create_connection(address, timeout=90) for _ in range(1100)]
        [stream.sendall(request) for stream in streams]
        for stream in streams[:1024]:
            assert stream.recv(12) == b"HTTP/1.1 200"
        waiting = streams[1024:]
        waiting[0].setblocking(False)
        with contextlib.suppress(BlockingIOError):
            assert not waiting[0].recv(1), "more than 1,024 are served"
        waiting[0].settimeout(90)
        begin = time.monotonic()
        for stream in waiting:
            assert stream.recv(12) == b"HTTP/1.1 200"
        seconds = time.monotonic() - begin
        [stream.close() for stream in streams]
        assert ask(address)[0] == 200
        return f"1,024 served, {len(waiting)} waited {seconds:.0f} s until idle ones were ended, none lost"


for attack in (stopped_during_load, slow_body, slow_head, slow_reader, gigabyte, many_bodies, malformed_tensors, too_many_connections):
    print(f"{attack.__name__}: {attack()}", flush=True)
