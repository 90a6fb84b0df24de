import Networking
import TokenGeneration

extension OAuth2Client {
    /// Begins an authorization that the user grants on another device
    /// ([RFC 8628 §3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)).
    ///
    /// - Parameters:
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - resources: The URIs of the services that the token is for.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - additionalParameters: Parameters of extensions, such as the `audience` that some servers want.
    /// - Returns: What the user has to do; ``tokens(for:idToken:progress:)`` waits for it.
    /// - Throws: ``OAuth2Error``, with the code `endpointMissing` if the server does not know devices, or `malformedRequest` for a
    ///   scope or resource that is none, or an additional parameter that the request has anyway; `CancellationError`.
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
        return try await post(form, to: server.deviceAuthorizationEndpoint, place: place) { response, secrets in
            let members = try response.jsonObject(from: place, hiding: secrets)
            let answer = AnswerMembers(members: members, place: place)
            // Some servers report errors with status 200.
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

    /// Waits until the user has granted what a device has asked for, and gets the tokens.
    ///
    /// The server is asked at the pace that it sets: every five seconds unless it says otherwise, less often when it says
    /// `slow_down`, and half as often each time it does not answer.
    ///
    /// - Parameters:
    ///   - device: What the user was told.
    ///   - idToken: How the client treats the ID token, if the scope had `openid`. By default it isn't checked, and
    ///     ``IssuedTokens/idToken`` is `nil`. A verifier finds the server's keys before the server is asked.
    ///   - progress: Is told how it goes on, before each pause.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: ``OAuth2Error`` with the code `authorizationDenied` if the user has refused, `authorizationExpired` if their time is
    ///   over, `protocolViolation` if the ID token is missing or not good, or another that the server answers; as
    ///   ``RemoteKeySet/keys()`` does if there are no keys to verify it with. `CancellationError` if the task is cancelled.
    public func tokens(
        for device: DeviceAuthorization,
        idToken: IDTokenRule = .skipIDTokenCheck,
        progress: (DeviceAuthorizationProgress) -> Void = { _ in }
    ) async throws -> IssuedTokens {
        let check = IDTokenCheck(ofDevice: idToken)
        // A device code is spent by the answer with the tokens: without keys it would be spent for nothing.
        try await check?.verifier.prepare()
        var tokens = try await issuedTokens(for: device, progress: progress)
        tokens.idToken = try await check?.verifiedToken(of: tokens)
        return tokens
    }

    private func issuedTokens(
        for device: DeviceAuthorization,
        progress: (DeviceAuthorizationProgress) -> Void
    ) async throws -> IssuedTokens {
        let bound = try key.bound()
        // One question at a time: how often to ask is decided here.
        var endpoint = tokenEndpoint
        endpoint.timing.attempts = 1
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", device.deviceCode.expose { $0 }),
        ]
        var polling = DevicePolling(interval: device.interval)
        var (pause, event) = (polling.interval, DeviceAuthorizationProgress.Event.begun)
        while true {
            let timeLeft = device.expiry - timing.timeSource.now()
            guard timeLeft > .zero else { throw OAuth2Error.deviceExpired }
            progress(DeviceAuthorizationProgress(event: event, pause: pause, timeLeft: timeLeft))
            try await timing.timeSource.sleep(min(pause, timeLeft))
            guard timing.timeSource.now() < device.expiry else { throw OAuth2Error.deviceExpired }
            do {
                let answer = try await endpoint.requestToken(
                    form: form,
                    proof: bound?.generator,
                    isSingleUse: true,
                    until: deadline
                )
                return IssuedTokens(try answer.tokens(), boundKey: bound)
            } catch {
                try Task.checkCancellation()
                switch polling.next(after: error) {
                case .fail(let error): throw error
                case .wait(let time, let what): (pause, event) = (time, what)
                }
            }
        }
    }
}

extension OAuth2Error {
    fileprivate static var deviceExpired: Self {
        Self(
            .authorizationExpired,
            "the user did not grant it in the time that there was; begin anew when the user asks for it"
        )
    }
}
