import Foundation
import Networking
import OAuth2
import TokenGeneration

/// A sign-in that gets tokens for a user.
struct SignIn: Sendable {
    /// The device on which the user signs in.
    enum Place: Sendable {
        /// Another device ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)).
        case device
        /// A browser on this machine ([RFC 8252](https://www.rfc-editor.org/rfc/rfc8252)).
        case browser(path: String, port: UInt16, opens: Bool)
    }

    /// The default timeout for a sign-in with a browser: 5 minutes.
    private static let patience = Duration.seconds(300)
    /// The maximum time that other processes wait for a sign-in: 30 minutes.
    static let queueTimeout = Duration.seconds(1_800)

    let place: Place
    let scope: String?
    /// The name of the service for the token, which several servers use instead of resources.
    let audience: String?
    let resources: [String]
    /// The timeout for the sign-in, or `nil` for the default.
    let timeout: Duration?

    /// Asks the user to sign in, and waits for the result.
    ///
    /// The network client fetches the keys for verifying ID tokens, within the timeout.
    func tokens(
        _ client: OAuth2Client,
        _ network: NetworkClient,
        timeout: Duration,
        _ console: Console
    ) async throws -> IssuedTokens {
        let rule = try await idTokenRule(client, network, timeout)
        switch place {
        case .device: return try await deviceTokens(client, rule, console)
        case .browser(let path, let port, let opens):
            let receiver = try LoopbackRedirectReceiver(path: path, port: port)
            return try await browserTokens(client, rule, console, receiver, opens: opens)
        }
    }

    /// Returns the verification rule for the ID token.
    ///
    /// The ID token is verified if the scope includes `openid` and the server's metadata lists its
    /// keys and algorithms. The command uses only the access token, but an invalid ID token means
    /// that the response can't be trusted.
    private func idTokenRule(
        _ client: OAuth2Client,
        _ network: NetworkClient,
        _ timeout: Duration
    ) async throws -> IDTokenRule {
        let server = try await client.server
        let names = server.values(of: "id_token_signing_alg_values_supported") ?? []
        let algorithms = names.compactMap { JWSAlgorithm(rawValue: $0) }.filter { name in
            JWSAlgorithm.implemented.contains(name) && !name.isSymmetric
        }
        guard (scope ?? "").split(separator: " ").contains("openid"), let url = server.keySetURL,
            !algorithms.isEmpty
        else { return .skipIDTokenCheck }
        return .verified(
            by: IDTokenVerifier(
                issuer: server.issuer,
                clientID: client.clientAuthentication.clientID,
                keys: RemoteKeySet(url: url, client: network, options: .init(timeout: timeout)),
                algorithms: Set(algorithms)
            )
        )
    }

    private var additionalParameters: [String: String] { audience.map { ["audience": $0] } ?? [:] }

    private func deviceTokens(
        _ client: OAuth2Client,
        _ rule: IDTokenRule,
        _ console: Console
    ) async throws -> IssuedTokens {
        let device = try await client.authorizeDevice(
            scope: scope,
            resources: resources,
            additionalParameters: additionalParameters
        )
        let address = device.verificationURI.absoluteString
        let link = device.verificationURIComplete?.absoluteString
        console.tellSignIn(
            "to sign in, open \(address) and enter \(device.userCode)" + (link.map { ", or open \($0)" } ?? ""),
            [
                ("verification_uri", .string(address)), ("user_code", .string(device.userCode)),
                ("verification_uri_complete", link.map(JSONValue.string)),
            ]
        )
        return try await client.tokens(for: device.expiring(within: timeout), idToken: rule)
    }

    private func browserTokens(
        _ client: OAuth2Client,
        _ rule: IDTokenRule,
        _ console: Console,
        _ receiver: LoopbackRedirectReceiver,
        opens: Bool
    ) async throws -> IssuedTokens {
        defer { receiver.stop() }
        let request = try client.authorizationRequest(
            redirectURI: receiver.redirectURI,
            scope: scope,
            resources: resources,
            additionalParameters: additionalParameters
        )
        let server = try await client.server
        let url =
            server.requiresPushedAuthorizationRequests
            ? try await client.push(request).url(at: server) : try request.url(at: server)
        let address = url.absoluteString
        console.tellSignIn("to sign in, open \(address)", [("authorization_uri", .string(address))])
        if opens { Browser.open(url) }
        let redirect = try await receiver.redirect(for: request, within: timeout ?? Self.patience)
        return try await client.tokens(for: request.grant(from: redirect, of: server), idToken: rule)
    }
}

/// The grant of a user who signed in, whose tokens are stored by the sign-in and refreshed in the
/// store.
struct SignInGrant: Grant {
    let identifier: String

    /// Always `false`, because the user must sign in again without a refresh token.
    var isRepeatable: Bool { false }

    func parameters(at date: Date) -> [(name: String, value: String)]? { nil }
}

extension DeviceAuthorization {
    /// Returns the authorization with its expiry limited to the timeout.
    fileprivate func expiring(within timeout: Duration?) -> Self {
        guard let timeout else { return self }
        return Self(
            deviceCode: deviceCode,
            userCode: userCode,
            verificationURI: verificationURI,
            verificationURIComplete: verificationURIComplete,
            expiry: min(expiry, .now + timeout),
            interval: interval
        )
    }
}
