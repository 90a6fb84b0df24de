import OAuth2

/// Returns the code of the error that a closure throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async -> OAuth2Error.Code? {
    do {
        try await body()
        return nil
    } catch { return (error as? OAuth2Error)?.code }
}
