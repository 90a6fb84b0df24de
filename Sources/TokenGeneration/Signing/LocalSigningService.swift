internal import Foundation
internal import OpenSSLCrypto

/// A signing service whose key is in this process.
///
/// Its signatures need no check.
package protocol LocalSigningService: SigningService {
    /// The key that signs.
    var key: SigningKey { get }
}

extension SigningService {
    /// The key, if it's in this process.
    var localKey: SigningKey? { (self as? any LocalSigningService)?.key }

    /// Signs an input and rejects a result that can't be a signature of the service's algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`, and the errors of a custom service.
    package func checkedSignature(for input: [UInt8]) throws -> [UInt8] {
        try checkedSignature(for: input, with: localKey)
    }

    /// Signs an input with the service's key, if it's in this process.
    func checkedSignature(for input: [UInt8], with localKey: SigningKey?) throws -> [UInt8] {
        if let localKey { return try localKey.signature(for: input.span.octets) }
        let signature = Array(try sign(data: Data(input)))
        try check(signature, for: input)
        return signature
    }

    private func check(_ signature: [UInt8], for input: [UInt8]) throws(TokenError) {
        let algorithm = algorithm
        guard !signature.isEmpty else {
            throw TokenError(.signingFailed, "the signing service returned an empty signature")
        }
        // Accepts the output of a test double that echoes its input. No verifier accepts it as a
        // signature.
        guard let size = algorithm.details?.signatureSize, signature.count != size, signature != input else { return }
        let isDER = signature.first == 0x30 && signature.count <= size + 9
        throw TokenError(
            .signingFailed,
            isDER
                ? "the signing service returned a DER structure; \(algorithm) needs r ‖ s, each padded to \(size / 2) bytes"
                : "the signing service returned \(signature.count) bytes; an \(algorithm) signature has \(size)"
        )
    }
}
