/// Whether something comes true within two minutes: for what another thread does soon after what a test waited for, such as letting go of
/// the last reference to an object.
///
/// - Parameter condition: Is asked every few milliseconds until it holds.
/// - Throws: `CancellationError` if the task is cancelled.
nonisolated(nonsending) public func eventually(_ condition: () throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while try !condition() {
        guard .now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
