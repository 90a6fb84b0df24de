package import MockNetworking

/// Runs a test with a mock authorization server, and stops it.
package func withAuthorizationServer(
    _ configuration: MockAuthorizationServer.Configuration = .init(),
    clients: [MockAuthorizationServer.Client] = [.init(id: "reports", secret: "s3cret")],
    _ body: (MockAuthorizationServer) async throws -> Void
) async throws {
    let server = try MockAuthorizationServer.start(configuration: configuration, clients: clients)
    let result: Result<Void, any Error>
    do { result = .success(try await body(server)) } catch { result = .failure(error) }
    await server.stop()
    try result.get()
}
