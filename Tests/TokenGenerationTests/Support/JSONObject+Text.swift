import Foundation
import TokenGeneration

extension JWSVerifier {
    /// Verifies the text of a JSON serialization.
    func verify(
        json: JSONObject,
        detachedPayload: Data? = nil,
        requiring policy: JWSSignaturePolicy
    ) throws(TokenError) -> VerifiedJWS {
        try verify(json: json.serialized(), detachedPayload: detachedPayload, requiring: policy)
    }
}

extension JWEDecrypter {
    /// Decrypts the text of a JSON serialization.
    func decrypt(json: JSONObject) throws(TokenError) -> DecryptedJWE { try decrypt(json: json.serialized()) }
}
