public import Foundation
import Synchronization

/// A user has granted what an ``AuthorizationRequest`` asked for
/// ([RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3)).
///
/// A code must not be used twice: a second call of ``parameters(at:)`` gets none, and then only a refresh token helps. A code that was
/// certainly not sent, for example because the connection failed, can be used again.
public struct AuthorizationCodeGrant: Grant {
    /// The grant's type and a digest of the code.
    public let identifier: String
    /// The services that this token is for, of those that were asked for; all of them if empty
    /// ([RFC 8707 §2.2](https://www.rfc-editor.org/rfc/rfc8707#section-2.2)).
    public var resources: [String] = []
    /// The ID token that the request asked for.
    let expectedIDToken: ExpectedIDToken
    private let code: Secret
    private let redirectURI: String
    private let codeVerifier: CodeVerifier
    private let use = SingleUse()

    /// Makes the grant of what ``AuthorizationRequest/grant(from:of:)`` has not read.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - redirectURI: The redirect URI of the request.
    ///   - codeVerifier: The verifier of the request.
    ///   - idToken: The ID token that the request asked for.
    public init(code: Secret, redirectURI: String, codeVerifier: CodeVerifier, idToken: ExpectedIDToken) {
        expectedIDToken = idToken
        self.code = code
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier
        identifier = "authorization_code \(code.fingerprint.hexadecimal)"
    }

    /// Never: the user would have to grant anew.
    public var isRepeatable: Bool { false }

    /// The form's fields, once.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `grant_type`, the code, the redirect URI and the verifier; `nil` when the code was handed out before.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` for a resource that is no URI.
    public func parameters(at date: Date) throws -> [(name: String, value: String)]? {
        let access = try RequestedAccess(resources: resources).fields()
        guard use.isFirst() else { return nil }
        return [
            ("grant_type", "authorization_code"), ("code", code.expose { $0 }), ("redirect_uri", redirectURI),
            ("code_verifier", codeVerifier.value.expose { $0 }),
        ] + access
    }

    /// Makes the code good for another use.
    public func parametersWereNotSent() { use.undo() }
}

/// Lets the first through.
private final class SingleUse: Sendable {
    private let isUsed = Atomic(false)

    func isFirst() -> Bool {
        !isUsed.exchange(true, ordering: .relaxed)
    }

    func undo() { isUsed.store(false, ordering: .relaxed) }
}
