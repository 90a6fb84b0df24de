import Foundation
import Networking
import Testing

/// One way in which a server may answer, and the one right outcome.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    enum Ending: Sendable { case close, reset, keepOpen }

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
    var method = HTTPMethod.get
    let answer: [UInt8]
    var ending = Ending.close
    let expectation: Expectation
    var headers: [HTTPHeaders.Field] = []
    var maximumBodySize = 1 << 20
    var urlSession = URLSessionSupport.same

    var testDescription: String { name }

    init(
        _ name: String,
        method: HTTPMethod = .get,
        _ answer: String,
        _ ending: Ending = .close,
        _ expectation: Expectation,
        headers: KeyValuePairs<String, String>? = nil,
        maximumBodySize: Int = 1 << 20,
        urlSession: URLSessionSupport = .same
    ) {
        self.name = name
        self.method = method
        // The answers are written with Latin-1 letters so that single octets beyond ASCII can be given.
        self.answer = answer.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self.ending = ending
        self.expectation = expectation
        self.headers = headers.map { $0.map { HTTPHeaders.Field(name: $0.key, value: $0.value) } } ?? []
        self.maximumBodySize = maximumBodySize
        self.urlSession = urlSession
    }

    static let onURLSession = all.filter {
        if case .same = $0.urlSession { true } else { false }
    }
}
