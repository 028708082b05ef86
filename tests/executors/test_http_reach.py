"""Jobs that call a URL: redirects, and which servers are never reached."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from executors.http_stage import KEY, as_secret, call, execute, run_of
from foliot.model.attempt import Outcome
from foliot.network.guard import Guard, Place
from foliot.network.own_port import listening_on
from web_server import make_certificate, reply, web_server

# -- redirects -------------------------------------------------------------------------------------


def test_a_redirect_is_an_answer_unless_it_is_to_be_followed() -> None:
    with web_server() as other, web_server(reply(302, Location=other.url)) as server:
        stayed = call(server)
        assert other.connections == 0
        went = call(server, follow=True)

    assert (stayed.outcome, stayed.is_final) == (Outcome.FAILED, True)
    assert went.outcome is Outcome.SUCCEEDED
    assert went.output == f"HTTP 302 Found\nredirected to http://localhost:{other.port}/…\nHTTP 200 OK\n"


@pytest.mark.parametrize(
    ("status", "method", "line", "body"),
    [
        (301, "POST", "GET", b""),
        (302, "PUT", "GET", b""),
        (303, "POST", "GET", b""),
        (303, "HEAD", "HEAD", b"hello"),
        (307, "POST", "POST", b"hello"),
        (308, "PUT", "PUT", b"hello"),
    ],
)
def test_methods_after_a_redirect(status: int, method: str, line: str, body: bytes) -> None:
    with web_server(reply(status, Location="/new?x=1"), reply(200)) as server:
        call(server, method=method, body="hello", follow=True, headers={"X-Own": "1"})

    asked = server.asked[1]
    assert asked.line == f"{line} /new?x=1 HTTP/1.1"
    assert asked.body == body
    assert asked.headers["x-own"] == "1", "the same server gets the same headers"
    assert ("content-type" in asked.headers) == bool(body)
    assert "idempotency-key" in asked.headers


def test_another_server_gets_no_header_that_could_be_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", as_secret(KEY))
    with web_server() as other, web_server(reply(307, Location=other.url)) as server:
        headers = {"Authorization": "Bearer c4nary", "Cookie": "c4nary", "X-Key": "c4nary"}
        call(server, body="b", follow=True, headers=headers, secret="env:SHOP")  # noqa: S106 - a reference

    assert "c4nary" not in str(other.asked[0].headers)
    assert "webhook-signature" not in other.asked[0].headers
    assert other.asked[0].body == b"b"


def test_redirects_in_a_circle_end() -> None:
    with web_server(reply(302, Location="/again")) as server:
        result = call(server, follow=True)

    assert server.connections == 6
    assert result.error is not None
    assert "redirects more than 5 times" in result.error


def test_many_slow_redirects_share_one_deadline() -> None:
    def slow(connection: socket.socket) -> None:
        connection.settimeout(0.2)
        try:
            connection.recv(1)
        except TimeoutError:
            connection.sendall(reply(302, Location="/again"))

    with web_server(slow) as server:
        result = call(server, follow=True, timeout="500ms")

    assert result.error is not None
    assert "gives no answer within" in result.error


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "//0x7f000001:{port}/",
        "http://2130706433:{port}/",
        "http://user:password@localhost:{port}/",
        "file:///etc/passwd",
        "gopher://localhost:{port}/",
        "http://[::1/",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
@pytest.mark.req("OWN-13")
def test_a_redirect_is_judged_as_a_url_is(location: str) -> None:
    with web_server() as other, web_server(reply(302, Location=location.format(port=other.port))) as server:
        result = call(server, Guard.allowing([f"localhost:{server.port}"]), follow=True)

    assert other.connections == 0
    assert (result.outcome, result.is_final) == (Outcome.FAILED, True)


def test_no_redirect_leads_from_https_to_http(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with web_server() as other, web_server(reply(302, Location=other.url), tls=certificate.server) as server:
        result = execute(run_of({"url": server.url, "follow": True}), tls=certificate.client)

    assert other.connections == 0
    assert result.error is not None
    assert "not encrypted" in result.error


# -- which servers are never reached ---------------------------------------------------------------

HOSTILE = [
    "localhost", "LOCALHOST", "LocalHost.", "localhost.localdomain", "127.0.0.1", "127.0.0.1.", "127.1",
    "127.0.1", "127.255.255.254", "127.0.0.53", "2130706433", "0x7f000001", "0X7F000001", "0x7f.1",
    "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "0177.1", "017700000001", "00000177.0.0.1", "0",
    "0x0", "00", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
    "[::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2002:7f00:1::1]", "[::1%lo]", "[::1%25lo]", "[fe80::1]", "[fe80::1%lo]", "[fd00:ec2::254]",
    "[fc00::1]", "[fec0::1]", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
    "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "10.0.0.1", "012.0.0.1", "0xa.1", "167772161", "172.16.0.1", "192.168.0.1", "3232235521",
    "100.64.0.1", "198.18.0.1", "[::ffff:10.0.0.1]", "224.0.0.1", "255.255.255.255", "240.0.0.1",
    "①②⑦.0.0.1", "127。0。0。1", "127.0.0.1\\@example.org", "example.org@127.0.0.1", "127.0.0.1 ",
    "%31%32%37.0.0.1", "localhost%00.example.org", "127.0.0.1\t", "127.0.0.1#@example.org",
    "user:pw@localhost", "[::1]]", "[[::1]]",
    "0.0.0.0",  # noqa: S104 - to be refused
]  # fmt: skip


@pytest.fixture
def connects(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """All addresses that requests would connect to; they are not let through."""
    made: list[object] = []

    def refuse(_: socket.socket, address: object) -> None:
        made.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return made


@pytest.mark.req("OWN-13")
def test_no_spelling_of_an_address_gets_past_the_guard(connects: list[object]) -> None:
    assert len(HOSTILE) >= 60
    with web_server() as server:
        for host in HOSTILE:
            for scheme in ("http", "https"):
                data = {"url": f"{scheme}://{host}:{server.port}/", "timeout": "20s"}
                assert execute(run_of(data), Guard()).outcome is Outcome.FAILED, host

    assert connects == []
    assert server.connections == 0


@pytest.mark.req("OWN-13")
def test_a_name_that_changes_its_address_between_look_ups_is_not_followed(connects: list[object]) -> None:
    """The attack of rebinding: the first answer is public, the second is loopback."""
    answers = iter(["203.0.114.1", "127.0.0.1", "203.0.114.1", "127.0.0.1"])
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[Place]:
        asked.append(host)
        return [Place(socket.AF_INET, (next(answers), port))]

    with web_server() as server:
        guard = Guard(resolver=rebinding)
        data = {"url": f"http://evil.example:{server.port}/", "timeout": "20s"}
        first, second = execute(run_of(data), guard), execute(run_of(data), guard)

    assert asked == ["evil.example"] * 2, "one look-up for each request"
    assert connects == [("203.0.114.1", server.port)], "the address that was judged, and no other"
    assert server.connections == 0
    assert (first.is_final, second.is_final) == (False, True)


@pytest.mark.req("OWN-13")
def test_one_private_address_among_many_refuses_all(connects: list[object]) -> None:
    def mixed(_host: str, port: int) -> list[Place]:
        return [Place(socket.AF_INET, (address, port)) for address in ("203.0.114.1", "127.0.0.1")]

    result = execute(run_of({"url": "http://evil.example/"}), Guard(resolver=mixed))

    assert connects == []
    assert result.error is not None
    assert "127.0.0.1 leads to this host" in result.error


@pytest.mark.req("OWN-13")
@pytest.mark.parametrize("opening", ["0.0.0.0/0", "127.0.0.0/8", "::/0", "169.254.0.0/16"])
def test_no_range_opens_this_host(opening: str) -> None:
    with web_server() as server:
        result = call(server, Guard.allowing([opening]))

    assert server.connections == 0
    assert result.is_final


@pytest.mark.req("OWN-13")
def test_the_port_that_this_process_listens_on_is_never_called() -> None:
    with web_server() as server:
        guard = Guard.allowing(["localhost", "127.0.0.1"])
        with listening_on(server.port):
            assert not server.connections
            refused = call(server, guard)
            server_url = server.url.replace("localhost", "127.0.0.1")
            by_address = execute(run_of({"url": server_url}), guard)
            assert server.connections == 0
        allowed = call(server, guard)

    assert refused.error is not None
    assert f"port {server.port} is this node's own" in refused.error
    assert by_address.is_final
    assert allowed.outcome is Outcome.SUCCEEDED


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with web_server() as proxy, web_server() as server:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://localhost:{proxy.port}")
        call(server)

    assert proxy.connections == 0
