import Foundation
import FoundationNetworking
import Networking
import Synchronization
import TokenGeneration

extension MockAuthorizationServer {
    /// Approves a device's request on behalf of a user.
    ///
    /// - Parameters:
    ///   - userCode: The code that the device displayed.
    ///   - subject: The user's identifier. The default is `ada`.
    /// - Returns: Whether a device with this code is waiting.
    @discardableResult
    public func approveDevice(userCode: String, subject: String = "ada") -> Bool {
        endpoints.devices.decision(userCode, subject: subject) != nil
    }

    /// Denies a device's request on behalf of a user.
    ///
    /// - Parameter userCode: The code that the device displayed.
    /// - Returns: Whether a device with this code is waiting.
    @discardableResult
    public func denyDevice(userCode: String) -> Bool { endpoints.devices.decision(userCode, subject: nil) != nil }

    /// Approves a backchannel authentication on behalf of a user ([OpenID Connect CIBA Core
    /// 1.0](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)).
    ///
    /// If the client's metadata has a `backchannel_client_notification_endpoint`, the server
    /// notifies the client.
    ///
    /// - Parameter user: The hint at the user, or the subject of the token that is the hint. It
    ///   becomes the subject of the tokens.
    /// - Returns: Whether a request for this user is waiting.
    /// - Throws: `NetworkError` or `ServerError` if the notification fails.
    @discardableResult
    public func approveAuthentication(of user: String) async throws -> Bool {
        try await decide(user, subject: user)
    }

    /// Denies a backchannel authentication on behalf of a user.
    ///
    /// - Parameter user: The hint at the user, or the subject of the token that is the hint.
    /// - Returns: Whether a request for this user is waiting.
    /// - Throws: `NetworkError` or `ServerError` if the notification fails.
    @discardableResult
    public func denyAuthentication(of user: String) async throws -> Bool { try await decide(user, subject: nil) }

    private func decide(_ user: String, subject: String?) async throws -> Bool {
        guard let (id, notification) = endpoints.devices.decision(user, subject: subject) else { return false }
        guard let notification else { return true }
        let body: JSONObject = ["auth_req_id": .string(id)]
        var request = URLRequest(url: notification.url)
        request.httpMethod = "POST"
        request.httpBody = body.serializedData()
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(notification.token)", forHTTPHeaderField: "Authorization")
        _ = try await NetworkClient().response(for: request, options: RequestOptions(redirects: .never))
        return true
    }
}

/// The device authorization grant ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)).
final class DeviceHandler: Sendable {
    private enum Status {
        case pending
        case approved(String)
        case denied
        case used
    }

    private struct Device {
        let authorization: Authorization
        let userCode: String
        let expiry: ContinuousClock.Instant
        var interval: Duration
        /// The earliest time of the device's next request.
        var next: ContinuousClock.Instant
        var status = Status.pending
        var notification: Notification?
    }

    private let devices = Mutex<[String: Device]>([:])
    private let verificationURI: String
    private let configuration: MockAuthorizationServer.Configuration

    init(verificationURI: String, configuration: MockAuthorizationServer.Configuration) {
        self.verificationURI = verificationURI
        self.configuration = configuration
    }

    struct Notification {
        let url: URL
        let token: String
    }

    /// Starts a backchannel authentication, whose user code is the user.
    func begin(_ authorization: Authorization, for user: String, notification: Notification?) -> LoopbackResponse {
        let now = configuration.time.now()
        let id = add(authorization, userCode: user, next: now, notification)
        return response(["auth_req_id": .string(id)])
    }

    /// Starts a device authorization
    /// ([RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
    func begin(_ authorization: Authorization) -> LoopbackResponse {
        let part = { String((1...4).map { _ in "BCDFGHJKLMNPQRSTVWXZ".randomElement() ?? "B" }) }
        let userCode = "\(part())-\(part())"
        let code = add(authorization, userCode: userCode, next: configuration.time.now() + interval)
        return response([
            "device_code": .string(code),
            "user_code": .string(userCode),
            "verification_uri": .string(verificationURI),
            "verification_uri_complete": .string("\(verificationURI)?user_code=\(userCode)"),
        ])
    }

    private var interval: Duration { configuration.deviceInterval ?? .seconds(5) }

    private func add(
        _ authorization: Authorization,
        userCode: String,
        next: ContinuousClock.Instant,
        _ notification: Notification? = nil
    ) -> String {
        let code = UUID().uuidString
        let device = Device(
            authorization: authorization,
            userCode: userCode,
            expiry: configuration.time.now() + configuration.deviceCodeLifetime,
            interval: interval,
            next: next,
            notification: notification
        )
        devices.withLock { $0[code] = device }
        return code
    }

    private func response(_ members: JSONObject) -> LoopbackResponse {
        var body = members
        body["expires_in"] = .number(JSONNumber(configuration.deviceCodeLifetime.components.seconds))
        body["interval"] = configuration.deviceInterval.map { .number(JSONNumber($0.components.seconds)) }
        return .json(body.serialized(), headers: ["Cache-Control": "no-store"])
    }

    /// Returns the decided request, or `nil` if none is waiting; a denial has no subject.
    func decision(_ userCode: String, subject: String?) -> (id: String, notification: Notification?)? {
        let now = configuration.time.now()
        return devices.withLock { devices in
            let found = devices.first { _, device in
                guard device.userCode == userCode, now < device.expiry, case .pending = device.status else {
                    return false
                }
                return true
            }
            guard let code = found?.key else { return nil }
            devices[code]?.status = subject.map(Status.approved) ?? .denied
            return (code, devices[code]?.notification)
        }
    }

    /// Responds to a device's polling request
    /// ([RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)).
    func redeem(_ code: String, clientID: String) throws(TokenEndpointError) -> Authorization {
        let now = configuration.time.now()
        return try devices.withLock { devices throws(TokenEndpointError) in
            guard var device = devices[code], device.authorization.clientID == clientID else {
                throw .invalidGrant("the device code is unknown")
            }
            defer { devices[code] = device }
            guard now < device.expiry else { throw TokenEndpointError("expired_token", "the code has expired") }
            if now < device.next {
                device.interval += .seconds(5)
                device.next = now + device.interval
                throw TokenEndpointError("slow_down", "the device polls too often")
            }
            device.next = now + device.interval
            switch device.status {
            case .pending: throw TokenEndpointError("authorization_pending", "the user has not decided yet")
            case .denied: throw TokenEndpointError("access_denied", "the user has refused")
            case .used: throw .invalidGrant("the device code was already used")
            case .approved(let subject):
                device.status = .used
                return device.authorization.of(subject)
            }
        }
    }
}
