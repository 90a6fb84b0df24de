package import MockNetworking
package import OAuth2

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

extension MockAuthorizationServer {
    /// Finds the server, and waits for it on a busy machine.
    package var discovery: AuthorizationServerDiscovery {
        var options = AuthorizationServerDiscovery.Options()
        options.timing = .patient
        return AuthorizationServerDiscovery(issuer: metadata.issuer, options: options)
    }
}

extension OAuth2Timing {
    /// One attempt, with a timeout that only tests which hang meet.
    package static var patient: Self { Self(timeout: .seconds(600), attempts: 1) }
}

extension RemoteKeySet.Options {
    /// A timeout that only tests which hang meet.
    package static var patient: Self { Self(timeout: .seconds(600)) }
}
