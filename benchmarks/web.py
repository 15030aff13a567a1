"""masktron web while a run works: how long pages take, as multiples of a bare Starlette page, and memory.

A server as a process of its own gets an upload of 300 MB, and begins to read it; meanwhile ten users poll the page
of the run as browsers do, once a second each. Pages are asked for in turn with those of a bare Starlette application
with one template, so that what else the machine does meets both. The project has thirty runs that have ended.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "pipeline"))
USERS, PAGES, RUNS = 10, 100, 30
MEMORY, PAGE = 200.0, 0.2
"""The goals: MB of the server, seconds of a page."""
RECORD = (
    "<Record><Id>{0}</Id><A>{1}</A><B>{2}</B><T>{3}</T><Note>a record of the benchmark, with a text</Note></Record>\n"
)
BARE = """
import sys, jinja2, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
page = jinja2.Environment(autoescape=True).from_string(
    "<!DOCTYPE html><title>x</title><ul>{% for one in lines %}<li>{{ one }}</li>{% endfor %}</ul>")
app = Starlette(routes=[Route("/", lambda request: HTMLResponse(page.render(lines=list(map(str, range(50))))))])
uvicorn.run(app, port=int(sys.argv[1]), log_level="critical", http="h11", loop="asyncio")
"""


def write_records(path: Path, megabytes: int) -> int:
    """Write records until a file has its size, and return their number."""
    number, written = 0, 0
    with path.open("w") as out:
        written += out.write("<Survey>\n")
        while written < megabytes * 1_000_000:
            lines = "".join(RECORD.format(n, n % 97, n % 89, n % 97 + n % 89) for n in range(number, number + 5000))
            written += out.write(lines)
            number += 5000
        out.write("</Survey>\n")
    return number


class Client:
    """A browser with one connection and one cookie."""

    def __init__(self, port: int, cookie: str = "") -> None:
        self.port, self.cookie = port, cookie
        self._talking = http.client.HTTPConnection("127.0.0.1", port, timeout=600)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], str]:
        """Ask for a page, and return status, headers and text."""
        own = {"origin": f"http://127.0.0.1:{self.port}", "cookie": self.cookie, **headers}
        for attempt in (0, 1):
            try:
                self._talking.request(method, path, body, own)  # type: ignore[arg-type]
                answer = self._talking.getresponse()
                break
            except (http.client.RemoteDisconnected, ConnectionError, BrokenPipeError):
                self._talking.close()  # it was open for too long
                if attempt:
                    raise
        text = answer.read().decode()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def seconds(self, path: str) -> float:
        """Return how long a page takes."""
        began = time.perf_counter()
        status = self.ask("GET", path)[0]
        if status != 200:
            raise RuntimeError(f"{path} was answered by {status}")
        return time.perf_counter() - began

    def token(self, path: str) -> str:
        """Return the token of the forms of a page."""
        found = re.search(r'name="csrf" value="(\w+)"', self.ask("GET", path)[2])
        if found is None:
            raise RuntimeError(f"{path} has no form")
        return found[1]


def upload(client: Client, where: str, data: Path) -> float:
    """Upload a file as a browser does, and return the seconds."""
    head = (
        f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{client.token(f"{where}/data")}\r\n'
        f'--b\r\nContent-Disposition: form-data; name="file"; filename="{data.name}"\r\n\r\n'
    ).encode()
    last = b"\r\n--b--\r\n"

    def pieces() -> object:
        yield head
        with data.open("rb") as stream:
            while piece := stream.read(1 << 20):
                yield piece
        yield last

    length = len(head) + data.stat().st_size + len(last)
    began = time.perf_counter()
    status, _, text = client.ask(
        "POST",
        f"{where}/data/upload",
        pieces(),
        **{"content-type": "multipart/form-data; boundary=b", "content-length": str(length)},
    )
    if status != 303:
        raise RuntimeError(f"the upload was answered by {status}: {text[:500]}")
    return time.perf_counter() - began


def lay_runs(project: Path, data: str) -> None:
    """Put runs that have ended into a project, as commands leave them."""
    settled = time.time() - 3600
    for number in range(RUNS):
        step = ("describe", "rules", "validate", "plan", "mask", "check")[number % 6]
        name = f"{number + 2:04d}-{step}"
        folder = project / "runs" / name
        folder.mkdir(mode=0o700)
        words = [step, data, "--rules", f"runs/{name}/rules.sch", "--config", f"runs/{name}/masktron.toml"]
        command = {
            "arguments": words,
            "asked": "2026-01-01T00:00:00.000+00:00",
            "copies": ["rules.sch"],
        }
        ended = {"code": 0, "problem": "", "began": settled, "ended": settled + 9}
        written = {"command.json": command, "process.json": {"pid": 1, "began": settled}, "exit.json": ended}
        for file, content in written.items():
            (folder / file).write_text(json.dumps(content))
        for file in ("rules.sch", "masktron.toml", ".lock", *(["masked.xml"] if step == "mask" else [])):
            (folder / file).touch()


def has_form(client: Client, run: str) -> bool:
    """Tell whether a run can be cancelled: it is under way."""
    return 'name="csrf"' in client.ask("GET", run)[2]


def peak(pid: int) -> float:
    """Return the most MB of memory that a process has held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def main() -> None:
    """Print a table in Markdown; another exit code than 0 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), asked.megabytes)
    print("| masktron web | measured | goal |\n| --- | --- | --- |")
    print(f"| upload of {asked.megabytes} MB | {found['upload']:.1f} s | |")
    for name, goal in (("overview", PAGE), ("data", PAGE), ("run", PAGE), ("mask", PAGE)):
        one = found[name]
        print(
            f"| {name} page while a run works, ten users poll | median {1000 * one['median']:.1f} ms, 95 % within "
            f"{1000 * one['slow']:.1f} ms, {one['ratio']:.1f} x a bare page | median < {1000 * goal:.0f} ms |"
        )
    pages = 5 * found["rounds"]
    print(f"| processor time of the server meanwhile | {found['used']:.1f} s for {pages} pages, and polling | |")
    print(f"| memory of the server | {found['memory']:.0f} MB | < {MEMORY:.0f} MB |")
    if asked.json is not None:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(found, indent=1))
    met = found["memory"] < MEMORY and all(
        found[name]["median"] < PAGE for name in ("overview", "data", "run", "mask")
    )
    sys.exit(0 if met else 1)


def measured(folder: Path, megabytes: int) -> dict[str, object]:
    """Start both servers, and measure them in turn."""
    data = folder / "records.xml"
    write_records(data, megabytes)
    bare_port = free_port()
    bare = subprocess.Popen([sys.executable, "-c", BARE, str(bare_port)])
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "pipeline")}
    argv = [sys.executable, "-P", "-m", "masktron", "web", "--no-browser", "--projects", str(folder / "projects")]
    server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        if server.stdout is None:
            raise RuntimeError("the server says nothing")
        opened = urlsplit(server.stdout.readline().split()[-1])
        port = opened.port or 0
        wait_for(port)
        wait_for(bare_port)
        projects = folder / "projects"
        return asked_of(server_of(server.pid), Client(bare_port), port, opened.path, opened.query, data, projects)
    finally:
        for process in (server, bare):
            process.terminate()
            process.wait(30)


def asked_of(
    pid: int, bare: Client, port: int, where: str, query: str, data: Path, projects: Path
) -> dict[str, object]:
    """Upload, begin a run, poll, and measure pages in turn with the bare one."""
    first = Client(port)
    first.cookie = first.ask("GET", f"{where}?{query}")[1]["set-cookie"].partition(";")[0]
    took = upload(first, where, data)
    # the upload has begun a run that reads the file
    run = f"{where}/runs/0001-describe"
    lay_runs(next(projects.glob(f"{where.rpartition('/')[2]}")), f"files/{data.name}")
    ended = threading.Event()

    def poll() -> None:
        client = Client(port, first.cookie)
        while not ended.is_set():
            client.seconds(f"{run}?again=1")
            ended.wait(1.0)

    polling = [threading.Thread(target=poll) for _ in range(USERS)]
    for one in polling:
        one.start()
    paths = {"overview": where, "data": f"{where}/data", "run": run, "mask": f"{where}/mask"}
    times: dict[str, list[float]] = {"bare": [], **{name: [] for name in paths}}
    used = seconds_of(pid)
    rounds = 0
    while rounds < PAGES and has_form(first, run):
        rounds += 1
        times["bare"].append(bare.seconds("/"))
        for name, path in paths.items():
            times[name].append(first.seconds(path))
        time.sleep(0.02)
    used = seconds_of(pid) - used
    ended.set()
    for one in polling:
        one.join()
    base = statistics.median(times["bare"])
    result: dict[str, object] = {"upload": took, "memory": peak(pid), "bare": base, "used": used, "rounds": rounds}
    for name in paths:
        middle = statistics.median(times[name])
        slow = statistics.quantiles(times[name], n=20)[-1]
        result[name] = {"median": middle, "slow": slow, "ratio": middle / base}
    if has_form(first, run):
        token = first.token(run)
        first.ask("POST", run, f"csrf={token}&action=cancel", **{"content-type": "application/x-www-form-urlencoded"})
    return result


def seconds_of(pid: int) -> float:
    """Return the processor time that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def server_of(pid: int) -> int:
    """Return the process that listens: the command may go on in a copy of itself."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as looking:
        looking.bind(("127.0.0.1", 0))
        return int(looking.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until somebody answers at a port."""
    limit = time.monotonic() + 60
    while True:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > limit:
            raise RuntimeError(f"nobody answers at port {port}")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
