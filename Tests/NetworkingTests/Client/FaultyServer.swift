import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport

/// The server's behavior for one attempt, drawn from a seed and the numbers of the request and the
/// attempt.
enum Fault: Int, CaseIterable {
    case none, slow
    case resetBeforeHead, resetAfterHead, truncatedBody
    case internalError, badGateway, unavailable, tooManyRequests
    case silence, stalledBody
    case garbage, contradictoryLengths
    case unannouncedClose
    case redirectLoop

    /// The relative probability of the fault.
    private var weight: UInt64 {
        switch self {
        case .none: 20
        case .silence, .stalledBody: 1
        default: 3
        }
    }

    static func drawn(seed: UInt64, request: Int, attempt: Int) -> Self {
        var random = SplitMix(state: seed &+ UInt64(request) &* 0x1_0001 &+ UInt64(attempt) &* 0x9_E377_79B9)
        var rest = random.next() % allCases.reduce(0) { $0 + $1.weight }
        for fault in allCases {
            guard rest >= fault.weight else { return fault }
            rest -= fault.weight
        }
        return .none
    }

    /// A Boolean value that indicates whether the attempt succeeds.
    var isHarmless: Bool { [.none, .slow, .unannouncedClose].contains(self) }

    /// A Boolean value that indicates whether the policy retries the attempt.
    var isRepeated: Bool { !isHarmless && ![.garbage, .contradictoryLengths, .redirectLoop].contains(self) }

    /// Returns whether the fault can cause an outcome.
    func explains(_ outcome: AttemptOutcome) -> Bool {
        switch self {
        case .none, .slow, .unannouncedClose: outcome == .success
        case .resetBeforeHead, .resetAfterHead, .truncatedBody: outcome == .failure(.connectionLost)
        case .internalError: outcome == .status(500)
        case .badGateway: outcome == .status(502)
        case .unavailable: outcome == .status(503)
        case .tooManyRequests: outcome == .status(429)
        case .silence, .stalledBody: outcome == .failure(.timedOut)
        case .garbage, .contradictoryLengths: outcome == .failure(.invalidResponse)
        case .redirectLoop: outcome == .failure(.tooManyRedirects)
        }
    }

    func response(to number: Int) -> LoopbackResponse {
        let text = "answer to \(number)"
        switch self {
        case .none: return .text(text)
        case .slow: return .text(text).delayed(by: .milliseconds(5)).bodyDelayed(by: .milliseconds(5))
        case .resetBeforeHead: return LoopbackResponse.text(text).cut(.beforeHead, resetting: true)
        case .resetAfterHead: return LoopbackResponse.text(text).cut(.afterHead, resetting: true)
        case .truncatedBody: return LoopbackResponse.text(text).cut(.afterBody(octets: 3))
        case .internalError: return .text("no", status: 500)
        case .badGateway: return .text("no", status: 502)
        case .unavailable: return .text("later", status: 503, headers: ["Retry-After": "2"])
        case .tooManyRequests: return .text("later", status: 429, headers: ["Retry-After": "1"])
        case .silence: return .never
        case .stalledBody: return .text(text).bodyGated(by: ResponseGate())
        case .garbage: return .raw("220 mail.example ESMTP\r\n")
        case .contradictoryLengths:
            return .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!")
        case .unannouncedClose: return .raw("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        case .redirectLoop: return .status(302, headers: ["Location": "/loop/\(number)"])
        }
    }
}

/// The outcome of an attempt.
enum AttemptOutcome: Hashable {
    case success
    case status(Int)
    case failure(NetworkError.Code)

    init(_ error: (any Error)?) {
        switch error {
        case nil: self = .success
        case let error as ServerError: self = .status(error.errorCode)
        case let error as NetworkError: self = .failure(error.code)
        default: self = .failure(.unknown)
        }
    }
}

/// One attempt of one request.
struct AttemptKey: Hashable {
    let request: Int
    let attempt: Int
}

/// An interceptor that numbers the attempts for the server and records their outcomes.
final class AttemptLog: RequestInterceptor {
    private let outcomes = Mutex<[AttemptKey: [AttemptOutcome]]>([:])

    var all: [AttemptKey: [AttemptOutcome]] { outcomes.withLock { $0 } }

    func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        request.setValue(String(context.attempt), forHTTPHeaderField: "X-Attempt")
        return request
    }

    func attemptEnded(_ attempt: RequestAttempt) {
        let number = attempt.request?.url.flatMap { Int($0.lastPathComponent) } ?? -1
        let key = AttemptKey(request: number, attempt: attempt.context.attempt)
        outcomes.withLock { $0[key, default: []].append(AttemptOutcome(attempt.error)) }
    }
}

/// A server that fails according to the seed and counts the attempts that arrive.
final class FaultyServer: Sendable {
    private let arrivals = Mutex<[AttemptKey: Int]>([:])
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    /// The number of arrivals of each attempt.
    var all: [AttemptKey: Int] { arrivals.withLock { $0 } }

    func answer(_ request: LoopbackRequest) -> LoopbackResponse {
        let parts = request.path.split(separator: "/")
        guard parts.count == 2, let number = Int(parts[1]),
            let attempt = request.headers["X-Attempt"].flatMap({ Int($0) })
        else { return .status(400) }
        // A redirected request belongs to an attempt that was already counted.
        guard parts[0] == "requests" else { return .status(302, headers: ["Location": "/loop/\(number)"]) }
        arrivals.withLock { $0[AttemptKey(request: number, attempt: attempt), default: 0] += 1 }
        return Fault.drawn(seed: seed, request: number, attempt: attempt).response(to: number)
    }
}
