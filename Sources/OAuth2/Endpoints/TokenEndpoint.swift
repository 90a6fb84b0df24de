import Foundation
import FoundationNetworking
import Glibc
import Networking
import TokenGeneration

/// A token endpoint with the client that requests tokens from it.
struct TokenEndpoint: Sendable {
    let location: ServerLocation
    let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    var timing: OAuth2Timing
    /// The timeout of one request, or `nil` for the network client's; the caller limits the total.
    var requestTimeout: Duration?
    let hints: DPoPServerState
    let journal: TokenJournal
    let dpop: DPoPKey?

    /// A Boolean value that indicates whether bearer tokens are accepted despite a key.
    var insecurelyAcceptsBearerTokens: Bool { dpop?.insecurelyAcceptsBearerTokens ?? false }

    var timeSource: TimeSource { timing.timeSource }

    /// Returns the server with the endpoints for this client.
    func server() async throws(OAuth2Error) -> AuthorizationServer {
        let server = try await location.server()
        return clientAuthentication.usesMutualTLS ? server.usingMutualTLSAliases() : server
    }

    /// The limits of a request that has been announced to other hosts.
    struct SendingLimits: Sendable {
        /// The time after which the request isn't sent, because another host may send the token.
        let sendBy: ContinuousClock.Instant
        /// The timeout of one request.
        let timeout: Duration
    }

    /// Sends token requests until one succeeds, a failure is final, or the time is up.
    ///
    /// `isSingleUse` is true if the request carries a credential that works only once.
    func requestToken(
        form: [(name: String, value: String)],
        proof: DPoPProofGenerator?,
        isSingleUse: Bool,
        until deadline: ContinuousClock.Instant,
        sending limits: SendingLimits? = nil
    ) async throws(OAuth2Error) -> TokenAnswer {
        let server = try await server()
        let origin = try server.tokenEndpoint.confidentialOrigin("the client's credential")
        var sequence = TokenRequestSequence(attempts: timing.attempts, isSingleUse: isSingleUse)
        var wasSent = false
        var previous: OAuth2Error?
        while true {
            let nonce = hints.nonce(for: origin)
            let skew = hints.skew(for: origin)
            var failure: OAuth2Error
            do {
                return try await requestTokenOnce(
                    TokenRequest(server: server, form: form),
                    proof: proof,
                    nonce: nonce,
                    date: hints.date(for: origin),
                    sending: limits
                )
            } catch { failure = error.following(previous) }
            previous = failure
            wasSent = wasSent || failure.isAboutSentRequest
            failure.isAboutSentRequest = wasSent
            let news = hints.nonce(for: origin)
            let step = sequence.next(
                after: failure,
                TokenRequestSequence.Circumstances(
                    isSkewNews: hints.skew(for: origin) != skew,
                    usesAssertion: clientAuthentication.usesAssertion,
                    isNonceNews: news != nonce,
                    hasNonce: failure.hasNonce,
                    timeLeft: deadline - timeSource.now(),
                    jitter: timing.random()
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

    /// Sends one request and reads the response.
    private func requestTokenOnce(
        _ unsigned: TokenRequest,
        proof: DPoPProofGenerator?,
        nonce: String?,
        date: Date,
        sending limits: SendingLimits?
    ) async throws(OAuth2Error) -> TokenAnswer {
        var request = unsigned
        try clientAuthentication.checkCertificate(of: client)
        do {
            try await clientAuthentication.authenticate(&request, at: date)
            if let proof {
                request.headers["DPoP"] = try proof.proof(
                    method: "POST",
                    url: request.endpoint.absoluteString,
                    nonce: nonce,
                    date: date
                )
            }
        } catch {
            request.assertionUse?.release()
            throw error as? OAuth2Error
                ?? OAuth2Error(.assertionFailed, "the client's credential can't be created", cause: error)
        }
        if let limits, timeSource.now() >= limits.sendBy {
            request.assertionUse?.release()
            throw .tooLateToSend
        }
        journal.add(.requested)
        do throws(OAuth2Error) { return try await send(request, proof, timeout: limits?.timeout) } catch {
            var error = error
            error.isAboutSentRequest = (error.cause as? NetworkError)?.isUnprocessed != true
            throw request.assertionUse?.failure(error) ?? error
        }
    }

    private func send(
        _ request: TokenRequest,
        _ proof: DPoPProofGenerator?,
        timeout: Duration?
    ) async throws(OAuth2Error) -> TokenAnswer {
        let requested = timeSource.now()
        let exchange = EndpointExchange(
            place: "the token endpoint",
            url: request.endpoint,
            client: client,
            timing: timing,
            hints: hints,
            isOfClient: true,
            isOfAuthenticator: false
        )
        do {
            let response = try await exchange.response(
                to: (try request.urlRequest, request.secrets),
                timeout: timeout ?? requestTimeout,
                observers: journal.observers
            )
            func value(_ name: String) -> String? { request.form.first { $0.name == name }?.value }
            do throws(OAuth2Error) {
                return .tokens(
                    try TokenResponse(
                        parsing: response.body,
                        status: response.status,
                        requested: requested,
                        proof: proof,
                        insecurelyAcceptsBearerTokens: insecurelyAcceptsBearerTokens,
                        acceptsMissingType: request.server.omitsTokenType,
                        isExchange: value("grant_type") == TokenExchangeGrant.type,
                        requestedType: value("requested_token_type"),
                        hiding: request.secrets
                    )
                )
            } catch {
                guard let refreshToken = TokenAnswer.refreshToken(in: response.body) else { throw error }
                // The server counts this token as issued, even if the rest is unusable.
                return .refreshTokenOnly(refreshToken, error)
            }
        } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.serverUnreachable, "the token endpoint couldn't be reached", cause: error)
        }
    }

    /// The maximum size of a response, in bytes; tokens have a few kilobytes.
    static let maximumBodySize = 1 << 20
}

extension TokenEndpoint {
    /// Creates an endpoint with its own journal, for the observers of the client.
    init(
        _ location: ServerLocation,
        _ clientAuthentication: any ClientAuthentication,
        _ client: NetworkClient,
        _ timing: OAuth2Timing,
        _ dpop: DPoPKey?
    ) {
        let journal = TokenJournal(client.options.observers)
        self.init(
            location: location,
            clientAuthentication: clientAuthentication,
            client: client,
            timing: timing,
            hints: DPoPServerState(timeSource: timing.timeSource, journal: journal),
            journal: journal,
            dpop: dpop
        )
    }
}

extension HTTPOrigin {
    /// A Boolean value that indicates whether requests are encrypted or never leave the machine.
    package var isConfidential: Bool { scheme == "https" || isLoopback }

    /// A Boolean value that indicates whether the host is a name or an address of this machine.
    ///
    /// The host can have any spelling that the system's resolver accepts. The property covers more
    /// hosts than ``HTTPOrigin/isLoopback``, which decides which requests may be sent without TLS.
    var isThisMachine: Bool {
        var name = Substring(host)
        while name.last == "." { name.removeLast() }
        if isLoopback || name == "localhost" || name.hasSuffix(".localhost") { return true }
        if ["localhost.localdomain", "ip6-localhost", "ip6-loopback"].contains(name) { return true }
        var address = in_addr()
        // Also 127.1, 0x7F000001 and 2130706433.
        if unsafe inet_aton(String(name), &address) != 0 { return Self.isThisMachine(address.s_addr) }
        let text = name.drop { $0 == "[" }.prefix { $0 != "]" && $0 != "%" }
        var octets = [UInt8](repeating: 0, count: 16)
        guard unsafe inet_pton(AF_INET6, String(text), &octets) == 1 else { return false }
        if octets.dropLast().allSatisfy({ $0 == 0 }) { return octets[15] <= 1 }
        // An IPv4 address, mapped or compatible (RFC 4291 §2.5.5).
        guard octets.prefix(10).allSatisfy({ $0 == 0 }), [0, 0xFF].contains(octets[10]), octets[10] == octets[11] else {
            return false
        }
        return octets[12] == 127 || octets[12] == 0
    }

    /// Returns a Boolean value that indicates whether an IPv4 address, in network byte order, is in
    /// 127/8, or in 0/8, which also leads to this machine.
    private static func isThisMachine(_ address: UInt32) -> Bool {
        let first = UInt32(bigEndian: address) >> 24
        return first == 127 || first == 0
    }
}

extension URL {
    /// Returns the origin, if requests are encrypted or never leave the machine.
    ///
    /// - Throws: ``OAuth2Error`` with the code `insecureTransport`, about the content `what`.
    func confidentialOrigin(_ what: String) throws(OAuth2Error) -> HTTPOrigin {
        guard let origin = HTTPOrigin(self), origin.isConfidential else { throw isNotConfidential(what) }
        return origin
    }

    /// Returns an error for content that must not be sent to this URL.
    func isNotConfidential(_ what: String) -> OAuth2Error {
        OAuth2Error(.insecureTransport, "\(what) requires https, which \(host ?? "the URL") doesn't use")
    }
}
