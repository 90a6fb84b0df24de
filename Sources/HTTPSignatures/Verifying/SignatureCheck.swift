import Foundation
import Networking
internal import OpenSSLCrypto
import TokenGeneration

/// A step of the verification, in order.
enum VerificationStep: Int, Comparable {
    case selection, syntax, parameters, coverage, key, base, signature, content, nonce

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The step at which a signature was rejected, and the reason.
struct SignatureFailure: Error {
    let error: HTTPSignatureError
    let step: VerificationStep
}

/// The verification of one signature of a message.
struct SignatureCheck {
    let verifier: MessageVerifier
    let fields: SignatureFields
    let label: String
    let message: HTTPMessage
    let now: Date

    /// The time in seconds for which the replay cache remembers a nonce after the verifier stops
    /// accepting it, for servers whose clocks differ.
    private static let margin: TimeInterval = 60

    private var profile: SignatureProfile { verifier.profile }

    /// Performs all checks.
    ///
    /// - Returns: The signature, and the check that streamed content must pass.
    func verify(
        _ content: MessageVerifier.Content
    ) async throws(SignatureFailure) -> (signature: VerifiedSignature, check: ContentCheck) {
        var step = VerificationStep.syntax
        do throws(HTTPSignatureError) {
            let (parameters, value) = try fields.signature(label)
            step = .parameters
            try checkParameters(parameters)
            step = .coverage
            let (agent, mustBeEmpty) = try checkCoverage(parameters, content)
            step = .key
            let key = try await key(for: parameters, agent)
            step = .base
            try checkDecoding(parameters, content)
            let base = try SignatureBase(of: message, parameters: parameters, fieldTypes: profile.fieldTypes)
            step = .signature
            guard value.withBytes({ value in base.octets.withBytes { key.isValidSignature(value, for: $0) } }) else {
                throw HTTPSignatureError(.signatureInvalid, "the key doesn't verify the signature over the message")
            }
            step = .content
            let check = ContentCheck(digest: try digest(parameters), mustBeEmpty: mustBeEmpty)
            if let data = content.data, !content.isAbandoned { try check.check(data) }
            step = .nonce
            try await remember(parameters, key)
            return (VerifiedSignature(key: key, lines: base.lines, parameters: parameters, agent: agent), check)
        } catch {
            throw SignatureFailure(error: error, step: step)
        }
    }

    // MARK: Parameters

    private func checkParameters(_ parameters: SignatureParameters) throws(HTTPSignatureError) {
        var required = profile.requiredParameters
        if profile.tag != nil { required.insert("tag") }
        if profile.nonce == .required || verifier.nonces != nil { required.insert("nonce") }
        for name in required.sorted() where parameters.parameters[name] == nil {
            throw HTTPSignatureError(.missingParameter, "the signature has no parameter “\(name)”")
        }
        for name in profile.prohibitedParameters.sorted() where parameters.parameters[name] != nil {
            throw HTTPSignatureError(.malformedSignature, "the profile doesn't allow the parameter “\(name)”")
        }
        try checkTime(parameters)
        if let nonces = verifier.nonces, let nonce = parameters.nonce {
            guard nonces.isIssued(nonce, at: now, clockSkew: skew) else {
                throw HTTPSignatureError(.nonceMismatch, "the signature's nonce isn't one that the server issued")
            }
        }
    }

    private func checkTime(_ parameters: SignatureParameters) throws(HTTPSignatureError) {
        if let created = parameters.created {
            guard created <= now.addingTimeInterval(skew) else {
                throw HTTPSignatureError(.createdInFuture, "the signature was created in the future; check the clocks")
            }
            guard now <= created.addingTimeInterval(maximumAge + skew) else {
                throw HTTPSignatureError(.tooOld, "the signature was created too long ago")
            }
        }
        if let expires = parameters.expires, now > expires.addingTimeInterval(skew) {
            throw HTTPSignatureError(.expired, "the signature has expired")
        }
    }

    private var skew: TimeInterval { max(profile.clockSkew, .zero) / .seconds(1) }
    private var maximumAge: TimeInterval { max(profile.maximumAge, .zero) / .seconds(1) }

    // MARK: Coverage

    /// Checks that the signature covers what the profile requires.
    ///
    /// - Returns: The covered agent, and whether streamed content must be empty because it isn't
    ///   covered.
    private func checkCoverage(
        _ parameters: SignatureParameters,
        _ content: MessageVerifier.Content
    ) throws(HTTPSignatureError) -> (agent: URL?, mustBeEmpty: Bool) {
        let covered = Set(parameters.components)
        let missing = missingComponent(covered, hasContent: content.isPresent)
        guard missing == nil else {
            throw HTTPSignatureError(
                .insufficientCoverage,
                "the signature doesn't cover the required component \(missing?.shown ?? "")"
            )
        }
        let agent = try parameters.agent(in: message, label: label)
        guard agent != nil || !profile.requiresSignatureAgent else {
            throw HTTPSignatureError(.insufficientCoverage, "the signature doesn't cover a Signature-Agent")
        }
        let needsMoreForContent = !content.isPresent && missingComponent(covered, hasContent: true) != nil
        return (agent, content.data == nil && needsMoreForContent)
    }

    private func missingComponent(_ covered: Set<ComponentIdentifier>, hasContent: Bool) -> ComponentIdentifier? {
        profile.requirements(for: message, hasContent: hasContent)
            .first { $0.allSatisfy { !covered.contains($0) } }?.first
    }

    // MARK: Key

    private func key(
        for parameters: SignatureParameters,
        _ agent: URL?
    ) async throws(HTTPSignatureError) -> VerificationKey {
        let query = SignatureKeys.Query(
            keyID: parameters.keyID,
            parameters: parameters,
            message: message,
            agent: agent
        )
        let key = try await verifier.keys.key(for: query)
        try profile.check(key.algorithm, key)
        if let stated = parameters.algorithm {
            guard let name = key.httpSignatureName, name.utf8.elementsEqual(stated.utf8) else {
                throw HTTPSignatureError(
                    .algorithmMismatch,
                    "“alg” of the signature isn't the algorithm of its key, \(key.algorithm)"
                )
            }
        }
        return key
    }

    // MARK: Content

    /// Rejects content that the transport has decoded, and with it fields that the signature
    /// covers.
    private func checkDecoding(
        _ parameters: SignatureParameters,
        _ content: MessageVerifier.Content
    ) throws(HTTPSignatureError) {
        let lost = ["content-digest", "content-encoding", "content-length"]
        guard content.isDecoded, parameters.components.contains(where: { !$0.has("req") && lost.contains($0.name) })
        else { return }
        throw HTTPSignatureError(
            .contentDecoded,
            "the transport decoded the content, so its digest can't be checked; receive it undecoded"
        )
    }

    /// Returns the digest that the content must have, or `nil` if none is covered.
    private func digest(_ parameters: SignatureParameters) throws(HTTPSignatureError) -> HTTPDigest? {
        let covering = parameters.components.filter(\.coversContent)
        guard !covering.isEmpty else { return nil }
        let keys = covering.compactMap { $0.text(of: "key") }
        return try HTTPDigest(covered: keys.count == covering.count ? Set(keys) : nil, in: message.headers)
    }

    // MARK: Nonce

    private func remember(
        _ parameters: SignatureParameters,
        _ key: VerificationKey
    ) async throws(HTTPSignatureError) {
        guard let nonce = parameters.nonce, let cache = verifier.replayCache else { return }
        let ends = [parameters.expires, parameters.created?.addingTimeInterval(maximumAge)].compactMap(\.self)
        guard let end = ends.min() else { return }
        // The thumbprint of a secret is a hash of it, which a shared cache shouldn't get.
        let owner = key.algorithm.isSymmetric ? "keyid \(parameters.keyID ?? "")" : key.thumbprint
        let isNew: Bool
        do {
            let text = Array("HTTP message signature \(owner) \(nonce)".utf8)
            isNew = try await cache.remember(
                Base64URL.encode(try text.withBytes { try HashFunction.sha256.hash($0) }),
                signedBy: owner,
                until: end.addingTimeInterval(skew + Self.margin),
                at: now
            )
        } catch {
            throw HTTPSignatureError(.undecided, "the signature's nonce couldn't be checked", cause: error)
        }
        guard isNew else {
            throw HTTPSignatureError(
                .replayed,
                "the signature's nonce has been used before, or the replay cache can't rule that out"
            )
        }
    }
}
