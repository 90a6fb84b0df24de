import Foundation
import Networking
import Synchronization
import TokenGeneration

/// Checks DPoP proofs for a server, and hands out the nonces for them.
final class ProofHandler: Sendable {
    /// Why a proof is not accepted.
    enum Refusal: Error {
        case nonceNeeded(String)
        case rejected(String)
    }

    private let verifier: DPoPVerifier
    private let requiresNonces: Bool
    /// Those of the token endpoint and of resources are apart, as they would be on two servers.
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

    /// Begins a new nonce; the one before is good for those who are on their way.
    func changeNonces() {
        nonces.withLock { nonces in
            for name in nonces.keys { nonces[name] = [UUID().uuidString] + (nonces[name] ?? []).prefix(1) }
        }
    }

    /// The nonce to send along; `nil` if none are asked for.
    func nonce(of place: String) -> String? {
        guard requiresNonces else { return nil }
        return nonces.withLock { nonces in
            if let nonce = nonces[place]?.first { return nonce }
            let nonce = UUID().uuidString
            nonces[place] = [nonce]
            return nonce
        }
    }

    /// Checks the proof of a request.
    ///
    /// - Returns: The thumbprint of its key.
    func check(
        _ request: LoopbackRequest,
        urls: [String],
        place: String,
        for expectation: DPoPVerifier.Expectation
    ) async throws(Refusal) -> String {
        let proofs = request.headers.values(for: "DPoP")
        guard let proof = proofs.first, proofs.count == 1 else { throw .rejected("not exactly one proof") }
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
        throw .rejected("\(code.map { "\($0)" } ?? "not a proof")")
    }
}
