import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Row T14: what a device's questions are answered, and how long it waits before the next.
@Suite("Device authorization", .timeLimit(.minutes(10)), .limitedConcurrency)
struct DevicePollingTests {
    private static var start: MockTransport.Step {
        .json(
            #"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://as.example/device","expires_in":1800,"interval":5}"#
        )
    }

    @Test("Pending goes on at the interval, slow_down adds five seconds for good, no answer doubles")
    func pauses() async throws {
        let fixture = DeviceFixture([
            Self.start, .error("authorization_pending"), .error("slow_down"), .error("authorization_pending"),
            .failure(NetworkError(.timedOut, "no luck")), .failure(NetworkError(.connectionLost, "no luck")),
            .status(503, headers: ["Retry-After": "70"]), .error("slow_down"), .tokens("access", refresh: "refresh"),
        ])
        let device = try await fixture.client.authorizeDevice(scope: "read")
        var events: [DeviceAuthorizationProgress] = []
        let tokens = try await fixture.client.tokens(for: device) { events.append($0) }
        #expect(tokens.accessToken.value == Secret("access"))
        #expect(tokens.refreshToken == Secret("refresh"))
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

    @Test(
        "What ends it has its own error",
        arguments: [
            ("access_denied", OAuth2Error.Code.authorizationDenied), ("expired_token", .authorizationExpired),
            ("invalid_grant", .reauthenticationRequired), ("invalid_client", .invalidClient),
            ("unauthorized_client", .requestRejected),
        ]
    )
    func ends(serverCode: String, code: OAuth2Error.Code) async throws {
        let fixture = DeviceFixture([Self.start, .error("authorization_pending"), .error(serverCode)])
        let device = try await fixture.client.authorizeDevice()
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.client.tokens(for: device) }
        #expect(error?.code == code)
        #expect(error?.serverCode == serverCode)
        #expect(error?.isRetryable == false)
        #expect(fixture.forms.count == 3)
    }

    @Test("A user who never comes is not waited for longer than the code lives")
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
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.client.tokens(for: device) }
        #expect(error?.code == .authorizationExpired)
        #expect(fixture.pauses == [.seconds(5), .seconds(5), .seconds(2)])
        #expect(fixture.forms.count == 3)
        // And a code that is over already is not asked for at all.
        await #expect(throws: OAuth2Error(.authorizationExpired, "")) { try await fixture.client.tokens(for: device) }
        #expect(fixture.forms.count == 3)
    }

    @Test("Additional parameters go along; those that the request has anyway are refused before anything is sent")
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

    @Test("An interval of less than a second is a second, and one of another type counts as missing")
    func intervals() async throws {
        for (member, pause) in [("0", 1), (#""7""#, 7), ("null", 5), ("-3", 1), (#"{"a":1}"#, 5)] {
            let fixture = DeviceFixture([
                .json(
                    #"{"device_code":"d","user_code":"u","verification_url":"https://a.example","expires_in":99,"interval":\#(member)}"#
                ),
                .tokens("access"),
            ])
            let device = try await fixture.client.authorizeDevice()
            #expect(device.interval == .seconds(pause), "\(member)")
            #expect(device.verificationURI == URL(string: "https://a.example"))
        }
    }

    @Test("The link with the code is kept, if it is one that people can be sent to")
    func completeLink() async throws {
        for (link, isKept) in [("https://as.example/device?c=1", true), ("javascript:alert(1)", false), ("a b", false)]
        {
            let fixture = DeviceFixture([
                .json(
                    #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example","verification_uri_complete":"\#(link)","expires_in":9}"#
                )
            ])
            let device = try await fixture.client.authorizeDevice()
            #expect(device.verificationURIComplete?.absoluteString == (isKept ? link : nil))
        }
    }

    @Test(
        "An answer that lacks something, or would harm whoever is shown it, is refused",
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
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.client.authorizeDevice() }
        #expect(error?.code == .protocolViolation)
        #expect(error.map { "\($0)".unicodeScalars.allSatisfy { $0.value >= 0x20 } } == true)
    }

    @Test("A server that does not know devices is not asked")
    func noEndpoint() async throws {
        let fixture = OAuth2Fixture()
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "tv"),
            client: NetworkClient(transport: fixture.endpoint)
        )
        await #expect(throws: OAuth2Error(.endpointMissing, "")) { try await client.authorizeDevice() }
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("Whoever is cancelled while the user takes their time stops at once, with a CancellationError")
    func cancellation() async throws {
        let fixture = DeviceFixture([Self.start], isStandingStill: true)
        let device = try await fixture.client.authorizeDevice()
        let waiting = Task { try await fixture.client.tokens(for: device) }
        try await fixture.time.waitForSleepers(count: 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}

/// An authorization server that devices ask, scripted, on a clock that moves when somebody sleeps.
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
        // What bounds the requests themselves must not move the time.
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

    var forms: [[String: String]] {
        transport.requests.map { request in
            let pairs = FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            return Dictionary(pairs.map { ($0.name, $0.value) }) { "\($0) \($1)" }
        }
    }
}
