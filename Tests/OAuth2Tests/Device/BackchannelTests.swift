import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@Suite("Backchannel authentication", .limitedConcurrency)
struct BackchannelTests {
    private static let notificationToken = "S3cret-of-the-notification"
    private static var accepted: MockTransport.Step {
        .json(#"{"auth_req_id":"S3cret-id","expires_in":60,"interval":2}"#)
    }

    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(_ steps: MockTransport.Step...) -> (client: OAuth2Client, transport: MockTransport) {
        let transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        var server = EndpointFixture.server
        server.backchannelAuthenticationEndpoint = URL(string: "https://id.example/bc")
        let client = OAuth2Client(
            server: server,
            clientAuthentication: .clientSecretPost(clientID: "bank", secret: Secret("p")),
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            timing: .init(attempts: 1, timeSource: time.timeSource, random: { 0 })
        )
        return (client, transport)
    }

    @Test(
        "Sends the request with all parameters, and polls until the user has decided",
        .shows("O5", "OpenID Connect CIBA Core 1.0 §7, §10.1, §10.2, §11")
    )
    func poll() async throws {
        let (client, transport) = client(
            Self.accepted,
            .error("authorization_pending"),
            .error("slow_down"),
            .tokens("a")
        )
        let authentication = try await client.authenticateUser(
            .loginHint("ada@example.com"),
            scope: "openid pay",
            bindingMessage: "W4",
            acrValues: ["gold", "silver"],
            userCode: Secret("1234"),
            requestedExpiry: .seconds(120),
            notificationToken: Secret(Self.notificationToken),
            additionalParameters: ["tenant": "7"]
        )
        #expect(authentication.expiry == time.now + .seconds(60))
        let tokens = try await client.tokens(of: authentication)
        #expect(tokens.accessToken.value == Secret("a"))
        #expect(time.sleeps.suffix(3) == [.seconds(2), .seconds(2), .seconds(7)])
        let forms = transport.forms
        #expect(
            forms[0] == [
                "scope": "openid pay", "login_hint": "ada@example.com", "binding_message": "W4",
                "acr_values": "gold silver", "user_code": "1234", "requested_expiry": "120", "tenant": "7",
                "client_notification_token": Self.notificationToken, "client_id": "bank", "client_secret": "p",
            ]
        )
        #expect(transport.requests[0].url.absoluteString == "https://id.example/bc")
        for form in forms.dropFirst() {
            #expect(
                form == [
                    "grant_type": "urn:openid:params:grant-type:ciba", "auth_req_id": "S3cret-id", "client_id": "bank",
                    "client_secret": "p",
                ]
            )
        }
        for (hint, name) in [
            (UserHint.idToken(Secret("t")), "id_token_hint"), (.loginHintToken(Secret("t")), "login_hint_token"),
        ] {
            let (client, transport) = self.client(Self.accepted)
            _ = try await client.authenticateUser(hint)
            #expect(transport.forms == [["scope": "openid", name: "t", "client_id": "bank", "client_secret": "p"]])
        }
    }

    @Test(
        "Reports why the request or the user's decision failed",
        arguments: [
            ("unknown_user_id", 400, OAuth2Error.Code.requestRejected), ("access_denied", 403, .authorizationDenied),
            ("invalid_client", 401, .invalidClient),
        ]
    )
    func rejected(serverCode: String, status: Int, code: OAuth2Error.Code) async throws {
        let (client, _) = client(.error(serverCode, status: status))
        let error = await failure { try await client.authenticateUser(.loginHint("ada")) }
        #expect((error?.code, error?.serverCode) == (code, serverCode))
    }

    @Test("Ends when the user denies the request, or doesn't decide in time")
    func ends() async throws {
        for (serverCode, code) in [
            ("access_denied", OAuth2Error.Code.authorizationDenied), ("expired_token", .authorizationExpired),
        ] {
            let (client, _) = client(Self.accepted, .error(serverCode))
            let authentication = try await client.authenticateUser(.loginHint("ada"))
            #expect(await failureCode { try await client.tokens(of: authentication) } == code)
        }
        let (late, transport) = client(Self.accepted)
        let authentication = try await late.authenticateUser(.loginHint("ada"))
        time.advance(by: .seconds(60))
        #expect(await failureCode { try await late.tokens(of: authentication) } == .authorizationExpired)
        #expect(transport.requests.count == 1)
    }

    @Test("Refuses requests and responses that violate the specification")
    func malformed() async throws {
        let (client, transport) = client()
        let hint = UserHint.loginHint("ada")
        #expect(await failureCode { try await client.authenticateUser(hint, scope: "pay") } == .malformedRequest)
        for token in ["short", String(repeating: "a", count: 1_025), String(repeating: "ä", count: 30)] {
            let code = await failureCode { try await client.authenticateUser(hint, notificationToken: Secret(token)) }
            #expect(code == .malformedRequest, "\(token)")
        }
        let own = await failureCode {
            try await client.authenticateUser(hint, additionalParameters: ["id_token_hint": "t"])
        }
        #expect(own == .malformedRequest)
        #expect(transport.requests.isEmpty)
        for text in [
            "{}", #"{"auth_req_id":"a"}"#, #"{"auth_req_id":7,"expires_in":5}"#, #"{"auth_req_id":"a","expires_in":0}"#,
        ] {
            let (client, _) = self.client(.json(text))
            #expect(await failureCode { try await client.authenticateUser(hint) } == .protocolViolation, "\(text)")
        }
    }

    @Test(
        "A notification must have the token and the identifier of the request",
        .shows("G18", "OpenID Connect CIBA Core 1.0 §7, §10.1, §10.2, §11")
    )
    func notification() async throws {
        let authentication = BackchannelAuthentication(
            requestID: Secret("S3cret-id"),
            expiry: time.now + .seconds(60),
            notificationToken: Secret(Self.notificationToken)
        )
        let polling = BackchannelAuthentication(requestID: Secret("S3cret-id"), expiry: time.now)
        let (body, field) = (#"{"auth_req_id":"S3cret-id"}"#, "Bearer \(Self.notificationToken)")
        let wrong = [nil, "", "Bearer", "Bearer other", Self.notificationToken, "Basic \(Self.notificationToken)"]
        let rows: [(String?, String, BackchannelAuthentication, OAuth2Error.Code?)] =
            [
                (field, body, authentication, nil), ("bearer \(Self.notificationToken)", body, authentication, nil),
                (field, #"{"auth_req_id":"other"}"#, authentication, .stateMismatch),
                (field, "<html>", authentication, .protocolViolation), (field, body, polling, .stateMismatch),
            ] + wrong.map { ($0, body, authentication, .stateMismatch) }
        for (field, body, authentication, expected) in rows {
            let code = await failureCode { try authentication.notified(authorization: field, body: Data(body.utf8)) }
            #expect(code == expected, "\(field ?? "-") \(body)")
        }
        for text in EndpointFixture.texts(of: OAuth2Error(.stateMismatch, "\(authentication)")) {
            #expect(!text.contains("S3cret"))
        }
    }

    @Test("The mock server notifies the client, whose first token request then succeeds", .shows("O5"))
    func ping() async throws {
        try await withLoopbackServer { host async throws in
            var registered = MockAuthorizationServer.Client(id: "bank", secret: "p")
            registered.metadata.members["backchannel_client_notification_endpoint"] =
                .string(host.url(for: "/ping").absoluteString)
            let mock = try MockAuthorizationServer.start(clients: [registered])
            host.on(.post, "/ping", .status(204))
            let client = OAuth2Client(
                server: mock.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "bank", secret: Secret("p"))
            )
            let authentication = try await client.authenticateUser(
                .loginHint("ada"),
                notificationToken: Secret(Self.notificationToken)
            )
            #expect(try await mock.approveAuthentication(of: "ada"))
            #expect(try await mock.approveAuthentication(of: "ada") == false)
            let ping = try #require(host.requests.first)
            let notified = try authentication.notified(authorization: ping.headers["Authorization"], body: ping.body)
            let verifier = IDTokenVerifier(
                issuer: mock.metadata.issuer,
                clientID: "bank",
                keys: .url(try #require(mock.metadata.keySetURL)),
                algorithms: [.es256]
            )
            let tokens = try await client.tokens(of: notified, idToken: .verified(by: verifier))
            #expect(tokens.idToken?.registered.subject == "ada")
            #expect(mock.tokenRequestCount == 1)

            let denied = try await client.authenticateUser(
                .loginHint("bob"),
                notificationToken: Secret(Self.notificationToken)
            )
            #expect(try await mock.denyAuthentication(of: "bob"))
            let last = try #require(host.requests.last)
            let again = try denied.notified(authorization: last.headers["Authorization"], body: last.body)
            await #expect(throws: OAuth2Error(.authorizationDenied, "")) { try await client.tokens(of: again) }
            await mock.stop()
        }
    }
}
