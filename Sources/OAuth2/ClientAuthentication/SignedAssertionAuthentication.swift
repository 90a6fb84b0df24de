import Foundation
import Synchronization

extension StandardClientAuthentication {
    /// The type of an assertion, `client_assertion_type`.
    public struct AssertionType: Sendable, Hashable {
        package let uri: String

        /// A JWT ([RFC 7523 §2.2](https://www.rfc-editor.org/rfc/rfc7523#section-2.2)).
        public static let jwtBearer = Self(uri: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        /// A SPIFFE identity document, JWT-SVID
        /// ([draft](https://datatracker.ietf.org/doc/draft-ietf-oauth-spiffe-client-auth/)).
        public static let jwtSPIFFE = Self(uri: "urn:ietf:params:oauth:client-assertion-type:jwt-spiffe")
    }
}

extension ClientAuthentication where Self == StandardClientAuthentication {
    /// An assertion that another party signed, such as a JWT that the platform issues to the
    /// workload ([RFC 7521 §4.2](https://www.rfc-editor.org/rfc/rfc7521#section-4.2)).
    ///
    /// ```swift
    /// let oauth = OAuth2Client(
    ///     server: server,
    ///     clientAuthentication: .signedAssertion(
    ///         clientID: "reports",
    ///         assertion: KubernetesServiceAccountSource(
    ///             audience: "https://as.example",
    ///             path: "/var/run/secrets/tokens/as"
    ///         )
    ///     )
    /// )
    /// ```
    ///
    /// The client asks the source for each request. The issuer of the assertion chooses its
    /// audience, its lifetime and its `jti`, and the source decides when there's another one. A
    /// request isn't repeated because the client's clock is wrong, as it is for an assertion that
    /// the client signs.
    ///
    /// Many platforms issue one assertion for minutes or hours. By default it's sent again in every
    /// request, including retries such as the one after `use_dpop_nonce`. If the server accepts
    /// each assertion only once, pass `isReusable: false`. A request for which the source has no
    /// other assertion then isn't sent, and fails with the code `assertionFailed`, as it does if
    /// the source fails.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier. If the server has none, choose a name without secrets
    ///     that keeps the tokens of different clients apart, such as the SPIFFE ID.
    ///   - source: The source of the assertions.
    ///   - type: The type of the assertions. The default is a JWT.
    ///   - sendsClientID: `false` to omit `client_id`, for a server that identifies the client by
    ///     the assertion alone. The default is `true`.
    ///   - isReusable: `false` if the server accepts each assertion only once. The default is
    ///     `true`.
    /// - Returns: The authentication.
    public static func signedAssertion(
        clientID: String,
        assertion source: any TokenSource,
        type: StandardClientAuthentication.AssertionType = .jwtBearer,
        sendsClientID: Bool = true,
        isReusable: Bool = true
    ) -> Self {
        Self(
            SignedAssertionAuthentication(
                clientID: clientID,
                source: source,
                type: type,
                sendsClientID: sendsClientID,
                isReusable: isReusable
            )
        )
    }
}

private struct SignedAssertionAuthentication: ClientAuthentication {
    let clientID: String
    let source: any TokenSource
    let type: StandardClientAuthentication.AssertionType
    let sendsClientID: Bool
    let isReusable: Bool
    let sent = SentAssertions()

    func authenticate(_ request: inout TokenRequest, at date: Date) async throws {
        let assertion = try await assertion()
        let fingerprint = assertion.value.fingerprint
        let isNew = sent.insert(fingerprint)
        // Another request may have taken it meanwhile.
        guard isNew || isReusable else { throw Self.spent }
        request.assertionUse = AssertionUse(isRepeated: !isNew) { [sent] in
            if isNew { sent.remove(fingerprint) }
        }
        if sendsClientID { request.set("client_id", clientID) }
        request.set("client_assertion_type", type.uri)
        request.set("client_assertion", assertion.value.expose { $0 })
    }

    private func assertion() async throws -> AccessToken {
        let requirements = TokenRequirements { [isReusable, sent] in
            !isReusable && sent.contains($0.fingerprint)
        }
        do {
            return try await source.token(for: requirements)
        } catch let error as any UnchangedTokenError where error.isUnchangedToken {
            throw Self.spent
        } catch {
            if error is CancellationError { throw error }
            // An `OAuth2Error` isn't this server's answer, and mustn't be mistaken for one.
            var failure = OAuth2Error(.assertionFailed, "the client's assertion isn't available", cause: error)
            failure.retryAfter = (error as? OAuth2Error)?.retryAfter
            throw failure
        }
    }

    private static var spent: OAuth2Error {
        var error = OAuth2Error(
            .assertionFailed,
            """
            the client's assertion was already sent, and its source has no other one yet; wait until the platform \
            replaces it, or pass isReusable: true if the server accepts an assertion more than once
            """
        )
        error.isSpentAssertion = true
        return error
    }
}

/// The use of an assertion that the client can't renew at will.
struct AssertionUse: Sendable {
    let isRepeated: Bool
    /// Notes that the assertion wasn't sent after all.
    let release: @Sendable () -> Void

    /// Returns the error of the request, with the explanation that only the client knows.
    func failure(_ error: OAuth2Error) -> OAuth2Error {
        if !error.isAboutSentRequest { release() }
        guard isRepeated, error.code == .invalidClient else { return error }
        return error.adding(
            "the assertion was sent before; if the server accepts each only once, pass isReusable: false"
        )
    }
}

private final class SentAssertions: Sendable {
    private static let limit = 64
    private let fingerprints = Mutex<[[UInt8]]>([])

    func contains(_ fingerprint: [UInt8]) -> Bool { fingerprints.withLock { $0.contains(fingerprint) } }

    /// Returns `false` if the assertion was sent before.
    func insert(_ fingerprint: [UInt8]) -> Bool {
        fingerprints.withLock { fingerprints in
            guard !fingerprints.contains(fingerprint) else { return false }
            fingerprints.append(fingerprint)
            if fingerprints.count > Self.limit { fingerprints.removeFirst() }
            return true
        }
    }

    func remove(_ fingerprint: [UInt8]) {
        fingerprints.withLock { $0.removeAll { $0 == fingerprint } }
    }
}
