public import Foundation
public import Networking
import TokenGeneration

/// The keys of a signature agent, as its server publishes them
/// ([Web Bot Auth](https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/)).
///
/// ```swift
/// let directory = try SignatureKeyDirectory(signers: [
///     MessageSigner(key: key, profile: .keyDirectory),
/// ])
/// // In the handler of SignatureKeyDirectory.path:
/// let response = try await directory.response(to: message)
/// ```
///
/// To replace a key, publish the new one next to it, wait until verifiers have fetched it, and
/// remove the old one later.
public struct SignatureKeyDirectory: Sendable {
    /// The path of the directory on the agent's server.
    public static let path = "/.well-known/http-message-signatures-directory"
    /// The media type of the directory.
    public static let mediaType = "application/http-message-signatures-directory+json"

    /// The time for which verifiers may cache the directory; the default is one day.
    public var lifetime: Duration = .seconds(86_400)
    private let signers: [MessageSigner]
    private let body: Data

    /// Creates a directory with the public keys of signers.
    ///
    /// - Parameter signers: The signers, one for each key, with the profile
    ///   ``SignatureProfile/keyDirectory``.
    /// - Throws: ``HTTPSignatureError`` with the code `invalidProfile` if a signer has another
    ///   profile, or no public key.
    public init(signers: [MessageSigner]) throws(HTTPSignatureError) {
        var keys: [JSONValue] = []
        for signer in signers {
            guard let key = signer.key.verificationKey, !key.algorithm.isSymmetric else {
                throw HTTPSignatureError(.invalidProfile, "a directory needs the public key of each signer")
            }
            guard signer.profile.tag == SignatureProfile.keyDirectory.tag else {
                throw HTTPSignatureError(.invalidProfile, "the signers of a directory need the profile “keyDirectory”")
            }
            keys.append(.object(Self.published(key)))
        }
        self.signers = signers
        let members: JSONObject = ["keys": .array(keys)]
        body = members.serializedData()
    }

    /// Returns the response to a request for the directory, with one signature per key.
    ///
    /// The signatures prove that the server has the private keys, and bind them to its authority.
    ///
    /// - Parameter request: The request, with the origin by which clients know the server.
    /// - Returns: The header fields and the body.
    /// - Throws: ``HTTPSignatureError`` as ``MessageSigner/sign(_:body:answering:)`` does.
    public func response(to request: HTTPMessage) async throws -> (headers: HTTPHeaders, body: Data) {
        var message = HTTPMessage(
            status: 200,
            headers: [
                "Content-Type": Self.mediaType, "Cache-Control": "max-age=\(lifetime.components.seconds)",
            ],
            request: request
        )
        for signer in signers { message = message.setting(try await signer.sign(message, body: .data(body))) }
        return (message.headers, body)
    }

    /// Returns the JWK of a key, whose `kid` is its thumbprint.
    ///
    /// The draft restricts `alg` to the names of RFC 9421. Only RSA keys need it.
    private static func published(_ key: VerificationKey) -> JSONObject {
        var members = key.jwk.publicPart.members
        members["alg"] = nil
        members["kid"] = .string(key.thumbprint)
        members["use"] = "sig"
        if key.jwk.keyType == "RSA", let name = key.httpSignatureName { members["alg"] = .string(name) }
        return members
    }
}

extension SignatureProfile {
    /// Responses with a ``SignatureKeyDirectory``
    /// ([Web Bot Auth](https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/)).
    public static let keyDirectory = Self(components: [
        .required(.authority.ofRequest), .required("content-digest"),
    ]).with {
        $0.tag = "http-message-signatures-directory"
        $0.requiredParameters = ["created", "expires", "keyid"]
        $0.nonce = .none
        $0.lifetime = .seconds(7 * 86_400)
        $0.maximumAge = .seconds(366 * 86_400)
        $0.usesThumbprints = true
    }
}
