import Foundation
import Hummingbird
import WebSignIn

/// A page in HTML.
struct Page: ResponseGenerator, Sendable {
    let title: String
    let user: UserSession?
    let content: String

    static func home(_ user: UserSession?, signIn: SignIn) -> Page {
        guard let user else {
            return Page(
                title: "The shop of engines",
                user: nil,
                content: """
                    <p class="lead">Sign in to see your orders. The shop never sees your password.</p>
                    <p><a class="button" href="\(escaped(signIn.signInPath(returningTo: "/orders")))">Sign in</a></p>
                    """
            )
        }
        return Page(
            title: "Welcome, \(user.name)",
            user: user,
            content: """
                <ul class="cards">
                <li><a href="/orders"><b>Orders</b><span>The shop asks another API as you.</span></a></li>
                <li><a href="/transfer"><b>Transfer</b><span>Needs a sign-in of the last minute.</span></a></li>
                <li><a href="/account"><b>Account</b><span>What the shop knows about your session.</span></a></li>
                </ul>
                """
        )
    }

    static func orders(_ orders: [Order], of user: UserSession) -> Page {
        let rows = orders.map { "<tr><td>\($0.id)</td><td>\(escaped($0.item))</td></tr>" }.joined(separator: "\n")
        return Page(
            title: "Your orders",
            user: user,
            content: """
                <table><tr><th>No.</th><th>Item</th></tr>
                \(rows)
                </table>
                <p id="checked"></p>
                <script src="/shop.js"></script>
                """
        )
    }

    static func account(_ user: UserSession, sessions: [UserSession], signIn: SignIn) -> Page {
        let facts = [
            ("Provider", user.provider), ("Issuer", user.issuer), ("Subject", user.subject),
            ("Account", user.values["account"]?.string ?? ""), ("Level", user.acr ?? "not stated"),
        ]
        let rows = facts.map { "<tr><th>\($0.0)</th><td>\(escaped($0.1))</td></tr>" }.joined(separator: "\n")
        let devices = sessions.map { session in
            let isThis = session.id == user.id
            let name = isThis ? "This browser" : escaped(session.userAgent ?? "Another browser")
            let end = """
                <form method="post" action="/sessions/\(session.id)/end"><button class="quiet">End</button></form>
                """
            let time = session.created.formatted(.iso8601)
            return "<tr><td>\(name), since \(time)</td><td>\(isThis ? "" : end)</td></tr>"
        }
        return Page(
            title: "Your account",
            user: user,
            content: """
                <table>\(rows)<tr><th>Ends</th><td id="ends"></td></tr></table>
                <h2>Where you are signed in</h2>
                <table>\(devices.joined(separator: "\n"))</table>
                <p><form method="post" action="\(signIn.signOutPath)"><button class="button">Sign out</button></form>
                <form method="post" action="/sign-out-everywhere"><button class="quiet">Sign out everywhere</button></form></p>
                <script src="/shop.js"></script>
                """
        )
    }

    /// The only script, a file because the pages don't allow others.
    static let script = """
        const show = (id, path, text) => {
            const place = document.getElementById(id);
            if (place) fetch(path).then(answer => answer.json()).then(found => place.textContent = text(found));
        };
        show("ends", "/auth/user", user => user ? new Date(user.expires * 1000).toLocaleString() : "signed out");
        show("checked", "/api/orders", orders => orders.length + " checked by this page");

        """

    static func transfer(_ user: UserSession) -> Page {
        Page(
            title: "Transfer",
            user: user,
            content: """
                <p>You confirmed that it's you. This form needs no hidden token: browsers say which site sends it.</p>
                <form method="post" action="/transfer"><button class="button">Transfer 12 guineas</button></form>
                """
        )
    }

    static func transferred(_ user: UserSession) -> Page {
        Page(title: "Done", user: user, content: "<p>12 guineas are on their way.</p>")
    }

    /// The content of a page of the sign-in, in the style of the shop.
    static func content(of page: SignInPage) -> String {
        let actions = page.actions.map { action in
            let (label, path) = (escaped(action.label), escaped(action.path))
            return action.isForm
                ? "<form method=\"post\" action=\"\(path)\"><button class=\"button\">\(label)</button></form>"
                : "<p><a href=\"\(path)\">\(label)</a></p>"
        }
        return "<p class=\"lead\">\(escaped(page.message))</p>\n" + actions.joined(separator: "\n")
    }

    private static func escaped(_ text: String) -> String { SignInPage.escaped(text) }

    var html: String {
        let account = user.map { "<a href=\"/account\">\(Self.escaped($0.name))</a>" } ?? ""
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(Self.escaped(title))</title>
            <style>
            :root { color-scheme: light dark; --ink: light-dark(#1d2733, #e8edf2); --paper: light-dark(#fbfaf7, #14191f);
                --accent: light-dark(#0b5d51, #6fd0bf); --line: light-dark(#d9d6cd, #323b45) }
            * { box-sizing: border-box }
            body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.55 system-ui, sans-serif }
            header, main { max-width: 46rem; margin: auto; padding: 1.25rem clamp(1rem, 4vw, 2rem) }
            header { display: flex; justify-content: space-between; border-bottom: 1px solid var(--line) }
            header a { color: inherit; text-decoration: none; font-weight: 600 }
            h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.15; margin: 1.5rem 0 1rem }
            a { color: var(--accent) }
            .lead { font-size: 1.15rem }
            .button, .quiet { display: inline-block; padding: .6rem 1.4rem; border: 1px solid var(--accent); border-radius: .5rem;
                font: inherit; font-weight: 600; text-decoration: none; cursor: pointer }
            .button { background: var(--accent); color: var(--paper) }
            .quiet { background: none; color: var(--accent) }
            form { display: inline-block; margin: .25rem .5rem .25rem 0 }
            .cards { list-style: none; padding: 0; display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)) }
            .cards a { display: block; height: 100%; padding: 1rem 1.2rem; border: 1px solid var(--line); border-radius: .6rem;
                color: inherit; text-decoration: none }
            .cards a:hover, .cards a:focus { border-color: var(--accent) }
            .cards span { display: block }
            table { border-collapse: collapse; width: 100%; overflow-wrap: anywhere }
            th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line) }
            </style>
            <header><a href="/">Engines &amp; Co.</a>\(account)</header>
            <main>
            <h1>\(Self.escaped(title))</h1>
            \(content)
            </main>
            </html>

            """
    }

    func response(from request: Request, context: some RequestContext) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "text/html; charset=utf-8",
                .contentSecurityPolicy:
                    "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
                    + "base-uri 'none'; frame-ancestors 'none'",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html))
        )
    }
}
