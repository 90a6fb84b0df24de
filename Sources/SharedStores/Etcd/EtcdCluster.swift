public import Foundation
import FoundationNetworking
public import Networking
public import OAuth2
import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// A token store in an etcd cluster, which any number of hosts share.
///
/// ```swift
/// let store = EtcdTokenStore(cluster, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Reads are linearizable, and hosts that wait for a change watch the record.
///
/// A cluster that is restored from a snapshot has old records. A process that has seen newer ones
/// rejects them with the code `storeDamaged`; remove the prefix after a restoration and sign in
/// again.
public typealias EtcdTokenStore = SealedTokenStore<EtcdCluster>

extension SealedTokenStore where Place == EtcdCluster {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - cluster: The cluster.
    ///   - prefix: The prefix of the records' keys. The default is `/tokens/`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    public init(_ cluster: EtcdCluster, prefix: String = "/tokens/", keys: RecordKeys) {
        self.init(EtcdStorage(cluster: cluster, prefix: prefix), keys: keys, timeSource: cluster.timeSource)
    }
}

/// An etcd cluster, reached by the JSON gateway of its members.
///
/// ```swift
/// let cluster = try EtcdCluster(
///     endpoints: [URL(string: "https://etcd-1.example:2379")!, URL(string: "https://etcd-2.example:2379")!],
///     user: "reports",
///     password: Secret(password)
/// )
/// ```
///
/// Requests go to one member until it fails, and then to the next. Reads are linearizable. A write
/// whose outcome is unknown is never repeated: the caller reads what has become of it. If all
/// members have too many requests, it pauses for up to a second.
///
/// If the cluster verifies client certificates, pass a transport with one. The gateway rejects
/// certificates that have a common name while users log in with passwords.
public final class EtcdCluster: Sendable {
    private struct State {
        /// The index of the member that requests go to.
        var member: Int
        /// The login tokens by member, since each member knows only those that it issued.
        var tokens: [Int: Secret] = [:]
    }

    /// The largest value in bytes: etcd accepts requests of 1.5 MiB, and base64 takes a third.
    static let maximumValueSize = 1 << 20
    private static let maximumResponseSize = 4 << 20

    private let endpoints: [URL]
    private let login: (user: String, password: Secret)?
    private let client: NetworkClient
    private let timeout: Duration
    private let state: Mutex<State>
    let timeSource: TimeSource

    /// Creates a cluster.
    ///
    /// - Parameters:
    ///   - endpoints: The URLs of the members, such as `https://etcd-1.example:2379`. Plain HTTP is
    ///     accepted only for this machine.
    ///   - user: The user. The default is `nil`, for a cluster without authentication.
    ///   - password: The user's password.
    ///   - transport: The transport, for other certificates and roots. The default is a
    ///     `CurlTransport`.
    ///   - timeout: The timeout of one request. The default is 3 seconds.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `insecureTransport` if an endpoint isn't confidential,
    ///   or `storeFailed` if the list is empty or an endpoint isn't a URL of a server.
    public init(
        endpoints: [URL],
        user: String? = nil,
        password: Secret? = nil,
        transport: (any HTTPTransport)? = nil,
        timeout: Duration = .seconds(3),
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        guard !endpoints.isEmpty else { throw OAuth2Error(.storeFailed, "an etcd cluster needs at least one endpoint") }
        for endpoint in endpoints {
            guard let origin = HTTPOrigin(endpoint), endpoint.query == nil, endpoint.user == nil else {
                throw OAuth2Error(.storeFailed, "an etcd endpoint isn't an HTTP URL of a server")
            }
            guard origin.isConfidential else {
                throw OAuth2Error(.insecureTransport, "an etcd endpoint on another machine must use https")
            }
        }
        guard (user == nil) == (password == nil) else {
            throw OAuth2Error(.storeFailed, "an etcd login needs both a user and a password")
        }
        self.endpoints = endpoints
        self.timeout = timeout
        self.timeSource = timeSource
        login = if let user, let password { (user, password) } else { nil }
        let options = NetworkClient.Options(timeSource: timeSource)
        // Without the caller's interceptors, which could repeat a write.
        client = transport.map { NetworkClient(transport: $0, options: options) } ?? NetworkClient(options: options)
        state = Mutex(State(member: Int.random(in: 0..<endpoints.count)))
    }

    /// Sends a request to one member after the other until one answers.
    func response(to request: EtcdRequest) async throws -> EtcdResponse {
        var hasLoggedIn = false
        var failures = 0
        while true {
            let member = state.withLock { $0.member }
            var isLimited = false
            do throws(EtcdFailure) {
                return try await send(request, to: member)
            } catch {
                try Task.checkCancellation()
                switch error.kind {
                case .notLoggedIn where login != nil && !hasLoggedIn:
                    hasLoggedIn = true
                    state.withLock { $0.tokens[member] = nil }
                    continue
                case .rejected, .notLoggedIn:
                    throw error.error
                case .unknown, .notDone:
                    leave(member)
                    failures += 1
                    hasLoggedIn = false
                    guard error.kind == .notDone || !request.isWrite, failures < max(endpoints.count, 2) + 1
                    else { throw error.error }
                    isLimited = error.isLimited && failures.isMultiple(of: endpoints.count)
                }
            }
            if isLimited { try await timeSource.sleep(min(StoreService.pauseIfLimited(), timeout)) }
        }
    }

    /// Returns `false` if the watch ended for another reason, so that the caller polls.
    func waitForChange(of key: String, after revision: Int64, timeout: Duration) async throws -> Bool {
        let member = state.withLock { $0.member }
        do {
            return try await watch(key, after: revision, at: member, timeout: timeout)
        } catch let error as NetworkError where error.code == .timedOut {
            return true
        } catch {
            leave(member)
            throw error
        }
    }

    private func watch(_ key: String, after revision: Int64, at member: Int, timeout: Duration) async throws -> Bool {
        var request = try await urlRequest(for: .watch(key, from: revision.next), to: member)
        // Without it, a member that is cut off stays silent forever.
        request.setValue("true", forHTTPHeaderField: "Grpc-Metadata-Hasleader")
        let response = try await client.stream(request, options: Self.options(timeout))
        defer { response.stream.cancel() }
        for try await message in response.stream.values(of: WatchMessage.self) {
            guard let result = message.result else { throw EtcdFailure.malformed }
            if !(result.events ?? []).isEmpty { return true }
            // The user may not watch, or the revision is no longer in the history.
            if result.canceled ?? false { return false }
        }
        return false
    }

    private struct WatchMessage: Decodable {
        struct Event: Decodable {}
        struct Result: Decodable {
            let canceled: Bool?
            let events: [Event]?
        }

        let result: Result?
    }

    // MARK: Members

    private func leave(_ member: Int) {
        state.withLock { if $0.member == member { $0.member = (member + 1) % endpoints.count } }
    }

    private static func options(_ timeout: Duration) -> RequestOptions {
        RequestOptions(redirects: .never, timeout: timeout, maximumBodySize: maximumResponseSize)
    }

    private func send(_ request: EtcdRequest, to member: Int) async throws(EtcdFailure) -> EtcdResponse {
        do {
            let request = try await urlRequest(for: request, to: member)
            let response = try await client.response(for: request, options: Self.options(timeout))
            guard let answer = EtcdResponse(response.body) else { throw EtcdFailure.malformed }
            return answer
        } catch let error as EtcdFailure {
            throw error
        } catch let error as ServerError {
            throw EtcdFailure.answer(error.errorCode, error.response)
        } catch let error as NetworkError {
            throw EtcdFailure.unreachable(error)
        } catch {
            throw EtcdFailure.malformed
        }
    }

    private func urlRequest(for request: EtcdRequest, to member: Int) async throws -> URLRequest {
        var urlRequest = URLRequest(url: endpoints[member].appending(path: request.path))
        urlRequest.httpMethod = "POST"
        urlRequest.httpBody = Data(request.json.serialized().utf8)
        urlRequest.setValue("application/json", forHTTPHeaderField: "Content-Type")
        if request.isLogin { return urlRequest }
        guard let token = try await token(for: member) else { return urlRequest }
        // The field has the token alone; with a scheme, etcd calls it invalid.
        token.expose { urlRequest.setValue($0, forHTTPHeaderField: "Authorization") }
        return urlRequest
    }

    private func token(for member: Int) async throws(EtcdFailure) -> Secret? {
        guard let login else { return nil }
        if let token = state.withLock({ $0.tokens[member] }) { return token }
        let request = login.password.expose { EtcdRequest.authenticate(name: login.user, password: $0) }
        let response: EtcdResponse
        do { response = try await send(request, to: member) } catch { throw error.beforeRequest }
        guard let text = response.token, !text.isEmpty else { throw EtcdFailure.malformed.beforeRequest }
        let token = Secret(text)
        state.withLock { $0.tokens[member] = token }
        return token
    }
}

struct EtcdStorage: ConditionalStorage {
    let cluster: EtcdCluster
    let prefix: String

    var maximumSize: Int { EtcdCluster.maximumValueSize }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        try await cluster.response(to: .range(prefix + name)).entry().map { ($0.value, String($0.revision)) }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        try await write(value, to: name, over: version, lease: nil)
    }

    func write(
        _ value: [UInt8],
        to name: String,
        over version: String?,
        lease: Int64?
    ) async throws -> String? {
        let key = prefix + name
        var condition = EtcdRequest.Compare.absent(key)
        if let version {
            guard let revision = Int64.version(version) else { return nil }
            condition = .revision(key, revision)
        }
        let response = try await cluster.response(
            to: .transaction(if: [condition], then: [.put(key, value, lease: lease)])
        )
        guard response.succeeded else { return nil }
        guard let revision = response.revision else { throw EtcdFailure.malformed.error }
        return String(revision)
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        guard let revision = Int64.version(version) else { return false }
        let key = prefix + name
        let request = EtcdRequest.transaction(if: [.revision(key, revision)], then: [.delete(key)])
        return try await cluster.response(to: request).succeeded
    }

    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool {
        guard let revision = version.flatMap(Int64.version) else { return false }
        return try await cluster.waitForChange(of: prefix + name, after: revision, timeout: timeout)
    }
}
