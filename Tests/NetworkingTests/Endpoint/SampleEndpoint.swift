import Foundation
import Networking

/// An endpoint with the values that a test sets.
struct SampleEndpoint: HTTPEndpoint {
    var baseURL: URL
    var path: URLPath = ""
    var method: HTTPMethod = .get
    var query: URLQuery = [:]
    var headers: HTTPHeaders = [:]
    var acceptedStatuses: AcceptedStatuses = .successful
    var requiresAuthentication = true
    var timeout: Duration?
    var making: @Sendable () throws -> EndpointBody = { .none }

    init(_ base: String, path: URLPath = "", query: URLQuery = [:]) {
        // Every text in the tests is a URL; an invalid one makes the test fail.
        baseURL = URL(string: base) ?? URL(filePath: "/no-url")
        self.path = path
        self.query = query
    }

    var body: EndpointBody { get throws { try making() } }
    var url: String? { try? makeURL().absoluteString }
}

extension SeededGenerator {
    /// Returns random text of limited length: ASCII, the special characters of URLs, and Unicode of
    /// all planes.
    mutating func text(upTo count: Int = 12) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...count, using: &self) {
            let value: UInt32 =
                switch Int.random(in: 0..<4, using: &self) {
                case 0: UInt32.random(in: 0x00...0x7F, using: &self)
                case 1: "%+&=#?/;:@.\\ \"<>[]{}|^`'".unicodeScalars.randomElement(using: &self)?.value ?? 0x25
                case 2: UInt32.random(in: 0x80...0xFFFF, using: &self)
                default: UInt32.random(in: 0x1_0000...0x10_FFFF, using: &self)
                }
            scalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
        }
        return String(scalars)
    }

    /// Returns random text that is valid in a path segment: not empty and without dot segments.
    mutating func segment() -> String {
        while true {
            let text = text()
            let parts = text.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }
            if !text.isEmpty, !parts.contains("."), !parts.contains("..") { return text }
        }
    }
}
