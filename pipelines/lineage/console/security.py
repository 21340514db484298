"""Who may ask the console, and what its answers may do in a browser.

A console on loopback is reached by every web page that the user's browser shows, so being local is no excuse:
the Host header must be one of ours (DNS rebinding), a foreign Origin or Sec-Fetch-Site is refused, and every
POST carries the token that only our own pages know (CSRF). Bound elsewhere, every request needs the access
token too. It comes by a link that works once, and stands in no log.
"""

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from threading import Lock

import psutil
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "dogflow_access"
CSRF_HEADER = "x-csrf-token"
LOGIN_PATH = "/login"
MAX_BODY_BYTES = 65_536
METHODS = ("GET", "HEAD", "POST")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# Same-origin navigation from a page that sets the cookie: a redirect would lose a SameSite=Strict cookie
# when the link was clicked in another site.
_WELCOME = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>dogflow</title>'
    '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">To the console</a></p></html>'
)


def is_loopback(host: str) -> bool:
    """Whether an address to bind is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(host: str) -> frozenset[str]:
    """Names under which a server bound to `host` may be asked: loopback's, and this machine's if need be."""
    names = {"localhost", "127.0.0.1", "::1", host}
    if not is_loopback(host):
        addresses = (entry.address for card in psutil.net_if_addrs().values() for entry in card)
        names |= {address.partition("%")[0] for address in addresses}
        names |= {socket.gethostname(), socket.getfqdn()}
    return frozenset(name.lower() for name in names)


@dataclass
class Access:
    """What the console asks of a request. `token` is "" where none is needed; `link` works once."""

    hosts: frozenset[str]
    token: str = ""
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    link: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _lock: Lock = field(default_factory=Lock, repr=False)

    def redeem(self, link: str) -> bool:
        """Whether this is the one-time link's secret; it is worth nothing afterwards."""
        with self._lock:
            if not self.link or not _equal(link, self.link):
                return False
            self.link = ""
            return True


def access_for(host: str) -> Access:
    """The access rules of a server bound to `host`: a token unless it is loopback."""
    return Access(own_names(host), "" if is_loopback(host) else secrets.token_urlsafe(32))


class Guard:
    """ASGI middleware that refuses what `Access` does not allow and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; websockets are closed."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answered.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope, headers)
        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a request that goes no further, or None."""
        method, path = scope["method"], scope["path"]
        if method not in METHODS:
            return PlainTextResponse("This method is not allowed here.\n", 405)
        if _host_name(headers.get("host", "")) not in self._access.hosts:
            return PlainTextResponse(
                "This console does not answer under this host name. Use the address that "
                "`dogflow lineage serve` printed.\n",
                421,
            )
        if not _is_own_origin(headers) or not _is_own_fetch(headers, method):
            return PlainTextResponse("Requests from other sites are refused.\n", 403)
        if self._access.token:
            if path == LOGIN_PATH and method == "GET":
                return self._login(scope["query_string"].decode("latin-1"))
            if not self._has_token(headers):
                return PlainTextResponse(
                    "This console needs a token: open the link that `dogflow lineage serve` printed, or send "
                    "the token as `Authorization: Bearer TOKEN`.\n",
                    401,
                )
        if method == "POST":
            return self._refused_post(headers)
        return None

    def _login(self, query: str) -> Response:
        if not self._access.redeem(query.removeprefix("link=")):
            return PlainTextResponse("This link was used before or is wrong: restart the console.\n", 403)
        answer = HTMLResponse(_WELCOME)
        answer.set_cookie(COOKIE, self._access.token, httponly=True, samesite="strict", path="/")
        return answer

    def _has_token(self, headers: Headers) -> bool:
        given = headers.get("authorization", "")
        if given.lower().startswith("bearer "):
            return _equal(given[len("bearer ") :].strip(), self._access.token)
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and _equal(cookies[COOKIE].value, self._access.token)

    def _refused_post(self, headers: Headers) -> Response | None:
        if not _equal(headers.get(CSRF_HEADER, ""), self._access.csrf):
            return PlainTextResponse("The page is from an earlier console: reload it.\n", 403)
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return PlainTextResponse("Send JSON.\n", 415)
        length = headers.get("content-length", "")
        if not length.isascii() or not length.isdecimal():
            return PlainTextResponse("Send the length of the content.\n", 411)
        if int(length) > MAX_BODY_BYTES:
            return PlainTextResponse(f"Send at most {MAX_BODY_BYTES} bytes.\n", 413)
        return None


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def _host_name(host: str) -> str:
    """`[::1]:80` -> `::1`, `LocalHost:80` -> `localhost`. The port may be a tunnel's and is not compared."""
    host = host.strip().lower()
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        return name if not rest or rest.startswith(":") else ""
    return host.partition(":")[0]


def _is_own_origin(headers: Headers) -> bool:
    """A browser names the origin of what asks; without one it is no cross-site request that could change."""
    origin = headers.get("origin")
    if origin is None:
        return True
    return origin in {f"{scheme}://{headers.get('host', '')}" for scheme in ("http", "https")}


def _is_own_fetch(headers: Headers, method: str) -> bool:
    site = headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none"):
        return True
    # A link in another site may lead here, as long as it only opens a page.
    mode, destination = headers.get("sec-fetch-mode", ""), headers.get("sec-fetch-dest", "")
    return method == "GET" and mode == "navigate" and destination == "document"
