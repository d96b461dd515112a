"""A file server that misbehaves, for tests/cli/pull_test.cpp. Prints its port, then serves until standard input ends.

Paths: /good/NAME, /cut/NAME (each answer ends after CUT bytes), /changing/NAME (another body and ETag after each
answer, cut once), /norange/NAME (cut once, ranges ignored), /wrongrange/NAME (cut once, then a Content-Range that lies),
/weak/NAME (cut once, no validator that allows going on), /moved/NAME (to /good/NAME), /loop/NAME (to itself),
/busy/NAME (503 twice), /sum/NAME (names its SHA-256 in X-Linked-ETag), /lies/NAME (names another), /page/NAME (HTML with
status 200), /denied/NAME (401 without the token "secret"), /hub/o/r/resolve/REV/NAME (as /good). All else is 404. Every
request is appended to the log file as a line: path, Range, If-Range, Authorization.
"""

import hashlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SIZE, CUT = 300_000, 100_000
LOG = sys.argv[1]
counts, lock = {}, threading.Lock()


def body(version=0):
    out, state = bytearray(b"GGUF"), 1 + version
    while len(out) < SIZE:
        state = (state * 1103515245 + 12345) % 2**31
        out.append(state >> 16 & 255)
    return bytes(out)


BODY = body()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        kind = self.path.split("/")[1]
        with lock:
            counts[self.path] = n = counts.get(self.path, 0) + 1
            with open(LOG, "a") as log:
                print(self.path, self.headers.get("Range"), self.headers.get("If-Range"), self.headers.get("Authorization"), file=log)
        self.close_connection = True
        if kind == "moved":
            return self.head(302, Location=self.path.replace("/moved/", "/good/"))
        if kind == "loop":
            return self.head(302, Location=self.path)
        if kind == "busy" and n <= 2:
            return self.head(503)
        if kind == "denied" and self.headers.get("Authorization") != "Bearer secret":
            return self.head(401)
        if kind not in ("good", "cut", "changing", "norange", "wrongrange", "weak", "busy", "sum", "lies", "page", "denied", "hub"):
            return self.head(404, Page=b"<html>no such page</html>")
        data = body(n) if kind == "changing" else b"<html>please sign in</html>" if kind == "page" else BODY
        tag = '"%s"' % hashlib.md5(data).hexdigest()
        headers = {"ETag": "W/" + tag if kind == "weak" else tag}
        if kind in ("sum", "lies"):
            headers["X-Linked-ETag"] = '"%s"' % (hashlib.sha256(data).hexdigest() if kind == "sum" else "0" * 64)
        start, status = 0, 200
        wanted = self.headers.get("Range")
        if wanted and kind not in ("norange",) and self.headers.get("If-Range") == tag:
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(data):
                return self.head(416)
            shown = start + 1 if kind == "wrongrange" else start
            headers["Content-Range"] = f"bytes {shown}-{len(data) - 1}/{len(data)}"
        data = data[start:]
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if kind == "cut" or (n == 1 and kind in ("changing", "norange", "wrongrange", "weak")):
            data = data[:CUT]
        self.wfile.write(data)

    def head(self, status, Page=b"", **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(Page)))
        self.send_header("Connection", "close")  # as it does: or the client may ask again on a dying connection
        self.end_headers()
        self.wfile.write(Page)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
