"""A person's tour of the shop in headless Chromium.

browser.py SHOP CHROMIUM LIBRARIES FOLDER: SHOP is the program, LIBRARIES the search path of
Chromium's libraries. Screenshots go to FOLDER. The shop runs three times: with its own provider, with
oidc-provider-mock and with Canaille, whose login forms the tour fills in, and an API that asks that
provider about each token. All servers listen on loopback addresses and end with the script.
"""

import base64
import datetime
import http.server
import json
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

shop, chromium, libraries, folder = sys.argv[1:]
folder = pathlib.Path(folder)
deadline = 60


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"error: Nothing listens on port {port}.")


class Browser:
    """Chromium with one page, by the DevTools protocol over a pipe."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="shop-web.")
        to_browser, self.input = os.pipe()
        self.output, from_browser = os.pipe()

        def connect():
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        os.set_inheritable(to_browser, True)
        self.process = subprocess.Popen(
            [chromium, "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--lang=en-GB", "--no-proxy-server",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            env={**os.environ, "LD_LIBRARY_PATH": libraries}, preexec_fn=connect, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.count, self.pending, self.session, self.loaded = 0, b"", None, 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()

    def read(self):
        while b"\0" not in self.pending:
            more = os.read(self.output, 1 << 16)
            if not more:
                sys.exit("error: Chromium ended.")
            self.pending += more
        text, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Page.loadEventFired":
            self.loaded += 1
        return message

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        while (answer := self.read()).get("id") != self.count:
            pass
        if "error" in answer:
            sys.exit(f"error: {method}: {answer['error']}")
        return answer["result"]

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, userGesture=True, awaitPromise=True)
        return result["result"].get("value")

    def loading(self, action):
        """Runs an action that leads to another page, and waits for that."""
        before = self.loaded
        action()
        while self.loaded == before:
            self.read()

    def open(self, url):
        self.loading(lambda: self.call("Page.navigate", url=url))

    def click(self, selector):
        self.loading(lambda: self.run(f"document.querySelector({json.dumps(selector)}).click()"))

    def fill(self, selector, value):
        """Waits for a field, and sets its value."""
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            if self.run(f"(field => field && ((field.value = {json.dumps(value)}), true))(document.querySelector({json.dumps(selector)}))"):
                return
            time.sleep(0.05)
        sys.exit(f"error: The page {self.run('location.href')} has no field {selector}.")

    def text(self):
        return self.run("document.body.innerText")

    def shows(self, *texts):
        """Waits for texts, because scripts write some of them."""
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            shown = self.text() or ""
            if all(text in shown for text in texts):
                return
            time.sleep(0.05)
        sys.exit(f"error: The page {self.run('location.href')} doesn't show {texts}, but: {shown}")

    def picture(self, name):
        for width, height in ((1280, 800), (390, 844)):
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
            overflow = self.run("document.documentElement.scrollWidth - innerWidth")
            if overflow > 0:
                sys.exit(f"error: {name} is {overflow} pixels too wide at {width}.")
            data = self.call("Page.captureScreenshot", format="png")["data"]
            (folder / f"{name}-{width}.png").write_bytes(base64.b64decode(data))


def tour(url, name, user, log_in, log_out):
    """Signs in, looks at all pages, and signs out."""
    browser = Browser()
    try:
        browser.open(url)
        browser.shows("Sign in to see your orders")
        browser.picture(f"{name}-home")
        browser.click("a.button")
        log_in(browser)
        browser.shows("Your orders", "Analytical engine", "checked by this page")
        browser.picture(f"{name}-orders")
        cookies = browser.call("Network.getCookies", urls=[url])["cookies"]
        if [(c["name"], c["httpOnly"], c["sameSite"]) for c in cookies if "sign" not in c["name"]] != [("session", True, "Lax")]:
            sys.exit(f"error: unexpected cookies {[c['name'] for c in cookies]}")
        browser.open(url)
        browser.shows(f"Welcome, {user}")
        browser.picture(f"{name}-welcome")
        browser.open(url + "/transfer")
        browser.shows("You confirmed that it's you")
        browser.picture(f"{name}-transfer")
        browser.click("main button")
        browser.shows("on their way")
        browser.open(url + "/account")
        browser.shows("Your account", "20", "This browser, since 20")
        if browser.run("document.getElementById('ends').textContent.length") < 5:
            browser.shows(":")
        browser.picture(f"{name}-account")

        # Another site's page, which looks the same to the server but for what the browser says.
        page = f"<form method=post action={url}/auth/sign-out><button>win</button></form>"
        evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), page_handler(page))
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        browser.open(f"http://127.0.0.1:{evil.server_port}/")
        browser.click("button")
        browser.shows("Another site's page sent this request")
        evil.shutdown()
        browser.open(url)
        browser.shows(f"Welcome, {user}")

        browser.open(url + "/account")
        browser.click("main button")
        log_out(browser)
        browser.shows("Sign in to see your orders")
        browser.open(url + "/auth/id/callback?code=x&state=y")
        browser.shows("Please sign in again")
        browser.picture(f"{name}-refused")
    finally:
        browser.close()


def page_handler(page):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = page.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    return Handler


def orders_handler(userinfo):
    """An API that asks the provider about each token."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            request = urllib.request.Request(userinfo, headers={"Authorization": self.headers["Authorization"] or ""})
            try:
                status = urllib.request.urlopen(request).status
            except urllib.error.HTTPError as error:
                status = error.code
            body = b'[{"id":1043,"item":"Analytical engine, brass"}]' if status == 200 else b""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    return Handler


def with_shop(environment, body):
    port = free_port()
    url = f"http://localhost:{port}"
    with open(folder / "shop.log", "ab") as log:
        process = subprocess.Popen([shop], env={**os.environ, **environment, "PORT": str(port)}, stdout=log, stderr=log)
    try:
        wait_for(port)
        body(url)
    finally:
        process.terminate()
        process.wait()


def of_its_own():
    with_shop({}, lambda url: tour(url, "own", "ada", lambda browser: None, lambda browser: None))


def of_oidc_provider_mock():
    from oidc_provider_mock import User, app as provider
    import logging
    from werkzeug.serving import make_server

    logging.disable(logging.ERROR)
    claims = [User(sub="ada", claims={"name": "Ada Lovelace", "email": "ada@example.com"})]
    server = make_server("127.0.0.1", 0, provider(user_claims=claims), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    issuer = f"http://127.0.0.1:{server.server_port}"

    def log_in(browser):
        browser.shows("Authorize Client")
        browser.click("button[name=sub][value=ada]")

    def log_out(browser):
        if "Sign in to see your orders" not in browser.text():
            browser.click("button")

    def body(url):
        tour(url, "provider", "Ada Lovelace", log_in, log_out)

    with_shop_of(issuer, issuer + "/userinfo", "s3cret", body)


def of_canaille():
    """Canaille's pages for the name and the password, and its logout."""
    from canaille import create_app
    from canaille.app import models
    from canaille.backends import Backend
    from werkzeug.serving import make_server

    port, password = free_port(), secrets.token_hex()
    issuer = f"http://127.0.0.1:{port}"
    app = create_app({
        "SECRET_KEY": secrets.token_hex(), "SERVER_NAME": f"127.0.0.1:{port}", "PREFERRED_URL_SCHEME": "http",
        "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False, "SMTP": None, "LOGGING": None}, "CANAILLE_OIDC": {},
    })
    server = make_server("127.0.0.1", port, app, threaded=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def log_in(browser):
        browser.fill("[name=login]", "ada")
        browser.click("button.primary")
        browser.fill("[name=password]", password)
        browser.click("button.primary")

    def body(url):
        with app.app_context():
            Backend.instance.save(models.User(
                user_name="ada", formatted_name="Ada Lovelace", family_name="Lovelace", emails=["ada@example.com"],
                password=password,
            ))
            client = models.Client(
                client_id="shop", client_name="shop", client_secret=password, client_uri=url,
                client_id_issued_at=datetime.datetime.now(datetime.timezone.utc),
                redirect_uris=[f"{url}/auth/id/callback"], post_logout_redirect_uris=[f"{url}/auth/id/signed-out"],
                token_endpoint_auth_method="client_secret_basic", response_types=["code"],
                grant_types=["authorization_code", "refresh_token"], scope=["openid", "profile"],
                id_token_signed_response_alg="RS256",
            )
            Backend.instance.save(client)
            client.audience = [client]
            Backend.instance.save(client)
        tour(url, "canaille", "Ada Lovelace", log_in, lambda browser: None)

    with_shop_of(issuer, issuer + "/oauth/userinfo", password, body)


def with_shop_of(issuer, userinfo, client_secret, body):
    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), orders_handler(userinfo))
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with tempfile.NamedTemporaryFile("w") as secret:
        secret.write(client_secret)
        secret.flush()
        with_shop({
            "ISSUER": issuer, "CLIENT_ID": "shop", "CLIENT_SECRET_FILE": secret.name, "SCOPE": "openid profile",
            "ORDERS_URL": f"http://127.0.0.1:{api.server_port}/orders",
        }, body)


of_its_own()
of_oidc_provider_mock()
of_canaille()
print(f"The shop works in Chromium with three providers; {len(list(folder.glob('*.png')))} pictures are in {folder}.")
