"""What the guard refuses, with a page behind it that would answer anybody."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pipelines.lineage.console.security import (
    COOKIE,
    MAX_BODY_BYTES,
    Access,
    Guard,
    access_for,
    is_loopback,
    own_names,
)

OWN = {"host": "127.0.0.1:8765"}


def client(access):
    async def answer(request):
        return PlainTextResponse(f"secret page, {len(await request.body())} bytes")

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "PUT", "DELETE"])])
    app.add_middleware(Guard, access=access)
    return TestClient(app, headers=OWN)


@pytest.fixture
def local():
    """(client, access) of a console on loopback."""
    access = access_for("127.0.0.1")
    return client(access), access


@pytest.fixture
def public():
    """(client, access) of a console that others can reach."""
    access = access_for("0.0.0.0")
    return client(access), access


def post(browser, access, **headers):
    sent = {"x-csrf-token": access.csrf, "content-type": "application/json", **headers}
    return browser.post("/api", content=b"{}", headers={k: v for k, v in sent.items() if v is not None})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:80", "[::1]:8765", "127.0.0.1:1"])
def test_loopback_names_are_answered_on_any_port(local, host):
    assert local[0].get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8765",
        "evil.example:127",
        "",
        "[::1].evil.example",
        "127.0.0.1@evil.example",
        "0.0.0.0",
        "127.1",
    ],
)
def test_a_rebound_host_name_is_refused(local, host):
    answer = local[0].get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1:8765.evil.example", ""],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(local, method, origin):
    browser, access = local
    headers = {"origin": origin, "x-csrf-token": access.csrf, "content-type": "application/json"}
    answer = browser.request(method, "/", headers=headers, content=b"{}")
    assert (answer.status_code, "secret" in answer.text) == (403, False)


def test_our_own_origin_may_post(local):
    browser, access = local
    own = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
    answer = post(browser, access, **own)
    assert (answer.status_code, answer.text) == (200, "secret page, 2 bytes")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_other_sites_may_link_here_but_not_embed_or_fetch(local, site):
    browser, access = local
    link = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert browser.get("/", headers=link).status_code == 200
    assert browser.get("/", headers={**link, "sec-fetch-dest": "iframe"}).status_code == 403
    assert browser.get("/", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
    assert post(browser, access, **link).status_code == 403


@pytest.mark.parametrize("token", [None, "", "wrong", b"\xff"])
def test_a_post_without_the_pages_token_is_refused(local, token):
    browser, access = local
    assert post(browser, access, **{"x-csrf-token": token}).status_code == 403


def test_a_form_of_another_site_cannot_post(local):
    browser, access = local
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data", None):
        assert post(browser, access, **{"content-type": kind}).status_code == 415


def test_a_post_that_is_too_large_or_has_no_length_is_refused(local):
    browser, access = local
    headers = {"x-csrf-token": access.csrf, "content-type": "application/json"}
    assert browser.post("/", content=b"x" * MAX_BODY_BYTES, headers=headers).status_code == 200
    assert browser.post("/", content=b"x" * (MAX_BODY_BYTES + 1), headers=headers).status_code == 413
    assert browser.post("/", content=iter([b"x"]), headers=headers).status_code == 411


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_methods_that_nothing_needs_are_refused(local, method):
    assert local[0].request(method, "/").status_code == 405


def test_every_answer_forbids_scripts_frames_and_guessing(local):
    browser, _ = local
    for answer in (browser.get("/"), browser.get("/", headers={"host": "evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_loopback_needs_no_token_and_everything_else_does(public, local):
    assert local[1].token == ""
    assert len(public[1].token) >= 32
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org")] == [False] * 4


def test_without_the_token_nothing_is_answered(public):
    browser, access = public
    for headers in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": access.token},
        {"cookie": f"{COOKIE}=wrong"},
        {"cookie": f"other={access.token}"},
        {"authorization": f"Bearer {access.link}"},
    ):
        answer = browser.get("/", headers=headers)
        assert (answer.status_code, "secret" in answer.text) == (401, False), headers


def test_the_token_is_taken_from_a_header(public):
    browser, access = public
    assert browser.get("/", headers={"authorization": f"Bearer {access.token}"}).status_code == 200


def test_the_link_works_once_and_its_cookie_from_then_on(public):
    browser, access = public
    link = f"/login?link={access.link}"
    answer = browser.get(link)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert access.token not in answer.text
    assert browser.get("/").status_code == 200
    browser.cookies.clear()
    assert browser.get(link).status_code == 403
    assert browser.get("/login?link=").status_code == 403
    assert browser.get("/").status_code == 401


def test_a_token_does_not_replace_the_other_checks(public):
    browser, access = public
    held = {"authorization": f"Bearer {access.token}"}
    assert browser.get("/", headers={**held, "host": "evil.example"}).status_code == 421
    assert browser.get("/", headers={**held, "origin": "http://evil.example"}).status_code == 403
    assert browser.post("/", json={}, headers=held).status_code == 403


def test_secrets_are_new_for_every_console():
    ones = [access_for("0.0.0.0") for _ in range(3)]
    assert len({secret for one in ones for secret in (one.token, one.csrf, one.link)}) == 9


def test_a_public_console_answers_to_this_machines_names_alone():
    names = own_names("0.0.0.0")
    assert "127.0.0.1" in names and "localhost" in names
    assert "evil.example" not in names
    assert own_names("127.0.0.1") == {"localhost", "127.0.0.1", "::1"}


def test_websockets_are_closed():
    browser = TestClient(Guard(Starlette(), Access(frozenset({"testserver"}))))  # type: ignore[arg-type]
    with pytest.raises(Exception), browser.websocket_connect("/"):  # noqa: B017
        pass
