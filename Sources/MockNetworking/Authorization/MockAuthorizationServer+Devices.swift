import Foundation
import FoundationNetworking
import Networking
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
    public func denyDevice(userCode: String) -> Bool {
        endpoints.devices.decision(userCode, subject: nil) != nil
    }

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
    public func denyAuthentication(of user: String) async throws -> Bool {
        try await decide(user, subject: nil)
    }

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
