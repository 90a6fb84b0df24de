import Foundation
import Networking
import OAuth2
import TokenGeneration

/// How somebody signs in, so that the command gets tokens for them.
struct SignIn: Sendable {
    /// Where somebody signs in.
    enum Place: Sendable {
        /// On another device ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)).
        case device
        /// In a browser on this machine ([RFC 8252](https://www.rfc-editor.org/rfc/rfc8252)).
        case browser(path: String, port: UInt16, opens: Bool)
    }

    /// How long somebody may take whom nobody sets a limit.
    private static let patience = Duration.seconds(300)
    /// How long others wait while somebody signs in.
    static let queueTimeout = Duration.seconds(1_800)

    let place: Place
    let scope: String?
    /// The service that the token is for, as the server calls it; several servers want it instead of resources.
    let audience: String?
    let resources: [String]
    /// How long somebody may take; `nil` for as long as is usual.
    let timeout: Duration?

    /// Tells somebody what to do, and waits until they have done it.
    ///
    /// - Parameters:
    ///   - client: Who asks for the tokens.
    ///   - network: What fetches the keys that an ID token is verified with.
    ///   - console: Where that is said; standard output is for the token.
    /// - Returns: The tokens.
    /// - Throws: `OAuth2Error`.
    func tokens(_ client: OAuth2Client, _ network: NetworkClient, _ console: Console) async throws -> IssuedTokens {
        let rule = idTokenRule(client, network)
        switch place {
        case .device: return try await deviceTokens(client, rule, console)
        case .browser(let path, let port, let opens):
            let receiver = try LoopbackRedirectReceiver(path: path, port: port)
            return try await browserTokens(client, rule, console, receiver, opens: opens)
        }
    }

    /// The check of the ID token: there is one if the scope asks for it and the server's metadata say what it is signed with.
    ///
    /// The command uses the access token only. A bad ID token still says that something is wrong with the answer.
    private func idTokenRule(_ client: OAuth2Client, _ network: NetworkClient) -> IDTokenRule {
        let names = client.server.values(of: "id_token_signing_alg_values_supported") ?? []
        let algorithms = names.compactMap { JWSAlgorithm(rawValue: $0) }.filter { name in
            JWSAlgorithm.implemented.contains(name) && !name.isSymmetric
        }
        guard (scope ?? "").split(separator: " ").contains("openid"), let url = client.server.keySetURL,
            !algorithms.isEmpty
        else { return .skipIDTokenCheck }
        return .verified(
            by: IDTokenVerifier(
                issuer: client.server.issuer,
                clientID: client.clientAuthentication.clientID,
                keys: RemoteKeySet(url: url, client: network),
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
        let url =
            client.server.requiresPushedAuthorizationRequests
            ? try await client.push(request).url(at: client.server) : try request.url(at: client.server)
        let address = url.absoluteString
        console.tellSignIn("to sign in, open \(address)", [("authorization_uri", .string(address))])
        if opens { Browser.open(url) }
        let redirect = try await receiver.redirect(for: request, within: timeout ?? Self.patience)
        return try await client.tokens(for: request.grant(from: redirect, of: client.server), idToken: rule)
    }
}

/// What somebody has granted by signing in: the tokens come into the store with the sign-in, and are refreshed there.
struct SignInGrant: Grant {
    let identifier: String

    /// Never: without a refresh token somebody has to sign in again.
    var isRepeatable: Bool { false }

    func parameters(at date: Date) -> [(name: String, value: String)]? { nil }
}

extension DeviceAuthorization {
    /// The same for a user who may take no longer than this.
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
