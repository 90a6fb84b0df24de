import Foundation
import Networking
import Synchronization
import TokenGeneration

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

    /// Starts a backchannel authentication, whose user code is the user
    /// ([OpenID Connect CIBA Core 1.0
    /// §7.3](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html#successful_authentication_request_acknowdlegment)).
    func begin(_ authorization: Authorization, for user: String, notification: Notification?) -> LoopbackResponse {
        let now = configuration.time.now()
        let interval = configuration.deviceInterval ?? .seconds(5)
        let id = UUID().uuidString
        devices.withLock {
            $0[id] = Device(
                authorization: authorization,
                userCode: user,
                expiry: now + configuration.deviceCodeLifetime,
                interval: interval,
                next: now,
                notification: notification
            )
        }
        var body: JSONObject = [
            "auth_req_id": .string(id),
            "expires_in": .number(JSONNumber(configuration.deviceCodeLifetime.components.seconds)),
        ]
        body["interval"] = configuration.deviceInterval.map { .number(JSONNumber($0.components.seconds)) }
        return .json(body.serialized(), headers: ["Cache-Control": "no-store"])
    }

    /// The place and the credential of a notification.
    struct Notification {
        let url: URL
        let token: String
    }

    /// Starts a device authorization
    /// ([RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)).
    func begin(_ authorization: Authorization) -> LoopbackResponse {
        let now = configuration.time.now()
        let interval = configuration.deviceInterval ?? .seconds(5)
        let code = UUID().uuidString
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        let part = { String((1...4).map { _ in letters.randomElement() ?? "B" }) }
        let userCode = "\(part())-\(part())"
        devices.withLock {
            $0[code] = Device(
                authorization: authorization,
                userCode: userCode,
                expiry: now + configuration.deviceCodeLifetime,
                interval: interval,
                next: now + interval
            )
        }
        var body: JSONObject = [
            "device_code": .string(code),
            "user_code": .string(userCode),
            "verification_uri": .string(verificationURI),
            "verification_uri_complete": .string("\(verificationURI)?user_code=\(userCode)"),
            "expires_in": .number(JSONNumber(configuration.deviceCodeLifetime.components.seconds)),
        ]
        body["interval"] = configuration.deviceInterval.map { .number(JSONNumber($0.components.seconds)) }
        return .json(body.serialized(), headers: ["Cache-Control": "no-store"])
    }

    /// Records a user's decision.
    ///
    /// - Parameters:
    ///   - userCode: The code that the user entered.
    ///   - subject: The user, or `nil` if they deny the request.
    /// - Returns: Whether a device with this code is waiting.
    func decide(_ userCode: String, subject: String?) -> Bool {
        decision(userCode, subject: subject) != nil
    }

    /// Records a user's decision.
    ///
    /// - Returns: The decided request and its notification, or `nil` if none is waiting.
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
        let result: Result<Authorization, TokenEndpointError> = devices.withLock { devices in
            guard var device = devices[code], device.authorization.clientID == clientID else {
                return .failure(Self.error("invalid_grant", "the device code is unknown"))
            }
            defer { devices[code] = device }
            guard now < device.expiry else { return .failure(Self.error("expired_token", "the code has expired")) }
            if now < device.next {
                device.interval += .seconds(5)
                device.next = now + device.interval
                return .failure(Self.error("slow_down", "the device polls too often"))
            }
            device.next = now + device.interval
            switch device.status {
            case .pending: return .failure(Self.error("authorization_pending", "the user has not decided yet"))
            case .denied: return .failure(Self.error("access_denied", "the user has refused"))
            case .used: return .failure(Self.error("invalid_grant", "the device code was already used"))
            case .approved(let subject):
                device.status = .used
                return .success(device.authorization.of(subject))
            }
        }
        return try result.get()
    }

    private static func error(_ code: String, _ description: String) -> TokenEndpointError {
        TokenEndpointError(code: code, description: description)
    }
}
