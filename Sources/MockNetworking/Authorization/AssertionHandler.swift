import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// The issuers whose assertions are grants, and the test's own grants
/// ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
final class AssertionHandler: Sendable {
    typealias Extension = @Sendable ([String: String]) throws -> MockAuthorizationServer.ExtensionAnswer

    private struct State {
        var issuers: [String: VerificationKey] = [:]
        var usedAssertions: Set<String> = []
        /// The subjects of SAML assertions, by the bytes of the assertions.
        var samlSubjects: [[UInt8]: String] = [:]
        var extensions: [String: Extension] = [:]
    }

    private let state = Mutex(State())
    private let metadata: AuthorizationServer
    private let configuration: MockAuthorizationServer.Configuration

    init(metadata: AuthorizationServer, configuration: MockAuthorizationServer.Configuration) {
        self.metadata = metadata
        self.configuration = configuration
    }

    func trust(_ issuer: String, _ key: VerificationKey) {
        state.withLock { $0.issuers[issuer] = key }
    }

    func trust(saml assertion: Data, of subject: String) {
        state.withLock { $0.samlSubjects[Array(assertion)] = subject }
    }

    func add(_ type: String, _ answer: @escaping Extension) {
        state.withLock { $0.extensions[type] = answer }
    }

    func answer(to type: String) -> Extension? { state.withLock { $0.extensions[type] } }

    /// Returns the subject that a JWT assertion authorizes the client to act for.
    func subject(ofJWT assertion: String) throws(TokenEndpointError) -> String {
        let token: VerifiedToken
        do {
            let issuer = try UnverifiedToken(assertion).unverifiedClaims["iss"]?.string ?? ""
            guard let key = state.withLock({ $0.issuers[issuer] }) else {
                throw Self.invalidGrant("the assertion's issuer isn't trusted")
            }
            var policy = ValidationPolicy(
                issuer: .exactly(issuer),
                leeway: .seconds(10),
                currentDate: configuration.serverTime.date
            )
            policy.audience = .containsAny(of: [metadata.issuer, metadata.tokenEndpoint.absoluteString])
            token = try JWTVerifier(key: key, policy: policy).verify(assertion)
        } catch let error as TokenEndpointError {
            throw error
        } catch {
            throw Self.invalidGrant("the assertion isn't valid: \((error as? TokenError).map { "\($0.code)" } ?? "-")")
        }
        guard let subject = token.registered.subject else { throw Self.invalidGrant("the assertion has no subject") }
        if let identifier = token.registered.jwtID {
            guard state.withLock({ $0.usedAssertions.insert(identifier).inserted }) else {
                throw Self.invalidGrant("the assertion was already used")
            }
        }
        return subject
    }

    /// Returns the subject that a SAML assertion authorizes the client to act for.
    func subject(ofSAML text: String) throws(TokenEndpointError) -> String {
        guard let octets = try? Base64URL.decode(text), let subject = state.withLock({ $0.samlSubjects[octets] }) else {
            throw Self.invalidGrant("the assertion isn't accepted")
        }
        return subject
    }

    private static func invalidGrant(_ description: String) -> TokenEndpointError {
        TokenEndpointError(code: "invalid_grant", description: description)
    }
}

/// The handlers of grants that require more than the client's authentication.
struct GrantHandlers: Sendable {
    let codes: AuthorizationHandler
    let devices: DeviceHandler
    let assertions: AssertionHandler
}
