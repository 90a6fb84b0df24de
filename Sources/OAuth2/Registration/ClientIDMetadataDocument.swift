public import Foundation
public import Networking
import TokenGeneration

/// A client's metadata, published at the URL that is its client ID
/// ([draft](https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/)).
///
/// ```swift
/// var metadata = ClientMetadata(["client_name": "Reports"])
/// metadata.redirectURIs = ["http://127.0.0.1/callback"]
/// let document = try ClientIDMetadataDocument(
///     clientID: "https://reports.example/client.json",
///     metadata: metadata
/// )
/// ```
///
/// Serve ``body`` with ``headers`` and the status 200 at exactly the client ID, without redirects.
/// Servers that accept such clients have `client_id_metadata_document_supported` in their metadata.
public struct ClientIDMetadataDocument: Sendable, Hashable {
    static let maximumSize = 5_000

    package let clientID: String
    package let metadata: ClientMetadata

    /// Creates a document, after checking that servers can accept it.
    ///
    /// A client without `token_endpoint_auth_method` is a public client: the document says `none`.
    ///
    /// - Parameters:
    ///   - clientID: The URL of the document: `https`, with a path, but without a user, a query or
    ///     a fragment.
    ///   - metadata: The client's metadata. Without `grant_types`, or with `authorization_code`, it
    ///     must have redirect URIs.
    /// - Throws: ``OAuth2Error`` with the code `malformedRequest` if the URL can't be a client ID,
    ///   or if the metadata has another client ID, a secret, an authentication method with a
    ///   secret, a key that isn't public, or no key although its method needs one, or is too large.
    public init(clientID: String, metadata: ClientMetadata) throws(OAuth2Error) {
        try Self.check(clientID)
        var metadata = metadata
        let named = metadata.members["client_id"]
        guard named == nil || named == .string(clientID) else {
            throw Self.malformed("the metadata has another client_id than the URL of the document")
        }
        metadata.members["client_id"] = .string(clientID)
        if metadata.tokenEndpointAuthenticationMethod == nil { metadata.tokenEndpointAuthenticationMethod = "none" }
        self.clientID = clientID
        self.metadata = metadata
        try checkSecrets()
        try checkKeys()
        try checkRedirects()
        guard body.count <= Self.maximumSize else {
            throw Self.malformed("the document is larger than \(Self.maximumSize) bytes; use jwks_uri instead of jwks")
        }
    }

    /// The document, as JSON.
    public var body: Data { metadata.members.serializedData() }

    /// The header fields to serve the document with: its type, and a cache lifetime of one hour.
    public var headers: HTTPHeaders { ["Content-Type": "application/json", "Cache-Control": "max-age=3600"] }

    /// [§3](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document#section-3).
    private static func check(_ clientID: String) throws(OAuth2Error) {
        guard clientID.hasPrefix("https://"), clientID.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URL(string: clientID), url.host?.isEmpty == false, HTTPOrigin(url) != nil
        else { throw malformed("the client ID must be an https URL") }
        guard !clientID.contains("#"), !clientID.contains("?"), url.user == nil, url.password == nil else {
            throw malformed("the client ID must be a URL without a user, a query and a fragment")
        }
        let path = clientID[ProtectedResource.endOfOrigin(clientID)...]
        guard path.hasPrefix("/") else { throw malformed("the client ID must be a URL with a path") }
        let segments = path.split(separator: "/").map { $0.lowercased().replacing("%2e", with: ".") }
        guard !segments.contains("."), !segments.contains("..") else {
            throw malformed("the client ID must be a URL without “.” and “..” in its path")
        }
    }

    private func checkSecrets() throws(OAuth2Error) {
        let secrets = ["client_secret", "client_secret_expires_at", "registration_access_token"]
        if let name = secrets.first(where: { metadata.members[$0] != nil }) {
            throw Self.malformed("the document is public and can't have “\(name)”")
        }
        guard metadata.tokenEndpointAuthenticationMethod?.hasPrefix("client_secret") == false else {
            throw Self.malformed("the client and its servers share no secret; use none or private_key_jwt")
        }
    }

    private func checkKeys() throws(OAuth2Error) {
        let keys = metadata.members["jwks"]?.object?["keys"]?.array
        for key in keys ?? [] {
            let isPublic = key.object.map {
                $0["kty"] != "oct" && $0["k"] == nil && $0["d"] == nil && $0["priv"] == nil
            }
            guard isPublic == true else { throw Self.malformed("the document is public and can't have other keys") }
        }
        let hasURL = metadata.members["jwks_uri"] != nil
        guard keys == nil || !hasURL else { throw Self.malformed("the metadata has both jwks and jwks_uri") }
        guard metadata.tokenEndpointAuthenticationMethod != "private_key_jwt" || hasURL || keys?.isEmpty == false else {
            throw Self.malformed("private_key_jwt requires the client's public keys: jwks or jwks_uri")
        }
    }

    private func checkRedirects() throws(OAuth2Error) {
        let uris = metadata.redirectURIs
        guard !uris.isEmpty || !metadata.grantTypes.isEmpty && !metadata.grantTypes.contains("authorization_code")
        else { throw Self.malformed("the metadata has no redirect_uris; authorization requests need them") }
        for uri in uris where URL(string: uri)?.scheme == nil || uri.contains("#") {
            throw Self.malformed("a redirect URI must be absolute and without a fragment")
        }
    }

    private static func malformed(_ message: String) -> OAuth2Error { OAuth2Error(.malformedRequest, message) }
}
