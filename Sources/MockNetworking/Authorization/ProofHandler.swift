import Foundation
import Networking
import Synchronization
import TokenGeneration

/// A verifier of DPoP proofs that also issues their nonces.
final class ProofHandler: Sendable {
    /// The reason for rejecting a proof.
    enum Refusal: Error {
        case nonceNeeded(String)
        case rejected(String)
    }

    private let verifier: DPoPVerifier
    private let requiresNonces: Bool
    /// The nonces, separate for the token endpoint and for resources, as on two servers.
    private let nonces = Mutex<[String: [String]]>([:])

    init(_ configuration: MockAuthorizationServer.Configuration) {
        requiresNonces = configuration.requiresNonces
        verifier = DPoPVerifier(
            replayCache: InMemoryReplayCache(quotaPerKey: 100_000),
            maximumAge: .seconds(60),
            leeway: .seconds(10),
            currentDate: configuration.serverTime.date
        )
    }

    /// Issues a new nonce; the previous one remains valid for requests in progress.
    func changeNonces() {
        nonces.withLock { nonces in
            for name in nonces.keys { nonces[name] = [UUID().uuidString] + (nonces[name] ?? []).prefix(1) }
        }
    }

    /// Returns the current nonce, or `nil` if nonces aren't required.
    func nonce(of place: String) -> String? {
        guard requiresNonces else { return nil }
        return nonces.withLock { nonces in
            if let nonce = nonces[place]?.first { return nonce }
            let nonce = UUID().uuidString
            nonces[place] = [nonce]
            return nonce
        }
    }

    /// Verifies the proof of a request, and returns the thumbprint of its key.
    func check(
        _ request: LoopbackRequest,
        urls: [String],
        place: String,
        for expectation: DPoPVerifier.Expectation
    ) async throws(Refusal) -> String {
        let proofs = request.headers.values(for: "DPoP")
        guard let proof = proofs.first, proofs.count == 1 else { throw .rejected("exactly one proof is required") }
        let nonce = nonce(of: place)
        let accepted = nonces.withLock { $0[place] ?? [] }
        var failure: (any Error)?
        for url in urls {
            do {
                return try await verifier.verify(
                    proof,
                    method: request.method.rawValue,
                    url: url,
                    for: expectation,
                    nonce: nonce == nil ? .notRequired : .oneOf(accepted)
                )
                .thumbprint
            } catch { failure = error }
            guard (failure as? TokenError)?.code == .targetMismatch else { break }
        }
        let code = (failure as? TokenError)?.code
        if let nonce, code == .nonceMismatch { throw .nonceNeeded(nonce) }
        throw .rejected("\(code.map { "\($0)" } ?? "invalid proof")")
    }
}
