public import Foundation
import FoundationNetworking
public import Networking
public import TokenGeneration

/// A request to a token endpoint, or another endpoint that authenticates clients.
///
/// A grant adds its parameters, and a ``ClientAuthentication`` the client's credential.
public struct TokenRequest: Sendable, Redacted {
    /// The server that receives the request.
    public let server: AuthorizationServer
    /// The endpoint that receives the request, by default the server's token endpoint.
    public let endpoint: URL
    /// The form's fields, in the order to send them; or the members of a JSON object, see
    /// ``AuthorizationServer/requiresJSONTokenRequests``.
    public private(set) var form: [(name: String, value: String)]
    /// The header fields in addition to those of every form.
    public var headers: HTTPHeaders
    var assertionUse: AssertionUse?
    private let isJSON: Bool

    /// Creates a request.
    public init(server: AuthorizationServer, form: [(name: String, value: String)], endpoint: URL? = nil) {
        self.server = server
        self.endpoint = endpoint ?? server.tokenEndpoint
        self.form = form
        isJSON = endpoint == nil && server.requiresJSONTokenRequests
        headers = [:]
    }

    /// Sets a field of the form, replacing any with the same name, because parameters must not be
    /// repeated ([RFC 6749 §3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)).
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value, unencoded.
    public mutating func set(_ name: String, _ value: String) {
        form.removeAll { $0.name == name }
        form.append((name, value))
    }

    var urlRequest: URLRequest {
        get throws(NetworkError) {
            var request = URLRequest(url: endpoint)
            request.httpMethod = "POST"
            try request.addHeaderFields(headers)
            request.setValue(
                isJSON ? "application/json" : FormURLEncoded.contentType,
                forHTTPHeaderField: "Content-Type"
            )
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            request.httpBody = isJSON ? json.serializedData() : Data(FormURLEncoded.encode(form).utf8)
            return request
        }
    }

    /// The fields as an object, whose names must be unique.
    private var json: JSONObject {
        var object: JSONObject = [:]
        for (name, value) in form {
            object[name] =
                switch object[name] {
                case nil: .string(value)
                case .array(let values)?: .array(values + [.string(value)])
                case let first?: .array([first, .string(value)])
                }
        }
        return object
    }

    /// The endpoint's host and the names of the fields, without their values.
    public var description: String {
        let names = form.map(\.name) + headers.map(\.name)
        return "token request to \(endpoint.host ?? "nowhere") with \(names.joined(separator: ", "))"
    }
}

/// The state machine of a token request's attempts, which follows the table in the documentation.
struct TokenRequestSequence {
    enum Step {
        case again(after: Duration)
        case fail(OAuth2Error)
    }

    struct Circumstances {
        var isSkewNews = false
        var usesAssertion = false
        var isNonceNews = false
        var hasNonce = false
        var timeLeft: Duration
        /// A random number from 0 through 1.
        var jitter: Double
    }

    private enum Repetition: Hashable {
        case nonce, proof, clock, garbage, lostAnswer
    }

    private static let backoff = Retry.Backoff.doubling(.seconds(1), to: .seconds(32), jitter: .full)

    let attempts: Int
    // A credential that works only once, such as a rotating refresh token, is repeated only if the
    // server can't have acted on it. Otherwise the first request may still be queued at the server,
    // which would treat the second as the use of a stolen token.
    let isSingleUse: Bool
    private var failures = 0
    private var repetitions: Set<Repetition> = []
    private(set) var isAmbiguous = false

    init(attempts: Int, isSingleUse: Bool = false) {
        self.attempts = attempts
        self.isSingleUse = isSingleUse
    }

    mutating func next(after error: OAuth2Error, _ circumstances: Circumstances) -> Step {
        switch error.serverCode {
        case "use_dpop_nonce" where error.code != .serverTransient:
            guard circumstances.hasNonce else { return .fail(error.coded(.missingNonce)) }
            guard circumstances.isNonceNews else { return .fail(error.coded(.repeatedNonce)) }
            return once(.nonce) ?? .fail(error.coded(.tooManyNonces))
        case "invalid_dpop_proof" where error.code != .serverTransient:
            return (circumstances.isSkewNews ? once(.proof) : nil) ?? .fail(error.coded(.proofRejected))
        default: break
        }
        switch error.code {
        // With a wrong clock, servers respond to a valid assertion with an invalid client or grant.
        case .invalidClient where circumstances.usesAssertion && circumstances.isSkewNews,
            .reauthenticationRequired where circumstances.usesAssertion && circumstances.isSkewNews:
            return once(.clock) ?? .fail(error)
        case .protocolViolation where error.mayHideAnswer:
            isAmbiguous = true
            return attempts > 1 && !isSingleUse ? once(.garbage) ?? .fail(error) : .fail(error)
        case .serverUnreachable where error.isFromBeforeSending:
            return later(error, circumstances)
        case .serverTransient where error.mayHideAnswer, .serverUnreachable:
            isAmbiguous = true
            if isSingleUse { return .fail(error) }
            if error.code == .serverUnreachable, attempts > 1, let step = once(.lostAnswer) { return step }
            return later(error, circumstances)
        case .serverTransient:
            return isSingleUse && !error.isBusy ? .fail(error) : later(error, circumstances)
        default:
            return .fail(error)
        }
    }

    private mutating func once(_ repetition: Repetition) -> Step? {
        repetitions.insert(repetition).inserted ? .again(after: .zero) : nil
    }

    private mutating func later(_ error: OAuth2Error, _ circumstances: Circumstances) -> Step {
        failures += 1
        guard failures < attempts else { return .fail(error) }
        let delay = error.retryAfter ?? Self.backoff.delay(retry: failures, random: circumstances.jitter)
        return delay < circumstances.timeLeft ? .again(after: delay) : .fail(error)
    }
}

extension OAuth2Error {
    /// A Boolean value that indicates whether the server can't have acted on the request.
    fileprivate var isFromBeforeSending: Bool {
        (cause as? NetworkError)?.isUnprocessed ?? false
    }

    // The server failed at some point of its work, a gateway has lost the response, or the response
    // isn't one of OAuth 2. Only 503 means that the server didn't begin.
    fileprivate var mayHideAnswer: Bool {
        // Without a status code, the response arrived but was too large to read.
        guard let status else { return cause is NetworkError }
        return status >= 500 && status != 503 || (200...299).contains(status)
    }

    /// A Boolean value that indicates whether the server says it didn't process the request.
    fileprivate var isBusy: Bool { status == 429 || status == 503 || serverCode == "temporarily_unavailable" }
}
