public import Foundation
internal import OpenSSLCrypto

/// The content of an SD-JWT, without any proof that it's authentic.
///
/// Anyone can write any SD-JWT. Use this type only to inspect one, for example to find out which
/// issuer's keys to fetch. To make decisions, use ``SDJWTVerifier``.
public struct UnverifiedSDJWT: Sendable {
    /// The protected header of the issuer-signed JWT, as the unknown author of the SD-JWT wrote it.
    ///
    /// In the general JSON serialization, it's that of the first signature.
    public let unverifiedHeader: JSONObject
    /// The payload of the issuer-signed JWT, as the unknown author wrote it, with digests instead
    /// of the claims that can be hidden.
    public let unverifiedPayload: JSONObject

    /// A disclosure.
    package struct Disclosed: Sendable {
        /// The digest, or `nil` if the hash algorithm isn't supported.
        package let digest: String?
        /// The path of the claim, or `nil` if nothing refers to the disclosure.
        package let path: ClaimPath?
        /// The name of the claim, or `nil` for an element of an array.
        package let name: String?
        /// The value of the claim, or `nil` if the disclosure is malformed.
        package let value: JSONValue?
    }

    /// The content of a key binding.
    package struct KeyBinding: Sendable {
        package let header: JSONObject
        package let claims: JSONObject
    }

    /// The headers of all signatures: one, unless the form is general JSON.
    package let signatures: [UnverifiedJWS.Signature]
    /// The disclosures in order.
    package let disclosures: [Disclosed]
    /// The number of digests without a disclosure: decoys, and claims that are hidden.
    package let undisclosedCount: Int
    /// The key binding, or `nil` if it's missing or malformed.
    package let keyBinding: KeyBinding?
    /// The reasons why verifiers with the same limits reject the disclosures and the key binding.
    ///
    /// They don't depend on the signatures.
    package let problems: [TokenError]

    /// Parses a compact SD-JWT, with or without a key binding.
    ///
    /// The signature can be any base64url text, including an empty one. The disclosures and the key
    /// binding can be malformed.
    ///
    /// - Parameters:
    ///   - compact: The SD-JWT.
    ///   - limits: The maximum size of the SD-JWT.
    /// - Throws: ``TokenError`` with the code `malformedToken`, `malformedDisclosure` for an empty
    ///   disclosure, or `tooLarge`.
    public init(_ compact: String, limits: SDJWTLimits = SDJWTLimits()) throws(TokenError) {
        let token = try SDJWT(compact: compact, limits: limits)
        let jws = try UnverifiedJWS(compact: token.issuerJWT, limits: JWSLimits(size: limits.size))
        try self.init(token, jws, limits)
    }

    /// Parses an SD-JWT in the flattened or general JSON serialization.
    ///
    /// - Parameters:
    ///   - json: The SD-JWT, JSON text in UTF-8.
    ///   - limits: The maximum size of the SD-JWT.
    /// - Throws: ``TokenError`` as ``init(_:limits:)`` does, and `criticalHeaderUnsupported` if the
    ///   payload isn't encoded.
    public init(json: Data, limits: SDJWTLimits = SDJWTLimits()) throws(TokenError) {
        let token = try JSONToken(Array(json), limits: JWSLimits(size: limits.size))
        try self.init(SDJWT(token, limits: limits), UnverifiedJWS(token), limits)
    }

    private init(_ token: SDJWT, _ jws: UnverifiedJWS, _ limits: SDJWTLimits) throws(TokenError) {
        signatures = jws.unverifiedSignatures
        unverifiedHeader = jws.unverifiedSignatures[0].unverifiedProtectedHeader
        let jwsLimits = JWSLimits(size: limits.size)
        let octets = Array(jws.unverifiedPayload ?? Data())
        let payload = try jwsLimits.claims(in: octets)
        unverifiedPayload = payload
        var problems: [TokenError] = []
        do throws(TokenError) {
            _ = try SDJWTVerifier.Processed(token, payload: octets, jwsLimits, limits)
        } catch {
            problems.append(error)
        }
        var finder = DisclosureFinder(
            token.disclosures,
            hash: try? NamedHash(in: payload),
            limits: limits
        )
        finder.visit(.object(payload))
        disclosures = finder.disclosures
        undisclosedCount = finder.undisclosedCount
        do throws(TokenError) {
            keyBinding = try token.keyBindingJWT.map { text throws(TokenError) in
                let parts = try KeyBindingJWT.parts(of: text)
                return KeyBinding(header: try parts.header().members, claims: try parts.claims(in: parts.payload()))
            }
        } catch {
            keyBinding = nil
            problems.append(error)
        }
        self.problems = problems
    }
}

extension UnverifiedSDJWT: Redacted {
    /// The number of disclosures, but no content.
    public var description: String { "UnverifiedSDJWT(\(disclosures.count) disclosures)" }
}
