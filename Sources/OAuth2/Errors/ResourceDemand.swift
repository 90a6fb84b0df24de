public import Foundation
import Networking

/// What a resource asks for when it refuses a request, as its challenge says.
public struct ResourceDemand: Sendable, Hashable {
    /// The scope that the request needs, names apart; empty if the resource did not say.
    public var scope: [String]
    /// The authentication context classes that would do, best first
    /// ([RFC 9470 §3](https://www.rfc-editor.org/rfc/rfc9470#section-3)).
    public var acrValues: [String]
    /// How long ago the user may have authenticated at most.
    public var maxAge: Duration?
    /// Where the resource says which authorization servers it trusts
    /// ([RFC 9728 §5.1](https://www.rfc-editor.org/rfc/rfc9728#section-5.1)); nobody asks there unless you do.
    public var resourceMetadata: URL?

    /// Makes a demand.
    ///
    /// - Parameters:
    ///   - scope: The scope that the request needs.
    ///   - acrValues: The authentication context classes that would do.
    ///   - maxAge: How long ago the user may have authenticated at most.
    ///   - resourceMetadata: Where the resource says which authorization servers it trusts.
    public init(
        scope: [String] = [],
        acrValues: [String] = [],
        maxAge: Duration? = nil,
        resourceMetadata: URL? = nil
    ) {
        self.scope = scope
        self.acrValues = acrValues
        self.maxAge = maxAge
        self.resourceMetadata = resourceMetadata
    }

    /// Reads a challenge, without what repeats the token that it answers.
    init(_ challenge: AuthenticationChallenge, hiding secrets: SentSecrets = .none) {
        let shown = challenge.without(secrets)
        func value(_ name: String) -> String? { shown?.parameters[name] }
        scope = value("scope")?.spaceSeparated ?? []
        acrValues = value("acr_values")?.spaceSeparated ?? []
        maxAge = value("max_age").flatMap(UInt32.init).map { .seconds(Int64($0)) }
        resourceMetadata = value("resource_metadata").flatMap(URL.init(string:))
            .flatMap { HTTPOrigin($0) == nil ? nil : $0 }
    }
}
