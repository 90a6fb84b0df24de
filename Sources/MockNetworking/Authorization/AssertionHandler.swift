public import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization
public import TokenGeneration

extension MockAuthorizationServer {
    /// The response to a custom grant.
    @nonexhaustive
    public enum ExtensionAnswer: Sendable {
        /// Issues tokens for a subject.
        case tokens(subject: String)
        /// Responds with an error code, such as `invalid_grant`.
        case error(String)
    }

    /// Accepts JWTs of an issuer as grants ([RFC 7523](https://www.rfc-editor.org/rfc/rfc7523)).
    ///
    /// - Parameters:
    ///   - issuer: The `iss` of the JWTs.
    ///   - key: The key that verifies the JWTs.
    public func acceptAssertions(of issuer: String, key: VerificationKey) {
        endpoints.assertions.state.withLock { $0.issuers[issuer] = key }
    }

    /// Accepts a SAML assertion as a grant ([RFC 7522](https://www.rfc-editor.org/rfc/rfc7522)).
    ///
    /// The server doesn't parse the assertion, but compares its bytes.
    ///
    /// - Parameters:
    ///   - assertion: The assertion's XML.
    ///   - subject: The subject of the tokens.
    public func acceptSAMLAssertion(_ assertion: Data, subject: String) {
        endpoints.assertions.state.withLock { $0.samlSubjects[Array(assertion)] = subject }
    }

    /// Adds a custom grant.
    ///
    /// - Parameters:
    ///   - type: The grant type.
    ///   - answer: Returns the response to a request's parameters.
    public func onGrant(_ type: String, _ answer: @escaping @Sendable ([String: String]) throws -> ExtensionAnswer) {
        endpoints.assertions.state.withLock { $0.extensions[type] = answer }
    }
}

final class AssertionHandler: Sendable {
    typealias Extension = @Sendable ([String: String]) throws -> MockAuthorizationServer.ExtensionAnswer

    fileprivate struct State {
        var issuers: [String: VerificationKey] = [:]
        var usedAssertions: Set<String> = []
        /// The subjects of SAML assertions, by the bytes of the assertions.
        var samlSubjects: [[UInt8]: String] = [:]
        var extensions: [String: Extension] = [:]
    }

    fileprivate let state = Mutex(State())
    private let clients: ClientRegister

    init(clients: ClientRegister) { self.clients = clients }

    func answer(to type: String) -> Extension? { state.withLock { $0.extensions[type] } }

    func subject(ofJWT assertion: String) throws(TokenEndpointError) -> String {
        let token: VerifiedToken
        do {
            let issuer = try UnverifiedToken(assertion).unverifiedClaims["iss"]?.string ?? ""
            guard let key = state.withLock({ $0.issuers[issuer] }) else {
                throw TokenEndpointError.invalidGrant("the assertion's issuer isn't trusted")
            }
            let policy = ValidationPolicy(
                issuer: .exactly(issuer),
                audience: .containsAny(of: clients.audiences),
                leeway: .seconds(10),
                currentDate: clients.configuration.serverTime.date
            )
            token = try JWTVerifier(key: key, policy: policy).verify(assertion)
        } catch let error as TokenEndpointError {
            throw error
        } catch {
            let code = (error as? TokenError).map { "\($0.code)" } ?? "-"
            throw .invalidGrant("the assertion isn't valid: \(code)")
        }
        guard let subject = token.registered.subject else { throw .invalidGrant("the assertion has no subject") }
        if let identifier = token.registered.jwtID {
            guard state.withLock({ $0.usedAssertions.insert(identifier).inserted }) else {
                throw .invalidGrant("the assertion was already used")
            }
        }
        return subject
    }

    func subject(ofSAML text: String) throws(TokenEndpointError) -> String {
        guard let octets = try? Base64URL.decode(text), let subject = state.withLock({ $0.samlSubjects[octets] }) else {
            throw .invalidGrant("the assertion isn't accepted")
        }
        return subject
    }
}
