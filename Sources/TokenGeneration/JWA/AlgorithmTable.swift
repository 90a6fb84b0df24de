internal import OpenSSLCrypto

/// What an algorithm needs of a key and makes of a message.
///
/// One row per algorithm; nothing else in the module enumerates them.
struct AlgorithmDescription: Sendable {
    /// How the signature is made.
    enum Scheme: Sendable {
        case ecdsa(EllipticCurve, HashFunction)
    }

    let algorithm: JWSAlgorithm
    let keyType: KeyType
    let scheme: Scheme

    /// The value of `crv` that the key must have, if its type has one.
    var curve: String? {
        switch scheme {
        case .ecdsa(let curve, _): curve.name
        }
    }

    /// The length of every signature, if it does not depend on the key.
    var signatureSize: Int? {
        switch scheme {
        case .ecdsa(let curve, _): 2 * curve.coordinateSize
        }
    }
}

extension JWSAlgorithm {
    private static let table: [AlgorithmDescription] = [
        AlgorithmDescription(algorithm: .es256, keyType: .ec, scheme: .ecdsa(.p256, .sha256))
    ]

    /// What the algorithm needs, or `nil` if the package does not implement it.
    var details: AlgorithmDescription? {
        Self.table.first { $0.algorithm == self }
    }

    /// What the algorithm needs.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`.
    func supportedDetails() throws(TokenError) -> AlgorithmDescription {
        guard let details else {
            let known = Self.table.map(\.algorithm.rawValue).joined(separator: ", ")
            throw TokenError(
                .unsupportedAlgorithm,
                "\(TokenError.shown(rawValue)) is not implemented; use one of: \(known), or a signing service of your own"
            )
        }
        return details
    }

    /// The algorithms that a key of a type, on a curve, can be for.
    static func algorithms(for keyType: KeyType, curve: String?) -> [JWSAlgorithm] {
        table.filter { $0.keyType == keyType && $0.curve == curve }.map(\.algorithm)
    }
}
