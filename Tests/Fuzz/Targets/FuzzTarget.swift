import Foundation
import TokenGeneration

/// A fuzzing target, which checks more than the absence of traps.
enum FuzzTarget: String, CaseIterable {
    /// JSON text.
    case json
    /// Compact tokens, for the verifier and for the unverified view.
    case token
    /// Compact JWSs of any payload, attached, detached and unencoded.
    case compact
    /// JWSs in JSON, flattened and general.
    case jws
    /// JWEs, compact and in JSON.
    case jwe
    /// SD-JWTs, compact and in JSON, and key bindings.
    case sdjwt
    /// DPoP proofs.
    case dpop
    /// Structured fields, of several lines.
    case field
    /// JWK and JWK Set text.
    case jwk
    /// PEM text.
    case pem
    /// Keys and certificates in DER, and the same bytes in PEM.
    case der
    /// The answers of servers, platforms and stores; the first byte chooses the kind.
    case answer
    case answerToken = "answer-token"
    case answerIntrospection = "answer-introspection"
    case answerMetadata = "answer-metadata"
    case answerKeySet = "answer-keyset"
    case answerDevice = "answer-device"
    case answerCIBA = "answer-ciba"
    case answerRegistration = "answer-registration"
    case answerCloud = "answer-cloud"
    case answerEtcd = "answer-etcd"
    case answerVault = "answer-vault"
    case answerConsul = "answer-consul"
    case answerKubernetes = "answer-kubernetes"
    /// The records of stores; the first byte chooses the kind.
    case record
    case recordToken = "record-token"
    case recordKeys = "record-keys"
    case recordReplay = "record-replay"

    func run(_ bytes: [UInt8]) {
        switch self {
        case .json: Self.json(bytes)
        case .token: Self.token(bytes)
        case .compact: Self.compact(String(decoding: bytes, as: UTF8.self))
        case .jws: Self.jws(Data(bytes))
        case .jwe: Self.jwe(String(decoding: bytes, as: UTF8.self))
        case .sdjwt: Self.sdJWT(String(decoding: bytes, as: UTF8.self))
        case .dpop: Self.dpop(String(decoding: bytes, as: UTF8.self))
        case .field: Self.structuredField(String(decoding: bytes, as: UTF8.self))
        case .jwk: Self.jwk(bytes)
        case .pem: Self.pem(String(decoding: bytes, as: UTF8.self))
        case .der:
            KeyFuzzing.run(bytes)
            // Anything else is rejected regardless of the PEM type. One type per input is enough:
            // all types would take seven times as long and reach the same code.
            guard KeyFuzzing.isSequence(bytes) else { return }
            let type = Self.types[bytes.reduce(0) { ($0 + Int($1)) % Self.types.count }]
            let base64 = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            Self.pem("-----BEGIN \(type)-----\n\(base64)\n-----END \(type)-----\n")
        case .answer: Self.any(of: Self.answers, bytes)
        case .answerToken: Self.tokenAnswer(bytes)
        case .answerIntrospection: Self.introspectionAnswer(bytes)
        case .answerMetadata: Self.metadataAnswer(bytes)
        case .answerKeySet: Self.keySetAnswer(bytes)
        case .answerDevice: Self.deviceAnswer(bytes)
        case .answerCIBA: Self.cibaAnswer(bytes)
        case .answerRegistration: Self.registrationAnswer(bytes)
        case .answerCloud: Self.cloudAnswer(bytes)
        case .answerEtcd: Self.etcdAnswer(bytes)
        case .answerVault: Self.vaultAnswer(bytes)
        case .answerConsul: Self.consulAnswer(bytes)
        case .answerKubernetes: Self.kubernetesAnswer(bytes)
        case .record: Self.any(of: Self.records, bytes)
        case .recordToken: Self.tokenRecord(bytes)
        case .recordKeys: Self.keysRecord(bytes)
        case .recordReplay: Self.replayRecord(bytes)
        }
    }

    /// Runs the target that the first byte chooses.
    private static func any(of targets: [FuzzTarget], _ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        targets[Int(first) % targets.count].run(Array(bytes.dropFirst()))
    }

    /// The supported types of PEM blocks.
    private static let types = [
        "PRIVATE KEY", "EC PRIVATE KEY", "PUBLIC KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY", "RSA PUBLIC KEY",
        "CERTIFICATE",
    ]

    private static func json(_ bytes: [UInt8]) {
        guard let object = try? JSONObject(parsing: Data(bytes)) else { return }
        // The JSON that is written must be equal when read, and the same text when written again.
        let text = object.serialized()
        guard let again = try? JSONObject(parsing: text) else { defect("the writer's JSON isn't readable") }
        require(again == object, "the object differs after writing and reading")
        require(again.serialized() == text, "the writer isn't deterministic")
        guard let pretty = try? JSONObject(parsing: object.prettyPrinted()) else {
            defect("the pretty-printed JSON isn't readable")
        }
        require(pretty == object, "the object differs after pretty-printing and reading")
        // Foundation is more lenient, except for numbers that a `Double` can't represent.
        if holdsDoubles(.object(object)) {
            require((try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil, "Foundation can't read it")
        }
        for member in object {
            if let number = member.value.number, let integer = number.integer {
                require(number.double.map { abs($0 - Double(integer)) <= abs($0) * 1e-15 } ?? false, "integer ≠ double")
            }
        }
    }

    private static func holdsDoubles(_ value: JSONValue) -> Bool {
        switch value {
        case .number(let number): number.double != nil
        case .array(let array): array.allSatisfy(holdsDoubles)
        case .object(let object): object.allSatisfy { holdsDoubles($0.value) }
        default: true
        }
    }

    private static func token(_ bytes: [UInt8]) {
        let token = String(decoding: bytes, as: UTF8.self)
        let view = try? UnverifiedToken(token)
        guard let verified = try? Seeds.verifier.verify(token) else { return }
        require(token == Seeds.vector.token, "an unsigned token was accepted")
        require(view?.unverifiedClaims == verified.claims, "verified and unverified claims differ")
    }

    private static func jwk(_ bytes: [UInt8]) {
        if let set = try? JWKSet(parsing: Data(bytes)) {
            let published = set.serialized()
            guard let again = try? JWKSet(parsing: published) else { defect("the JWK Set isn't readable") }
            require(again.rejections.isEmpty, "a published key isn't readable")
            require(again.serialized() == published, "publishing isn't deterministic")
            require(again.keys.allSatisfy { !$0.isPrivate && $0.keyType != "oct" }, "a secret is published")
        }
        guard let jwk = try? JWK(parsing: Data(bytes)) else { return }
        require(!jwk.publicPart.isPrivate, "the public part has private members")
        if let key = try? VerificationKey(jwk: jwk) { check(key) }
        if let key = try? SigningKey(jwk: jwk) {
            check(key)
            require(jwk.isPrivate, "a signing key was read from a public key")
        }
    }

    private static func pem(_ text: String) {
        if let key = try? VerificationKey(pem: text) { check(key) }
        if let key = try? SigningKey(pem: text, password: "password") { check(key) }
    }

    private static func check(_ key: SigningKey) {
        guard let jwk = try? key.privateJWK(), let third = try? SigningKey(jwk: jwk) else {
            defect("an accepted key can't be written and read")
        }
        var keys = [key, third].map(\.verificationKey)
        // PEM lacks the algorithm, and a secret has no PEM form.
        if !key.algorithm.isSymmetric {
            guard let pem = try? key.pem(), let again = try? SigningKey(pem: pem, algorithm: key.algorithm) else {
                defect("an accepted key can't be written as PEM and read")
            }
            keys.append(again.verificationKey)
        }
        require(keys.allSatisfy { $0.thumbprint == keys[0].thumbprint }, "the key changes")
        check(keys[0])
    }

    private static func check(_ key: VerificationKey) {
        require(!key.jwk.isPrivate, "a verification key has private members")
        // The public part of a secret can't be read as a key.
        guard !key.algorithm.isSymmetric else { return }
        guard let again = try? VerificationKey(pem: key.pem(), algorithm: key.algorithm),
            let third = try? VerificationKey(jwk: key.jwk)
        else { defect("an accepted key can't be written and read") }
        require(again.thumbprint == key.thumbprint && third.thumbprint == key.thumbprint, "the key changes")
    }

    static func require(_ condition: Bool, _ defect: String) {
        if !condition { Self.defect(defect) }
    }

    static func defect(_ text: String) -> Never {
        fatalError(text)  // reason: a trap reports a defect to libFuzzer, which saves the input.
    }
}
