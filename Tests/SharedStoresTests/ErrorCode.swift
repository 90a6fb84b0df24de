import OAuth2

/// Returns the code of the error that a closure throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async -> OAuth2Error.Code? {
    do {
        try await body()
        return nil
    } catch { return (error as? OAuth2Error)?.code }
}

extension TokenStore {
    /// Writes a record for the key `k`, and returns its version.
    func write(
        _ record: TokenRecord = .sample,
        over version: TokenRecordVersion? = nil
    ) async throws -> TokenRecordVersion? {
        try await compareAndSwap("k", expectedVersion: version, record: record)
    }

    /// Returns the code of the error with which the write of a record fails.
    func writeCode(
        _ record: TokenRecord = .sample,
        over version: TokenRecordVersion? = nil
    ) async -> OAuth2Error.Code? {
        await code { _ = try await write(record, over: version) }
    }

    /// Returns the code of the error with which the reading of the record fails.
    func loadCode() async -> OAuth2Error.Code? { await code { _ = try await load("k") } }

    /// Returns the code of the error with which the removal of the record fails.
    func removalCode(_ version: TokenRecordVersion) async -> OAuth2Error.Code? {
        await code { _ = try await remove("k", ifVersion: version) }
    }
}
