#!/usr/bin/env python3
#
# server.py - an HTTP server with trace points: each request a span, in a thread of its own; what it logs; a counter
#
#     posixtrace record -- python3 server.py [REQUESTS]
#
# Serves requests that it makes itself, so that there is something to see. docs/python.md.
#
# SPDX-License-Identifier: MIT

import http.client
import http.server
import itertools
import logging
import sys
import threading

import posixtrace

request = posixtrace.Span('server.request', id='u32', path='z')
answer = posixtrace.Event('server.answer', id='u32', status='u16', size='u64/B')
numbers = itertools.count(1)


@posixtrace.traced('server.render')
def render(path):
    return f'You asked for {path}.\n'.encode() * 100


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        number = next(numbers)
        with request(number, self.path):
            posixtrace.counter('server.threads', threading.active_count())
            status, body = (200, render(self.path)) if self.path != '/missing' else (404, b'')
            if status == 404:
                logging.warning('%s is missing', self.path)
            self.send_response(status)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            answer(number, status, size=len(body))

    def log_message(self, *arguments):
        pass


def main():
    logging.basicConfig(handlers=[posixtrace.Handler()])
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = False  # server_close() waits for the requests
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for n in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        connection = http.client.HTTPConnection(*server.server_address)
        connection.request('GET', '/missing' if n % 3 == 2 else f'/page/{n}')
        connection.getresponse().read()
        connection.close()
    server.shutdown()
    server.server_close()


main()
