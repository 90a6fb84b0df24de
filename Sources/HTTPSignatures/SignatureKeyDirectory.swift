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
            guard let key = signer.key.knownVerificationKey, !key.algorithm.isSymmetric else {
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

    // The draft restricts `alg` to the names of RFC 9421. Only RSA keys need it.
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

/// The URL of a signer's keys in `Signature-Agent`
/// ([Web Bot Auth](https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/)).
public struct SignatureAgent: Hashable, Sendable {
    /// The URL of the keys.
    public let url: URL
    /// A plain string, as in early drafts.
    let isLegacy: Bool

    /// Creates an agent.
    ///
    /// - Parameters:
    ///   - url: The `https` URL of the key set, or the origin of the agent if it's legacy.
    ///   - isLegacy: Whether to send the agent as a plain string, for services that implement an
    ///     early draft. The default is `false`, for a dictionary with the signature's label as its
    ///     key.
    public init(url: URL, isLegacy: Bool = false) {
        self.url = url
        self.isLegacy = isLegacy
    }

    func component(label: String) -> ComponentIdentifier {
        isLegacy ? "signature-agent" : ComponentIdentifier("signature-agent").member(label)
    }

    /// Returns the field of a message, which may have other agents, with this one.
    func field(label: String, in headers: HTTPHeaders) throws(HTTPSignatureError) -> String {
        let text = url.absoluteString
        let lines = headers.values(for: "Signature-Agent")
        do throws(NetworkError) {
            if isLegacy {
                guard lines.isEmpty else { throw NetworkError(.invalidRequest, "the message already has an agent") }
                return try StructuredField.Item(.string(text)).serialized()
            }
            var agents = try StructuredField.Dictionary(parsing: lines)
            guard agents[label] == nil else {
                throw NetworkError(.invalidRequest, "the message already has an agent with the label")
            }
            agents[label] = .item(StructuredField.Item(.string(text)))
            return try agents.serialized()
        } catch {
            throw HTTPSignatureError(.signingFailed, "can't add the agent to Signature-Agent", cause: error)
        }
    }
}

extension SignatureParameters {
    /// Returns the covered URL, or `nil`.
    ///
    /// A signature is attributed only to a member that it covers: the one with its label, or the
    /// only one, because the label may have changed on the way.
    func agent(in message: HTTPMessage, label: String) throws(HTTPSignatureError) -> URL? {
        let covering = components.filter {
            $0.name == "signature-agent" && !$0.has("req") && !$0.has("tr") && !$0.has("bs")
        }
        guard !covering.isEmpty else { return nil }
        let keys = covering.compactMap { $0.text(of: "key") }
        let lines = message.headers.values(for: "Signature-Agent")
        guard !lines.isEmpty else {
            throw HTTPSignatureError(.missingComponent, "the message has no Signature-Agent")
        }
        let text: String?
        if keys.isEmpty {
            text = (try? StructuredField.Item(parsing: lines))?.plainString
        } else {
            let key = keys.first { $0.utf8.elementsEqual(label.utf8) } ?? (keys.count == 1 ? keys[0] : nil)
            guard let key else {
                throw HTTPSignatureError(
                    .insufficientCoverage,
                    "the signature covers several agents, but none with its label"
                )
            }
            let agents = try? StructuredField.Dictionary(parsing: lines)
            if case .item(let item)? = agents?[key] { text = item.plainString } else { text = nil }
        }
        guard let text, let uri = try? TargetURI(text), uri.scheme == "https",
            let url = URL(string: text, encodingInvalidCharacters: false)
        else {
            throw HTTPSignatureError(.malformedComponent, "the covered Signature-Agent isn't an https URL")
        }
        return url
    }
}

extension StructuredField.Item {
    /// The string, if the item is one without parameters, which the draft forbids.
    fileprivate var plainString: String? {
        if case .string(let text) = value, parameters.isEmpty { text } else { nil }
    }
}
