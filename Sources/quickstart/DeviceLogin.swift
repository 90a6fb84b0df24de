import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2

/// A program without a browser: the user signs in on another device (RFC 8628).
struct DeviceLogin: Example {
    static let name = "device-login"
    static let summary = "a user signs in on another device"

    static func run() async throws {
        // With this time source, polling intervals pass instantly. HTTP requests still use real
        // time.
        let time = ManualTime(date: Date(), advancesWhenSleeping: true).timeSource
        let authorization = try MockAuthorizationServer.start(
            configuration: .init(time: time),
            clients: [.init(id: "reader", authentication: .none)]
        )
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports", authorization.protecting(scope: "reports.read") { _ in .text("Ada's reports") })
        }

        let oauth = OAuth2Client(
            server: authorization.metadata,
            clientAuthentication: .none(clientID: "reader"),
            timing: .init(timeSource: time)
        )
        let device = try await oauth.authorizeDevice(scope: "reports.read")
        print("1. open \(device.verificationURI) and enter \(device.userCode)")

        // The server asks the client to poll less often.
        authorization.misbehave(.error("slow_down"))
        var pauses: [DeviceAuthorizationProgress.Event: Duration] = [:]
        let tokens = try await oauth.tokens(for: device) { progress in
            print("   \(progress.event): polling again in \(progress.pause); \(progress.timeLeft) left")
            pauses[progress.event] = progress.pause
            // The user enters the code on a phone.
            if progress.event == .pending { authorization.approveDevice(userCode: device.userCode, subject: "ada") }
        }
        let expected: [DeviceAuthorizationProgress.Event: Duration] = [
            .begun: .seconds(5), .slowedDown: .seconds(10), .pending: .seconds(10),
        ]
        try Surprise.unless(pauses == expected, "the pauses were \(pauses)")
        print("2. authorized after \(authorization.tokenRequestCount) polls")

        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .none(clientID: "reader")
            ),
            grant: UserGrant(identifier: "ada"),
            resources: [api.baseURL]
        )
        try await authenticator.signIn(with: tokens)
        let client = NetworkClient(interceptors: [authenticator])
        let request = URLRequest(url: api.url(for: "/reports"))
        print("3. called the API: \(String(decoding: try await client.makeRequest(request), as: UTF8.self))")

        authorization.revokeAccessTokens()
        let answer = String(decoding: try await client.makeRequest(request), as: UTF8.self)
        let refreshes = authorization.tokenRequestCount - 3
        try Surprise.unless(refreshes == 1, "\(refreshes) refreshes")
        print("4. called it again with a refreshed token after the first was revoked: \(answer)")

        await api.stop()
        await authorization.stop()
    }
}
