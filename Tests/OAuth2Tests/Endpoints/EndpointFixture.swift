import Foundation
import MockNetworking
import Networking
import OAuth2

/// A client of a scripted server with all endpoints, and a manual clock.
struct EndpointFixture {
    static let secret = "S3cret-of-the-client"
    static let token = "T0ken-that-is-asked-about"

    let time = ManualTime()
    let transport: MockTransport
    let server: AuthorizationServer
    let oauth: OAuth2Client

    /// Creates a fixture with scripted responses.
    init(
        _ steps: MockTransport.Step...,
        attempts: Int = 1,
        clientAuthentication: (any ClientAuthentication)? = nil,
        change: (inout AuthorizationServer) -> Void = { _ in }
    ) {
        self.init(steps, attempts: attempts, clientAuthentication: clientAuthentication, change: change)
    }

    init(
        _ steps: [MockTransport.Step],
        attempts: Int = 1,
        clientAuthentication: (any ClientAuthentication)? = nil,
        change: (inout AuthorizationServer) -> Void = { _ in }
    ) {
        transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        var server = Self.server
        change(&server)
        self.server = server
        oauth = OAuth2Client(
            server: server,
            clientAuthentication: clientAuthentication
                ?? .clientSecretBasic(clientID: "api", secret: Secret(Self.secret)),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: .init(attempts: attempts, timeSource: time.timeSource, random: { 0 })
        )
    }

    static var server: AuthorizationServer {
        func url(_ name: String) -> URL { URL(string: "https://id.example/\(name)")! }
        var server = AuthorizationServer(issuer: "https://id.example", tokenEndpoint: url("token"))
        server.authorizationEndpoint = url("authorize")
        server.pushedAuthorizationRequestEndpoint = url("par")
        server.introspectionEndpoint = url("introspect")
        server.revocationEndpoint = url("revoke")
        server.registrationEndpoint = url("register")
        server.userInfoEndpoint = url("userinfo")
        server.deviceAuthorizationEndpoint = url("device")
        return server
    }

    /// The forms that were sent, in order.
    var forms: [String] { transport.requests.map { String(decoding: $0.body, as: UTF8.self) } }

    /// A registrar with the same transport and clock.
    func registrar(attempts: Int = 1) -> ClientRegistrar {
        ClientRegistrar(
            server: server,
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: .init(attempts: attempts, timeSource: time.timeSource, random: { 0 })
        )
    }

    /// Returns a network client that authorizes requests with the token, or by another source.
    func authorized(_ source: (any TokenSource)? = nil) -> NetworkClient {
        let token = AccessToken(value: Secret(Self.token), requested: time.now)
        let authenticator = OAuth2Authenticator(
            source: source ?? StaticTokenSource(token),
            resources: [URL(string: "https://id.example")!],
            timing: .init(timeSource: time.timeSource)
        )
        return NetworkClient(
            transport: transport,
            interceptors: [authenticator],
            options: .init(timeSource: time.timeSource)
        )
    }

    /// Returns all texts that an error shows.
    static func texts(of error: any Error) -> [String] {
        var dumped = ""
        dump(error, to: &dumped)
        return [String(describing: error), String(reflecting: error), dumped, error.localizedDescription]
    }
}
