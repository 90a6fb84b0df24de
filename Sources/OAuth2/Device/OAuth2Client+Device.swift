import Networking
import TokenGeneration

extension OAuth2Client {
    /// Starts an authorization that the user grants on another device
    /// ([RFC 8628 §3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)).
    ///
    /// - Parameters:
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: The details of the requested access.
    ///   - additionalParameters: Other parameters, such as the `audience` that some servers need.
    /// - Returns: The instructions for the user. Pass them to ``tokens(for:idToken:progress:)``.
    /// - Throws: ``OAuth2Error``, with the code `endpointMissing` if the server doesn't support the
    ///   device grant, or `malformedRequest` for an invalid scope or resource, or an additional
    ///   parameter that the request sets itself; `CancellationError`.
    public func authorizeDevice(
        scope: String? = nil,
        resources: [String] = [],
        authorizationDetails: [AuthorizationDetail] = [],
        additionalParameters: [String: String] = [:]
    ) async throws -> DeviceAuthorization {
        let place = "the device authorization endpoint"
        let form =
            try RequestedAccess(scope: scope, resources: resources, details: authorizationDetails).fields()
            + RequestedAccess.additional(
                additionalParameters,
                besides: [
                    "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "resource",
                    "authorization_details",
                ]
            )
        let requested = timing.timeSource.now()
        return try await post(form, to: \.deviceAuthorizationEndpoint, place: place) { response, secrets in
            let answer = try AnswerMembers(response, from: place, hiding: secrets)
            // Some servers report errors with status code 200.
            if let error = answer.members["error"]?.string, !error.isEmpty {
                throw OAuth2Error(
                    serverCode: error,
                    description: answer.members["error_description"],
                    uri: answer.members["error_uri"],
                    place: place,
                    status: response.status,
                    hiding: secrets
                )
            }
            return try DeviceAuthorization(answer, requested: requested)
        }
    }

    /// Waits until the user has authorized a device, and returns the tokens.
    ///
    /// The client polls at the server's interval, or every five seconds. It polls more slowly after
    /// `slow_down`, and doubles the delay each time the server doesn't respond.
    ///
    /// - Parameters:
    ///   - device: The instructions that the user was given.
    ///   - idToken: The rule for the ID token, if the scope has `openid`. By default, it isn't
    ///     verified, and ``IssuedTokens/idToken`` is `nil`. With a verifier, the keys are loaded
    ///     before polling.
    ///   - progress: A closure that receives the progress before each pause.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: ``OAuth2Error`` with the code `authorizationDenied` if the user has denied the
    ///   request, `authorizationExpired` if the codes have expired, `protocolViolation` if the ID
    ///   token is missing or invalid, or the code of another error response; the errors of
    ///   ``RemoteKeySet/keys()`` if the keys to verify the ID token can't be loaded.
    ///   `CancellationError` if the task is cancelled.
    public func tokens(
        for device: DeviceAuthorization,
        idToken: IDTokenRule = .skipIDTokenCheck,
        progress: (DeviceAuthorizationProgress) -> Void = { _ in }
    ) async throws -> IssuedTokens {
        let grant = PolledGrant(
            form: [
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", device.deviceCode.expose { $0 }),
            ],
            expiry: device.expiry,
            interval: device.interval,
            firstPause: device.interval,
            expired: "the user didn't authorize the device in time; start again when the user asks for it"
        )
        return try await tokens(for: grant, idToken, progress: progress)
    }
}
