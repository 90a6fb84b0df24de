import Foundation
import Networking
import Testing

/// One way in which a server may answer, and the one right outcome.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    enum Ending: Sendable { case close, reset, keepOpen }

    /// How the octets of the answer come.
    enum Pace: Sendable { case atOnce, octetByOctet }

    enum Expectation: Sendable, Equatable {
        case response(status: Int, body: String)
        case failure(NetworkError.Code)
    }

    enum URLSessionSupport: Sendable {
        case same
        /// Not run on URLSession, for this reason.
        case skipped(String)
    }

    let name: String
    /// What makes the outcome the right one: sections of RFC 9110 and RFC 9112, or a limit of ours.
    let rule: String
    var method = HTTPMethod.get
    let answer: [UInt8]
    var pace = Pace.atOnce
    var ending = Ending.close
    let expectation: Expectation
    var headers: [HTTPHeaders.Field] = []
    var maximumBodySize = 1 << 20
    var urlSession = URLSessionSupport.same

    var testDescription: String { "\(name) (\(rule))" }

    init(
        _ name: String,
        _ rule: String,
        method: HTTPMethod = .get,
        _ answer: String,
        _ ending: Ending = .close,
        _ expectation: Expectation,
        pace: Pace = .atOnce,
        headers: KeyValuePairs<String, String>? = nil,
        maximumBodySize: Int = 1 << 20,
        urlSession: URLSessionSupport = .same
    ) {
        self.name = name
        self.rule = rule
        self.method = method
        // The answers are written with Latin-1 letters so that single octets beyond ASCII can be given.
        self.answer = answer.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self.pace = pace
        self.ending = ending
        self.expectation = expectation
        self.headers = headers.map { $0.map { HTTPHeaders.Field(name: $0.key, value: $0.value) } } ?? []
        self.maximumBodySize = maximumBodySize
        self.urlSession = urlSession
    }

    static let all = statusLines + fields + lengths + chunks + codings + endings

    static let onURLSession = all.filter {
        if case .same = $0.urlSession { true } else { false }
    }
}

extension ConformanceCase.URLSessionSupport {
    /// A header that is cut, or of which there is no final one, ends the process.
    static let endsProcess = Self.skipped("a missing final header ends the process: swift-corelibs-foundation #5285")
    /// FoundationNetworking reads header lines by rules of its own.
    static let readsHeadersOtherwise = Self.skipped("FoundationNetworking reads header lines by other rules")
    /// FoundationNetworking hides fields, so that nobody can check them.
    static let doesNotCheckFraming = Self.skipped("libcurl alone decides, and FoundationNetworking hides what it saw")
    /// The error has no cause that could be told apart.
    static let unknownError = Self.skipped("reported as unknown, without a cause that can be told apart")
}
