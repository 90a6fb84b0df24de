public import Foundation
public import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// A signer of messages with one key and one profile
/// ([RFC 9421 §3.1](https://www.rfc-editor.org/rfc/rfc9421#section-3.1)).
///
/// ```swift
/// let signer = try MessageSigner(key: key, profile: .standard)
/// let fields = try await signer.sign(message, body: .data(body))
/// for field in fields { request.headers[field.name] = field.value }
/// ```
///
/// A client signs its requests with a ``RequestSigner``. A server signs a response with the message
/// of the request in it, so that the signature covers both.
public struct MessageSigner: Sendable {
    /// The agreement with the verifiers.
    public let profile: SignatureProfile
    /// The ID of the key for `keyid`, or `nil`.
    public let keyID: String?
    /// The label of the signature in a message; the default is `sig1`.
    ///
    /// Labels aren't signed, and verifiers ignore them. If the message has a signature with the
    /// label, another one is used.
    public var label = "sig1"
    /// A closure that returns the current time.
    public var currentDate: @Sendable () -> Date = { Date() }
    /// A closure that returns a new nonce; the default has 192 random bits.
    public var makeNonce: @Sendable () throws -> String = {
        Base64URL.encode(try SecureRandom.bytes(count: 24))
    }

    let key: any SigningService

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: The key: a `SigningKey`, or a service such as a key management service.
    ///   - keyID: The ID that verifiers know the key by. The default is the key's own ID, or the
    ///     thumbprint of its public key for the profiles of Web Bot Auth.
    ///   - profile: The agreement with the verifiers.
    /// - Throws: ``HTTPSignatureError`` with the code `algorithmMismatch` or `weakKey` if the
    ///   profile doesn't accept the key, or `invalidProfile` if the ID is missing or the profile
    ///   covers a component that it prohibits.
    public init(
        key: any SigningService,
        keyID: String? = nil,
        profile: SignatureProfile
    ) throws(HTTPSignatureError) {
        self.key = key
        self.profile = profile
        let verificationKey = key.knownVerificationKey
        self.keyID = keyID ?? (profile.usesThumbprints ? verificationKey?.thumbprint : nil) ?? key.keyID
        try profile.check(key.algorithm, verificationKey)
        try profile.checkComponents()
        guard self.keyID != nil || !profile.requiredParameters.contains("keyid") else {
            throw HTTPSignatureError(.invalidProfile, "the profile requires “keyid”; pass the key's ID")
        }
        guard self.keyID?.utf8.count ?? 0 <= SignatureLimits.parameterLength else {
            throw HTTPSignatureError(
                .invalidProfile,
                "the key's ID is longer than \(SignatureLimits.parameterLength) bytes"
            )
        }
    }

    /// Signs a message.
    ///
    /// If the signature covers `Content-Digest`, the digest is computed from the body. A message
    /// that already has the field is checked against it, or trusted if the body can be read only
    /// once. If a peer asks for a signature with `Accept-Signature`, and the profile allows that
    /// signature, the message is signed as the peer asks for.
    ///
    /// - Parameters:
    ///   - message: The message, with all its fields.
    ///   - body: The body, in the form in which it's sent. The default is `none`.
    ///   - peer: The header fields of the peer's message; for a response, those of the request. The
    ///     default is empty.
    /// - Returns: The header fields to set in the message: `Signature-Input`, `Signature` and,
    ///   where they apply, `Content-Digest`, `Content-Length` and `Signature-Agent`. Each replaces
    ///   the fields of the same name and contains other signatures of the message.
    /// - Throws: ``HTTPSignatureError`` with the code `invalidComponent`, `missingComponent`,
    ///   `malformedComponent` or `tooLarge` if the components can't be covered, `bodyNotReadable`,
    ///   `digestMismatch`, `unsupportedDigest` or `signingFailed`; the errors of
    ///   `HTTPBody.read(_:)`; `CancellationError`.
    public func sign(
        _ message: HTTPMessage,
        body: HTTPBody = .none,
        answering peer: HTTPHeaders = [:]
    ) async throws -> HTTPHeaders {
        let length = body.contentLength
        let hasContent = length != 0
        // Decided before any field is added, as by a client that considers another attempt.
        let demands = SignatureDemand.acceptable(in: peer, for: self, message, hasContent: hasContent)
        var fields = SignedFields(message: message)
        let coversLength =
            demands.isEmpty ? profile.names("content-length") : demands.contains { $0.covers("content-length") }
        if hasContent, let length, coversLength, message.headers["Content-Length"] == nil {
            fields.set("Content-Length", String(length))
        }
        let coverage = profile.coverage(of: message, hasContent: hasContent)
        if coverage.contains(where: \.coversContent) || demands.contains(where: { $0.covers("content-digest") }) {
            let digest = try await body.digestField(in: message.headers, profile.digestAlgorithm)
            fields.set("Content-Digest", digest)
        }
        for demand in demands { try await addSignature(to: &fields, hasContent: hasContent, demand) }
        if demands.isEmpty { try await addSignature(to: &fields, hasContent: hasContent, nil) }
        return fields.changes
    }

    // MARK: One signature

    private func addSignature(
        to fields: inout SignedFields,
        hasContent: Bool,
        _ demand: SignatureDemand?
    ) async throws {
        let label = try fields.freeLabel(demand?.label ?? label)
        var components = demand?.parameters.components ?? profile.coverage(of: fields.message, hasContent: hasContent)
        if let agent = profile.signatureAgent {
            fields.set("Signature-Agent", try agent.field(label: label, in: fields.message.headers))
            let component = agent.component(label: label)
            if !components.contains(component) { components.append(component) }
        }
        try components.coverSignatures(of: fields.message)
        let parameters = SignatureParameters(components: components, parameters: try self.parameters(demand))
        let base = try SignatureBase(of: fields.message, parameters: parameters, fieldTypes: profile.fieldTypes)
        let signature = try await key.signature(for: base)
        try fields.add(label, base, signature)
    }

    private func parameters(_ demand: SignatureDemand?) throws -> StructuredField.Parameters {
        var parameters = StructuredField.Parameters()
        let created = Int64(clamping: currentDate().timeIntervalSince1970.rounded(.down))
        parameters["created"] = .integer(created)
        let lifetime = profile.lifetime ?? (demand?.asks(for: "expires") == true ? profile.maximumAge : nil)
        if let lifetime {
            let seconds = min(lifetime, profile.maximumLifetime ?? lifetime).components.seconds
            // A sum that overflows can't be sent: it has more than 15 digits.
            let (end, overflow) = created.addingReportingOverflow(max(seconds, 1))
            parameters["expires"] = .integer(overflow ? .max : end)
        }
        if let keyID { parameters["keyid"] = .string(keyID) }
        if profile.sendsAlgorithm || demand?.asks(for: "alg") == true, let name = key.httpSignatureName {
            parameters["alg"] = .string(name)
        }
        if let nonce = demand?.parameters.nonce {
            parameters["nonce"] = .string(nonce)
        } else if profile.nonce != .none {
            do { parameters["nonce"] = .string(try makeNonce()) } catch {
                throw HTTPSignatureError(.signingFailed, "no nonce is available", cause: error)
            }
        }
        if let tag = profile.tag { parameters["tag"] = .string(tag) }
        return parameters
    }
}

extension SignatureProfile {
    fileprivate func names(_ name: String) -> Bool {
        components.contains { $0.alternatives.contains { $0.name == name && !$0.has("req") } }
    }

    func checkComponents() throws(HTTPSignatureError) {
        let prohibited = components.lazy.flatMap(\.alternatives).first(where: prohibits)
        guard let prohibited else { return }
        throw HTTPSignatureError(.invalidProfile, "the profile covers and prohibits the component \(prohibited.shown)")
    }

    func check(_ algorithm: JWSAlgorithm, _ key: VerificationKey?) throws(HTTPSignatureError) {
        if let algorithms {
            let sameSignatures = key?.httpSignatureName.flatMap { JWSAlgorithm(httpSignatureName: $0) }
            guard algorithms.contains(algorithm) || sameSignatures.map(algorithms.contains) ?? false else {
                throw HTTPSignatureError(.algorithmMismatch, "the profile doesn't accept keys for \(algorithm)")
            }
        }
        guard key?.isShortSecret != true else {
            throw HTTPSignatureError(.weakKey, "the key's secret is shorter than \(algorithm) requires")
        }
    }
}

extension ComponentIdentifier {
    /// A Boolean value that indicates whether the component is the digest of the message's content.
    package var coversContent: Bool { name == "content-digest" && !has("req") && !has("tr") }
}

struct SignedFields {
    private(set) var message: HTTPMessage
    private(set) var changes: HTTPHeaders = [:]

    mutating func set(_ name: String, _ value: String) {
        message.headers[name] = value
        changes[name] = value
    }

    /// Returns the label, or the first one after it that the message doesn't have.
    func freeLabel(_ label: String) throws(HTTPSignatureError) -> String {
        guard message.headers["Signature-Input"] != nil || message.headers["Signature"] != nil else { return label }
        do {
            let taken = try StructuredField.Dictionary(parsing: message.headers.values(for: "Signature-Input")).keys
            let others = try StructuredField.Dictionary(parsing: message.headers.values(for: "Signature")).keys
            var (free, number) = (label, 2)
            while taken.contains(free) || others.contains(free) {
                free = "\(label)-\(number)"
                number += 1
            }
            return free
        } catch {
            throw HTTPSignatureError(
                .signingFailed,
                "the message has a malformed Signature or Signature-Input; remove it",
                cause: error
            )
        }
    }

    mutating func add(_ label: String, _ base: SignatureBase, _ signature: Data) throws(HTTPSignatureError) {
        guard StructuredFieldSyntax.isKey(label) else {
            throw HTTPSignatureError(
                .signingFailed,
                "the signature's label must be a key of a structured field, such as “sig1”"
            )
        }
        append(label + "=" + base.serializedParameters, to: "Signature-Input")
        append(label + "=:" + signature.base64EncodedString() + ":", to: "Signature")
    }

    private mutating func append(_ member: String, to name: String) {
        let lines = message.headers.values(for: name)
        set(name, lines.isEmpty ? member : (lines + [member]).joined(separator: ", "))
    }
}

extension [ComponentIdentifier] {
    /// Adds everything that covered signatures of others cover, because a signature alone doesn't
    /// identify its message ([RFC 9421
    /// §7.3.7](https://www.rfc-editor.org/rfc/rfc9421#section-7.3.7)).
    mutating func coverSignatures(of message: HTTPMessage) throws(HTTPSignatureError) {
        let signatures = filter { $0.name == "signature" && !$0.has("tr") }
        guard !signatures.isEmpty else { return }
        var known = Set(self)
        for component in signatures {
            var input = ComponentIdentifier("signature-input", parameters: component.parameters)
            if component.has("bs") || component.has("sf") { input = ComponentIdentifier("signature-input") }
            let isAboutRequest = component.has("req")
            if isAboutRequest, !input.has("req") { input = input.ofRequest }
            try cover(input, &known)
            let source = isAboutRequest ? message.request : message
            let lines = source?.headers.values(for: "Signature-Input") ?? []
            let field: StructuredField.Dictionary
            do { field = try StructuredField.Dictionary(parsing: lines) } catch {
                throw HTTPSignatureError(.malformedComponent, "the covered Signature-Input is malformed", cause: error)
            }
            for (label, member) in field {
                if let key = component.text(of: "key"), !key.utf8.elementsEqual(label.utf8) { continue }
                guard case .innerList(let list) = member else { continue }
                for item in list.items {
                    guard let covered = try? ComponentIdentifier(item) else { continue }
                    try cover(isAboutRequest ? covered.ofRequest : covered, &known)
                }
            }
        }
    }

    /// The peer may have named any number of components.
    private mutating func cover(
        _ component: ComponentIdentifier,
        _ known: inout Set<ComponentIdentifier>
    ) throws(HTTPSignatureError) {
        guard known.insert(component).inserted else { return }
        try SignatureLimits.check(componentCount: count + 1)
        append(component)
    }
}
