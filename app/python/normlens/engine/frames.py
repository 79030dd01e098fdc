"""Frames of the Language Server Protocol: "Content-Length: N", an empty line, and N bytes of JSON."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Optional

MOST_BYTES = 1 << 30  # of one frame, as in core/protocol/framing.h


def write_frame(stream: BinaryIO, message: Any) -> None:
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def read_frame(stream: BinaryIO) -> Optional[Any]:
    """The next message; None at the end of the stream, also where it ends within a frame. ValueError: no frame."""
    length = None
    while True:
        line = stream.readline(1024)
        if len(line) < 1024 and not line.endswith(b"\n"):
            return None
        if line in (b"\r\n", b"\n"):
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = int(value)
    if length is None or not 0 <= length <= MOST_BYTES:
        raise ValueError("a frame without a length, or with one above a gigabyte")
    body = stream.read(length)
    return json.loads(body) if len(body) == length else None
