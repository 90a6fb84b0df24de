import Foundation
import FoundationNetworking
import Networking
import Testing

/// The library's URLs and forms, read by another parser.
@Suite("Interoperability: URLs and forms with Python's urllib", .enabled(if: Interop.isPrepared, Interop.hint))
struct URLInteropTests {
    fileprivate struct Sample: HTTPEndpoint {
        let segments: [String]
        let pairs: [[String]]

        var baseURL: URL { URLInteropTests.base }
        var path: URLPath { URLPath(segments: segments) }
        var method: HTTPMethod { .post }
        var query: URLQuery {
            var query = URLQuery()
            for pair in pairs { query.append(pair[0], pair[1]) }
            return query
        }
        var body: EndpointBody { get throws { try .form(query) } }
    }

    fileprivate static let base = URL(string: "https://a.example/b") ?? URL(filePath: "/")

    private struct URLAnswer: Decodable {
        let host: String
        let path: [String]
        let query: [[String]]
        let fragment: String
    }

    private struct FormAnswer: Decodable {
        let fields: [[String]]
    }

    @Test("The parser reads arbitrary Unicode paths, queries and forms unchanged")
    func roundTrip() async throws {
        var generator = SystemRandomNumberGenerator()
        let samples = (0..<1_000).map { _ in Sample.random(using: &generator) }
        var input = ""
        for sample in samples {
            let request = try sample.urlRequest()
            let url = try #require(request.url).absoluteString
            let form = String(decoding: try #require(request.httpBody), as: UTF8.self)
            for line in [["url": url], ["form": form]] {
                input += String(decoding: try JSONEncoder().encode(line), as: UTF8.self) + "\n"
            }
        }
        let peer = try await ChildProcess.run(
            try Interop.required("INTEROP_PYTHON"),
            [Interop.file("url_peer.py")],
            input: input
        )
        try #require(peer.status == 0, "\(peer.errors)")
        let answers = peer.output.split(separator: "\n").map { Data($0.utf8) }
        try #require(answers.count == 2 * samples.count)
        for (index, sample) in samples.enumerated() {
            let url = try JSONDecoder().decode(URLAnswer.self, from: answers[2 * index])
            #expect(url.host == "a.example" && url.fragment.isEmpty)
            #expect(url.path == ["", "b"] + sample.segments)
            #expect(url.query == sample.pairs)
            let form = try JSONDecoder().decode(FormAnswer.self, from: answers[2 * index + 1])
            #expect(form.fields == sample.pairs)
        }
    }
}

extension URLInteropTests.Sample {
    /// The generator has a new seed in each run.
    ///
    /// Failures print their input, and the unit tests have fixed seeds.
    fileprivate static func random(using generator: inout SystemRandomNumberGenerator) -> Self {
        Self(
            segments: (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                // URLPath rejects empty and dot segments.
                "s" + text(using: &generator).replacing(".", with: "/")
            },
            pairs: (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                [text(using: &generator) + "n", text(using: &generator)]
            }
        )
    }

    private static func text(using generator: inout SystemRandomNumberGenerator) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let value: UInt32 =
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: UInt32.random(in: 0x00...0x7F, using: &generator)
                case 1: UInt32.random(in: 0x80...0xFFFF, using: &generator)
                default: UInt32.random(in: 0x1_0000...0x10_FFFF, using: &generator)
                }
            scalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
        }
        return String(scalars)
    }
}
