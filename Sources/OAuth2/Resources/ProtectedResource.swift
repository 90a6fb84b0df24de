public import Foundation
import Networking
internal import OpenSSLCrypto
public import TokenGeneration

/// A protected resource and the authorization servers whose tokens it accepts
/// ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)).
///
/// A client discovers it, usually from the resource's 401 response:
///
/// ```swift
/// let resource = try await ProtectedResource.discover(after: error)
/// let server = try await resource.authorizationServer { issuer in
///     issuer == "https://as.example"
/// }
/// ```
///
/// A resource publishes its ``metadata`` as `application/json` at its ``metadataURL``.
public struct ProtectedResource: Sendable, Hashable {
    /// The resource identifier: the `resource` of token requests
    /// ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)), and usually the audience of tokens.
    public let identifier: String
    /// The issuer identifiers of the authorization servers that the resource names; empty if it
    /// names none.
    public let authorizationServers: [String]
    /// The scopes that clients can request for the resource; empty if it doesn't list them.
    public let scopes: [String]
    /// The scopes that the resource demanded in the response from which it was discovered.
    public internal(set) var demandedScopes: [String] = []
    /// The complete metadata.
    public let metadata: JSONObject

    /// Creates a resource that publishes its metadata.
    ///
    /// - Parameters:
    ///   - identifier: The resource identifier: an `https` URL without a fragment.
    ///   - authorizationServers: The issuer identifiers of the authorization servers.
    ///   - scopes: The scopes that clients can request. The default is empty.
    ///   - members: Other members of the metadata, such as `resource_name` or
    ///     `dpop_bound_access_tokens_required`.
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` if the identifier isn't a URL or
    ///   has a fragment, or `insecureTransport` if it's neither `https` nor on this machine.
    public init(
        identifier: String,
        authorizationServers: [String],
        scopes: [String] = [],
        members: JSONObject = [:]
    ) throws(OAuth2Error) {
        _ = try Self.metadataURL(of: identifier)
        var metadata = members
        metadata["resource"] = .string(identifier)
        // A list without values must be omitted (§3.2).
        for (name, values) in [("authorization_servers", authorizationServers), ("scopes_supported", scopes)] {
            metadata[name] = values.isEmpty ? nil : .array(values.map(JSONValue.string))
        }
        self.identifier = identifier
        self.authorizationServers = authorizationServers
        self.scopes = scopes
        self.metadata = metadata
    }

    /// Reads a resource's published metadata
    /// ([RFC 9728 §2](https://www.rfc-editor.org/rfc/rfc9728#section-2)).
    ///
    /// Signed metadata is ignored.
    ///
    /// - Parameters:
    ///   - metadata: The metadata document.
    ///   - identifier: The resource whose metadata was requested. To prevent impersonation, the
    ///     document must name exactly this resource
    ///     ([§3.3](https://www.rfc-editor.org/rfc/rfc9728#section-3.3)).
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` if the document names another
    ///   resource, or a member has the wrong type.
    public init(metadata: JSONObject, identifier: String) throws(OAuth2Error) {
        let members = AnswerMembers(members: metadata, place: "the resource's metadata URL")
        guard try members.required("resource").isExactly(identifier) else {
            throw OAuth2Error(
                .protocolViolation,
                "the metadata is for another resource; pass the identifier exactly as the resource writes it"
            )
        }
        self.identifier = identifier
        authorizationServers = try members.strings("authorization_servers")
        scopes = try members.strings("scopes_supported")
        self.metadata = metadata
    }

    /// Returns the scope to request for the resource, within names that the application chooses.
    ///
    /// It's what the resource demanded, or else the names that it supports, or else all names. A
    /// client that can't know the names asks its user before it requests ``demandedScopes`` or
    /// ``scopes``.
    ///
    /// - Parameter names: The names that the resource may have, separated by spaces. They are
    ///   compared as bytes.
    /// - Returns: The scope, in the order of `names`.
    /// - Throws: ``OAuth2Error`` with the code `insufficientScope` if the resource demanded another
    ///   name. ``OAuth2Error/demand`` has what it demanded.
    public func scope(within names: String) throws(OAuth2Error) -> String {
        let names = names.spaceSeparated
        let wanted = Set((demandedScopes.isEmpty ? scopes : demandedScopes).map(ByteComparedString.init))
        guard demandedScopes.isEmpty || wanted.isSubset(of: names.map(ByteComparedString.init)) else {
            var error = OAuth2Error(
                .insufficientScope,
                "the resource demands scope that the application doesn't name; see `demand`"
            )
            error.demand = ResourceDemand(scope: demandedScopes)
            throw error
        }
        let found = names.filter { wanted.contains(ByteComparedString($0)) }
        return (found.isEmpty ? names : found).joined(separator: " ")
    }

    /// The URL of the resource's metadata
    /// ([RFC 9728 §3.1](https://www.rfc-editor.org/rfc/rfc9728#section-3.1)), for
    /// `AccessTokenVerifier.resourceMetadata` and for the route that serves it.
    ///
    /// - Throws: ``OAuth2Error`` with the code `protocolViolation` or `insecureTransport` if the
    ///   identifier is one for which there's no document.
    public var metadataURL: URL {
        get throws(OAuth2Error) { try Self.metadataURL(of: identifier) }
    }

    /// Returns the URL of a resource's metadata.
    static func metadataURL(of identifier: String) throws(OAuth2Error) -> URL {
        guard let url = URL(string: identifier), let origin = HTTPOrigin(url), url.user == nil, url.fragment == nil
        else {
            throw OAuth2Error(.protocolViolation, "a resource identifier must be an https URL without a fragment")
        }
        guard origin.isConfidential else { throw url.isNotConfidential("the metadata of a resource") }
        // Use the identifier's text, because a URL's components lose escapes in the path.
        let end = endOfOrigin(identifier)
        var rest = identifier[end...]
        // “Any terminating slash following the host component MUST be removed.”
        if rest == "/" || rest.hasPrefix("/?") { rest.removeFirst() }
        guard let location = URL(string: "\(identifier[..<end])/.well-known/oauth-protected-resource\(rest)") else {
            throw OAuth2Error(.protocolViolation, "the metadata's URL can't be built from the resource identifier")
        }
        return location
    }

    /// Returns the end of the host and port in an identifier.
    static func endOfOrigin(_ identifier: String) -> String.Index {
        let authority = identifier.firstRange(of: "://")?.upperBound ?? identifier.startIndex
        return identifier[authority...].firstIndex { $0 == "/" || $0 == "?" } ?? identifier.endIndex
    }
}
