import Foundation
import MockNetworking
import Networking
import Synchronization
import TokenGeneration

@testable import OAuth2

/// A store of one record, as the text that any program with access to the store can write.
final class RecordedTextStore: TokenStore {
    let isSharedByHosts: Bool
    private let coding = TokenRecordCoding(cipher: nil)
    private let sections: InMemoryTokenStore
    private let state: Mutex<(format: String, record: String?, version: Int)>

    /// Creates a store with the format's number and the record as JSON.
    init(format: String = "2", record: String, isSharedByHosts: Bool, _ timeSource: TimeSource) {
        self.isSharedByHosts = isSharedByHosts
        sections = InMemoryTokenStore(timeSource: timeSource)
        state = Mutex((format, record, 1))
    }

    /// The content of the stored record.
    var content: JSONObject? { state.withLock { $0.record }.flatMap { try? JSONObject(parsing: $0) } }

    func load(_ key: String) throws -> VersionedTokenRecord? {
        try state.withLock { state -> VersionedTokenRecord? in
            guard let record = state.record else { return nil }
            let member: JSONObject = ["key": .string(key)]
            let name = member.serialized().dropFirst().dropLast()
            let text = """
                {"format":"swift-authenticated-client/token","version":\(state.format),\(name),"record":\(record)}
                """
            return VersionedTokenRecord(
                record: try coding.decodeRecord(Array(text.utf8), key: key),
                version: TokenRecordVersion(String(state.version))
            )
        }
    }

    /// Writes a record; a damaged one counts as none.
    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) throws -> TokenRecordVersion? {
        let found: TokenRecordVersion?
        do { found = try load(key)?.version } catch let error as OAuth2Error {
            guard error.code == .storeDamaged else { throw error }
            found = nil
        }
        guard found == expectedVersion else { return nil }
        return state.withLock { state in
            state = ("2", record.content.serialized(), state.version + 1)
            return TokenRecordVersion(String(state.version))
        }
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) throws -> Bool {
        guard try load(key)?.version == version else { return false }
        state.withLock { $0.record = nil }
        return true
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await sections.withExclusiveAccess(to: key, timeout: timeout, body)
    }
}
