import Foundation
import Networking
import TokenGeneration

extension HTTPResponse {
    /// Returns a Boolean value that indicates whether `Content-Type` has a media type, with any
    /// parameters.
    package func hasMediaType(_ type: String) -> Bool {
        let field = (headers["Content-Type"] ?? "").asciiOnly
        return field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.equalsIgnoringASCIICase(type)
    }

    /// Returns the body as a JSON object.
    ///
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation`, without the secrets, and
    ///   without a cause if `secrets` is `nil`.
    func jsonObject(from place: String, hiding secrets: SentSecrets?) throws(OAuth2Error) -> JSONObject {
        do { return try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the response from \(place) isn't a JSON object; check the endpoint's URL",
                status: status,
                cause: secrets?.redacted(error)
            )
        }
    }
}

/// A reader of a response's members, for which `null` counts as missing.
struct AnswerMembers {
    let members: JSONObject
    /// The endpoint's name in error messages.
    let place: String

    func string(_ name: String) throws(OAuth2Error) -> String? { try value(name, \.string) }

    /// Returns a number of seconds, with or without a fraction.
    func seconds(_ name: String) throws(OAuth2Error) -> Double? { try value(name) { $0.number?.double } }

    /// Returns a time in seconds since 1970, with or without a fraction, as the nearest date in the
    /// years 1 to 9999.
    func date(_ name: String) throws(OAuth2Error) -> Date? {
        try seconds(name).map(Date.init(clampingSecondsSince1970:))
    }

    /// Returns a list of strings, which can also be a single string.
    func strings(_ name: String) throws(OAuth2Error) -> [String] {
        try value(name) { value in
            if let text = value.string { return [text] }
            let texts = value.array?.compactMap(\.string)
            return texts?.count == value.array?.count ? texts : nil
        } ?? []
    }

    func object(_ name: String) throws(OAuth2Error) -> JSONObject? { try value(name, \.object) }

    private func value<Value>(
        _ name: String,
        _ read: (JSONValue) -> Value?
    ) throws(OAuth2Error) -> Value? {
        guard let value = members[name], value != .null else { return nil }
        guard let result = read(value) else { throw wrong(name) }
        return result
    }

    func required(_ name: String) throws(OAuth2Error) -> String {
        guard let text = try string(name), !text.isEmpty else { throw wrong(name) }
        return text
    }

    /// Returns an error about a member that is missing or invalid.
    func wrong(_ name: String) -> OAuth2Error {
        OAuth2Error(.protocolViolation, "“\(name)” in the response from \(place) is missing or invalid")
    }
}

extension AnswerMembers {
    /// Reads a response whose body is a JSON object.
    init(_ response: HTTPResponse, from place: String, hiding secrets: SentSecrets) throws(OAuth2Error) {
        self.init(members: try response.jsonObject(from: place, hiding: secrets), place: place)
    }
}
