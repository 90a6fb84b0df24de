import Foundation
import FoundationNetworking
internal import OpenSSLCrypto
import Synchronization

/// The exchanged tokens of a client, and the exchanges under way.
final class ServiceTokenCache: Sendable {
    /// What a token is good for; a token of one subject is never used for another.
    struct Key: Hashable {
        let url: URL?
        let scope: String
        let subject: [UInt8]

        init(_ exchange: TokenExchange, subjectToken: String) throws {
            url = exchange.request.url
            scope = exchange.scope
            subject = try [UInt8](subjectToken.utf8).withBytes { try HashFunction.sha256.hash($0) }
        }
    }

    private enum Slot {
        case token(ServiceToken)
        /// The number tells an exchange from an earlier one that comes to its end late.
        case task(number: Int, SharedTask<ServiceToken>)
    }

    private struct State {
        var slots: [Key: Slot] = [:]
        var refreshCount = 0
    }

    /// Beyond this many tokens the one that expires first makes room.
    private static let capacity = 1_000

    private let state = Mutex(State())

    /// The kept token, or the result of the exchange under way, or that of a new one.
    ///
    /// - Returns: The token, and whether it had been kept from before.
    func token(
        for key: Key,
        context: InterceptorContext,
        timeSource: TimeSource,
        timeout: Duration,
        exchange: @escaping @Sendable () async throws -> ServiceToken
    ) async throws -> (token: ServiceToken, wasKept: Bool) {
        let now = timeSource.now()
        switch state.withLock({ state -> Slot in
            switch state.slots[key] {
            case .token(let token)? where now < token.expiry: return .token(token)
            case .task(let number, let task)? where !task.isOver: return .task(number: number, task)
            case .token?, .task?, nil:
                state.refreshCount += 1
                let number = state.refreshCount
                let task = SharedTask(timeout: timeout, timeSource: timeSource) { [self] in
                    do {
                        let token = try await exchange()
                        keep(token, for: key, task: number, now: timeSource.now())
                        return token
                    } catch {
                        end(key, task: number)
                        throw error
                    }
                }
                state.slots[key] = .task(number: number, task)
                return .task(number: number, task)
            }
        }) {
        case .token(let token):
            return (token, true)
        case .task(_, let task):
            return (try await task.value(until: context.deadline), false)
        }
    }

    /// Forgets a token that a server refused, unless another has replaced it.
    func remove(_ key: Key, refused accessToken: String) {
        state.withLock { state in
            guard case .token(let token)? = state.slots[key], token.accessToken == accessToken else { return }
            state.slots[key] = nil
        }
    }

    private func end(_ key: Key, task number: Int) {
        state.withLock { state in
            guard case .task(number, _)? = state.slots[key] else { return }
            state.slots[key] = nil
        }
    }

    private func keep(_ token: ServiceToken, for key: Key, task number: Int, now: ContinuousClock.Instant) {
        state.withLock { state in
            guard case .task(number, _)? = state.slots[key] else { return }
            state.slots[key] = token.expiry > now ? .token(token) : nil
            guard state.slots.count > Self.capacity else { return }
            let kept = state.slots.compactMap { key, slot in
                if case .token(let token) = slot { (key: key, expiry: token.expiry) } else { nil }
            }
            if let first = kept.min(by: { $0.expiry < $1.expiry }) { state.slots[first.key] = nil }
        }
    }
}
