import Foundation
import OAuth2

/// A grant whose cached tokens belong to one identity of the client.
///
/// Jobs on the same machine can use one client with different identities.
struct IdentifiedGrant: Grant {
    private let grant: any Grant
    private let name: String

    /// - Parameters:
    ///   - grant: The underlying grant.
    ///   - name: The name of the identity, without secrets.
    init(_ grant: any Grant, name: String) {
        self.grant = grant
        self.name = name
    }

    var identifier: String { grant.identifier + "\n" + name }
    var isRepeatable: Bool { grant.isRepeatable }
    var refreshToken: Secret? { grant.refreshToken }

    func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.parameters(at: date)
    }

    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.renewedParameters(at: date)
    }

    func parametersWereNotSent() { grant.parametersWereNotSent() }

    func refreshParameters() throws -> [(name: String, value: String)] { try grant.refreshParameters() }

    func reducedRefreshParameters(after error: OAuth2Error) -> [(name: String, value: String)]? {
        grant.reducedRefreshParameters(after: error)
    }

    func answering(_ demand: ResourceDemand) -> (any Grant)? {
        grant.answering(demand).map { IdentifiedGrant($0, name: name) }
    }
}
