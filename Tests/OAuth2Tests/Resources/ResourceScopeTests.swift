import Foundation
import Networking
import TestSupport
import Testing

@testable import OAuth2

@Suite("Scope for a resource", .computing)
struct ResourceScopeTests {
    private func resource(
        demanding demanded: [String] = [],
        supporting supported: [String] = []
    ) throws
        -> ProtectedResource
    {
        var resource = try ProtectedResource(
            identifier: "https://api.example/mcp",
            authorizationServers: ["https://as.example"],
            scopes: supported
        )
        resource.demandedScopes = demanded
        return resource
    }

    @Test(
        "Requests what the resource demands or supports, within the application's names",
        arguments: [
            ([], [], "a b"), (["b"], [], "b"), (["b", "a", "b"], ["c"], "a b"), ([], ["c", "b"], "b"),
            ([], ["c"], "a b"),
        ] as [([String], [String], String)]
    )
    func within(demanded: [String], supported: [String], expected: String) throws {
        #expect(try resource(demanding: demanded, supporting: supported).scope(within: "a b") == expected)
    }

    @Test(
        "Fails with the demand if it has another name",
        .shows("G19"),
        arguments: [["admin"], ["a", "admin"], ["A"], ["a b"], ["e\u{301}"], ["\u{212A}"]]
    )
    func otherNames(demanded: [String]) throws {
        let resource = try resource(demanding: demanded, supporting: ["a"])
        let error = #expect(throws: OAuth2Error(.insufficientScope, "")) {
            try resource.scope(within: "a b \u{E9} K")
        }
        #expect(error?.demand == ResourceDemand(scope: demanded))
    }
}
