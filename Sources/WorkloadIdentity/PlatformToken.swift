import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// The rules for a token before it leaves the machine, which protect against configuration errors.
///
/// The signature isn't verified, so nothing in a token grants anything here.
struct PlatformToken: Sendable {
    /// The maximum size in bytes of a token and of what contains it.
    static let maximumSize = 64 << 10

    enum Form: Sendable {
        /// Any visible text.
        case opaque
        case jwt
        /// [JWT-SVID](https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md).
        case svid
    }

    /// The token's origin in messages, such as `the file “/a”`.
    let origin: String
    let step: WorkloadIdentityError.Step
    let form: Form
    var type = AccessToken.notApplicable
    var audience: String?
    /// The way to get a token for the audience.
    var audienceAdvice = ""
    /// The way to get a token that hasn't expired.
    var expiryAdvice = "check the clock of this machine and whether the platform still replaces the token"

    // A token whose expiry the platform has stated isn't interpreted. The expiry of others is in
    // the token.
    func accessToken(
        in content: some Collection<UInt8>,
        stated: (expiry: ContinuousClock.Instant?, requested: ContinuousClock.Instant)? = nil,
        for requirements: TokenRequirements,
        _ timeSource: TimeSource
    ) throws(WorkloadIdentityError) -> AccessToken {
        guard content.count <= Self.maximumSize else {
            throw failure(
                .tooLarge,
                stated == nil
                    ? "is larger than \(Self.maximumSize) bytes; check that it contains only a token"
                    : "has a token of more than \(Self.maximumSize) bytes"
            )
        }
        let text = try text(in: content)
        let now = timeSource.now()
        var expiry = stated?.expiry
        if stated == nil, let claims = try claims(of: text) {
            try check(claims)
            expiry = try lifetime(of: claims, at: timeSource.date()).map { now + $0 }
        }
        let token = AccessToken(value: Secret(text), type: type, expiry: expiry, requested: stated?.requested ?? now)
        if let expiry, expiry <= now { throw failure(.expiredToken, "has a token that has expired; \(expiryAdvice)") }
        guard !requirements.isUnwanted(token.value) else {
            throw failure(.rejectedToken, "still contains the token that the caller rejects; wait for the platform")
        }
        return token
    }

    func text(in content: some Collection<UInt8>) throws(WorkloadIdentityError) -> String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        var text = Array(content.drop(while: isSpace))
        while let last = text.last, isSpace(last) { text.removeLast() }
        guard !text.isEmpty else { throw failure(.malformedToken, "is empty; the platform hasn't written it yet") }
        guard text.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw failure(.malformedToken, "contains more than a token; it must consist of visible ASCII characters")
        }
        return String(decoding: text, as: UTF8.self)
    }

    private func claims(of text: String) throws(WorkloadIdentityError) -> JSONObject? {
        do {
            let token = try UnverifiedToken(text, maximumSize: Self.maximumSize)
            if form == .svid {
                let algorithm = token.unverifiedHeader["alg"]?.string ?? ""
                guard algorithm.count == 5, ["RS", "PS", "ES"].contains(algorithm.prefix(2)),
                    ["256", "384", "512"].contains(algorithm.suffix(3))
                else { throw failure(.malformedToken, "isn't a JWT-SVID: its algorithm must be RS, PS or ES") }
            }
            return token.unverifiedClaims
        } catch let error as WorkloadIdentityError {
            throw error
        } catch {
            guard form == .opaque, audience == nil else {
                throw failure(.malformedToken, "doesn't contain a complete JWT; it must contain only the token")
            }
            return nil
        }
    }

    private func check(_ claims: JSONObject) throws(WorkloadIdentityError) {
        if form == .svid, (try? SPIFFEID(claims["sub"]?.string ?? "")) == nil {
            throw failure(.malformedToken, "isn't a JWT-SVID: its subject isn't a SPIFFE ID")
        }
        guard let audience else { return }
        let audiences = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.array?.compactMap(\.string) ?? []
        guard audiences.contains(where: { $0.utf8.elementsEqual(audience.utf8) }) else {
            let named = audiences.isEmpty ? "no audience" : audiences.prefix(3).map(Self.quoted).joined(separator: ", ")
            throw failure(
                .wrongAudience,
                "has a token for \(named), not for \(Self.quoted(audience)); \(audienceAdvice)"
            )
        }
    }

    /// Returns the remaining lifetime by the wall clock, or `nil` without an expiry.
    private func lifetime(of claims: JSONObject, at date: Date) throws(WorkloadIdentityError) -> Duration? {
        guard let claim = claims["exp"] else {
            guard form != .svid else { throw failure(.malformedToken, "isn't a JWT-SVID: it has no expiry") }
            return nil
        }
        guard let expiry = claim.number?.double, expiry.isFinite else {
            throw failure(.malformedToken, "has a token with an invalid expiry")
        }
        let lifetime = expiry - date.timeIntervalSince1970
        guard lifetime > 0 else {
            let ago = min(Int(clamping: -lifetime), 1_000_000_000)
            throw failure(.expiredToken, "has a token that expired \(ago) seconds ago; \(expiryAdvice)")
        }
        return Duration(clampingSeconds: lifetime)
    }

    func failure(_ code: WorkloadIdentityError.Code, _ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(code, step, "\(origin) \(problem)")
    }

    /// Returns a value of a token for a message, with only visible ASCII characters.
    private static func quoted(_ value: String) -> String {
        let visible = value.utf8.prefix(120).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }
        return "“\(String(decoding: visible, as: UTF8.self))”"
    }
}
