"""Calls `wait` with the official Python SDK, gives the call up, and calls on. Arguments: URL, token, mode."""

import sys

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


async def main(url: str, token: str, mode: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with create_mcp_http_client(headers=headers) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            tools = await client.list_tools()
            print("tools", len(tools.tools), flush=True)

            async def progress(*_: object) -> None:
                pass

            with anyio.move_on_after(1.5) as scope:
                await client.call_tool("wait", {}, progress_callback=progress)
            print("given up", scope.cancelled_caught, flush=True)
            echoed = await client.call_tool("echo", {"text": "after"})
            print("echoed", echoed.content[0].text, flush=True)
            await anyio.sleep(2)


anyio.run(main, *sys.argv[1:4])
