import Foundation
import OAuth2

/// A grant whose cached tokens belong to one target service, or to one identity of the client.
///
/// Jobs on the same machine can use one client with different identities.
struct IdentifiedGrant: Grant {
    let grant: any Grant
    /// The name of the service or identity, without secrets.
    let name: String
    /// The form fields to add to requests with the grant.
    var fields: [(name: String, value: String)] = []

    var identifier: String { grant.identifier + "\n" + name }
    var isRepeatable: Bool { grant.isRepeatable }
    var refreshToken: Secret? { grant.refreshToken }

    func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.parameters(at: date).map { $0 + fields }
    }

    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.renewedParameters(at: date).map { $0 + fields }
    }

    func parametersWereNotSent() { grant.parametersWereNotSent() }

    func refreshParameters() throws -> [(name: String, value: String)] { try grant.refreshParameters() }

    func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? {
        grant.reducedRefreshParameters(after: error)
    }
}

extension Grant {
    /// Returns the grant for a target service, which it adds to the token request.
    ///
    /// `resource` is defined by [RFC 8707](https://www.rfc-editor.org/rfc/rfc8707). Several servers
    /// use `audience` instead.
    func adding(_ fields: [(name: String, value: String)]) -> IdentifiedGrant {
        let name = fields.map { "\($0.name)=\($0.value)" }.joined(separator: "\n")
        return IdentifiedGrant(grant: self, name: name, fields: fields)
    }
}
