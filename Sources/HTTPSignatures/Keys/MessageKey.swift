import Foundation
import Networking
import TokenGeneration

/// The key of a signer, in this process or behind a remote service.
enum MessageKey: Sendable {
    case local(any SigningService)
    case remote(any RemoteSigningService)

    var algorithm: JWSAlgorithm {
        switch self {
        case .local(let service): service.algorithm
        case .remote(let service): service.algorithm
        }
    }

    var keyID: String? {
        switch self {
        case .local(let service): service.keyID
        case .remote(let service): service.keyID
        }
    }

    /// The public key, if the service knows it.
    var verificationKey: VerificationKey? {
        switch self {
        case .local(let service): (service as? any LocalSigningService)?.key.verificationKey
        case .remote(let service): service.verificationKey
        }
    }

    /// The registered name of the algorithm, or `nil`.
    var httpSignatureName: String? { verificationKey?.httpSignatureName ?? algorithm.httpSignatureName }

    /// Signs a signature base.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `signingFailed`, caused by the service's
    ///   error; `CancellationError`.
    func signature(for base: SignatureBase) async throws -> Data {
        do {
            switch self {
            case .local(let service): return Data(try service.checkedSignature(for: base.octets))
            case .remote(let service): return Data(try await service.checkedSignature(for: base.octets))
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw HTTPSignatureError(.signingFailed, "the message couldn't be signed", cause: error)
        }
    }
}
