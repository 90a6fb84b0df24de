import Foundation
import Networking
import Testing

/// A server's response, and the only correct outcome.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    enum Ending: Sendable { case close, reset, keepOpen }

    /// The pace at which the response is sent.
    enum Pace: Sendable { case atOnce, octetByOctet }

    enum Expectation: Sendable, Equatable {
        case response(status: Int, body: String)
        case failure(NetworkError.Code)
    }

    enum URLSessionSupport: Sendable {
        case same
        /// Not run with URLSession, for this reason.
        case skipped(String)
    }

    let name: String
    /// The rule that determines the outcome: a section of RFC 9110 or RFC 9112, or a limit.
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
        // Each Latin-1 character stands for a single byte, so that non-ASCII bytes can be written.
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
    /// A header that's truncated, or without a final response, crashes the process.
    static let endsProcess = Self.skipped("a missing final header crashes the process: swift-corelibs-foundation #5285")
    /// FoundationNetworking parses header lines by its own rules.
    static let readsHeadersOtherwise = Self.skipped("FoundationNetworking parses header lines differently")
    /// FoundationNetworking hides fields, so they can't be checked.
    static let doesNotCheckFraming = Self.skipped("only libcurl checks, and FoundationNetworking hides the fields")
    /// The error's cause can't be identified.
    static let unknownError = Self.skipped("reported as unknown, without an identifiable cause")
}
