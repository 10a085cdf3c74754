"""A Python client as the story drives it: requests and answers are lines of JSON. Arguments: library, mode, URL."""

import asyncio
import json
import logging
import sys
import urllib.request
from contextlib import AsyncExitStack
from urllib.parse import parse_qs, urlsplit

library, mode, url = sys.argv[1:4]
logging.disable(logging.CRITICAL)


def send(message: dict) -> None:
    print(json.dumps(message), flush=True)


class Browser:
    """The person's: the other side opens the link, and says where that led."""

    async def open(self, link: str) -> None:
        self.back = asyncio.get_running_loop().create_future()
        send({"authorize": link})

    def lead_back(self, message: dict) -> None:
        if "error" in message:
            self.back.set_exception(RuntimeError(message["error"]))
        else:
            self.back.set_result(message["url"])


browser = Browser()


def make_sdk_client():
    import httpx2
    from mcp import Client
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

    class Store:
        tokens = client_info = None

        async def get_tokens(self):
            return self.tokens

        async def set_tokens(self, tokens):
            self.tokens = tokens

        async def get_client_info(self):
            return self.client_info

        async def set_client_info(self, client_info):
            self.client_info = client_info

    async def called_back():
        query = parse_qs(urlsplit(await browser.back).query)
        one = {name: values[0] for name, values in query.items() if name in ("code", "state", "iss")}
        return AuthorizationCodeResult(**one)

    metadata = OAuthClientMetadata(
        client_name="Python SDK",
        redirect_uris=["http://127.0.0.1:8976/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    auth = OAuthClientProvider(url, metadata, Store(), browser.open, called_back)
    http = httpx2.AsyncClient(auth=auth, timeout=httpx2.Timeout(30, read=300))
    return Client(streamable_http_client(url, http_client=http), mode=mode)


def make_fastmcp_client():
    import warnings

    from fastmcp import Client
    from fastmcp.client.auth import OAuth

    warnings.simplefilter("ignore")

    class Signed(OAuth):
        async def redirect_handler(self, authorization_url: str) -> None:
            await browser.open(authorization_url)

        async def callback_handler(self):
            waiting = asyncio.ensure_future(super().callback_handler())
            try:
                back = await browser.back
                await asyncio.to_thread(lambda: urllib.request.urlopen(back, timeout=20).read())
                return await waiting
            finally:
                waiting.cancel()

    return Client(url, auth=Signed(callback_host="127.0.0.1"), mode=mode)


class Connection:
    """An open client: entered and left in one task."""

    def __init__(self) -> None:
        self.opened = asyncio.get_running_loop().create_future()
        self.leaving = asyncio.Event()
        self.task = asyncio.create_task(self.run())

    async def run(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = make_fastmcp_client() if library == "fastmcp" else make_sdk_client()
                self.opened.set_result(await stack.enter_async_context(client))
                await self.leaving.wait()
        except BaseException as error:
            if not self.opened.done():
                self.opened.set_exception(RuntimeError(repr(error)))

    async def close(self) -> None:
        self.leaving.set()
        await asyncio.wait([self.task], timeout=10)


connection: Connection | None = None


async def call(client, request: dict) -> dict:
    async def progress(*_: object, **__: object) -> None:
        send({"id": request["id"], "progress": True})

    if library == "fastmcp":
        result = await client.call_tool(
            request["name"], request["input"], progress_handler=progress, raise_on_error=False
        )
        is_error = result.is_error
    else:
        result = await client.call_tool(request["name"], request["input"], progress_callback=progress)
        is_error = result.is_error
    blocks = [block.model_dump(mode="json") for block in result.content]
    return {"isError": bool(is_error), "content": blocks}


async def answer(request: dict) -> object:
    global connection
    if request["do"] == "connect":
        connection = Connection()
        await connection.opened
        return None
    if connection is None:
        raise RuntimeError("not connected")
    if request["do"] == "close":
        await connection.close()
        return None
    client = await connection.opened
    if request["do"] == "tools":
        listed = await client.list_tools()
        return [tool.name for tool in getattr(listed, "tools", listed)]
    return await call(client, request)


async def handle(request: dict) -> None:
    try:
        send({"id": request["id"], "result": await answer(request)})
    except BaseException as error:
        send({"id": request["id"], "error": repr(error)[:2_000]})


async def main() -> None:
    tasks: dict[int, asyncio.Task] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        if request["do"] == "cancel":
            tasks[request["id"]].cancel()
        elif request["do"] == "callback":
            browser.lead_back(request)
        else:
            tasks[request["id"]] = asyncio.create_task(handle(request))


asyncio.run(main())
