public import TokenGeneration

extension MockAuthorizationServer {
    /// What is wrong with an ID token.
    public struct IDTokenTrouble: Sendable {
        enum Signature: Sendable {
            case good, missing, foreign, unknownKey
        }

        var signature = Signature.good
        var changes: [String: JSONValue?] = [:]
        /// How long ago the token was issued.
        var age: Duration = .zero

        /// It has no signature: `alg` is `none`.
        public static let unsigned = Self(signature: .missing)
        /// It has the ID of the server's key, and another key's signature.
        public static let mixedUpKeys = Self(signature: .foreign)
        /// It is signed with a key that the server does not publish.
        public static let unknownKey = Self(signature: .unknownKey)
        /// It is another request's.
        public static let wrongNonce = Self.claims(["nonce": "another-nonce"])
        /// It is another issuer's, by its own words.
        public static let wrongIssuer = Self.claims(["iss": "https://evil.example"])
        /// It is another client's.
        public static let wrongAudience = Self.claims(["aud": "another-client"])
        /// It came with another access token.
        public static let wrongAccessTokenHash = Self.claims(["at_hash": "AAAAAAAAAAAAAAAAAAAAAA"])
        /// It came with another code.
        public static let wrongCodeHash = Self.claims(["c_hash": "AAAAAAAAAAAAAAAAAAAAAA"])

        /// It was issued long ago, and has not expired.
        ///
        /// - Parameter age: How long ago.
        /// - Returns: That trouble.
        public static func old(_ age: Duration) -> Self { Self(age: age) }

        /// Claims have other values, or are missing.
        ///
        /// - Parameter changes: The new values; `nil` takes a claim away.
        /// - Returns: That trouble.
        public static func claims(_ changes: [String: JSONValue?]) -> Self { Self(changes: changes) }
    }
}
