#
# chromium.py - a browser without a window, driven through a pipe
#
# Chromium's own protocol (--remote-debugging-pipe): it reads JSON from descriptor 3 and writes to 4, each message ended
# by a null.
# Needs nothing but the program. What it keeps, it keeps in a temporary directory; it does not outlive the test.
#
#     with Browser(width, height) as browser:
#         page = browser.open(path)
#         page.value('document.title')
#
# SPDX-License-Identifier: MIT

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'chrome')
# Of one answer.
PATIENCE = 120


class Trouble(Exception):
    pass


def find():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, width=1440, height=900, scale=1, dark=False):
        self.program = find()
        self.size = width, height, scale
        self.dark = dark

    def __enter__(self):
        """Raises Trouble if it cannot be started."""
        if not self.program:
            raise Trouble('there is no chromium')
        self.home = tempfile.mkdtemp(prefix='chromium-')
        read, self.write_end = os.pipe()
        self.read_end, write = os.pipe()

        def descriptors():
            # Neither of the two may be in the other's place.
            a, b = os.dup2(read, 20), os.dup2(write, 21)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [self.program, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
             '--no-first-run', '--disable-extensions',
             '--disable-background-networking', '--disable-component-update', '--hide-scrollbars', '--mute-audio',
             '--remote-debugging-pipe',
             f'--user-data-dir={self.home}/profile', 'about:blank'],
            preexec_fn=descriptors, pass_fds=(3, 4, read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, 'HOME': self.home, 'XDG_CONFIG_HOME': self.home,
                                         'XDG_CACHE_HOME': self.home, 'TMPDIR': self.home})
        os.close(read)
        os.close(write)
        self.buffer, self.number, self.events = b'', 0, []
        try:
            self.call('Browser.getVersion')
        except (Trouble, OSError):
            self.__exit__()
            raise Trouble('chromium does not start')
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        shutil.rmtree(self.home, ignore_errors=True)

    def receive(self, patience):
        deadline = time.monotonic() + patience
        while b'\0' not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Trouble('chromium does not answer')
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise Trouble('chromium has ended')
            self.buffer += more
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if session:
            message['sessionId'] = session
        os.write(self.write_end, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive(PATIENCE)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise Trouble(f'{method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)

    def open(self, path, wait="window.posixtrace || document.getElementById('loading')?.textContent.startsWith('This "
                              "page')"):
        """A page, when it is ready."""
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = Page(self, session, target)
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            page.call(f'{domain}.enable')
        width, height, scale = self.size
        page.call('Emulation.setDeviceMetricsOverride', width=int(width), height=int(height), deviceScaleFactor=scale,
                  mobile=False)
        page.colours('dark' if self.dark else 'light')
        page.call('Page.navigate', url=Path(path).resolve().as_uri())
        page.wait(wait)
        page.frame()
        return page


KEYS = {'Enter': 13, 'Tab': 9, 'Escape': 27, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40,
        'Home': 36, 'End': 35, 'PageUp': 33,
        'PageDown': 34, ' ': 32}


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def value(self, expression):
        """Of JavaScript; a promise is waited for."""
        answer = self.call('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in answer:
            raise Trouble(f'{expression}: {answer["exceptionDetails"].get("exception", {}).get("description")}')
        return answer['result'].get('value')

    def wait(self, expression, patience=60):
        deadline = time.monotonic() + patience
        while not self.value(f'Boolean({expression})'):
            if time.monotonic() > deadline:
                raise Trouble(f'never true: {expression}')
            time.sleep(0.02)

    def frame(self):
        """What was asked for has been drawn."""
        self.value('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))')

    def colours(self, scheme):
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1, modifiers=0):
        self.mouse('mouseMoved', x, y)
        for i in range(1, count + 1):
            self.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=i, modifiers=modifiers)
            self.mouse('mouseReleased', x, y, button='left', clickCount=i, modifiers=modifiers)
        self.frame()

    def drag(self, x0, y0, x1, y1, modifiers=0):
        self.mouse('mouseMoved', x0, y0, modifiers=modifiers)
        self.mouse('mousePressed', x0, y0, button='left', buttons=1, clickCount=1, modifiers=modifiers)
        for i in range(1, 6):
            self.mouse('mouseMoved', x0 + (x1 - x0) * i / 5, y0 + (y1 - y0) * i / 5, button='left', buttons=1,
                       modifiers=modifiers)
        self.mouse('mouseReleased', x1, y1, button='left', clickCount=1, modifiers=modifiers)
        self.frame()

    def wheel(self, x, y, by, modifiers=0):
        self.mouse('mouseWheel', x, y, deltaX=0, deltaY=by, modifiers=modifiers)
        self.frame()

    def key(self, key, modifiers=0):
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = {'Enter': '\r'}.get(key, key if len(key) == 1 else '')
        more = {'text': text} if text else {}
        self.call('Input.dispatchKeyEvent', type='keyDown' if text else 'rawKeyDown', key=key,
                  windowsVirtualKeyCode=code, modifiers=modifiers, **more)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=code, modifiers=modifiers)
        self.frame()

    def type(self, text):
        self.call('Input.insertText', text=text)
        self.frame()

    def screenshot(self, path):
        self.frame()
        Path(path).write_bytes(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def complaints(self):
        """What the console and the network have had to say since the beginning: errors, exceptions, requests beyond
        the file."""
        self.value('1')
        found = []
        for event in self.browser.events:
            method, params = event.get('method'), event.get('params', {})
            if event.get('sessionId') != self.session:
                continue
            if method == 'Runtime.exceptionThrown':
                found.append('exception: ' + params['exceptionDetails'].get('exception', {}).get('description', '?'))
            elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning', 'assert'):
                found.append(f'console: {params["args"]}')
            elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
                found.append(f'log: {params["entry"]["text"]}')
            elif method == 'Network.requestWillBeSent' and params['request']['url'].split(':')[0] not in ('file',
                    'data', 'blob'):
                found.append(f'request: {params["request"]["url"]}')
            elif method == 'Page.javascriptDialogOpening':
                found.append(f'dialog: {params["message"]}')
        return found


if __name__ == '__main__':
    # A picture: chromium.py PAGE.html OUT.png [WIDTH HEIGHT SCALE light|dark [EXPRESSION]]
    arguments = sys.argv[1:] + ['1440', '900', '1', 'light', '1'][len(sys.argv) - 3:]
    with Browser(*map(float, arguments[2:5]), dark=arguments[5] == 'dark') as made:
        shown = made.open(arguments[0])
        shown.value(arguments[6])
        time.sleep(0.3)
        shown.screenshot(arguments[1])
        print('\n'.join(shown.complaints()))
