import Foundation
import TokenGeneration

/// A key for signatures or for encryption.
protocol PublicPart: Sendable {
    var jwk: JWK { get }
    /// The algorithm, or the content encryption of a key for `dir`.
    var algorithmName: String { get }

    func pem(_ format: PublicKeyFormat) throws(TokenError) -> String
    func der(_ format: PublicKeyFormat) throws(TokenError) -> Data
}

protocol PrivatePart: Sendable {
    var publicPart: any PublicPart { get }

    func privateJWK() throws(TokenError) -> JWK
    func pem(_ format: PrivateKeyFormat) throws(TokenError) -> String
    func der(_ format: PrivateKeyFormat) throws(TokenError) -> Data
}

extension VerificationKey: PublicPart {
    var algorithmName: String { algorithm.rawValue }
}

extension EncryptionKey: PublicPart {
    var algorithmName: String { encryption?.rawValue ?? algorithm.rawValue }
}

extension SigningKey: PrivatePart {
    var publicPart: any PublicPart { verificationKey }
}

extension DecryptionKey: PrivatePart {
    var publicPart: any PublicPart { encryptionKey }
}

struct AnyKey {
    let publicPart: any PublicPart
    let privatePart: (any PrivatePart)?
    /// The additional members of a JWK, such as `kid` and `use`.
    private(set) var metadata: JSONObject = [:]
    /// A Boolean value that is `false` for a key of several algorithms, such as an RSA key in PEM.
    private(set) var statesAlgorithm = true

    init(_ key: any PrivatePart) { (publicPart, privatePart) = (key.publicPart, key) }

    private init(_ key: any PublicPart) { (publicPart, privatePart) = (key, nil) }

    /// Creates the key from a file, with the algorithm if the user specifies one.
    init(_ file: KeyFile, algorithm: JWSAlgorithm?) throws(CommandFailure) {
        if file.keySet != nil {
            throw CommandFailure(
                .failed,
                "\(file.name): contains a JWK Set, but a single key is needed; see jwt key jwks --help"
            )
        }
        do throws(CommandFailure) {
            self = try Self.signatureKey(in: file, algorithm)
        } catch {
            guard algorithm == nil else { throw error }
            // The key material is the same for all of the algorithms.
            if (error.cause as? TokenError)?.code == .algorithmRequired {
                self = try Self.signatureKey(in: file, file.isSecret ? .hs256 : .rs256)
                statesAlgorithm = false
            } else {
                guard let key = Self.encryptionKey(in: file) else { throw error }
                self = key
                statesAlgorithm = if case .jwk(let jwk) = file.content { jwk.algorithm != nil } else { false }
            }
        }
        if case .jwk(let jwk) = file.content {
            let kept = ["kid", "use", "key_ops", "x5u", "x5c", "x5t", "x5t#S256"]
            metadata = JSONObject(kept.compactMap { name in jwk.members[name].map { (name, $0) } })
        }
    }

    private static func signatureKey(in file: KeyFile, _ algorithm: JWSAlgorithm?) throws(CommandFailure) -> AnyKey {
        file.isPrivate
            ? AnyKey(try file.signingKey(for: algorithm).key) : AnyKey(try file.verificationKey(for: algorithm))
    }

    /// Returns a key that is for encryption, or on a curve for key agreement.
    private static func encryptionKey(in file: KeyFile) -> AnyKey? {
        if file.isPrivate {
            return (try? file.decryptionKeys(for: nil, JWEEncryption.implemented))?.first.map { AnyKey($0) }
        }
        return (try? file.encryptionKey(for: nil, nil, keyID: nil)).map { AnyKey($0) }
    }

    var thumbprint: String { get throws(TokenError) { try wholeJWK().thumbprint } }
    var isSymmetric: Bool { publicPart.jwk.keyType == "oct" }
    var isPrivate: Bool { privatePart != nil }
    var isForEncryption: Bool { publicPart is EncryptionKey }

    /// Returns the key without its private part, which a secret can't have.
    func withoutPrivatePart() throws(TokenError) -> AnyKey {
        guard !isSymmetric else { throw TokenError(.unsupportedKey, "a secret has no public part") }
        var key = AnyKey(publicPart)
        (key.metadata, key.statesAlgorithm) = (metadata, statesAlgorithm)
        return key
    }

    private func wholeJWK() throws(TokenError) -> JWK {
        if let privatePart { try privatePart.privateJWK() } else { publicPart.jwk }
    }

    /// Returns the key with its private part; the ID `auto` is the thumbprint, and `nil` keeps the
    /// current one.
    func jwk(keyID: String?) throws(TokenError) -> JWK {
        var jwk = try wholeJWK()
        // The operations of an encryption key depend on the part, and add nothing to its use.
        for member in metadata where jwk.members[member.name] == nil && !(isForEncryption && member.name == "key_ops") {
            jwk.members[member.name] = member.value
        }
        if !statesAlgorithm { jwk.algorithm = nil }
        if let keyID { jwk.keyID = keyID == "auto" ? try thumbprint : keyID }
        return jwk
    }
}

enum KeyForm: String, CaseIterable, NamedValue {
    case pem
    case der
    case jwk
    case traditional
    case traditionalDER = "traditional-der"
    case raw

    var isBinary: Bool { self == .der || self == .traditionalDER || self == .raw }

    func octets(of key: AnyKey, keyID: String?, password: String?) throws(TokenError) -> [UInt8] {
        let (privateFormat, publicFormat): (PrivateKeyFormat, PublicKeyFormat) =
            switch self {
            case .traditional, .traditionalDER: (.traditional, .traditional)
            default: (password.map { .encryptedPKCS8(password: $0) } ?? .pkcs8, .spki)
            }
        switch self {
        case .jwk: return Array((VisibleText.json(try key.jwk(keyID: keyID).members.serialized()) + "\n").utf8)
        case .pem, .traditional:
            if let part = key.privatePart { return Array(try part.pem(privateFormat).utf8) }
            return Array(try key.publicPart.pem(publicFormat).utf8)
        case .der, .traditionalDER:
            if let part = key.privatePart { return Array(try part.der(privateFormat)) }
            return Array(try key.publicPart.der(publicFormat))
        case .raw:
            guard key.isSymmetric, let secret = try key.jwk(keyID: nil).members["k"]?.string else {
                throw TokenError(.unsupportedKey, "only a secret has a raw form; use --to pem, der or jwk")
            }
            return try Base64URL.decode(secret)
        }
    }
}
