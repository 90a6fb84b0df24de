"""Forwards loopback ports of a network namespace: forward.py PORT=HOST:PORT ...

Hosts of the fleet reach etcd and the authorization server by plain HTTP, which is only allowed on
loopback; a partition cuts the forwarded connections like any other.
"""
import asyncio
import sys


async def pipe(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except (OSError, RuntimeError):
        writer.close()


async def main():
    for argument in sys.argv[1:]:
        port, target = argument.split("=")
        host, target_port = target.split(":")

        async def accept(reader, writer, host=host, target_port=target_port):
            try:
                their_reader, their_writer = await asyncio.open_connection(host, int(target_port))
            except OSError:
                writer.close()
                return
            await asyncio.gather(pipe(reader, their_writer), pipe(their_reader, writer))
            for each in (writer, their_writer):
                each.close()

        await asyncio.start_server(accept, "127.0.0.1", int(port))
    await asyncio.Event().wait()


asyncio.run(main())
