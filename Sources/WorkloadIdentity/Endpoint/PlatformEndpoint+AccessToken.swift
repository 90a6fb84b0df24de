import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

extension PlatformEndpoint {
    /// The names of members in a token response.
    struct TokenMembers: Sendable {
        var token = "access_token"
        /// The number of seconds until the expiry.
        var lifetime = "expires_in"
        /// The expiry in seconds since 1970 or in the format of RFC 3339, which takes precedence.
        var expiry: String?
    }

    /// Returns the bearer token in a response, with the lifetime that the response states.
    ///
    /// Numbers can be texts. The token is opaque: only its issuer and its audience interpret it.
    func accessToken(
        in response: HTTPResponse,
        _ members: TokenMembers = TokenMembers(),
        requested: ContinuousClock.Instant,
        for requirements: TokenRequirements
    ) throws(WorkloadIdentityError) -> AccessToken {
        guard let object = try? JSONObject(parsing: response.body), let value = object[members.token]?.string else {
            throw invalid("didn't respond with JSON that has “\(members.token)”; check what answers at its address")
        }
        if let type = object["token_type"], type.string?.lowercased() != "bearer" {
            throw invalid("responded with a token of another type than “Bearer”")
        }
        let expiry: ContinuousClock.Instant?
        if let name = members.expiry, let text = object[name] {
            let date = if let date = Self.timestamp(text.string ?? "") { date } else { try seconds(text, name) }
            // The machine's clock may be wrong, but both of these are the platform's.
            let now = environment.timeSource.date()
            let sent = response.headers["Date"].flatMap { HTTPDate.parse($0, now: now) } ?? now
            expiry = environment.timeSource.now() + Duration(clampingSeconds: date - sent.timeIntervalSince1970)
        } else {
            expiry = try object[members.lifetime].map { text throws(WorkloadIdentityError) in
                requested + Duration(clampingSeconds: try seconds(text, members.lifetime))
            }
        }
        return try bearerToken(in: value, (expiry, requested), for: requirements)
    }

    /// Returns a bearer token whose expiry the response to a request states.
    func bearerToken(
        in text: String,
        _ stated: (expiry: ContinuousClock.Instant?, requested: ContinuousClock.Instant),
        for requirements: TokenRequirements
    ) throws(WorkloadIdentityError) -> AccessToken {
        try PlatformToken(origin: origin, step: .request, form: .opaque, type: AccessToken.bearer)
            .accessToken(in: text.utf8, stated: stated, for: requirements, environment.timeSource)
    }

    /// Returns the JWT in a response, whose audience must be the requested one.
    func jwt(
        in text: some Collection<UInt8>,
        type: String = AccessToken.notApplicable,
        audience: String?,
        for requirements: TokenRequirements
    ) throws(WorkloadIdentityError) -> AccessToken {
        let rules = PlatformToken(
            origin: origin,
            step: .request,
            form: .jwt,
            type: type,
            audience: audience,
            audienceAdvice: "it ignores the requested audience",
            expiryAdvice: "check the clock of this machine"
        )
        return try rules.accessToken(in: text, for: requirements, environment.timeSource)
    }

    private func seconds(_ value: JSONValue, _ name: String) throws(WorkloadIdentityError) -> Double {
        let number = value.number ?? value.string.flatMap { JSONNumber(literal: $0) }
        guard let seconds = number?.double else { throw invalid("responded with an invalid “\(name)”") }
        return seconds
    }

    /// Returns the seconds since 1970 of a time in UTC
    /// ([RFC 3339 §5.6](https://www.rfc-editor.org/rfc/rfc3339#section-5.6)), without its fraction.
    private static func timestamp(_ text: String) -> Double? {
        guard text.utf8.count <= 40, text.last == "Z" else { return nil }
        let whole = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return (try? Date("\(whole)Z", strategy: .iso8601))?.timeIntervalSince1970
    }
}
