"""The page over HTTP, for this computer alone: Starlette and uvicorn around `answers`.

The server binds to 127.0.0.1. A request must name that as its host, against DNS rebinding, and must
not come from another site's page. Assets come from a dictionary, so paths cannot be traversed. Only
a machine's text is posted; all else is GET.
"""

import socket
from collections.abc import Callable
from contextlib import suppress

from netwright.errors import InputError
from netwright.explorer.answers import LARGEST_MACHINE, TOO_LARGE, Answer, Answers, message
from netwright.explorer.page import SERVED

HOST = "127.0.0.1"
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
METHODS = ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"]
MISSING = (
    "the page needs starlette and uvicorn: pip install 'netwright[explore]' (or write it into a "
    "file, which needs nothing: netwright explore … -o page.html)"
)


def refusal(
    host: str, origin: str | None, port: int, *, is_from_afar: bool = False
) -> Answer | None:
    """Return a 403 answer for a request to another host or from another site, else None."""
    names = (HOST, "localhost")
    allowed = [f"{name}:{port}" for name in names] + ([*names] if port == 80 else [])
    if host not in allowed:
        return message(403, f"this page is served only at {allowed[0]}")
    if is_from_afar or (origin is not None and origin not in [f"http://{e}" for e in allowed]):
        return message(403, "this page does not answer other sites")
    return None


def application(answers: Answers, port: int) -> object:
    """Build the ASGI application."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import ClientDisconnect, Request
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError as error:
        raise InputError(MISSING) from error

    def sent(answer: Answer) -> Response:
        return Response(answer.body, answer.status, HEADERS, media_type=answer.type)

    async def reply(request: Request) -> Response:
        path = request.url.path
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        # A link from another site may open the page, but only the page itself may call the API.
        site = request.headers.get("sec-fetch-site", "none")
        from_afar = path.startswith("/api/") and site not in ("none", "same-origin")
        if refused := refusal(host, origin, port, is_from_afar=from_afar):
            return sent(refused)
        if request.method not in ("GET", "HEAD", "POST"):
            return sent(message(405, "this page takes only GET requests"))
        if request.method == "POST":
            if path != "/api/machine":
                return sent(message(405, "only a machine's text can be posted, to /api/machine"))
            if not request.headers.get("content-type", "").startswith("text/plain"):
                return sent(message(415, "a machine must be posted as text/plain"))
            body = b""
            with suppress(ClientDisconnect):
                async for part in request.stream():
                    body += part
                    if len(body) > LARGEST_MACHINE:
                        return sent(TOO_LARGE)
            try:
                text = body.decode()
            except UnicodeDecodeError:
                return sent(message(400, "this is not UTF-8 text"))
            return sent(await run_in_threadpool(answers.post_machine, text))
        if asset := SERVED.get(path):
            return sent(asset)
        return sent(await run_in_threadpool(answers.answer, path, dict(request.query_params)))

    return Starlette(routes=[Route("/{path:path}", reply, methods=METHODS)])


def listening(port: int) -> socket.socket:
    """Open a listening socket on this port, or on a free one if it is taken."""
    for wanted in (port, 0):
        try:
            return socket.create_server((HOST, wanted), backlog=64)
        except OSError as error:
            if not wanted:
                raise InputError(f"no port can be opened on {HOST}: {error}") from error
    raise AssertionError


def serve(answers: Answers, port: int, opened: Callable[[str], None]) -> bool:
    """Serve until Ctrl-C; call `opened` with the address once the socket is bound.

    Returns False if a thread is busy and cannot be cancelled: Python would wait for it at exit.
    """
    sock = listening(port)
    try:
        bound = sock.getsockname()[1]
        app = application(answers, bound)
        import uvicorn

        config = uvicorn.Config(
            app,  # type: ignore[arg-type]  # an ASGI application
            log_level="critical",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        opened(f"http://{HOST}:{bound}/")
        with suppress(KeyboardInterrupt):  # uvicorn raises it again once it has ended
            server.run(sockets=[sock])
    finally:
        ended = answers.close()
        sock.close()
    return ended
