import Foundation
import TokenGeneration

/// A key management service that signs with a key in this process.
struct FakeRemoteService: RemoteSigningService {
    let key: SigningKey
    var keyID: String? = "kms/1"
    var messageForm = RemoteMessageForm.signingInput
    var verificationKey: VerificationKey?
    var answer: @Sendable (Data, [UInt8]) -> RemoteSignature = { _, raw in .raw(raw) }

    var algorithm: JWSAlgorithm { key.algorithm }

    func sign(_ message: Data) async throws -> RemoteSignature {
        await Task.yield()
        return answer(message, try key.signature(for: Array(message)))
    }
}

/// A service that isn't available.
struct BrokenRemoteService: RemoteSigningService {
    struct Failure: Error, Equatable {}

    let algorithm = JWSAlgorithm.es256

    func sign(_ message: Data) async throws -> RemoteSignature { throw Failure() }
}
