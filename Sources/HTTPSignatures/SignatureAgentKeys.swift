public import Foundation
public import Networking
import OAuth2
internal import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// The keys of signature agents, fetched from the URLs that their signatures cover
/// ([Web Bot Auth](https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/)).
///
/// ```swift
/// let agents = try SignatureAgentKeys { url in
///     url.host() == "bots.example"
/// }
/// let verifier = try MessageVerifier(
///     profile: .webBotAuth(),
///     keys: agents.keys,
///     replayCache: InMemoryReplayCache()
/// )
/// ```
///
/// The sender of a request chooses the URL, so fetching it is dangerous (server-side request
/// forgery). The URL must be `https`, without a port or an address as its host. The host must
/// resolve to public addresses only, redirects aren't followed, and the size, the number of keys,
/// the time and the number of agents are limited. Each agent's keys are fetched once for all
/// requests, and again when their lifetime ends. A key is looked up only among those of the URL
/// that the signature covers, by its thumbprint.
///
/// A verified request proves that the signer has a key that the URL publishes, and nothing about
/// the operator. Use the URL in ``VerifiedSignature/agent`` to decide what the agent may do.
public final class SignatureAgentKeys: Sendable {
    /// The limits on agents and their directories.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of agents whose keys are kept; the default is 256.
        public var agents = 256
        /// The maximum number of directories that are fetched at once; the default is 16.
        public var concurrentFetches = 16
        /// The maximum number of keys in a directory; the default is 32.
        public var keys = 32
        /// The maximum size of a directory in bytes; the default is 64 KiB.
        public var size = 64 << 10
        /// The timeout of a request; the default is 5 seconds.
        public var timeout: Duration = .seconds(5)

        /// Creates the default limits.
        public init() {}
    }

    private struct Agent {
        let keys: RemoteKeySet
        var lastUse: UInt64

        /// The order in which agents are forgotten: those without keys first.
        var rank: UInt64 { keys.status.keys == nil ? lastUse : lastUse + (1 << 62) }
    }

    private struct State {
        var agents: [ByteComparedString: Agent] = [:]
        var uses: UInt64 = 0
        /// The numbers of callers that wait for the keys of an agent.
        var waiting: [ByteComparedString: Int] = [:]
    }

    private let allows: @Sendable (URL) -> Bool
    private let client: NetworkClient
    private let limits: Limits
    private let timeSource: TimeSource
    private let state = Mutex(State())

    /// Creates a source of keys with its own connections.
    ///
    /// - Parameters:
    ///   - limits: The limits on agents and their directories.
    ///   - allows: A closure that returns whether to fetch the keys of an agent's URL.
    /// - Throws: `NetworkError` with the code `transportUnavailable` if libcurl can't be used.
    public convenience init(
        limits: Limits = Limits(),
        allows: @escaping @Sendable (URL) -> Bool
    ) throws(NetworkError) {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.reachesOnlyPublicAddresses = true
        configuration.maximumConnectionsPerHost = 2
        let client = NetworkClient(transport: try CurlTransport(configuration: configuration))
        self.init(client: client, limits: limits, timeSource: .system, allows: allows)
    }

    /// For tests: the client must not reach addresses inside the network.
    package init(
        client: NetworkClient,
        limits: Limits,
        timeSource: TimeSource,
        allows: @escaping @Sendable (URL) -> Bool
    ) {
        self.client = client
        self.limits = limits
        self.timeSource = timeSource
        self.allows = allows
    }

    /// The keys for a verifier.
    public var keys: SignatureKeys { SignatureKeys { try await self.key(for: $0) } }

    private func key(for query: SignatureKeys.Query) async throws -> VerificationKey? {
        guard let agent = query.agent, let thumbprint = query.keyID else { return nil }
        guard !Self.testKeyThumbprints.contains(thumbprint) else {
            throw HTTPSignatureError(.unknownKey, "the signature's key is a published test key")
        }
        let url = try Self.directoryURL(of: agent)
        guard allows(agent) else {
            throw HTTPSignatureError(.directoryRejected, "the application doesn't allow the signature's agent")
        }
        let name = ByteComparedString(url.absoluteString)
        guard let (directory, isWaiting) = directory(at: url, name) else {
            throw HTTPSignatureError(.directoryRejected, "the directories of too many agents are being fetched")
        }
        defer { if isWaiting { stopWaiting(name) } }
        do {
            return try await directory.key { keys throws(TokenError) in
                let key = try keys.verificationKey(
                    withThumbprint: thumbprint,
                    selection: KeySelection(assumedAlgorithms: [.ps512])
                )
                try key.jwk.checkTime(self.timeSource.date())
                return key
            }
        } catch let error as TokenError where error.code == .unknownKey {
            return nil
        } catch let error as TokenError {
            throw HTTPSignatureError(.unknownKey, "the agent's key can't be used: \(error.message)", cause: error)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw HTTPSignatureError(.directoryRejected, "the agent's directory couldn't be fetched", cause: error)
        }
    }

    /// Also returns whether the caller counts as one that waits; `nil` if too many directories are
    /// being fetched.
    private func directory(at url: URL, _ name: ByteComparedString) -> (keys: RemoteKeySet, isWaiting: Bool)? {
        state.withLock { state -> (keys: RemoteKeySet, isWaiting: Bool)? in
            state.uses += 1
            if let agent = state.agents[name], agent.keys.status.keys != nil {
                state.agents[name]?.lastUse = state.uses
                return (agent.keys, false)
            }
            guard state.waiting[name] != nil || state.waiting.count < limits.concurrentFetches else { return nil }
            state.waiting[name, default: 0] += 1
            if let agent = state.agents[name] {
                state.agents[name]?.lastUse = state.uses
                return (agent.keys, true)
            }
            if state.agents.count >= max(limits.agents, 1) {
                let oldest = state.agents.min { $0.value.rank < $1.value.rank }
                state.agents[oldest?.key ?? name] = nil
            }
            let keys = RemoteKeySet(url: url, client: client, options: options(for: url))
            state.agents[name] = Agent(keys: keys, lastUse: state.uses)
            return (keys, true)
        }
    }

    private func stopWaiting(_ name: ByteComparedString) {
        state.withLock { state in
            let left = (state.waiting[name] ?? 1) - 1
            state.waiting[name] = left > 0 ? left : nil
        }
    }

    package var count: Int { state.withLock { $0.agents.count } }

    private func options(for url: URL) -> RemoteKeySet.Options {
        var options = RemoteKeySet.Options(
            lifetime: .seconds(3600),
            lifetimeBounds: .seconds(60) ... .seconds(86_400),
            timeout: limits.timeout,
            maximumSize: limits.size,
            timeSource: timeSource
        )
        options.accept = "\(SignatureKeyDirectory.mediaType), application/jwk-set+json, application/json"
        let isWellKnown = url.path() == SignatureKeyDirectory.path
        options.read = { [limits] response in
            try Self.read(response, isWellKnown: isWellKnown, maximumCount: limits.keys)
        }
        return options
    }

    private static func read(
        _ response: HTTPResponse,
        isWellKnown: Bool,
        maximumCount: Int
    ) throws(TokenError) -> JWKSet {
        let type = response.headers["Content-Type"].flatMap { MediaType($0)?.essence }
        guard !isWellKnown || type == SignatureKeyDirectory.mediaType else {
            throw TokenError(.malformedKey, "the directory doesn't have the media type of one")
        }
        let set = try JWKSet(parsing: response.body, maximumRSAKeySize: 4_096)
        guard set.keys.count <= maximumCount else {
            throw TokenError(.tooLarge, "the directory has more than \(maximumCount) keys")
        }
        return JWKSet(keys: set.keys.map(\.withJWSAlgorithm), maximumRSAKeySize: 4_096)
    }

    /// Everyone knows the private parts
    /// ([RFC 9421, Appendix B.1](https://www.rfc-editor.org/rfc/rfc9421#appendix-B.1)).
    private static let testKeyThumbprints: Set<String> = [
        "BHj8s0GPnMEQtkaULIM-PLgEhLBbuGUQ1vMxmBWZzEo", "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA",
        "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI", "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
    ]

    /// An origin, as in early drafts, stands for the well-known URL.
    private static func directoryURL(of agent: URL) throws(HTTPSignatureError) -> URL {
        guard let uri = try? TargetURI(agent.absoluteString), uri.scheme == "https" else {
            throw refused("isn't https")
        }
        let host = uri.authority
        // A port could reach a service that isn't meant for the public.
        guard !host.utf8.contains(UInt8(ascii: ":")), !host.utf8.contains(UInt8(ascii: "[")) else {
            throw refused("has a port, or an address as its host")
        }
        guard host.utf8.contains(UInt8(ascii: ".")), host.utf8.last != UInt8(ascii: "."), isName(host) else {
            throw refused("doesn't have a public name as its host")
        }
        let target = uri.requestTarget == "/" ? SignatureKeyDirectory.path : uri.requestTarget
        guard let url = URL(string: "https://\(host)\(target)", encodingInvalidCharacters: false) else {
            throw refused("isn't a URL")
        }
        return url
    }

    /// Returns whether a host is a name rather than an IPv4 address in any form.
    private static func isName(_ host: String) -> Bool {
        let last = host.split(separator: ".").last ?? ""
        guard last.utf8.contains(where: { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }),
            !last.hasPrefix("0x")
        else { return false }
        return !["localhost", "local", "internal", "localdomain", "home", "lan", "arpa", "test", "onion"]
            .contains { last == $0 }
    }

    private static func refused(_ reason: String) -> HTTPSignatureError {
        HTTPSignatureError(.directoryRejected, "the URL of the signature's agent \(reason)")
    }
}

extension JWK {
    /// The key with the JWS name of its algorithm, because directories use the names of RFC 9421.
    fileprivate var withJWSAlgorithm: JWK {
        guard let name = algorithm, let known = JWSAlgorithm(httpSignatureName: name) else { return self }
        var members = publicPart.members
        members["alg"] = .string(known.rawValue)
        return (try? JWK(members)) ?? self
    }

    /// Checks `nbf` and `exp`.
    fileprivate func checkTime(_ date: Date) throws(TokenError) {
        let now = date.timeIntervalSince1970
        if let start = members["nbf"]?.number?.double, now < start {
            throw TokenError(.unknownKey, "the agent's key isn't in use yet")
        }
        if let end = members["exp"]?.number?.double, now >= end {
            throw TokenError(.unknownKey, "the agent's key is no longer in use")
        }
    }
}
