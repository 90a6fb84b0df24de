import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

/// Asks a token endpoint for tokens.
struct TokenEndpoint: Sendable {
    let server: AuthorizationServer
    let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    let timeSource: TimeSource
    /// How often a server is asked that fails for the moment.
    var attempts: Int
    /// How long one request may take; `nil` to leave it to the client, and the whole to whoever waits.
    var requestTimeout: Duration?
    let random: @Sendable () -> Double
    let hints: ServerHints
    let journal: TokenJournal
    /// Whether tokens that nobody has to prove a key for are good enough where a key is given.
    let insecurelyAcceptsBearerTokens: Bool

    init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        client: NetworkClient,
        timeSource: TimeSource,
        attempts: Int,
        random: @escaping @Sendable () -> Double,
        dpop: DPoPKey?,
        journal: TokenJournal,
        hints: ServerHints? = nil
    ) {
        self.server = clientAuthentication.usesMutualTLS ? server.usingMutualTLSAliases() : server
        self.clientAuthentication = clientAuthentication
        self.client = client
        self.timeSource = timeSource
        self.attempts = max(1, attempts)
        self.random = random
        self.hints = hints ?? ServerHints(timeSource: timeSource, journal: journal)
        self.journal = journal
        insecurelyAcceptsBearerTokens = dpop?.insecurelyAcceptsBearerTokens ?? false
    }

    /// Asks until there is an answer that counts, or no time left.
    ///
    /// - Parameters:
    ///   - form: What the grant asks for.
    ///   - proof: What the tokens are to be bound to.
    ///   - deadline: When the flight ends.
    /// - Returns: The tokens.
    /// - Throws: ``OAuth2Error``.
    func requestToken(
        form: [(name: String, value: String)],
        proof: DPoPProofGenerator?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> TokenResponse {
        let origin = try server.tokenEndpoint.confidentialOrigin("the client's credential")
        var sequence = TokenRequestSequence(attempts: attempts)
        while true {
            let nonce = hints.nonce(for: origin)
            let skew = hints.skew(for: origin)
            var failure: OAuth2Error
            do {
                return try await requestTokenOnce(form: form, proof: proof, nonce: nonce, date: hints.date(for: origin))
            } catch { failure = error }
            let news = hints.nonce(for: origin)
            let step = sequence.next(
                after: failure,
                TokenRequestSequence.Circumstances(
                    isSkewNews: hints.skew(for: origin) != skew,
                    usesAssertion: clientAuthentication.usesAssertion,
                    isNonceNews: news != nonce,
                    hasNonce: failure.hasNonce,
                    timeLeft: deadline - timeSource.now(),
                    jitter: random()
                )
            )
            switch step {
            case .fail(var error):
                if sequence.isAmbiguous { error.isPossiblyLostRotation = true }
                throw error
            case .again(let delay):
                guard delay > .zero else { continue }
                do { try await timeSource.sleep(delay) } catch {
                    failure.isPossiblyLostRotation = sequence.isAmbiguous
                    throw failure
                }
            }
        }
    }

    /// Sends one request and reads the answer.
    private func requestTokenOnce(
        form: [(name: String, value: String)],
        proof: DPoPProofGenerator?,
        nonce: String?,
        date: Date
    ) async throws(OAuth2Error) -> TokenResponse {
        var request = TokenRequest(server: server, form: form)
        try clientAuthentication.checkCertificate(of: client)
        do {
            try await clientAuthentication.authenticate(&request, at: date)
            if let proof {
                request.headers["DPoP"] = try proof.proof(
                    method: "POST",
                    url: server.tokenEndpoint.absoluteString,
                    nonce: nonce,
                    date: date
                )
            }
        } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.assertionFailed, "the client could not make the proof of who it is", cause: error)
        }
        journal.count(\.tokenRequests)
        let requested = timeSource.now()
        do {
            // A redirect would carry credentials, which are in the body, to wherever it points.
            let response = try await client.response(
                for: request.urlRequest,
                options: RequestOptions(
                    redirects: .never,
                    timeout: requestTimeout,
                    maximumBodySize: Self.maximumBodySize
                )
            )
            note(response.headers, requested: requested)
            return try TokenResponse(
                parsing: response.body,
                status: response.status,
                requested: requested,
                proof: proof,
                insecurelyAcceptsBearerTokens: insecurelyAcceptsBearerTokens,
                isExchange: request.form.contains { $0.name == "grant_type" && $0.value == TokenExchangeGrant.type },
                hiding: request.secrets
            )
        } catch let error as OAuth2Error {
            throw error
        } catch let error as ServerError {
            note(error.headers, requested: requested)
            throw OAuth2Error(
                answer: error,
                place: "the token endpoint",
                hiding: request.secrets,
                now: timeSource.date()
            )
        } catch let error as NetworkError where error.code == .bodyTooLarge {
            throw OAuth2Error(
                .protocolViolation,
                "the token endpoint's answer is larger than \(Self.maximumBodySize) octets; check the endpoint's URL",
                cause: error
            )
        } catch {
            throw OAuth2Error(.serverUnreachable, "the token endpoint could not be asked", cause: error)
        }
    }

    /// How long an answer may be, in octets: tokens are a few kilobytes.
    private static let maximumBodySize = 1 << 20

    private func note(_ headers: HTTPHeaders, requested: ContinuousClock.Instant) {
        hints.note({ headers[$0] }, from: server.tokenEndpoint, age: timeSource.now() - requested)
    }
}

extension HTTPOrigin {
    /// Whether what is sent there is encrypted, or never leaves the machine.
    var isConfidential: Bool { scheme == "https" || isLoopback }
}

extension URL {
    /// The origin, if what is sent there is encrypted, or never leaves the machine.
    ///
    /// - Parameter what: What is about to be sent, for the error's text.
    /// - Returns: The origin.
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`.
    func confidentialOrigin(_ what: String) throws(OAuth2Error) -> HTTPOrigin {
        guard let origin = HTTPOrigin(quickly: self), origin.isConfidential else { throw isNotConfidential(what) }
        return origin
    }

    /// Says that something must not be sent here.
    func isNotConfidential(_ what: String) -> OAuth2Error {
        OAuth2Error(.insecureTransport, "\(what) is sent only over https; \(host ?? "the URL") is not")
    }
}
