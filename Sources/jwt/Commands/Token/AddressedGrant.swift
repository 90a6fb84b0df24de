import Foundation
import OAuth2

/// A grant that adds the target service to the token request.
///
/// `resource` is defined by [RFC 8707](https://www.rfc-editor.org/rfc/rfc8707). Several servers use
/// `audience` instead.
struct AddressedGrant: Grant {
    private let grant: any Grant
    private let fields: [(name: String, value: String)]

    /// - Parameters:
    ///   - grant: The underlying grant.
    ///   - fields: The form fields to add.
    init(_ grant: any Grant, fields: [(name: String, value: String)]) {
        self.grant = grant
        self.fields = fields
    }

    var identifier: String {
        ([grant.identifier] + fields.map { "\($0.name)=\($0.value)" }).joined(separator: "\n")
    }

    var isRepeatable: Bool { grant.isRepeatable }

    func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.parameters(at: date).map { $0 + fields }
    }

    func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await grant.renewedParameters(at: date).map { $0 + fields }
    }

    func answering(_ demand: ResourceDemand) -> (any Grant)? {
        grant.answering(demand).map { AddressedGrant($0, fields: fields) }
    }
}
