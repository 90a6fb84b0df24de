import Foundation
import TokenGeneration

extension AnySigningService {
    /// The registered name of the algorithm, or `nil`.
    var httpSignatureName: String? { verificationKey?.httpSignatureName ?? algorithm.httpSignatureName }

    /// Signs a signature base.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `signingFailed`, caused by the service's
    ///   error; `CancellationError`.
    func signature(for base: SignatureBase) async throws -> Data {
        do {
            return Data(try await checkedSignature(for: base.octets))
        } catch let error as CancellationError {
            throw error
        } catch {
            throw HTTPSignatureError(.signingFailed, "the message couldn't be signed", cause: error)
        }
    }
}
