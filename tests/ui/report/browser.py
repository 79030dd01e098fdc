"""A headless Chromium, led by its DevTools protocol over two pipes: one page, its errors, its pointer and its keys."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# Runs before the page's own scripts: what the page's policy refused.
WATCH = """window.refused = [];
document.addEventListener("securitypolicyviolation", (event) => refused.push(event.violatedDirective));"""

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39}


class Browser:
    def __init__(self, size=(1280, 720)):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read, self.write = os.pipe()
        self.read, write = os.pipe()
        arguments = [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                     "--hide-scrollbars", f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self.folder.name}"]
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{read} 4>&{write}', "sh", *arguments],
                                        pass_fds=(read, write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read)
        os.close(write)
        self.pending, self.events, self.number, self.session = b"", [], 0, None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(domain + ".enable")
        self.send("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=False)
        self.send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read)
        os.close(self.write)
        self.folder.cleanup()

    def message(self):
        while b"\0" not in self.pending:
            part = os.read(self.read, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.pending += part
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, **parameters):
        self.number += 1
        call = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            call["sessionId"] = self.session
        os.write(self.write, json.dumps(call).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") != self.number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def open(self, address):
        for each in ("about:blank", address):  # from one place of a page to another nothing is loaded
            self.events.clear()
            self.send("Page.navigate", url=each)
            while not any(event["method"] == "Page.loadEventFired" for event in self.events):
                self.events.append(self.message())

    def value(self, script):
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def errors(self):
        """What the console shows as an error, and what the page's policy refused."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found = ["refused: " + directive for directive in self.value("window.refused")]
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] == "error":
                found.append(str(event["params"]["args"]))
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def middle(self, selector):
        """Where an element is that can be seen, in the window."""
        return self.value(f"""(() => {{
            const all = [...document.querySelectorAll({json.dumps(selector)})];
            const box = all.map((each) => each.getBoundingClientRect()).find((each) => each.width > 0);
            return box && [box.x + box.width / 2, box.y + box.height / 2]; }})()""")

    def pointer(self, kind, at, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)

    def click(self, selector):
        self.value(f"""[...document.querySelectorAll({json.dumps(selector)})]
            .find((each) => each.getBoundingClientRect().width > 0).scrollIntoViewIfNeeded()""")
        self.drag(self.middle(selector), (0, 0))

    def drag(self, at, by):
        end = (at[0] + by[0], at[1] + by[1])
        self.pointer("mouseMoved", at)
        self.pointer("mousePressed", at, button="left", clickCount=1)
        if by != (0, 0):
            for share in (0.25, 0.5, 1):
                self.pointer("mouseMoved", (at[0] + by[0] * share, at[1] + by[1] * share), button="left", buttons=1)
        self.pointer("mouseReleased", end, button="left", clickCount=1)

    def wheel(self, at, down):
        self.pointer("mouseWheel", at, deltaX=0, deltaY=down)
        time.sleep(0.1)  # the wheel is answered before it has turned

    def key(self, name):
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        code = KEYS.get(name, ord(name[0].upper()))
        self.send("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, text=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def emulate(self, media="", **features):
        """media: "print"; features: prefers_color_scheme="dark"."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", media=media, features=named)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot")["data"]))
