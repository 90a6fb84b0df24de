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
    let oauth: OAuth2Client

    /// Creates a fixture with scripted responses.
    init(
        _ steps: MockTransport.Step...,
        attempts: Int = 1,
        clientAuthentication: (any ClientAuthentication)? = nil,
        change: (inout AuthorizationServer) -> Void = { _ in }
    ) {
        transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        var server = Self.server
        change(&server)
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
        return server
    }

    /// The forms that were sent, in order.
    var forms: [String] { transport.requests.map { String(decoding: $0.body, as: UTF8.self) } }

    /// Returns all texts that an error shows.
    static func texts(of error: any Error) -> [String] {
        var dumped = ""
        dump(error, to: &dumped)
        return [String(describing: error), String(reflecting: error), dumped, error.localizedDescription]
    }
}

/// Invalid responses that any endpoint can send, with the resulting error codes.
var badAnswers: [(name: String, step: MockTransport.Step, code: OAuth2Error.Code)] {
    let echo = "\(EndpointFixture.token) \(EndpointFixture.secret)"
    return [
        ("html", .text("<html>\(echo)"), .protocolViolation),
        ("html with an error status", .text("<html>\(echo)", status: 403), .protocolViolation),
        ("not an object", .json(#"["\#(echo)"]"#), .protocolViolation),
        ("truncated", .json(#"{"active":true,"sub":"\#(echo)"#), .protocolViolation),
        ("huge", .text(String(repeating: echo, count: 50_000)), .protocolViolation),
        ("a redirect", .status(307, headers: ["Location": "https://evil.example"]), .protocolViolation),
        (
            "an error", .json(#"{"error":"invalid_request","error_description":"\#(echo)"}"#, status: 400),
            .requestRejected
        ),
        (
            "another client", .json(#"{"error":"invalid_client","error_description":"\#(echo)"}"#, status: 401),
            .invalidClient
        ),
        ("an outage", .json(#"{"error":"\#(echo)"}"#, status: 503), .serverTransient),
        ("no connection", .failure(NetworkError(.cannotConnect, "no luck")), .serverUnreachable),
        ("a lost answer", .failure(NetworkError(.connectionLost, "no luck")), .serverUnreachable),
    ]
}
