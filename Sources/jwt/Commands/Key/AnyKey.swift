import Foundation
import TokenGeneration

struct AnyKey {
    enum Part {
        case privateKey(SigningKey)
        case publicKey(VerificationKey)
        case decryptionKey(DecryptionKey)
        case encryptionKey(EncryptionKey)
    }

    let part: Part
    /// The additional members of a JWK, such as `kid` and `use`.
    var metadata: JSONObject = [:]
    /// A Boolean value that is `false` for a key of several algorithms, such as an RSA key in PEM.
    var statesAlgorithm = true
}

extension AnyKey {
    /// Creates the key from a file, with the algorithm if the user specifies one.
    init(_ file: KeyFile, algorithm: JWSAlgorithm?) throws(CommandFailure) {
        if file.keySet != nil {
            throw CommandFailure(
                .failed,
                "\(file.name): contains a JWK Set, but a single key is needed; see jwt key jwks --help"
            )
        }
        do throws(CommandFailure) {
            part = try Self.part(of: file, algorithm)
        } catch {
            guard algorithm == nil else { throw error }
            // The key material is the same for all of the algorithms.
            if (error.cause as? TokenError)?.code == .algorithmRequired {
                part = try Self.part(of: file, file.isSecret ? .hs256 : .rs256)
                statesAlgorithm = false
            } else {
                guard let encryption = Self.encryptionPart(of: file) else { throw error }
                part = encryption
                statesAlgorithm = if case .jwk(let jwk) = file.content { jwk.algorithm != nil } else { false }
            }
        }
        if case .jwk(let jwk) = file.content {
            let kept = ["kid", "use", "key_ops", "x5u", "x5c", "x5t", "x5t#S256"]
            metadata = JSONObject(kept.compactMap { name in jwk.members[name].map { (name, $0) } })
        }
    }

    private static func part(of file: KeyFile, _ algorithm: JWSAlgorithm?) throws(CommandFailure) -> Part {
        file.isPrivate
            ? .privateKey(try file.signingKey(for: algorithm).key)
            : .publicKey(try file.verificationKey(for: algorithm))
    }

    /// Returns a key that is for encryption, or on a curve for key agreement.
    private static func encryptionPart(of file: KeyFile) -> Part? {
        if file.isPrivate {
            let keys = try? file.decryptionKeys(for: nil, JWEEncryption.implemented)
            return keys?.first.map(Part.decryptionKey)
        }
        return (try? file.encryptionKey(for: nil, nil, keyID: nil)).map(Part.encryptionKey)
    }

    var publicJWK: JWK {
        switch part {
        case .privateKey(let key): key.verificationKey.jwk
        case .publicKey(let key): key.jwk
        case .decryptionKey(let key): key.encryptionKey.jwk
        case .encryptionKey(let key): key.jwk
        }
    }

    var thumbprint: String {
        get throws(TokenError) {
            switch part {
            case .privateKey(let key): key.verificationKey.thumbprint
            case .publicKey(let key): key.thumbprint
            case .decryptionKey(let key): try key.privateJWK().thumbprint
            case .encryptionKey(let key): try key.jwk.thumbprint
            }
        }
    }

    var algorithmName: String {
        switch part {
        case .privateKey(let key): key.algorithm.rawValue
        case .publicKey(let key): key.algorithm.rawValue
        case .decryptionKey(let key): key.encryption?.rawValue ?? key.algorithm.rawValue
        case .encryptionKey(let key): key.encryption?.rawValue ?? key.algorithm.rawValue
        }
    }

    var isSymmetric: Bool { publicJWK.keyType == "oct" }

    var isPrivate: Bool {
        switch part {
        case .privateKey, .decryptionKey: true
        case .publicKey, .encryptionKey: false
        }
    }

    var isForEncryption: Bool {
        switch part {
        case .privateKey, .publicKey: false
        case .decryptionKey, .encryptionKey: true
        }
    }

    /// Returns the key without its private part, which a secret can't have.
    func publicPart() throws(TokenError) -> AnyKey {
        guard !isSymmetric else { throw TokenError(.unsupportedKey, "a secret has no public part") }
        let publicPart: Part =
            switch part {
            case .privateKey(let key): .publicKey(key.verificationKey)
            case .decryptionKey(let key): .encryptionKey(key.encryptionKey)
            case .publicKey, .encryptionKey: part
            }
        return AnyKey(part: publicPart, metadata: metadata, statesAlgorithm: statesAlgorithm)
    }

    /// Returns the key with its private part; the ID `auto` is the thumbprint, and `nil` keeps the
    /// current one.
    func jwk(keyID: String?) throws(TokenError) -> JWK {
        var jwk =
            switch part {
            case .privateKey(let key): try key.privateJWK()
            case .decryptionKey(let key): try key.privateJWK()
            case .publicKey, .encryptionKey: publicJWK
            }
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
            let text =
                switch key.part {
                case .privateKey(let key): try key.pem(privateFormat)
                case .publicKey(let key): try key.pem(publicFormat)
                case .decryptionKey(let key): try key.pem(privateFormat)
                case .encryptionKey(let key): try key.pem(publicFormat)
                }
            return Array(text.utf8)
        case .der, .traditionalDER:
            let data =
                switch key.part {
                case .privateKey(let key): try key.der(privateFormat)
                case .publicKey(let key): try key.der(publicFormat)
                case .decryptionKey(let key): try key.der(privateFormat)
                case .encryptionKey(let key): try key.der(publicFormat)
                }
            return Array(data)
        case .raw:
            guard key.isSymmetric, let secret = try key.jwk(keyID: nil).members["k"]?.string else {
                throw TokenError(.unsupportedKey, "only a secret has a raw form; use --to pem, der or jwk")
            }
            return try Base64URL.decode(secret)
        }
    }
}
