import Foundation
import FoundationNetworking
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Secrets in forms that names alone don't reveal.
@Suite("Redaction of repeated and embedded credentials", .computing)
struct RepeatedCredentialTests {
    private static let secret = "s3cret/value+1="

    private func text(_ text: String, _ type: String?) -> String? {
        Redaction.standard.redacted(Data(text.utf8), contentType: type)
    }

    @Test(
        "Removes members of JSON within other text",
        .shows("H18"),
        arguments: [
            ("text/event-stream", "event: a\ndata: {\"access_token\": \"s3cret\", \"n\": 1}\n\n"),
            ("text/plain", ")]}',\n{\"access_token\": \"s3cret\", \"n\": 1}"),
            ("text/plain", "while(1);{\"n\": 1, \"access_token\": \"s3cret\"}"),
            ("text/plain", "the answer was {\"access_token\" : [\"s3cret\"], \"n\": 1} at 12:30"),
            ("text/plain", "truncated: {\"n\": 1, \"access_token\": \"s3cret"),
            ("text/plain", "{'n': 1} \"quoted\" {\"access_token\":\"s3cret\"}"),
        ]
    )
    func embedded(_ type: String, _ body: String) throws {
        let result = try #require(text(body, type))
        #expect(!result.contains("s3cret"))
        #expect(result.contains(Redaction.placeholder))
    }

    @Test(
        "Keeps other text as it is",
        arguments: ["a: \"b\": c, \"token\" and \"n\": 1", "12:30 \"x\"", "\"", "a=b&c"]
    )
    func unchanged(_ body: String) {
        #expect(text(body, "text/plain") == body)
        #expect(text(body, "text/event-stream") == body)
    }

    @Test(
        "Removes secrets from URLs in fields, and fields whose names end like a credential's",
        arguments: [
            ("Link", "<https://a.example/?access_token=s3cret&page=2>; rel=\"next\""),
            ("Link", "<https://user:s3cret@a.example/>; rel=\"next\""),
            ("Refresh", "5; url=https://a.example/?token=s3cret"),
            ("WWW-Authenticate", "Bearer realm=\"https://a.example/?code=s3cret\", error=\"x\""),
            ("Destination", "https://a.example/b?sig=s3cret"), ("X-Next", "/b;jsessionid=s3cret"),
            ("Location", "https://a.example/b;jsessionid=s3cret?x=1"), ("Session-Token", "s3cret"),
            ("X-Acme-Key", "s3cret"), ("X-Acme_Key", "s3cret"), ("App-Secret", "s3cret"), ("Db-Password", "s3cret"),
        ]
    )
    func fields(_ name: String, _ value: String) {
        let result = Redaction.standard.redacted(HTTPHeaders([.init(name: name, value: value)]))[name] ?? ""
        #expect(!result.contains("s3cret"))
        #expect(result.contains(Redaction.placeholder))
    }

    @Test("Hides the rest of a text that would take quadratic time")
    func similarTexts() throws {
        let run = String(repeating: "a", count: 8_192)
        var request = HTTPRequest(method: .post, url: URL(string: "https://a.example/")!)
        request.headers["Content-Type"] = "application/json"
        request.body = .data(Data("{\"token\": \"\(run)b\"}".utf8))
        let redaction = Redaction.standard.removingCredentials(of: request)
        let text = redaction.redacted(text: "start \(run)\(run) end")
        #expect(text.hasPrefix("start aaaa") && text.hasSuffix("a\(Redaction.placeholder)"))
        #expect(redaction.redacted(text: "start \(run)b end") == "start \(Redaction.placeholder) end")
    }

    @Test(
        "Keeps fields without secrets",
        arguments: [
            ("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
            ("Link", "<https://a.example/?page=2>; rel=\"next\""),
            ("Refresh", "5; url=https://a.example/"), ("Content-Type", "text/plain; charset=utf-8"),
            ("Cache-Control", "max-age=60, private"), ("Monkey", "bananas"),
        ]
    )
    func keptFields(_ name: String, _ value: String) {
        #expect(Redaction.standard.redacted(HTTPHeaders([.init(name: name, value: value)]))[name] == value)
    }

    /// A request with the secret in one place.
    private static func request(_ place: String) -> URLRequest {
        var request = URLRequest(url: URL(string: "https://a.example/things")!)
        let encoded = PercentEncoding.encode(octets: secret.utf8, keeping: PercentEncoding.isUnreserved)
        switch place {
        case "Basic":
            let pair = Data("client:\(secret)".utf8).base64EncodedString()
            request.setValue("Basic \(pair)", forHTTPHeaderField: "Authorization")
        case "Cookie": request.setValue("a=b; session=\(secret)", forHTTPHeaderField: "Cookie")
        case "query": request.url = URL(string: "https://a.example/things?access_token=\(encoded)")
        case "form":
            request.httpMethod = "POST"
            request.httpBody = Data("grant_type=password&password=\(encoded)".utf8)
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        case "JSON":
            request.httpMethod = "POST"
            request.httpBody = Data("{\"client_secret\": \"\(secret)\"}".utf8)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        default: request.setValue("Bearer \(secret)", forHTTPHeaderField: place)
        }
        return request
    }

    private static let places = ["Authorization", "X-API-Key", "Basic", "Cookie", "query", "form", "JSON"]

    /// A response that repeats the secret in several spellings.
    private static var response: MockTransport.Step {
        let encoded = PercentEncoding.encode(octets: secret.utf8, keeping: PercentEncoding.isUnreserved)
        let escaped = secret.replacingOccurrences(of: "/", with: "\\/")
        let body = #"{"echo": "\#(secret)", "path": "/x/\#(encoded)", "raw": "\#(escaped)", "other": 1}"#
        return .response(
            HTTPTransportResponse(
                status: 400,
                headers: ["Content-Type": "application/json", "X-Echo": secret, "X-Path": "/\(encoded)/x"],
                body: Data(body.utf8)
            )
        )
    }

    private func expectNoSecret(_ text: String, _ place: String) {
        let encoded = PercentEncoding.encode(octets: Self.secret.utf8, keeping: PercentEncoding.isUnreserved)
        for spelling in [Self.secret, encoded, Self.secret.replacingOccurrences(of: "/", with: "\\/")] {
            #expect(!text.contains(spelling), "\(place)")
        }
    }

    @Test("A log doesn't show a credential that the response repeats", .shows("H18"), arguments: places)
    func logs(_ place: String) async throws {
        let lines = Mutex<[String]>([])
        let logger = RequestLogger(level: .body, writesCurlCommands: true) { line in
            lines.withLock { $0.append(line) }
        }
        let client = NetworkClient(transport: MockTransport(Self.response), options: .init(observers: [logger]))
        _ = try? await client.makeRequest(Self.request(place))
        let log = lines.withLock { $0.joined(separator: "\n") }
        #expect(log.contains("\"other\": 1"))
        expectNoSecret(log, place)
    }

    @Test(
        "A recording doesn't contain a credential that the response repeats, and plays back",
        .shows("H18"),
        arguments: places
    )
    func recordings(_ place: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "repeated-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let recorder = try ExchangeRecorder(MockTransport(Self.response), folder: folder)
        let request = Self.request(place)
        _ = try? await NetworkClient(transport: recorder).makeRequest(request)
        let recording = try Data(contentsOf: recorder.file)
        let text = String(decoding: recording, as: UTF8.self)
        #expect(text.contains("other"))
        expectNoSecret(text, place)
        let replay = try ReplayTransport(recording, comparesBodies: true)
        let error = await #expect(throws: ServerError.self) {
            try await NetworkClient(transport: replay).makeRequest(request)
        }
        #expect(error?.errorCode == 400)
    }

    @Test("Short credentials and schemes aren't removed from other text")
    func shortValues() async throws {
        let lines = Mutex<[String]>([])
        let logger = RequestLogger(level: .body) { line in lines.withLock { $0.append(line) } }
        let client = NetworkClient(
            transport: MockTransport(.text("Negotiate it: short1")),
            options: .init(observers: [logger])
        )
        var request = URLRequest(url: try #require(URL(string: "https://a.example/things")))
        request.setValue("Negotiate short1", forHTTPHeaderField: "Authorization")
        _ = try await client.makeRequest(request)
        let log = lines.withLock { $0.joined(separator: "\n") }
        #expect(log.contains("  Negotiate it: short1"))
        #expect(log.contains("Authorization: Negotiate REDACTED"))
    }
}
