internal import Foundation

/// The place of a token's status: a status list and an index ([Token Status List
/// §6](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-6)).
///
/// ```swift
/// let reference = try StatusListReference(
///     index: 4_711,
///     uri: "https://id.example/statuslists/1"
/// )
/// claims["status"] = reference.claim
/// ```
public struct StatusListReference: Sendable, Hashable {
    /// The index of the token in the list, `idx`.
    public let index: Int
    /// The URI of the status list token, `uri`, exactly as in its `sub`.
    public let uri: String

    /// Creates a reference.
    ///
    /// - Parameters:
    ///   - index: The index of the token in the list.
    ///   - uri: The URI of the status list token.
    /// - Throws: ``TokenError`` with the code `malformedClaim` if the index is negative or the text
    ///   isn't an absolute URI.
    public init(index: Int, uri: String) throws(TokenError) {
        guard index >= 0 else {
            throw TokenError(.malformedClaim, "“idx” of the status list must not be negative")
        }
        guard URL(string: uri)?.scheme != nil else {
            throw TokenError(.malformedClaim, "“uri” of the status list must be an absolute URI")
        }
        self.index = index
        self.uri = uri
    }

    /// The value of the claim `status` for the token.
    public var claim: JSONValue {
        ["status_list": ["idx": .number(JSONNumber(index)), "uri": .string(uri)]]
    }
}

extension JSONObject {
    /// Returns the place of a token's status from its claim `status`.
    ///
    /// - Returns: The reference, or `nil` if the token has no `status`.
    /// - Throws: ``TokenError`` with the code `malformedClaim` if the claim or its parts have the
    ///   wrong type, the index is negative, or the only mechanisms are other ones than
    ///   `status_list`, which this version doesn't support.
    public func statusListReference() throws(TokenError) -> StatusListReference? {
        guard let claim = self["status"] else { return nil }
        guard let status = claim.object else {
            throw TokenError(.malformedClaim, "the claim “status” must be an object, not \(claim.kind)")
        }
        guard let member = status["status_list"] else {
            throw TokenError(.malformedClaim, "the claim “status” has no “status_list”, the only supported mechanism")
        }
        guard let index = member.object?["idx"]?.number?.integer, let uri = member.object?["uri"]?.string else {
            throw TokenError(
                .malformedClaim,
                "“status_list” must be an object with the integer “idx” and the string “uri”"
            )
        }
        return try StatusListReference(index: index, uri: uri)
    }
}
