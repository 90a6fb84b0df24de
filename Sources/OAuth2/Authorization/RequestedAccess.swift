import Foundation
import Networking
internal import OpenSSLCrypto
public import TokenGeneration

struct RequestedAccess: Sendable, Hashable {
    /// Names separated by spaces ([RFC 6749
    /// §3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)).
    var scope: String?
    /// [RFC 8707 §2](https://www.rfc-editor.org/rfc/rfc8707#section-2).
    var resources: [String] = []
    var details: [AuthorizationDetail] = []
    var additionalParameters: [String: String] = [:]

    /// Additional parameters can't have the names of the grant's `own`.
    func fields(besides own: Set<String> = []) throws(OAuth2Error) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let scope {
            try Self.check(scope: scope)
            fields.append(("scope", scope))
        }
        for resource in resources {
            try Self.check(resource: resource)
            fields.append(("resource", resource))
        }
        if !details.isEmpty { fields.append(("authorization_details", detailsText)) }
        return fields + (try Self.additional(additionalParameters, besides: Self.ownParameters.union(own)))
    }

    private static let ownParameters: Set = [
        "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "resource",
        "authorization_details",
    ]

    static func additional(
        _ parameters: [String: String],
        besides own: Set<String>
    ) throws(OAuth2Error) -> [(name: String, value: String)] {
        if let name = parameters.keys.filter(own.contains).min() {
            throw OAuth2Error(
                .malformedRequest,
                "“\(name.prefix(40))” can't be an additional parameter, because the request sets it itself"
            )
        }
        return parameters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    /// Returns the access with the claims or the scope that a resource demands, which the
    /// application allows; `nil` if it demands neither.
    func widened(by demand: ResourceDemand) -> Self? {
        var access = self
        if let claims = demand.claims {
            access.additionalParameters["claims"] = claims
            return access
        }
        let names = scope?.spaceSeparated ?? []
        var known = Set(names.map(ByteComparedString.init))
        let more = demand.scope.filter { known.insert(ByteComparedString($0)).inserted }
        // If the demand includes another authentication, more scope alone doesn't meet it.
        guard !more.isEmpty, demand.acrValues.isEmpty, demand.maxAge == nil else { return nil }
        access.scope = (names + more).joined(separator: " ")
        return access
    }

    /// The lines that distinguish tokens with this access from others.
    var identifier: [String] {
        resources.map { "resource=\($0)" } + (details.isEmpty ? [] : ["authorization_details=\(detailsText)"])
            + additionalParameters.map { "\($0)=\($1)" }.sorted()
    }

    private var detailsText: String {
        "[\(details.map { $0.object.serialized() }.joined(separator: ","))]"
    }

    /// Checks for names of visible ASCII except `"` and `\`, with one space between two.
    private static func check(scope: String) throws(OAuth2Error) {
        let names = scope.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        let isWellFormed = names.allSatisfy { name in
            !name.isEmpty
                && name.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
        }
        guard isWellFormed else {
            throw OAuth2Error(
                .malformedRequest,
                "the scope must be a list of names with one space between two (RFC 6749 §3.3); use nil to request none"
            )
        }
    }

    private static func check(resource: String) throws(OAuth2Error) {
        let url = URL(string: resource)
        guard let scheme = url?.scheme, !scheme.isEmpty, !resource.utf8.contains(UInt8(ascii: "#")) else {
            throw OAuth2Error(.malformedRequest, "a resource must be an absolute URI without a fragment (RFC 8707 §2)")
        }
    }
}

/// A structured description of requested access, which says more than a scope can
/// ([RFC 9396 §2](https://www.rfc-editor.org/rfc/rfc9396#section-2)).
///
/// ```swift
/// let detail = AuthorizationDetail(
///     type: "payment_initiation",
///     members: ["instructedAmount": ["currency": "GBP", "amount": "12.50"]]
/// )
/// ```
public struct AuthorizationDetail: Sendable, Hashable {
    /// The type of the detail, which the server defines.
    public let type: String
    /// The other members, as the type defines them, without `type`.
    public let members: JSONObject

    /// Creates a detail.
    public init(type: String, members: JSONObject = [:]) {
        self.type = type
        var members = members
        members["type"] = nil
        self.members = members
    }

    init?(_ value: JSONValue) {
        guard let object = value.object, let type = object["type"]?.string else { return nil }
        self.init(type: type, members: object)
    }

    package var object: JSONObject {
        var object = members
        object["type"] = .string(type)
        return object
    }
}
