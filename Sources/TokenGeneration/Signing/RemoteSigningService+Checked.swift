internal import Foundation
internal import OpenSSLCrypto

extension RemoteSigningService {
    /// Gets a signature from the service, converts it to the form that JWS uses, and checks it as
    /// far as possible.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, `algorithmMismatch` or
    ///   `signingFailed`, and the service's own errors.
    package func checkedSignature(for input: [UInt8]) async throws -> [UInt8] {
        let algorithm = algorithm
        let verificationKey = verificationKey
        guard verificationKey?.accepts(algorithm: algorithm.rawValue) ?? true else {
            throw TokenError(
                .algorithmMismatch,
                "the service signs with \(algorithm), but its public key is for another algorithm"
            )
        }
        let message = try messageForm.isDigest ? Self.digest(of: input, for: algorithm) : input
        let signature = try Self.jwsForm(of: try await sign(Data(message)), for: algorithm)
        guard let verificationKey else { return signature }
        guard verificationKey.isValidSignature(signature.span.octets, for: input.span.octets) else {
            throw TokenError(
                .signingFailed,
                "the signature of the remote service doesn't verify with its public key; check the key and the form of "
                    + "the message"
            )
        }
        return signature
    }

    private static func digest(of input: [UInt8], for algorithm: JWSAlgorithm) throws(TokenError) -> [UInt8] {
        guard let hash = try algorithm.supportedDetails().scheme.digest else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(algorithm) doesn't sign a digest; the service must accept the signing input"
            )
        }
        do throws(CryptoError) {
            return try hash.hash(input.span.octets)
        } catch {
            throw TokenError(.signingFailed, "can't compute the digest: \(error.message)", cause: error)
        }
    }

    private static func jwsForm(
        of signature: RemoteSignature,
        for algorithm: JWSAlgorithm
    ) throws(TokenError) -> [UInt8] {
        let details = algorithm.details
        let octets: [UInt8]
        switch signature.wrapped {
        case .raw(let raw):
            octets = raw
        case .der(let der):
            guard case .ecdsa(let curve, _)? = details?.scheme else {
                throw TokenError(
                    .signingFailed,
                    "the remote service returned a DER structure, but only ECDSA signatures can have that form"
                )
            }
            do throws(CryptoError) {
                octets = try ECDSASignature.raw(fromDER: der.span.octets, coordinateSize: curve.coordinateSize)
            } catch {
                throw TokenError(.signingFailed, "malformed remote signature: \(error.message)", cause: error)
            }
        }
        guard !octets.isEmpty else {
            throw TokenError(.signingFailed, "the remote service returned an empty signature")
        }
        guard octets.count == details?.signatureSize ?? octets.count else {
            throw TokenError(
                .signingFailed,
                "the remote service returned \(octets.count) bytes; an \(algorithm) signature has another size. Is it DER?"
            )
        }
        return octets
    }
}

extension AlgorithmDescription.Scheme {
    /// The hash function whose digest is signed, or `nil` if the message itself is signed.
    fileprivate var digest: HashFunction? {
        switch self {
        case .ecdsa(_, let hash), .rsa(_, let hash): hash
        case .hmac, .edwards, .mldsa: nil
        }
    }
}
