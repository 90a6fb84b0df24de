import TokenGeneration

extension KeyFile {
    /// Rejects a shared secret, which can't sign SD-JWTs.
    func checkIsKeyPair(for purpose: String) throws(CommandFailure) {
        guard isSecret else { return }
        let message =
            "\(name): \(purpose) can't be a shared secret, because every verifier could use it; use a key pair"
        throw CommandFailure(.failed, TokenError(.unsupportedAlgorithm, message))
    }

    /// Returns the public key of an SD-JWT's holder, or the public part of a private key.
    func holderKey() throws(CommandFailure) -> VerificationKey {
        try checkIsKeyPair(for: "the holder's key")
        do throws(CommandFailure) {
            return try verificationKey(for: nil)
        } catch {
            switch (error.cause as? TokenError)?.code {
            case .algorithmRequired?:
                // The token contains the key without an algorithm, so any will do.
                return try verificationKey(for: .ps256)
            case .passwordRequired?:
                let message = "\(name): the private key is encrypted; pass its public part, which jwt key public prints"
                throw CommandFailure(.failed, message, cause: error.cause)
            default: throw error
            }
        }
    }
}
