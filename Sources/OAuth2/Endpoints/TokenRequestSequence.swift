import Networking

/// What one refresh does about the token endpoint's failures, as a value: see the table in the documentation.
struct TokenRequestSequence {
    /// What follows a failure.
    enum Step {
        case again(after: Duration)
        case fail(OAuth2Error)
    }

    /// What is known of a failed request besides its error.
    struct Circumstances {
        /// Whether the proof or assertion was made by a clock that is known to be wrong now.
        var isSkewNews = false
        /// Whether the client authenticates by what has a time in it.
        var usesAssertion = false
        /// Whether the server has sent a nonce that the proof did not have.
        var isNonceNews = false
        var hasNonce = false
        /// The time that the refresh has left.
        var timeLeft: Duration
        /// A random number of 0…1.
        var jitter: Double
    }

    private enum Repetition: Hashable {
        case nonce, proof, clock, garbage, lostAnswer
    }

    private static let backoff = Retry.Backoff.doubling(.seconds(1), to: .seconds(32), jitter: .full)

    /// How often a server is asked that fails for the moment.
    let attempts: Int
    /// A Boolean value that indicates whether the request carries something that may be used once only, such as a rotating refresh token.
    ///
    /// A request of that kind is repeated only if the server can't have acted on it: it was not sent, or the server has said so. The
    /// first one may still wait at the server when the second is served, and then counts as the use of a token that was stolen.
    let isSingleUse: Bool
    private var failures = 0
    private var repetitions: Set<Repetition> = []
    /// Whether a request was sent whose answer is not known.
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
        // A wrong clock makes a server call a good assertion an invalid client, or an invalid grant.
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
    /// A Boolean value that indicates whether the server has certainly not acted on the request.
    fileprivate var isFromBeforeSending: Bool {
        (cause as? NetworkError)?.isUnprocessed ?? false
    }

    /// A Boolean value that indicates whether the server may have acted on the request, although the response doesn't say so.
    ///
    /// Either a gateway has lost the server's response (502, 504, and 520 to 527 of some), or the response isn't one of OAuth 2.
    fileprivate var mayHideAnswer: Bool {
        // Without a status: the answer was there, and too long to read.
        guard let status else { return cause is NetworkError }
        return status == 502 || status == 504 || (520...527).contains(status) || (200...299).contains(status)
    }

    /// A Boolean value that indicates whether the server says that it has not processed the request.
    fileprivate var isBusy: Bool { status == 429 || status == 503 || serverCode == "temporarily_unavailable" }
}
