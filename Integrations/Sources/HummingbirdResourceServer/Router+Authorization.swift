import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore
public import OAuth2
public import ResourceServer
import TokenGeneration

extension RouterMethods where Context: AccessTokenRequestContext {
    /// Returns a group of routes that require a valid access token.
    ///
    /// ```swift
    /// router.group("reports").authorized(with: verifier, at: "https://api.example")
    ///     .requires(scope: "reports.read")
    ///     .get { _, context in try context.accessToken.subject ?? "" }
    /// ```
    ///
    /// Other routes don't change.
    ///
    /// - Parameters:
    ///   - verifier: The verifier.
    ///   - baseURL: The scheme, host and port of the API's public URL. DPoP proofs contain it, also
    ///     behind a proxy.
    ///   - requirement: The requirements of all these routes. The default is a valid token.
    /// - Returns: The group.
    public func authorized(
        with verifier: AccessTokenVerifier,
        at baseURL: String,
        requires requirement: AccessRequirement = AccessRequirement()
    ) -> RouterGroup<Context> {
        group().add(middleware: AccessTokenMiddleware(verifier, at: baseURL, requires: requirement))
    }

    /// Isn't available, because it changed the routes after it; use
    /// ``authorized(with:at:requires:)``, which returns a group.
    @available(
        *,
        unavailable,
        renamed: "authorized(with:at:requires:)",
        message: "Add the routes to the group that authorized(with:at:requires:) returns."
    )
    public func authorize(
        with verifier: AccessTokenVerifier,
        at baseURL: String,
        requires requirement: AccessRequirement = AccessRequirement()
    ) -> RouterGroup<Context> {
        authorized(with: verifier, at: baseURL, requires: requirement)
    }

    /// Returns a group of routes that also require scope.
    ///
    /// Other routes don't change.
    ///
    /// - Parameter scope: The names of the scope, all of which the token must have.
    /// - Returns: The group.
    public func requires(scope: String...) -> RouterGroup<Context> {
        requires(AccessRequirement(scope: scope))
    }

    /// Returns a group of routes with further requirements.
    ///
    /// Other routes don't change.
    ///
    /// Call it on a group of ``authorized(with:at:requires:)``. Without it, the routes respond with
    /// the status 500. If the verifier has a `replayCache`, pass the requirements there, because a
    /// token is used once it's verified.
    ///
    /// - Parameter requirement: The requirements, such as the strength or age of the user's
    ///   authentication.
    /// - Returns: The group.
    public func requires(_ requirement: AccessRequirement) -> RouterGroup<Context> {
        group().add(middleware: AccessRequirementMiddleware(requirement: requirement))
    }
}

extension RouterMethods {
    /// Publishes the metadata of a protected resource, without authorization
    /// ([RFC 9728 §3](https://www.rfc-editor.org/rfc/rfc9728#section-3)).
    ///
    /// Call it on the router itself, because the path begins with `/.well-known`. Set
    /// `AccessTokenVerifier.resourceMetadata` to the resource's `metadataURL`, so that clients find
    /// it.
    ///
    /// - Parameter resource: The resource.
    /// - Returns: The same routes.
    /// - Throws: `OAuth2Error` if the resource's identifier has no metadata URL.
    @discardableResult
    public func publish(_ resource: ProtectedResource) throws -> Self {
        let document = ByteBuffer(string: resource.metadata.serialized())
        return get(RouterPath(try resource.metadataURL.path)) { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/json", .cacheControl: "max-age=3600"],
                body: ResponseBody(byteBuffer: document)
            )
        }
    }
}
