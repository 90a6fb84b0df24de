import Foundation
import OpenSSLCrypto
import TokenGeneration

extension TokenRecord {
    /// The longest time that a stored attempt or pause is respected.
    static let longestWait = Duration.seconds(3_600)

    /// The record with the precision that its encoding keeps.
    var storable: Self {
        var record = self
        record.expiration = record.expiration.map(Self.storable)
        record.obtained = record.obtained.map(Self.storable)
        if var attempt = record.refreshAttempt {
            attempt.date = attempt.date.map(Self.storable)
            attempt.validFor = Self.storable(attempt.validFor)
            record.refreshAttempt = attempt
        }
        record.pause = record.pause.map {
            RefreshPause(duration: Self.storable($0.duration), end: Self.storable($0.end))
        }
        return record
    }

    /// The JSON object that a store keeps.
    var content: JSONObject {
        var content: JSONObject = [
            "access_token": .string(accessToken.expose { $0 }),
            "token_type": .string(tokenType),
            "generation": .number(JSONNumber(generation)),
        ]
        content["scope"] = scope.map(JSONValue.string)
        content["expiration"] = expiration.map(Self.text)
        content["refresh_token"] = refreshToken.map { .string($0.expose { $0 }) }
        content["proof_key"] = proofKey.map { .string($0.expose { $0 }) }
        content["proof_key_thumbprint"] = proofKeyThumbprint.map(JSONValue.string)
        content["obtained"] = obtained.map(Self.text)
        content["end"] = end.map { .string($0.description) }
        content["epoch"] = epoch.map(JSONValue.string)
        content["pause"] = pause.map {
            .object(["seconds": .string(String($0.duration / .seconds(1))), "end": Self.text($0.end)])
        }
        content["attempt"] = refreshAttempt.map { attempt in
            var object: JSONObject = [
                "id": .string(attempt.id),
                "valid_for": .string(String(attempt.validFor / .seconds(1))),
                "tries": .number(JSONNumber(attempt.tries)),
                "earlier": .array(attempt.earlier.map(JSONValue.string)),
            ]
            object["host"] = attempt.host.map(JSONValue.string)
            object["date"] = attempt.date.map(Self.text)
            return .object(object)
        }
        return content
    }

    /// Reads a JSON object of this or an earlier format; `nil` if a part is missing or invalid.
    init?(_ content: JSONObject) {
        guard let access = content["access_token"]?.string, let type = content["token_type"]?.string else {
            return nil
        }
        self.init(accessToken: Secret(access), tokenType: type)
        scope = content["scope"]?.string
        refreshToken = content["refresh_token"]?.string.map(Secret.init)
        proofKey = content["proof_key"]?.string.map(Secret.init)
        proofKeyThumbprint = content["proof_key_thumbprint"]?.string
        epoch = content["epoch"]?.string
        if let value = content["generation"] {
            guard let number = value.number?.integer, number >= 0 else { return nil }
            generation = number
        }
        do {
            expiration = try Self.date(content["expiration"])
            obtained = try Self.date(content["obtained"])
            refreshAttempt = try content["attempt"].map(RefreshAttempt.init)
            pause = try content["pause"].map(RefreshPause.init)
        } catch { return nil }
        if let value = content["end"] {
            guard let reason = value.string.flatMap(GrantEnd.init(named:)) else { return nil }
            end = reason
        }
        readFirstFormat(content)
    }

    /// Reads the members that the first format had instead of others.
    private mutating func readFirstFormat(_ content: JSONObject) {
        if let id = content["is_being_refreshed"]?.string {
            let seconds = id.split(separator: "@").last.flatMap { Double($0) }
            refreshAttempt = RefreshAttempt(id: id, date: seconds.map(Date.init(clampingSecondsSince1970:)))
        }
        guard end == nil, accessToken == Self.noToken, refreshToken == nil else { return }
        end = content["signed_out"] != nil ? .signedOut : refreshAttempt == nil ? .revoked : .lost
        refreshAttempt = nil
    }

    fileprivate struct Malformed: Error {}

    fileprivate static func text(_ date: Date) -> JSONValue { .string(String(date.timeIntervalSince1970)) }

    fileprivate static func date(_ value: JSONValue?) throws -> Date? {
        guard let value else { return nil }
        guard let seconds = value.string.flatMap(Double.init), seconds.isFinite else { throw Malformed() }
        return Date(clampingSecondsSince1970: seconds)
    }

    /// Reads a time span of at most ``longestWait``, so that a foreign record can't stop a client.
    fileprivate static func duration(_ value: JSONValue?) throws -> Duration {
        guard let seconds = value?.string.flatMap(Double.init), seconds.isFinite, seconds >= 0 else {
            throw Malformed()
        }
        return min(Duration(clampingSeconds: seconds), longestWait)
    }

    private static func storable(_ date: Date) -> Date {
        Date(timeIntervalSince1970: date.timeIntervalSince1970)
    }

    private static func storable(_ duration: Duration) -> Duration {
        min(Duration(clampingSeconds: duration / .seconds(1)), longestWait)
    }
}

extension RefreshAttempt {
    fileprivate init(_ value: JSONValue) throws {
        guard let object = value.object, let id = object["id"]?.string,
            let tries = object["tries"]?.number?.integer, tries >= 1,
            let earlier = object["earlier"]?.array
        else { throw TokenRecord.Malformed() }
        self.init(
            id: id,
            host: object["host"]?.string,
            date: try TokenRecord.date(object["date"]),
            validFor: try TokenRecord.duration(object["valid_for"]),
            tries: tries,
            earlier: earlier.suffix(Self.earlierLimit).compactMap(\.string)
        )
    }
}

extension RefreshPause {
    fileprivate init(_ value: JSONValue) throws {
        guard let end = try TokenRecord.date(value.object?["end"]) else { throw TokenRecord.Malformed() }
        self.init(duration: try TokenRecord.duration(value.object?["seconds"]), end: end)
    }
}
