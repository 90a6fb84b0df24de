import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The responses to a device's token requests, and the delays between them.
@Suite("Device authorization", .limitedConcurrency)
struct DevicePollingTests {
    private static var start: MockTransport.Step {
        .json(
            #"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://as.example/device","expires_in":1800,"interval":5}"#
        )
    }

    @Test(
        "Waits the interval while pending, adds 5 s after slow_down, doubles the delay without a response",
        .shows("RFC 8628 §3")
    )
    func pauses() async throws {
        let fixture = DeviceFixture([
            Self.start, .error("authorization_pending"), .error("slow_down"), .error("authorization_pending"),
            .failure(NetworkError(.timedOut, "no luck")), .failure(NetworkError(.connectionLost, "no luck")),
            .status(503, headers: ["Retry-After": "70"]), .error("slow_down"), .tokens("access", refresh: "refresh"),
        ])
        let device = try await fixture.client.authorizeDevice(scope: "read")
        var events: [DeviceAuthorizationProgress] = []
        let tokens = try await fixture.client.tokens(for: device) { events.append($0) }
        #expect((tokens.accessToken.value, tokens.refreshToken) == (Secret("access"), Secret("refresh")))
        #expect(fixture.pauses == [5, 5, 10, 10, 20, 40, 70, 15].map { .seconds($0) })
        #expect(
            events.map(\.event) == [
                .begun, .pending, .slowedDown, .pending, .unanswered, .unanswered, .unanswered, .slowedDown,
            ]
        )
        #expect(events.map(\.pause) == fixture.pauses)
        #expect(events.first?.timeLeft == .seconds(1800))
        #expect(events.last?.timeLeft == .seconds(1800 - 160))
        #expect(fixture.forms.first == ["client_id": "tv", "scope": "read"])
        #expect(
            fixture.forms.dropFirst().allSatisfy {
                $0 == [
                    "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "d", "client_id": "tv",
                ]
            }
        )
    }

    @Test("Adds 5 s after slow_down with the status 429 too, and waits as long as Retry-After says")
    func slowedDownByStatus() async throws {
        let slowDown = #"{"error":"slow_down"}"#
        let fixture = DeviceFixture([
            Self.start, .error("slow_down", status: 429), .error("authorization_pending"),
            .json(slowDown, status: 429, headers: ["Retry-After": "40"]), .error("authorization_pending"),
            .tokens("access"),
        ])
        let device = try await fixture.client.authorizeDevice()
        _ = try await fixture.client.tokens(for: device)
        #expect(fixture.pauses == [5, 10, 10, 40, 15].map { .seconds($0) })
    }

    @Test(
        "Each final error code has its own error",
        arguments: [
            ("access_denied", OAuth2Error.Code.authorizationDenied), ("expired_token", .authorizationExpired),
            ("invalid_grant", .reauthenticationRequired), ("invalid_client", .invalidClient),
            ("unauthorized_client", .requestRejected),
        ]
    )
    func ends(serverCode: String, code: OAuth2Error.Code) async throws {
        let fixture = DeviceFixture([Self.start, .error("authorization_pending"), .error(serverCode)])
        let device = try await fixture.client.authorizeDevice()
        let error = await failure { try await fixture.client.tokens(for: device) }
        #expect((error?.code, error?.serverCode, error?.isRetryable) == (code, serverCode, false))
        #expect(fixture.forms.count == 3)
    }

    @Test("Stops polling when the code expires", .shows("RFC 8628 §3"))
    func expiry() async throws {
        let fixture = DeviceFixture(
            [
                .json(
                    #"{"device_code":"d","user_code":"u","verification_uri":"https://as.example/device","expires_in":12}"#
                )
            ],
            otherwise: .error("authorization_pending")
        )
        let device = try await fixture.client.authorizeDevice()
        let error = await failure { try await fixture.client.tokens(for: device) }
        #expect(error?.code == .authorizationExpired)
        #expect(fixture.pauses == [.seconds(5), .seconds(5), .seconds(2)])
        #expect(fixture.forms.count == 3)
        // The client sends no request for an expired code.
        await #expect(throws: OAuth2Error(.authorizationExpired, "")) { try await fixture.client.tokens(for: device) }
        #expect(fixture.forms.count == 3)
    }

    @Test("Sends additional parameters, and rejects those that the request sets itself")
    func additionalParameters() async throws {
        let fixture = DeviceFixture([Self.start])
        _ = try await fixture.client.authorizeDevice(
            scope: "read",
            additionalParameters: ["audience": "https://api.example/", "acr_values": "a b"]
        )
        let form = ["client_id": "tv", "scope": "read", "audience": "https://api.example/", "acr_values": "a b"]
        #expect(fixture.forms == [form])
        let own = [
            "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "resource",
            "authorization_details",
        ]
        for name in own {
            let error = await #expect(throws: OAuth2Error.self, "\(name)") {
                try await fixture.client.authorizeDevice(additionalParameters: [name: "x"])
            }
            #expect(error?.code == .malformedRequest && error?.description.contains("“\(name)”") == true)
        }
        #expect(fixture.forms == [form])
    }

    @Test("Raises the interval to one second, and keeps the link with the code only if it's a web page")
    func optionalMembers() async throws {
        let rows: [(member: String, pause: Int, link: String?)] = [
            (#""interval":0"#, 1, nil), (#""interval":"7""#, 7, nil), (#""interval":null"#, 5, nil),
            (#""interval":-3"#, 1, nil), (#""interval":{"a":1}"#, 5, nil),
            (#""verification_uri_complete":"https://as.example/device?c=1""#, 5, "https://as.example/device?c=1"),
            (#""verification_uri_complete":"javascript:alert(1)""#, 5, nil),
            (#""verification_uri_complete":"a b""#, 5, nil),
        ]
        for (member, pause, link) in rows {
            let fixture = DeviceFixture([
                .json(
                    #"{"device_code":"d","user_code":"u","verification_url":"https://a.example","expires_in":99,\#(member)}"#
                )
            ])
            let device = try await fixture.client.authorizeDevice()
            #expect(device.interval == .seconds(pause), "\(member)")
            #expect(device.verificationURI == URL(string: "https://a.example"))
            #expect(device.verificationURIComplete?.absoluteString == link, "\(member)")
        }
    }

    @Test(
        "Rejects a response with missing members or harmful text",
        arguments: [
            #"{}"#, #"[]"#, "<html>",
            #"{"user_code":"u","verification_uri":"https://a.example","expires_in":9}"#,
            #"{"device_code":"d","verification_uri":"https://a.example","expires_in":9}"#,
            #"{"device_code":"d","user_code":"u","expires_in":9}"#,
            #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example"}"#,
            #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example","expires_in":"soon"}"#,
            #"{"device_code":7,"user_code":"u","verification_uri":"https://a.example","expires_in":9}"#,
            #"{"device_code":"d","user_code":"\u001b[2J","verification_uri":"https://a.example","expires_in":9}"#,
            #"{"device_code":"d","user_code":"u\u202e","verification_uri":"https://a.example","expires_in":9}"#,
            #"{"device_code":"d","user_code":"u","verification_uri":"file:///etc/passwd","expires_in":9}"#,
            #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example/\u001b[2J","expires_in":9}"#,
        ]
    )
    func malformed(body: String) async throws {
        let fixture = DeviceFixture([], otherwise: .json(body))
        let error = await failure { try await fixture.client.authorizeDevice() }
        #expect(error?.code == .protocolViolation)
        #expect(error.map { "\($0)".unicodeScalars.allSatisfy { $0.value >= 0x20 } } == true)
    }

    @Test("Throws a CancellationError at once if cancelled while it waits for the user")
    func cancellation() async throws {
        let fixture = DeviceFixture([Self.start], isStandingStill: true)
        let device = try await fixture.client.authorizeDevice()
        let waiting = Task { try await fixture.client.tokens(for: device) }
        try await fixture.time.waitForSleepers(count: 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    // MARK: ID tokens

    /// Gets the tokens of a device that its user has authorized.
    private func tokens(
        _ fixture: ServerFixture,
        scope: String = "openid read",
        _ misbehavior: MockAuthorizationServer.Fault? = nil,
        idToken: IDTokenRule? = nil
    ) async throws -> IssuedTokens {
        let client = fixture.client()
        let device = try await client.authorizeDevice(scope: scope)
        let approve = { (_: DeviceAuthorizationProgress) in _ = fixture.server.approveDevice(userCode: device.userCode)
        }
        if let misbehavior { fixture.server.misbehave(misbehavior) }
        guard let idToken else { return try await client.tokens(for: device, progress: approve) }
        return try await client.tokens(for: device, idToken: idToken, progress: approve)
    }

    private func play(_ body: (ServerFixture) async throws -> Void) async throws {
        try await ServerFixture.with({ $0.deviceInterval = .seconds(1) }, body)
    }

    @Test("Verifies the ID token with the rule's verifier, and not without a rule")
    func verified() async throws {
        try await play { fixture in
            let tokens = try await tokens(fixture, idToken: fixture.idToken(fixture.client()))
            #expect(tokens.idToken?.registered.subject == "ada")
            #expect(tokens.idToken?.registered.audience == ["public"])
            for rule in [nil, .skipIDTokenCheck, .notRequested] as [IDTokenRule?] {
                let tokens = try await self.tokens(fixture, idToken: rule)
                #expect(tokens.idToken == nil && tokens.unverifiedIDToken != nil)
            }
        }
    }

    @Test("Rejects the tokens if the ID token is missing or invalid", .shows("K13"))
    func refused() async throws {
        try await play { fixture in
            let rule = fixture.idToken(fixture.client())
            for (misbehavior, code) in [
                (.members(["id_token": nil]), nil), (.signedToken(.wrongAudience), .audienceMismatch),
                (.signedToken(.wrongAccessTokenHash), .hashMismatch), (.signedToken(.mixedUpKeys), .signatureInvalid),
                (.signedToken(.claims(["nonce": "another"])), .nonceMismatch),
            ] as [(MockAuthorizationServer.Fault, TokenError.Code?)] {
                let error = await failure { try await tokens(fixture, misbehavior, idToken: rule) }
                #expect((error?.code, (error?.cause as? TokenError)?.code) == (.protocolViolation, code))
            }
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await tokens(fixture, scope: "read", idToken: rule)
            }
        }
    }

    @Test("Doesn't poll the server while the provider's keys can't be loaded")
    func withoutKeys() async throws {
        try await play { fixture in
            fixture.server.misbehave(at: .keys, .huge())
            let before = fixture.server.tokenRequestCount
            await #expect(throws: OAuth2Error.self) {
                try await tokens(fixture, idToken: fixture.idToken(fixture.client()))
            }
            #expect(fixture.server.tokenRequestCount == before)
        }
    }
}

/// A scripted device authorization server, with a clock that advances when a task sleeps.
private struct DeviceFixture {
    let time: ManualTime
    let client: OAuth2Client
    private let transport: MockTransport

    init(
        _ steps: [MockTransport.Step],
        otherwise: MockTransport.Step = .status(500),
        isStandingStill: Bool = false
    ) {
        let time = ManualTime(advancesWhenSleeping: !isStandingStill)
        // The requests' own timeouts must not advance the clock.
        let still = ManualTime()
        let transport = MockTransport(
            steps: steps + Array(repeating: otherwise, count: 20),
            time: still.timeSource,
            handler: nil
        )
        var server = OAuth2Fixture.server
        server.deviceAuthorizationEndpoint = URL(string: "https://as.example/device_authorization")
        self.time = time
        self.transport = transport
        client = OAuth2Client(
            server: server,
            clientAuthentication: .none(clientID: "tv"),
            client: NetworkClient(transport: transport, options: .init(timeSource: still.timeSource)),
            timing: .init(attempts: 1, timeSource: time.timeSource)
        )
    }

    var pauses: [Duration] { time.sleeps }

    var forms: [[String: String]] { transport.forms }
}
