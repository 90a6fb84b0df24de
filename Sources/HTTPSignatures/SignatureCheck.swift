import Foundation
import Networking
internal import OpenSSLCrypto
import TokenGeneration

enum VerificationStep: Comparable {
    case selection, syntax, parameters, coverage, key, base, signature, content, nonce
}

struct SignatureFailure: Error {
    let error: HTTPSignatureError
    let step: VerificationStep
}

struct SignatureCheck {
    let verifier: MessageVerifier
    let fields: SignatureFields
    let label: String
    let message: HTTPMessage
    let now: Date

    /// The seconds for which a nonce is remembered after its end, for servers whose clocks differ.
    private static let margin: TimeInterval = 60

    private var profile: SignatureProfile { verifier.profile }

    /// Also returns the check that streamed content must pass.
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
        if let lifetime = profile.maximumLifetime, let expires = parameters.expires {
            let start = parameters.created ?? now.addingTimeInterval(skew)
            guard expires <= start.addingTimeInterval(max(lifetime, .zero) / .seconds(1)) else {
                throw HTTPSignatureError(.malformedSignature, "the signature is valid longer than the profile allows")
            }
        }
    }

    private var skew: TimeInterval { max(profile.clockSkew, .zero) / .seconds(1) }
    private var maximumAge: TimeInterval { max(profile.maximumAge, .zero) / .seconds(1) }

    // MARK: Coverage

    /// Returns the covered agent, and whether streamed content must be empty.
    private func checkCoverage(
        _ parameters: SignatureParameters,
        _ content: MessageVerifier.Content
    ) throws(HTTPSignatureError) -> (agent: URL?, mustBeEmpty: Bool) {
        let covered = Set(parameters.components)
        if let prohibited = parameters.components.first(where: profile.prohibits) {
            throw HTTPSignatureError(
                .invalidComponent,
                "the signature covers the component \(prohibited.shown), which the profile prohibits"
            )
        }
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

    /// Rejects content, and with it covered fields, that the transport has decoded.
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

    /// `nil` if none is covered; that in the trailer counts if the one in the header isn't covered.
    private func digest(_ parameters: SignatureParameters) throws(HTTPSignatureError) -> HTTPDigest? {
        let digests = parameters.components.filter { $0.name == "content-digest" && !$0.has("req") }
        let inHeader = digests.filter(\.coversContent)
        let covering = inHeader.isEmpty ? digests : inHeader
        guard !covering.isEmpty else { return nil }
        let keys = covering.compactMap { $0.text(of: "key") }
        return try HTTPDigest(
            covered: keys.count == covering.count ? Set(keys) : nil,
            in: inHeader.isEmpty ? message.trailers : message.headers
        )
    }

    // MARK: Nonce

    private func remember(_ parameters: SignatureParameters, _ key: VerificationKey) async throws(HTTPSignatureError) {
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

/// [RFC 9421 §4](https://www.rfc-editor.org/rfc/rfc9421#section-4).
struct SignatureFields {
    private let inputs: StructuredField.Dictionary
    private let values: StructuredField.Dictionary

    init(_ headers: HTTPHeaders) throws(HTTPSignatureError) {
        let inputs = headers.values(for: "Signature-Input")
        let values = headers.values(for: "Signature")
        guard !inputs.isEmpty || !values.isEmpty else {
            throw HTTPSignatureError(.noSignature, "the message has no signature")
        }
        guard !inputs.isEmpty, !values.isEmpty else {
            throw HTTPSignatureError(
                .malformedSignature,
                inputs.isEmpty
                    ? "the message has Signature but no Signature-Input; is it signed by the expired Cavage draft?"
                    : "the message has Signature-Input but no Signature"
            )
        }
        self.inputs = try Self.dictionary(inputs, "Signature-Input")
        self.values = try Self.dictionary(values, "Signature")
        guard self.inputs.count <= SignatureLimits.signatures, self.values.count <= SignatureLimits.signatures else {
            throw HTTPSignatureError(.tooLarge, "the message has more than \(SignatureLimits.signatures) signatures")
        }
    }

    var count: Int { max(inputs.count, values.count) }

    /// The labels of both fields, in order.
    var allLabels: [String] { inputs.keys + values.keys.filter { inputs[$0] == nil } }

    /// The error of a message without a signature with the profile's tag.
    ///
    /// A server that serves unsigned requests, too, must not take a malformed one for unsigned.
    var missingSignature: HTTPSignatureError {
        for (_, member) in inputs {
            guard case .innerList(let list) = member else {
                return HTTPSignatureError(.malformedSignature, "a member of Signature-Input isn't an inner list")
            }
            if case .string? = list.parameters["tag"] { continue }
            guard list.parameters["tag"] == nil else {
                return HTTPSignatureError(.malformedSignature, "the parameter “tag” has the wrong type")
            }
        }
        guard values.keys.allSatisfy({ inputs[$0] != nil }) else {
            return HTTPSignatureError(.malformedSignature, "Signature has a label that Signature-Input doesn't have")
        }
        return HTTPSignatureError(.noSignature, "the message has no signature with the profile's tag")
    }

    /// Returns the labels of the signatures with a tag; all labels without one.
    func labels(withTag tag: String?) -> [String] {
        guard let tag else { return inputs.keys }
        return inputs.keys.filter { label in
            guard case .innerList(let list) = inputs[label], case .string(let found) = list.parameters["tag"] else {
                return false
            }
            return found.utf8.elementsEqual(tag.utf8)
        }
    }

    func signature(_ label: String) throws(HTTPSignatureError) -> (parameters: SignatureParameters, value: [UInt8]) {
        guard case .innerList(let list) = inputs[label] else {
            throw HTTPSignatureError(.malformedSignature, "a member of Signature-Input isn't an inner list")
        }
        let parameters = try SignatureParameters(list)
        guard let member = values[label] else {
            throw HTTPSignatureError(.malformedSignature, "Signature has no member for a label of Signature-Input")
        }
        guard case .item(let item) = member, case .byteSequence(let bytes) = item.value else {
            throw HTTPSignatureError(.malformedSignature, "a member of Signature isn't a byte sequence")
        }
        try parameters.checkTypes()
        return (parameters, Array(bytes))
    }

    private static func dictionary(
        _ lines: [String],
        _ name: String
    ) throws(HTTPSignatureError) -> StructuredField.Dictionary {
        guard lines.reduce(0, { $0 + $1.utf8.count }) <= SignatureLimits.fieldSize else {
            throw HTTPSignatureError(.tooLarge, "\(name) exceeds \(SignatureLimits.fieldSize) bytes")
        }
        do { return try StructuredField.Dictionary(parsingUniqueKeys: lines) } catch {
            throw HTTPSignatureError(
                .malformedSignature,
                "\(name) isn't a dictionary with different labels",
                cause: error
            )
        }
    }
}

extension SignatureParameters {
    /// Also checks the sizes.
    fileprivate func checkTypes() throws(HTTPSignatureError) {
        for (key, value) in parameters {
            switch (key, value) {
            case ("created", .integer), ("expires", .integer): break
            case ("nonce", .string(let text)), ("alg", .string(let text)), ("keyid", .string(let text)),
                ("tag", .string(let text)):
                guard text.utf8.count <= SignatureLimits.parameterLength else {
                    throw HTTPSignatureError(
                        .tooLarge,
                        "the parameter “\(key)” is longer than \(SignatureLimits.parameterLength) bytes"
                    )
                }
            case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _):
                throw HTTPSignatureError(.malformedSignature, "the parameter “\(key)” has the wrong type")
            default: break
            }
        }
        if let created, let expires, expires < created {
            throw HTTPSignatureError(.malformedSignature, "the signature expires before it was created")
        }
    }
}
