public import Foundation
import Networking
public import TokenGeneration

/// A verifier of signed messages
/// ([RFC 9421 §3.2](https://www.rfc-editor.org/rfc/rfc9421#section-3.2)).
///
/// ```swift
/// let verifier = try MessageVerifier(
///     profile: .standard,
///     keys: SignatureKeys(keySet),
///     replayCache: InMemoryReplayCache()
/// )
/// do {
///     let verified = try await verifier.verify(message, body: body)
///     return orders(of: verified.keyID)
/// } catch {
///     return Response(status: error.status, headers: error.headers)
/// }
/// ```
///
/// Create one verifier and share it. It checks, in this order:
///
/// 1. the sizes of the fields, and their syntax;
/// 2. that a signature has the profile's tag; its label doesn't matter;
/// 3. the types of its parameters, its time, and the required parameters;
/// 4. that it covers all required components, and no prohibited one;
/// 5. its key, and that the key's algorithm is accepted and agrees with `alg`;
/// 6. the signature itself, over the base that is built from the message;
/// 7. the content, if the signature covers `Content-Digest`;
/// 8. the nonce, which is then remembered.
public struct MessageVerifier: Sendable {
    /// The agreement with the signers.
    public let profile: SignatureProfile
    /// The nonces that the server hands out in `Accept-Signature`, and that signatures must have.
    ///
    /// The default is `nil`: signers choose their nonces.
    public var nonces: SignatureNonces?
    /// A closure that returns the current time.
    public var currentDate: @Sendable () -> Date = { Date() }

    let keys: SignatureKeys
    let replayCache: (any ReplayCache)?

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - profile: The agreement with the signers. It must require components of every message.
    ///   - keys: The keys of the signers.
    ///   - replayCache: The store of used nonces. In a single process, all verifiers share one
    ///     `InMemoryReplayCache`; servers behind a load balancer need a shared cache. With the
    ///     defaults of the cache and of a profile, it has room for 238 signatures per second, and
    ///     for 23 of one key: if few keys sign many requests, raise its `quotaPerKey`. `nil` is
    ///     possible only if the profile doesn't require a nonce.
    /// - Throws: ``HTTPSignatureError`` with the code `invalidProfile` if the profile requires no
    ///   component or no time, a nonce without a cache, or a component that it prohibits.
    public init(
        profile: SignatureProfile,
        keys: SignatureKeys,
        replayCache: (any ReplayCache)?
    ) throws(HTTPSignatureError) {
        guard profile.requiresComponents else {
            throw HTTPSignatureError(
                .invalidProfile,
                "the profile requires no components, so a signature could be moved to any message"
            )
        }
        guard !profile.requiredParameters.isDisjoint(with: ["created", "expires"]) else {
            throw HTTPSignatureError(
                .invalidProfile,
                "the profile requires neither “created” nor “expires”, so signatures would be valid forever"
            )
        }
        guard profile.nonce != .required || replayCache != nil else {
            throw HTTPSignatureError(.invalidProfile, "the profile requires a nonce; pass a replay cache")
        }
        try profile.checkComponents()
        self.profile = profile
        self.keys = keys
        self.replayCache = replayCache
    }

    /// Verifies a message with its content in memory.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - body: The content as received, before any content coding is removed; empty if there is
    ///     none.
    /// - Returns: The verified message.
    /// - Throws: ``HTTPSignatureError`` with the code of the first check that fails. Of several
    ///   signatures, it's that of the one that got furthest.
    public func verify(_ message: HTTPMessage, body: Data) async throws(HTTPSignatureError) -> VerifiedMessage {
        try await verify(message, Content(body)).message
    }

    /// Verifies a message whose content is received while it's read.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - body: The content as received, before any content coding is removed.
    /// - Returns: The verified message, and the body to read instead. It throws at the end if the
    ///   content isn't the one that was signed.
    /// - Throws: ``HTTPSignatureError`` as ``verify(_:body:)`` does.
    public func verify<Body: AsyncSequence & Sendable>(
        _ message: HTTPMessage,
        streaming body: Body
    ) async throws(HTTPSignatureError) -> (message: VerifiedMessage, body: DigestCheckedBody<Body>)
    where Body.Element == Data {
        let (verified, checks) = try await verify(message, Content(streamed: message.headers))
        return (verified, DigestCheckedBody(base: body, checks: checks))
    }

    struct Content {
        /// `nil` if the content is streamed or wasn't recorded.
        let data: Data?
        let isPresent: Bool
        var isDecoded = false
        var isAbandoned = false

        /// The data is `nil` if there was content that wasn't recorded.
        init(_ data: Data?) {
            self.data = data
            isPresent = data?.isEmpty != true
        }

        // In HTTP/2, both fields may be missing. Then content that must be covered but isn't fails
        // when it arrives.
        init(streamed headers: HTTPHeaders) {
            data = nil
            isPresent =
                headers["Transfer-Encoding"] != nil
                || headers["Content-Length"].map { !$0.utf8.allSatisfy { $0 == UInt8(ascii: "0") } } ?? false
        }
    }

    /// Also returns the checks that streamed content must pass.
    func verify(
        _ message: HTTPMessage,
        _ content: Content
    ) async throws(HTTPSignatureError) -> (message: VerifiedMessage, checks: [ContentCheck]) {
        let now = currentDate()
        do {
            return try await verify(message, content, at: now)
        } catch {
            // Another signature can help only after a request with a status of 401.
            guard error.status == 401, message.isRequest else { throw error }
            var error = error
            error.challenge = challenge(for: message, hasContent: content.isPresent, at: now)
            throw error
        }
    }

    private func verify(
        _ message: HTTPMessage,
        _ content: Content,
        at now: Date
    ) async throws(HTTPSignatureError) -> (message: VerifiedMessage, checks: [ContentCheck]) {
        let fields = try SignatureFields(message.headers)
        guard profile.signatureCount != .one || fields.count == 1 else {
            throw HTTPSignatureError(.tooManySignatures, "the message must have exactly one signature")
        }
        var furthest = SignatureFailure(error: fields.missingSignature, step: .selection)
        var verified: [VerifiedSignature] = []
        var checks: [ContentCheck] = []
        for label in fields.labels(withTag: profile.tag) {
            let check = SignatureCheck(verifier: self, fields: fields, label: label, message: message, now: now)
            do {
                let result = try await check.verify(content)
                verified.append(result.signature)
                checks.append(result.check)
                if profile.signatureCount != .all { break }
            } catch {
                guard profile.signatureCount != .all else { throw error.error }
                if error.step > furthest.step { furthest = error }
            }
        }
        guard let first = verified.first else { throw furthest.error }
        return (VerifiedMessage(signature: first, signatures: verified), checks)
    }

    /// [RFC 9421 §5](https://www.rfc-editor.org/rfc/rfc9421#section-5).
    private func challenge(for message: HTTPMessage, hasContent: Bool, at now: Date) -> String? {
        let label = "sig1"
        var components = profile.requirements(for: message, hasContent: hasContent).compactMap(\.first)
        if profile.requiresSignatureAgent { components.append(ComponentIdentifier("signature-agent").member(label)) }
        var parameters = StructuredField.Parameters()
        parameters["created"] = .boolean(true)
        if profile.requiredParameters.contains("expires") { parameters["expires"] = .boolean(true) }
        // The ID of the wanted key would tell the sender who may use the resource (§8.3).
        if let nonces {
            guard let nonce = nonces.nonce(at: now) else { return nil }
            parameters["nonce"] = .string(nonce)
        }
        if let tag = profile.tag { parameters["tag"] = .string(tag) }
        let list = StructuredField.InnerList(components.map(\.item), parameters: parameters)
        return try? StructuredField.Dictionary([(label, .innerList(list))]).serialized()
    }

    /// The content is as received, or `nil` if it wasn't recorded, with the code `undecided` if its
    /// digest would have to be checked.
    package func verify(
        recorded message: HTTPMessage,
        content: Data?
    ) async throws(HTTPSignatureError) -> VerifiedMessage {
        let (verified, checks) = try await verify(message, Content(content))
        guard content != nil || checks.allSatisfy({ $0.digest == nil }) else { throw Self.missingContent }
        return verified
    }

    /// Verifies each signature of a recorded message, also without the profile's tag.
    package func findings(
        in message: HTTPMessage,
        content: Data?
    ) async throws(HTTPSignatureError) -> [SignatureFinding] {
        let fields = try SignatureFields(message.headers)
        let now = currentDate()
        let selected = fields.labels(withTag: profile.tag)
        var findings: [SignatureFinding] = []
        for label in fields.allLabels {
            let parameters = try? fields.signature(label).parameters
            let check = SignatureCheck(verifier: self, fields: fields, label: label, message: message, now: now)
            let result: Result<VerifiedSignature, HTTPSignatureError>
            do throws(SignatureFailure) {
                let (signature, check) = try await check.verify(Content(content))
                result = content == nil && check.digest != nil ? .failure(Self.missingContent) : .success(signature)
            } catch {
                result = .failure(error.error)
            }
            findings.append(
                SignatureFinding(
                    label: label,
                    parameters: parameters,
                    base: parameters.flatMap {
                        try? SignatureBase(of: message, parameters: $0, fieldTypes: profile.fieldTypes)
                    },
                    isSelected: selected.contains { $0.utf8.elementsEqual(label.utf8) },
                    result: result
                )
            )
        }
        return findings
    }

    private static var missingContent: HTTPSignatureError {
        HTTPSignatureError(.undecided, "the recording lacks the content, so its digest can't be checked")
    }
}

/// A message whose signatures a ``MessageVerifier`` has verified.
///
/// Only a verifier creates one. Use the values in it, and not those of the message, of which
/// anything may be unsigned:
///
/// ```swift
/// let verified = try await verifier.verify(message, body: body)
/// let method = verified[.method]
/// let account = accounts[verified.keyID]
/// ```
public struct VerifiedMessage: Sendable {
    /// The verified signature, or the first of several.
    public let signature: VerifiedSignature
    /// All verified signatures: more than one only with `SignatureProfile.SignatureCount.all`.
    public let signatures: [VerifiedSignature]

    /// The ID of the key that signed the message.
    public var keyID: String? { signature.parameters.keyID }

    /// Returns the value of a covered component.
    ///
    /// - Parameter component: The component.
    /// - Returns: The value, or `nil` if the signature doesn't cover the component.
    public subscript(component: ComponentIdentifier) -> String? { signature[component] }
}

/// A verified signature.
public struct VerifiedSignature: Sendable, Redacted {
    /// The key that verified the signature.
    public let key: VerificationKey
    /// The covered components with their values, in order.
    public let lines: [SignatureBase.Line]
    /// The parameters.
    public let parameters: SignatureParameters
    /// The URL of the signer's keys, if the signature covers a `Signature-Agent`.
    public let agent: URL?

    /// Returns the value of a covered component.
    ///
    /// - Parameter component: The component.
    /// - Returns: The value, or `nil` if the signature doesn't cover the component.
    public subscript(component: ComponentIdentifier) -> String? {
        lines.first { $0.component == component }?.value
    }

    /// The key's ID, the tag and the covered components, without their values.
    public var description: String {
        let components = parameters.components.map(\.description).joined(separator: " ")
        return "signature by \(parameters.keyID ?? "a key without an ID") over \(components)"
    }
}

/// The verification of one signature, for a person who looks for a difference.
package struct SignatureFinding: Sendable {
    package let label: String
    /// `nil` if they are malformed.
    package let parameters: SignatureParameters?
    /// `nil` if it can't be built from the message.
    package let base: SignatureBase?
    package let isSelected: Bool
    package var result: Result<VerifiedSignature, HTTPSignatureError>
}
