import Foundation
import Networking
import OAuth2
import SharedStores
import Synchronization
import TokenGeneration

extension FuzzTarget {
    /// The records that stores keep.
    static let records: [FuzzTarget] = [.recordToken, .recordKeys, .recordReplay]

    /// Refreshes a token whose record is the fuzzed text, on one machine or on several hosts.
    static func tokenRecord(_ bytes: [UInt8]) {
        _ = try? TokenRecordCoding(cipher: Seeds.recordCipher).decodeRecord(bytes, key: RecordedText.key)
        let answer = #"{"access_token":"new","token_type":"Bearer","expires_in":3600,"refresh_token":"r1"}"#
        let store = RecordedText(bytes, isSharedByHosts: bytes.count % 2 == 0)
        let source = GrantTokenSource(
            client: OAuth2Client(
                server: AuthorizationServer(
                    issuer: "https://as.example",
                    tokenEndpoint: URL(string: "https://as.example/token") ?? URL(filePath: "/")
                ),
                clientAuthentication: .none(clientID: "app"),
                client: FuzzWorld.client(FuzzTransport(FuzzAnswer(answer.utf8))),
                timing: FuzzWorld.timing
            ),
            grant: RefreshTokenGrant(refreshToken: Secret("r0")),
            store: store
        )
        FuzzWorld.run {
            let token = try await source.token(for: TokenRequirements())
            require(token.value != Secret(""), "an empty token was returned")
            // The next caller finds a token, too.
            _ = try await source.token(for: TokenRequirements())
        }
    }

    /// Signs with keys whose encrypted record has the fuzzed content.
    static func keysRecord(_ bytes: [UInt8]) {
        guard let record = Seeds.sealedRing(bytes) else { defect("the content can't be encrypted") }
        let entry: JSONObject = [
            "key": "aw==", "mod_revision": "2", "value": .string(Data(record).base64EncodedString()),
        ]
        let found: JSONObject = ["header": ["revision": "2"], "kvs": [.object(entry)]]
        let transport = FuzzTransport { request in
            request.url.path == "/v3/kv/range"
                ? FuzzAnswer(found.serialized().utf8).response
                : FuzzAnswer(#"{"header":{"revision":"3"},"succeeded":true}"#.utf8).response
        }
        guard let store = Seeds.etcdStore(transport), let ring = try? SigningKeyRing(store) else {
            defect("the ring can't be created")
        }
        FuzzWorld.run {
            let key = try await ring.signingKey()
            require(!key.algorithm.isSymmetric, "a ring signs with a secret")
            _ = try await ring.document()
            _ = try await ring.retire("a")
        }
    }

    /// Remembers an identifier until a fuzzed time, in memory and in etcd.
    static func replayRecord(_ bytes: [UInt8]) {
        let pattern = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let expiration = Date(timeIntervalSince1970: Double(bitPattern: pattern))
        guard let cluster = Seeds.etcdCluster(FuzzTransport(FuzzAnswer(bytes.dropFirst(8)))) else {
            defect("the cluster can't be created")
        }
        let memory = InMemoryReplayCache()
        let etcd = EtcdReplayCache(cluster)
        FuzzWorld.run {
            for cache in [memory, etcd] as [any ReplayCache] {
                for _ in 1...2 {
                    _ = try? await cache.remember("jti", signedBy: "key", until: expiration, at: FuzzWorld.date)
                }
            }
        }
    }
}

/// A store whose only record is fuzzed text until something replaces it.
private final class RecordedText: TokenStore {
    static let key = "k"

    let isSharedByHosts: Bool
    private let coding = TokenRecordCoding(cipher: nil)
    private let state: Mutex<(text: [UInt8], version: Int)>

    init(_ text: [UInt8], isSharedByHosts: Bool) {
        self.isSharedByHosts = isSharedByHosts
        state = Mutex((text, 1))
    }

    func load(_ key: String) throws -> VersionedTokenRecord? {
        let (text, version) = state.withLock { $0 }
        return VersionedTokenRecord(
            record: try coding.decodeRecord(text, key: Self.key),
            version: TokenRecordVersion(String(version))
        )
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) throws -> TokenRecordVersion? {
        let text = try coding.encode(record, key: Self.key)
        guard (try? coding.decodeRecord(text, key: Self.key)) != nil else {
            FuzzTarget.defect("a record can't be read after writing")
        }
        return state.withLock { state in
            guard expectedVersion.map({ $0.description == String(state.version) }) ?? false else { return nil }
            state = (text, state.version + 1)
            return TokenRecordVersion(String(state.version))
        }
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool { false }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await body()
    }

    /// Ends at once, because time stands still.
    func waitForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) throws {
        throw CancellationError()
    }
}
