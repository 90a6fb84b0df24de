import Foundation
import HTTPSignatures
import TokenGeneration

extension VerificationKeys {
    /// The options for the keys of HTTP message signatures, which have no issuer.
    static let signatureOptions = options.filter { $0.longName != "discover" }.describing([
        "jwks": "A JWK Set: a file or an https URL (http only for this machine); the signature's keyid selects the key"
    ])

    /// Reads or fetches the keys for a verifier of HTTP message signatures.
    ///
    /// A single key verifies signatures with any `keyid`, as it verifies tokens with any `kid`.
    ///
    /// - Parameters:
    ///   - console: The console for warnings.
    ///   - time: The time at which certificates must be valid.
    ///   - usesThumbprints: A Boolean value that indicates whether `keyid` is the thumbprint of a
    ///     key in a set, instead of its `kid`.
    /// - Returns: The keys.
    /// - Throws: ``CommandFailure`` if the keys can't be read or fetched.
    func signatureKeys(
        _ console: Console,
        at time: Date,
        usesThumbprints: Bool
    ) throws(CommandFailure) -> SignatureKeys {
        switch try keys(console, at: time) {
        case .one(let key): return SignatureKeys { _ in key }
        case .set(let set, let selection):
            guard usesThumbprints else { return SignatureKeys(set, selection: selection) }
            let identified = set.keys.compactMap { jwk -> JWK? in
                guard let thumbprint = try? jwk.thumbprint else { return nil }
                var members = jwk.members
                members["kid"] = .string(thumbprint)
                return try? JWK(members)
            }
            return SignatureKeys(
                JWKSet(keys: identified, maximumRSAKeySize: set.maximumRSAKeySize),
                selection: selection
            )
        }
    }
}
