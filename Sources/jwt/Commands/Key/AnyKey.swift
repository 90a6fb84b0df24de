import Foundation
import TokenGeneration

/// A key that is looked at or converted, whatever it is for.
struct AnyKey {
    enum Part {
        case privateKey(SigningKey)
        case publicKey(VerificationKey)
    }

    let part: Part
    /// The members that the key's JWK has besides those of the key itself; empty for other forms.
    let metadata: JSONObject
    /// Whether the key, its kind or the user says for which algorithm it is; an RSA key can be for six.
    let statesAlgorithm: Bool

    /// Takes the key of a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - algorithm: The algorithm, if the user named one.
    /// - Throws: ``CommandFailure`` that names the file if there is no single key in it that can be used.
    init(_ file: KeyFile, algorithm: JWSAlgorithm?) throws(CommandFailure) {
        if file.keySet != nil {
            throw CommandFailure(
                .failed,
                "\(file.name): a JWK Set, where a single key is needed; see jwt key jwks --help"
            )
        }
        do throws(CommandFailure) {
            part = try Self.part(of: file, algorithm)
            statesAlgorithm = true
        } catch {
            guard algorithm == nil, (error.cause as? TokenError)?.code == .algorithmRequired else { throw error }
            // The key's numbers are the same for all of them.
            part = try Self.part(of: file, file.isSecret ? .hs256 : .rs256)
            statesAlgorithm = false
        }
        if case .jwk(let jwk) = file.content {
            let kept = ["kid", "use", "key_ops", "x5u", "x5c", "x5t", "x5t#S256"]
            metadata = JSONObject(kept.compactMap { name in jwk.members[name].map { (name, $0) } })
        } else {
            metadata = [:]
        }
    }

    private static func part(of file: KeyFile, _ algorithm: JWSAlgorithm?) throws(CommandFailure) -> Part {
        file.isPrivate
            ? .privateKey(try file.signingKey(for: algorithm).key)
            : .publicKey(try file.verificationKey(for: algorithm))
    }

    var verificationKey: VerificationKey {
        switch part {
        case .privateKey(let key): key.verificationKey
        case .publicKey(let key): key
        }
    }

    var isSymmetric: Bool { verificationKey.algorithm.isSymmetric }

    /// The same key without its private part.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the key is a secret.
    func publicPart() throws(TokenError) -> AnyKey {
        guard !isSymmetric else { throw TokenError(.unsupportedKey, "a secret has no public part") }
        return AnyKey(
            part: .publicKey(verificationKey),
            metadata: metadata,
            statesAlgorithm: statesAlgorithm
        )
    }

    private init(part: Part, metadata: JSONObject, statesAlgorithm: Bool) {
        self.part = part
        self.metadata = metadata
        self.statesAlgorithm = statesAlgorithm
    }

    /// The key as a JWK.
    ///
    /// - Parameter keyID: The `kid`: `auto` for the thumbprint, `nil` for the one it has, if any.
    /// - Returns: The JWK, private if the key is.
    /// - Throws: ``TokenError``.
    func jwk(keyID: String?) throws(TokenError) -> JWK {
        var jwk =
            switch part {
            case .privateKey(let key): try key.privateJWK()
            case .publicKey(let key): key.jwk
            }
        for member in metadata where jwk.members[member.name] == nil { jwk.members[member.name] = member.value }
        if !statesAlgorithm { jwk.algorithm = nil }
        if let keyID { jwk.keyID = keyID == "auto" ? verificationKey.thumbprint : keyID }
        return jwk
    }
}
