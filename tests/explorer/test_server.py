"""The page over HTTP answers this machine alone, and does what it was asked and nothing else."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.explorer.serving import CLIENT, base, ended, port_of, settled, started

from netwright.explorer.answers import LARGEST_MACHINE
from netwright.explorer.page import ASSETS, SERVED
from netwright.explorer.server import refusal


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process, line = started("palindrome", "abba", "--t", "18", "--port", "0")
    yield line
    ended(process)


def test_the_page_and_its_headers(address: str) -> None:
    assert "machine=palindrome" in address
    assert "t=18" in address
    page = CLIENT.get(address)
    assert page.status_code == 200
    assert "netwright" in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert page.headers["cross-origin-resource-policy"] == "same-origin"
    assert page.headers["x-content-type-options"] == "nosniff"
    for path, each in SERVED.items():
        found = CLIENT.get(base(address) + path.removeprefix("/"))
        assert (found.status_code, found.content) == (200, each.body)
    # Everything that the page names is one of its own files.
    modules = [each.body.decode() for path, each in ASSETS.items() if path.endswith(".js")]
    named = [name for text in modules for name in re.findall(r'from "\./([^"]+)"', text)]
    named += re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert len(named) > 20
    assert {f"/{name}" for name in named} <= set(SERVED)


def test_another_host_or_another_site_is_refused(address: str) -> None:
    port = port_of(address)
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
        assert CLIENT.get(address, headers={"host": host}).status_code in (400, 403)
    assert CLIENT.get(address, headers={"origin": "http://evil.example"}).status_code == 403
    assert CLIENT.get(address, headers={"host": f"localhost:{port}"}).status_code == 200
    assert refusal(f"127.0.0.1:{port}", None, port) is None
    assert refusal("127.0.0.1:80", None, port) is not None
    assert refusal(f"127.0.0.1:{port}", "null", port) is not None
    assert refusal("127.0.0.1", None, 80) is None
    # Another site's page may lead here, and may not ask.
    afar = {"sec-fetch-site": "cross-site"}
    assert CLIENT.get(address, headers=afar).status_code == 200
    assert CLIENT.get(base(address) + "api/machines", headers=afar).status_code == 403


def test_paths_lead_nowhere(address: str) -> None:
    port = port_of(address)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        host = f"Host: 127.0.0.1:{port}"
        lines = ("GET /../../pyproject.toml HTTP/1.1", host, "Connection: close")
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while part := connection.recv(4096):
            answer += part
    assert b" 404 " in answer.split(b"\r\n")[0]
    assert b"[project]" not in answer
    for path in ("web/main.js", "%2e%2e/answers.py", "api/../main.py", "index.html/"):
        assert CLIENT.get(base(address) + path).status_code == 404
    found = settled(address, "run", machine="/etc/hostname")
    assert found.status_code == 400
    assert "not a machine" in found.json()["error"]


def test_only_a_machines_text_is_posted(address: str) -> None:
    text = {"content-type": "text/plain"}
    found = CLIENT.post(base(address) + "api/machine", content="1RB1LB_1LA1RZ", headers=text)
    assert found.status_code == 200
    run = settled(address, "run", machine=found.json()["machine"])
    assert (run.json()["steps"], run.json()["outcome"]) == (6, "halted")
    too_long = b"x" * (LARGEST_MACHINE + 1)
    for content, status in ((too_long, 413), (b"\xff", 400)):
        found = CLIENT.post(base(address) + "api/machine", content=content, headers=text)
        assert found.status_code == status
    assert CLIENT.post(base(address) + "api/machine", json={}).status_code == 415
    assert CLIENT.post(base(address) + "api/run", content="", headers=text).status_code == 405
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        refused = CLIENT.request(method, base(address))
        assert refused.status_code == 405
        assert "content-security-policy" in refused.headers


def test_a_port_in_use_gives_another_and_ctrl_c_ends_it(address: str) -> None:
    port = port_of(address)
    process, line = started("busy-beaver-4", "--port", str(port))
    assert f":{port}/" not in line
    assert settled(line, "run", machine="given").json()["steps"] == 107
    out, err = ended(process)
    assert "Traceback" not in out + err
    assert process.returncode in (0, 130)


def test_a_file_is_shown_as_the_machine_that_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("1RB1LB_1LA1RZ\n")
    process, line = started(str(file), "--port", "0")
    try:
        assert "machine=given" in line
        assert str(tmp_path) not in line
        run = settled(line, "run", machine="given").json()
        assert run["steps"] == 6
    finally:
        ended(process)


COMPILING = """
import sys, time
from netwright.explorer import answers
answers.Answers._network = lambda *_: time.sleep(10_000)
from netwright.cli import main
sys.exit(main(["explore", "even-as", "a", "--no-browser", "--port", "0"]))
"""


def test_ctrl_c_ends_it_while_it_compiles() -> None:
    """Python waits for its threads, and this one cannot be stopped: that took minutes."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", COMPILING], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    for _ in range(2):
        found = CLIENT.get(base(line) + "api/run", params={"machine": "copy"})
        assert found.status_code == 202
    ended(process)
    assert process.returncode == 0
