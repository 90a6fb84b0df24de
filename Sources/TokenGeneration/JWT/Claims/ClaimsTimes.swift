public import Foundation
internal import OpenSSLCrypto

extension RegisteredClaims {
    /// Sets `iat` to a time and `exp` to a lifetime after it, both rounded down to whole seconds.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime of the token.
    ///   - date: The time at which the token is issued. The default is the current time.
    public mutating func setTimes(lifetime: Duration, issuedAt date: Date = Date()) {
        issuedAt = date.wholeSeconds
        expiration = date.addingTimeInterval(lifetime / .seconds(1)).wholeSeconds
    }

    /// Sets `jti` to a new random ID of 128 bits.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed` if the system can't provide random
    ///   numbers.
    public mutating func setRandomJWTID() throws(TokenError) {
        jwtID = try Self.randomJWTID()
    }

    /// Returns a new random ID of 128 bits for `jti`: 22 characters of base64url.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed` if the system can't provide random
    ///   numbers.
    package static func randomJWTID() throws(TokenError) -> String {
        do throws(CryptoError) {
            return Base64URL.encode(try SecureRandom.bytes(count: 16))
        } catch {
            throw TokenError(.signingFailed, "can't generate a random ID: \(error.message)", cause: error)
        }
    }
}

extension JSONObject {
    /// Sets `iat` to a time and `exp` to a lifetime after it, both rounded down to whole seconds.
    ///
    /// - Parameters:
    ///   - lifetime: The lifetime of the token.
    ///   - date: The time at which the token is issued. The default is the current time.
    public mutating func setTimes(lifetime: Duration, issuedAt date: Date = Date()) {
        self["iat"] = JSONValue(date: date.wholeSeconds)
        self["exp"] = JSONValue(date: date.addingTimeInterval(lifetime / .seconds(1)).wholeSeconds)
    }

    /// Sets `jti` to a new random ID of 128 bits.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed` if the system can't provide random
    ///   numbers.
    public mutating func setRandomJWTID() throws(TokenError) {
        self["jti"] = .string(try RegisteredClaims.randomJWTID())
    }
}

extension JSONValue {
    /// Creates a NumericDate: seconds since 1970, as an integer if possible
    /// ([RFC 7519 §2](https://www.rfc-editor.org/rfc/rfc7519#section-2)).
    ///
    /// - Parameter date: The time.
    public init(date: Date) {
        self = JSONNumber(date.timeIntervalSince1970).map(JSONValue.number) ?? .null
    }
}

extension Date {
    /// The time, rounded down to whole seconds, because some verifiers reject fractions.
    var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
