/// Waits for a condition that another thread fulfills, such as the release of an object.
///
/// - Parameter condition: The condition, evaluated every 5 milliseconds.
/// - Returns: `false` if the condition doesn't hold within two minutes.
/// - Throws: An error of the condition, or `CancellationError` if the task is canceled.
nonisolated(nonsending) public func eventually(_ condition: () throws -> Bool) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while try !condition() {
        guard .now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
