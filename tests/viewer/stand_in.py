"""A page made by the tool with data of our own: for answers that a server gives late, wrongly or not at all, and for runs that are still training.

The page is what `attend view --export` writes; what it holds of data is taken out, or replaced.
"""

import base64
import html
import http.server
import json
import pathlib
import re
import threading

import pages
from browser import export

DATA = re.compile(r'<script\b[^>]*\bdata-key="([^"]*)"[^>]*>.*?</script>\s*', re.DOTALL)


def as_bytes(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def bare_page(folder):
    """The page without data, which therefore asks a server; its policy lets it ask its own."""
    folder = pathlib.Path(folder)
    recording, page = folder / "bare.attn", folder / "bare.html"
    if not page.exists():
        pages.none(recording)
        export(recording, page)
    text = page.read_text(encoding="utf-8")
    if not DATA.search(text) or "connect-src 'none'" not in text:
        raise AssertionError("an exported page is expected to hold its record and to forbid requests")
    return DATA.sub("", text).replace("connect-src 'none'", "connect-src 'self'")


def exported_with(folder, name, keys):
    """Address of an exported page that holds `keys`, {key: bytes or JSON}."""
    encoded = {html.escape(key): base64.b64encode(as_bytes(value)).decode() for key, value in keys.items()}
    data = "".join(f'<script type="text/plain" data-key="{key}">{text}</script>\n' for key, text in encoded.items())
    text = bare_page(folder).replace("connect-src 'self'", "connect-src 'none'")
    at = text.rindex("</body>")
    page = pathlib.Path(folder) / f"{name}.html"
    page.write_text(text[:at] + data + text[at:], encoding="utf-8")
    return page.as_uri()


def index(examples=(), run=None, has_metrics=False, served=True):
    """A record as the server gives it."""
    return {"format": 1, "title": "a run", "served": served, "run": run, "has_metrics": has_metrics, "examples": list(examples)}


def alignment_entry(id, source, target, output=""):
    """An example with one alignment of one head."""
    rows, columns = len(target), len(source)
    item = {"module": "decoder.attention", "kind": "alignment", "layer": 0, "heads": 1, "axes": ["head", "target", "source"], "shape": [1, rows, columns],
            "panels": 1, "rows": rows, "columns": columns, "row_axis": "target", "column_axis": "source", "thumbnail": [rows, columns],
            "kept": {"form": "all"}}
    return {"id": id, "source": source, "target": target, "output": output, "items": [item]}


class StandIn:
    """A server on 127.0.0.1 as long as the block lasts. `answer(key, body)` gives bytes, JSON, or (status, JSON); KeyError: there is no such key."""

    def __init__(self, folder, answer):
        page, asked = bare_page(folder).encode(), []

        class Handler(http.server.BaseHTTPRequestHandler):
            # HTTP/1.0: a connection for each answer, so that nothing is answered any more once the server is closed
            def log_message(self, *_):
                pass

            def send(self, status, kind, body):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def reply(self, body):
                key = self.path.removeprefix("/api/")
                asked.append((key, body, self.headers.get("Content-Type")))
                try:
                    value = answer(key, body)
                except KeyError:
                    value = (404, {"error": f"there is no {key}"})
                status, value = value if isinstance(value, tuple) else (200, value)
                self.send(status, "application/octet-stream" if isinstance(value, bytes) else "application/json", as_bytes(value))

            def do_GET(self):
                if self.path == "/":
                    self.send(200, "text/html; charset=utf-8", page)
                else:
                    self.reply(None)

            def do_POST(self):
                self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        self.asked = asked
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def keys(self):
        return [key for key, _, _ in self.asked]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
