package import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// A request to an authorization server, which retries temporary failures and doesn't follow
/// redirects.
struct EndpointExchange: Sendable {
    /// The credential in a request, which a 401 response rejects.
    enum Credential {
        case client, accessToken
        /// No access token, for a registration that may require one.
        case missingToken

        var rejection: (code: OAuth2Error.Code, text: String) {
            switch self {
            case .client: (.invalidClient, "rejects the client's authentication; check the client ID and key")
            case .accessToken: (.accessTokenRejected, "rejects the access token; it may be missing, expired or revoked")
            case .missingToken: (.accessTokenRejected, "requires an access token; pass `initialAccessToken`")
            }
        }
    }

    let place: String
    let url: URL
    let client: NetworkClient
    let timing: OAuth2Timing
    let hints: DPoPServerState
    var usesAssertion = false
    /// `nil` for a request of a public document.
    var credential: Credential?
    /// A lost response to a request for tokens may have used up a refresh token.
    var isForTokens = false
    var isRepeatable = true

    // One closure creates each attempt's request, with the server's time. The other reads a 2xx
    // response.
    func value<Value>(
        _ makeRequest: (Date) async throws -> URLRequest,
        read: (HTTPResponse) async throws -> Value
    ) async throws -> Value {
        let deadline = timing.timeSource.now() + timing.timeout
        return try await attempts(until: deadline) { date, _ in
            let request = try await makeRequest(date)
            let timeout = deadline - timing.timeSource.now()
            return try await read(try await response(to: request, timeout: timeout))
        }
    }

    /// Repeats an attempt, given the server's time and the nonce that it requires, unless it throws
    /// another error than an ``OAuth2Error``.
    func attempts<Value>(
        isSingleUse: Bool = false,
        until deadline: ContinuousClock.Instant,
        _ attempt: (Date, _ nonce: String?) async throws -> Value
    ) async throws -> Value {
        let origin = try url.confidentialOrigin(isForTokens ? "the client's credential" : "a request to \(place)")
        var sequence = TokenRequestSequence(attempts: isRepeatable ? timing.attempts : 1, isSingleUse: isSingleUse)
        var wasSent = false
        var previous: OAuth2Error?
        while true {
            let (nonce, skew) = (hints.nonce(for: origin), hints.skew(for: origin))
            var failure: OAuth2Error
            do { return try await attempt(hints.date(for: origin), nonce) } catch let error as OAuth2Error {
                // A token request that was sent has an outcome that must not be lost.
                if !isForTokens { try Task.checkCancellation() }
                failure = error.following(previous)
            }
            previous = failure
            wasSent = wasSent || failure.isAboutSentRequest
            failure.isAboutSentRequest = wasSent
            let step = sequence.next(
                after: failure,
                TokenRequestSequence.Circumstances(
                    isSkewNews: hints.skew(for: origin) != skew,
                    usesAssertion: usesAssertion,
                    isNonceNews: hints.nonce(for: origin) != nonce,
                    hasNonce: isForTokens && failure.hasNonce,
                    timeLeft: deadline - timing.timeSource.now(),
                    jitter: timing.random()
                )
            )
            let isPossiblyLost = isForTokens && sequence.isAmbiguous
            switch step {
            case .fail(var error):
                if isPossiblyLost { error.isPossiblyLostRotation = true }
                throw error
            case .again(let delay):
                guard delay > .zero else { continue }
                do { try await timing.timeSource.sleep(delay) } catch  where isForTokens {
                    failure.isPossiblyLostRotation = isPossiblyLost
                    throw failure
                }
            }
        }
    }

    static let maximumBodySize = 1 << 20

    /// Sends one request, whose network client's errors become OAuth 2 errors.
    func response(
        to request: URLRequest,
        timeout: Duration?,
        observers: [any ClientObserver] = []
    ) async throws -> HTTPResponse {
        let requested = timing.timeSource.now()
        func note(_ headers: HTTPHeaders) {
            hints.note(headers, from: url, age: timing.timeSource.now() - requested)
        }
        // A redirect would carry credentials and trust to another server.
        var options = RequestOptions(
            redirects: .never,
            timeout: timeout,
            maximumBodySize: Self.maximumBodySize
        )
        options.additionalObservers = observers
        do {
            var resource = request.makeResource()
            resource.options = options
            resource.traits.hasFailureEvent = isForTokens
            let response = try await client.response(for: resource)
            note(response.headers)
            return response
        } catch let error as ServerError {
            note(error.headers)
            if let confirmation = error.confirmation(for: request) { return confirmation }
            throw OAuth2Error(answer: error, place: place, now: timing.timeSource.date(), credential: credential)
        } catch let error as NetworkError {
            if !isForTokens, let cause = error.cause as? OAuth2Error { throw cause }
            if error.code == .bodyTooLarge {
                let limit = Self.maximumBodySize
                throw OAuth2Error(
                    .protocolViolation,
                    "the response from \(place) is larger than \(limit) bytes; check the endpoint's URL",
                    cause: error
                )
            }
            throw OAuth2Error(.serverUnreachable, "\(place) couldn't be reached", cause: error)
        }
    }
}

extension HTTPResponse {
    /// Ignores the parameters of `Content-Type`.
    package func hasMediaType(_ type: String) -> Bool {
        let field = (headers["Content-Type"] ?? "").asciiOnly
        return field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.equalsIgnoringASCIICase(type)
    }

    func jsonObject(from place: String) throws(OAuth2Error) -> JSONObject {
        do { return try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the response from \(place) isn't a JSON object; check the endpoint's URL",
                status: status,
                response: error
            )
        }
    }
}

/// A reader of a response's members, for which `null` counts as missing.
struct AnswerMembers {
    let members: JSONObject
    let place: String

    func string(_ name: String) throws(OAuth2Error) -> String? { try value(name, \.string) }

    func seconds(_ name: String) throws(OAuth2Error) -> Double? { try value(name) { $0.number?.double } }

    /// Returns a time in seconds since 1970 as the nearest date in the years 1 to 9999.
    func date(_ name: String) throws(OAuth2Error) -> Date? {
        try seconds(name).map(Date.init(clampingSecondsSince1970:))
    }

    /// Returns a list of strings, which can also be a single string.
    func strings(_ name: String) throws(OAuth2Error) -> [String] {
        try value(name) { value in
            if let text = value.string { return [text] }
            let texts = value.array?.compactMap(\.string)
            return texts?.count == value.array?.count ? texts : nil
        } ?? []
    }

    func object(_ name: String) throws(OAuth2Error) -> JSONObject? { try value(name, \.object) }

    private func value<Value>(_ name: String, _ read: (JSONValue) -> Value?) throws(OAuth2Error) -> Value? {
        guard let value = members[name], value != .null else { return nil }
        guard let result = read(value) else { throw wrong(name) }
        return result
    }

    func required(_ name: String) throws(OAuth2Error) -> String {
        guard let text = try string(name), !text.isEmpty else { throw wrong(name) }
        return text
    }

    func wrong(_ name: String) -> OAuth2Error {
        // The names of aliases are the server's.
        let name = OAuth2Error.printable(name, limit: 64)
        return OAuth2Error(.protocolViolation, "“\(name)” in the response from \(place) is missing or invalid")
    }
}

extension AnswerMembers {
    init(_ response: HTTPResponse, from place: String) throws(OAuth2Error) {
        self.init(members: try response.jsonObject(from: place), place: place)
    }
}

extension OAuth2Error {
    /// Wraps the error of fetching a signed or public document, which is named with its article.
    package init(fetching document: String, failure error: any Error, at date: Date) {
        switch error {
        case let error as OAuth2Error:
            self = error
        case let error as ServerError:
            // The server's error page doesn't help readers of the error.
            let cause = ServerError(endpoint: error.endpoint, errorCode: error.errorCode)
            let isTransient = Self.isTransient(error.errorCode)
            let isRedirect = [301, 302, 303, 307, 308].contains(error.errorCode)
            let hint =
                isRedirect
                ? "redirects aren't followed; " : error.errorCode == 304 ? "the request was unconditional; " : ""
            self.init(
                isTransient ? .serverTransient : .protocolViolation,
                isTransient
                    ? "\(document)'s server has failed temporarily"
                    : "\(document)'s server responded with \(error.errorCode): \(hint)check the URL",
                status: error.errorCode,
                cause: cause
            )
            if isTransient { retryAfter = Self.retryAfter(error, now: date) }
        case let error as NetworkError where error.code == .bodyTooLarge:
            self.init(
                .protocolViolation,
                "\(document) exceeds the maximum size; raise the limit if it's genuine",
                cause: error
            )
        default:
            self.init(.serverUnreachable, "\(document) could not be fetched", cause: error)
        }
    }
}
