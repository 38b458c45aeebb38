"""The page over HTTP, to this machine alone: Starlette and uvicorn around `answers`.

Bound to 127.0.0.1. A request must name that as its host, so that no other site's name leads here
(DNS rebinding), and must not come from another site's page. Assets come from a dictionary, so there
is no path to traverse. GET only, but for a machine's text.
"""

import socket
from collections.abc import Callable
from contextlib import suppress

from netwright.errors import InputError
from netwright.explorer.answers import LARGEST_MACHINE, TOO_LARGE, Answer, Answers, message
from netwright.explorer.page import ASSETS, asset

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
    """Why a request is not answered: it was meant for another host, or comes from another site."""
    names = (HOST, "localhost")
    allowed = [f"{name}:{port}" for name in names] + ([*names] if port == 80 else [])
    if host not in allowed:
        return message(403, f"this page is at {allowed[0]}, and at no other host")
    if is_from_afar or (origin is not None and origin not in [f"http://{e}" for e in allowed]):
        return message(403, "this page answers no other site")
    return None


def application(answers: Answers, port: int) -> object:
    """The page as an ASGI application."""
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
        # A link from elsewhere may open the page; only the page itself asks for answers.
        site = request.headers.get("sec-fetch-site", "none")
        from_afar = path.startswith("/api/") and site not in ("none", "same-origin")
        if refused := refusal(host, origin, port, is_from_afar=from_afar):
            return sent(refused)
        if request.method not in ("GET", "HEAD", "POST"):
            return sent(message(405, "the page is asked with GET"))
        if request.method == "POST":
            if path != "/api/machine":
                return sent(message(405, "only a machine's text is posted, to /api/machine"))
            if not request.headers.get("content-type", "").startswith("text/plain"):
                return sent(message(415, "a machine is posted as text/plain"))
            body = b""
            with suppress(ClientDisconnect):
                async for part in request.stream():
                    body += part
                    if len(body) > LARGEST_MACHINE:
                        return sent(TOO_LARGE)
            try:
                text = body.decode()
            except UnicodeDecodeError:
                return sent(message(400, "this is no text in UTF-8"))
            return sent(await run_in_threadpool(answers.post_machine, text))
        if path in ASSETS:
            return sent(asset(path))
        query = dict(request.query_params)
        return sent(await run_in_threadpool(answers.answer, path, query))

    return Starlette(routes=[Route("/{path:path}", reply, methods=METHODS)])


def listening(port: int) -> socket.socket:
    """A socket on this port; on a free one if it is taken."""
    for wanted in (port, 0):
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, wanted))
            found.listen(64)
            return found
        except OSError as error:
            found.close()
            if not wanted:
                raise InputError(f"no port can be opened on {HOST}: {error}") from error
    raise AssertionError


def serve(answers: Answers, port: int, opened: Callable[[str], None]) -> bool:
    """Answer until Ctrl-C; `opened` is called with the address once there is one.

    False if something is still under way in a thread that cannot be stopped: it does not matter any
    more, and Python would wait for it.
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
