import Foundation
import TokenGeneration

/// A key of any kind, for inspection and conversion.
struct AnyKey {
    enum Part {
        case privateKey(SigningKey)
        case publicKey(VerificationKey)
    }

    let part: Part
    /// The additional members of a JWK, such as `kid` and `use`, or none for other forms.
    let metadata: JSONObject
    /// A Boolean value that indicates whether the key, its type or the user fixes the algorithm,
    /// unlike for an RSA key, which supports six.
    let statesAlgorithm: Bool

    /// Creates the key from a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - algorithm: The algorithm, if the user specifies one.
    /// - Throws: ``CommandFailure`` with the name of the file if it doesn't contain a single
    ///   usable key.
    init(_ file: KeyFile, algorithm: JWSAlgorithm?) throws(CommandFailure) {
        if file.keySet != nil {
            throw CommandFailure(
                .failed,
                "\(file.name): contains a JWK Set, but a single key is needed; see jwt key jwks --help"
            )
        }
        do throws(CommandFailure) {
            part = try Self.part(of: file, algorithm)
            statesAlgorithm = true
        } catch {
            guard algorithm == nil, (error.cause as? TokenError)?.code == .algorithmRequired else { throw error }
            // The key material is the same for all of the algorithms.
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

    /// Returns the key without its private part.
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

    /// Returns the key as a JWK.
    ///
    /// - Parameter keyID: The `kid`: `auto` for the thumbprint, or `nil` to keep the current one,
    ///   if any.
    /// - Returns: The JWK, including the private part if the key has one.
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
