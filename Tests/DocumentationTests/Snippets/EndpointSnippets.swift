import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

let libraryURL = URL(string: "https://library.example/v1")!

struct Book: Codable, Equatable {
    var id = 1
    var title = "The Dispossessed"
}

enum Library: HTTPEndpoint {
    case books(author: String?)
    case book(id: Int)
    case add(Book)

    var baseURL: URL { libraryURL }

    var path: URLPath {
        switch self {
        case .books, .add: "/books"
        case .book(let id): "/books/\(id)"
        }
    }

    var method: HTTPMethod {
        if case .add = self { .post } else { .get }
    }

    var query: URLQuery {
        if case .books(let author) = self { ["author": author] } else { [:] }
    }

    var body: EndpointBody {
        get throws {
            if case .add(let book) = self { try .json(book) } else { .none }
        }
    }
}

/// The samples about endpoints, logs and recordings.
@Suite("Endpoint samples", .limitedConcurrency)
struct EndpointSnippets {
    @Test("Calls an API that an enumeration models")
    func requests() async throws {
        let book = Book()
        let transport = MockTransport(
            .json(#"[{"id":1,"title":"The Dispossessed"}]"#),
            .status(403, headers: ["Content-Type": "application/problem+json"], body: Data(#"{"title":"Full"}"#.utf8))
        )
        let client = NetworkClient(transport: transport)
        var shown: String?
        let show = { (title: String?) in shown = title }

        let books: [Book] = try await client.request(Library.books(author: "Le Guin"))
        do {
            try await client.request(Library.add(book))
        } catch let error as ServerError {
            show(error.problem?.title)
        }

        #expect(books == [book])
        #expect(shown == "Full")
        let url = transport.requests.first?.url.absoluteString
        #expect(url == "https://library.example/v1/books?author=Le%20Guin")
        #expect(try Library.book(id: 42).makeURL().path == "/v1/books/42")
    }

    /// A stand-in for swift-log's `Logger`.
    private struct Logger {
        let label: String
        private static let lines = Mutex<[String]>([])

        func debug(_ line: String) {
            Self.lines.withLock { $0.append(line) }
        }

        static var count: Int { lines.withLock { $0.count } }
    }

    @Test("Logs with swift-log")
    func logging() async throws {
        let transport = MockTransport(.text("ok"))

        let logger = Logger(label: "http")
        let logging = LoggingInterceptor(level: .headers) { logger.debug("\($0)") }
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(2), logging]
        )

        _ = try await client.makeRequest(try Library.book(id: 1).urlRequest())
        #expect(Logger.count == 2)
    }

    @Test("Records responses and replays them")
    func recording() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "snippet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let transport = MockTransport(.json(#"{"id":42,"title":"x"}"#))

        let recorder = try ExchangeRecorder(transport, folder: folder)
        let client = NetworkClient(transport: recorder)
        let book: Book = try await client.request(Library.book(id: 42))

        let replay = NetworkClient(
            transport: try ReplayTransport(Data(contentsOf: recorder.file))
        )
        let same: Book = try await replay.request(Library.book(id: 42))

        #expect(book == same)
    }
}
