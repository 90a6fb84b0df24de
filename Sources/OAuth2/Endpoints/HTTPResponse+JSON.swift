import Networking
import TokenGeneration

extension HTTPResponse {
    /// The body as a JSON object.
    ///
    /// - Parameters:
    ///   - place: How the endpoint that answered is called.
    ///   - secrets: The secrets that the error must not repeat; `nil` if they aren't known.
    /// - Returns: The object.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation`.
    func jsonObject(from place: String, hiding secrets: SentSecrets?) throws(OAuth2Error) -> JSONObject {
        do { return try JSONObject(parsing: body) } catch {
            throw OAuth2Error(
                .protocolViolation,
                "the answer of \(place) is not a JSON object; check the endpoint's URL",
                status: status,
                cause: secrets?.redacted(error)
            )
        }
    }
}

/// Reads members of an answer; `null` counts as missing.
struct AnswerMembers {
    let members: JSONObject
    /// How the endpoint that answered is called.
    let place: String

    func string(_ name: String) throws(OAuth2Error) -> String? {
        switch members[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        default: throw wrong(name)
        }
    }

    /// A time in seconds since 1970, with or without a fraction.
    func seconds(_ name: String) throws(OAuth2Error) -> Double? {
        switch members[name] {
        case nil, .null?: return nil
        case .number(let number)?:
            guard let seconds = number.double, seconds.isFinite else { throw wrong(name) }
            return seconds
        default: throw wrong(name)
        }
    }

    /// One text, or a list of them.
    func strings(_ name: String) throws(OAuth2Error) -> [String] {
        switch members[name] {
        case nil, .null?: return []
        case .string(let text)?: return [text]
        case .array(let values)?:
            let texts = values.compactMap(\.string)
            guard texts.count == values.count else { throw wrong(name) }
            return texts
        default: throw wrong(name)
        }
    }

    func object(_ name: String) throws(OAuth2Error) -> JSONObject? {
        switch members[name] {
        case nil, .null?: return nil
        case .object(let object)?: return object
        default: throw wrong(name)
        }
    }

    func required(_ name: String) throws(OAuth2Error) -> String {
        guard let text = try string(name), !text.isEmpty else { throw wrong(name) }
        return text
    }

    /// Says that a member is missing or of a wrong type.
    func wrong(_ name: String) -> OAuth2Error {
        OAuth2Error(.protocolViolation, "“\(name)” in the answer of \(place) is missing, or not what it must be")
    }
}
