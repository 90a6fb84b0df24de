import Foundation
import TestSupport
import Testing
import WebSignIn

@Suite("Return paths", .computing)
struct ReturnPathTests {
    private static let origin = "https://shop.example"

    private func path(_ text: String?) -> String {
        ReturnPath(text, origin: Self.origin, besides: "/auth").text
    }

    @Test(
        "Paths of the application stay as received",
        arguments: [
            "/", "/orders", "/orders?page=2&q=a%20b%2Fc", "/orders/?next=//evil.example", "/a/../b", "/%C3%A9",
            "/sale-100%25",
            "/authors", "/a?b=https://x.example/", "/a:b@c", "/a/b;c=d?e=%00",
        ]
    )
    func own(text: String) { #expect(path(text) == text) }

    @Test(
        "Everything that some reader takes for another place is the start page",
        .shows("WS9"),
        arguments: [
            "", "x", "//x", "///x", "/\\x", "\\\\x", "/%09/x", "/%0d/x", "/%0a/x", "/%5cx", "/%255cx", "/%2f/x",
            "/%2F%2Fx",
            "/./\\x", "/.//x", "/..//x", "/a/..//x", "/a/../..//x", "https:x", "https://x", "http:///x",
            "javascript:alert(1)",
            "/é", "/ x", "/\tx", "/\nx", "/\r\nx", "/\u{0}x", "/x\u{7F}", "/%2e%2e//x", "/%2e/%2e//x", "/#x", "/a%",
            "?x",
            "#x",
            "/%20/x", "/\u{a0}\\x", "/%25%35%63x", "//shop.example@x", "/" + String(repeating: "a", count: 1_024),
        ]
    )
    func foreign(text: String) { #expect(path(text) == "/") }

    @Test(
        "No path leads back into the sign-in",
        .shows("WS10"),
        arguments: [
            "/auth", "/auth/id/start", "/auth/sign-out", "/./auth/id/start", "/a/../auth/id/start", "/%61uth/id/start",
            "/auth?x",
            "/%2561uth/id/start", "/auth/",
        ]
    )
    func loops(text: String) { #expect(path(text) == "/") }

    @Test("A missing path is the start page")
    func missing() { #expect(path(nil) == "/") }

    @Test("Whatever is typed, the browser stays at the origin", .shows("WS9"))
    func fuzz() throws {
        var random = SplitMix(state: 45)
        let pieces = [
            "/", "//", "\\", ".", "..", "%2f", "%5c", "%09", "%0d", "%2e", "x", "@", ":", "?", "#", "http:",
            "evil.example", "%",
            "\t", "é", "%25", "auth",
        ]
        for _ in 0..<20_000 {
            let text =
                "/"
                + (0..<Int.random(in: 0...7, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                .joined()
            let place = path(text)
            #expect(place == text || place == "/")
            // Foundation's resolution, and a browser's: backslashes are slashes, tabs vanish.
            let lenient = place.replacing("\\", with: "/").filter { !"\t\r\n".contains($0) }
            let url = try #require(URL(string: lenient, relativeTo: URL(string: Self.origin + "/")))
            #expect(url.host() == "shop.example" && !lenient.hasPrefix("//"), "\(text)")
        }
    }
}
