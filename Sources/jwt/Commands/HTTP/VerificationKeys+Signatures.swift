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
    /// A single key verifies signatures with any `keyid`, as it verifies tokens with any `kid`. A
    /// `keyid` can be the thumbprint of a key in a set, instead of its `kid`.
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
