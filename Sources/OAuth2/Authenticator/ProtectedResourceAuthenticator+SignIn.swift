import Foundation
import Networking
import OpenSSLCrypto
import TokenGeneration

extension ProtectedResourceAuthenticator {
    /// Discovers the resource and its server, and signs the user in unless the store has tokens.
    func connect(_ cause: Cause, replacing previous: Connection?, after signOuts: Int) async throws -> Connection {
        let resource = try await discover(cause, previous)
        let server = try await server(of: resource)
        let requested = try await names(for: resource, cause.demand, previous?.requested ?? [])
        let lost = lostClients(of: server.issuer)?.ids ?? []
        let isSame = previous.map {
            $0.server.issuer.isExactly(server.issuer) && $0.resource.identifier.isExactly(resource.identifier)
                && !lost.contains(ByteComparedString($0.oauth.clientAuthentication.clientID))
        }
        let oauth: OAuth2Client
        let authenticator: OAuth2Authenticator
        if let previous, isSame == true {
            (oauth, authenticator) = (previous.oauth, previous.authenticator)
        } else {
            let known = try await knownClient(at: server, on: options.timing.timeSource.date())
            let authentication =
                if let known { known } else { try await registeredClient(at: server, resource, requested) }
            oauth = client(authentication, of: server)
            authenticator = makeAuthenticator(oauth, for: resource)
        }
        var granted = requested
        if previous == nil, !cause.hasEnded, try await !authenticator.needsSignIn {
            // The server states no scope if it granted what was requested, which isn't stored.
            granted = (try? await authenticator.accessToken())?.scope?.spaceSeparated ?? []
        } else {
            do {
                let tokens = try await tokens(for: resource, requested, cause.demand, server, oauth, after: signOuts)
                try await authenticator.signIn(with: tokens)
            } catch let error as OAuth2Error {
                _ = lose(oauth.clientAuthentication.clientID, of: server, after: error)
                throw error
            }
        }
        let connection = Connection(
            resource: resource,
            oauth: oauth,
            server: server,
            authenticator: authenticator,
            requested: granted,
            demand: cause.demand
        )
        if let connection = connected(connection, after: signOuts) { return connection }
        try await authenticator.signOut()
        throw Self.signedOut
    }

    /// Returns an authenticator for the tokens in the store, or `nil` if there can't be any.
    func storedAuthenticator() async throws -> OAuth2Authenticator? {
        do {
            let resource = try await discover(Cause(), nil)
            let server = try await server(of: resource)
            // Also the tokens of a client whose secret has expired.
            let known = try await knownClient(at: server, on: .distantPast)
            return known.map { makeAuthenticator(client($0, of: server), for: resource) }
        } catch let error as OAuth2Error where error.code == .endpointMissing {
            return nil
        }
    }

    private func client(_ authentication: any ClientAuthentication, of server: AuthorizationServer) -> OAuth2Client {
        OAuth2Client(
            server: server,
            clientAuthentication: authentication,
            client: options.client,
            timing: options.timing
        )
    }

    private func makeAuthenticator(_ oauth: OAuth2Client, for resource: ProtectedResource) -> OAuth2Authenticator {
        let authenticator = OAuth2Authenticator(
            client: oauth,
            grant: UserGrant(identifier: user, resources: [resource.identifier]),
            resources: [url],
            store: store
        )
        authenticator.add(observers)
        return authenticator
    }

    // MARK: Discovery

    private var discoveryTiming: OAuth2Timing {
        var timing = options.timing
        timing.timeout = min(timing.timeout, .seconds(10))
        timing.attempts = min(timing.attempts, 2)
        return timing
    }

    private func discover(_ cause: Cause, _ previous: Connection?) async throws -> ProtectedResource {
        do {
            return try await ProtectedResource.discover(
                at: url,
                cause.challenges,
                matching: options.matching,
                client: options.client,
                timing: discoveryTiming
            )
        } catch let error as OAuth2Error {
            // A demand needn't name the metadata again.
            guard let previous, error.code == .endpointMissing else { throw error }
            var resource = previous.resource
            resource.demandedScopes = cause.demand?.scope ?? []
            return resource
        }
    }

    private func server(of resource: ProtectedResource) async throws -> AuthorizationServer {
        let server = try await resource.authorizationServer(
            client: options.client,
            timing: discoveryTiming,
            isTrusted: options.isTrusted
        )
        // A server without PKCE lets an attacker inject a code (OAuth 2.1 §7.5.2).
        guard server.values(of: "code_challenge_methods_supported")?.contains("S256") == true else {
            throw OAuth2Error(.protocolViolation, "the authorization server doesn't support PKCE with S256")
        }
        return server
    }

    /// Returns the names to request: the earlier ones and those that the resource demands.
    private func names(
        for resource: ProtectedResource,
        _ demand: ResourceDemand?,
        _ earlier: [String]
    ) async throws -> [String] {
        let names = earlier.adding(try await scope.names(resource))
        guard demand?.isForScope == true, names.count == earlier.count else { return names }
        // The resource rejects the tokens that the user could give, so don't ask again.
        var error = OAuth2Error(
            .insufficientScope,
            "the resource rejects a token with the scope that it names; ask its operator for the required scope"
        )
        error.demand = demand
        throw error
    }

    // MARK: The client

    /// Returns `nil` if the client must be registered, also if its secret has expired on a date or
    /// the server has lost it.
    private func knownClient(
        at server: AuthorizationServer,
        on date: Date
    ) async throws -> (any ClientAuthentication)? {
        var known = try await options.registration(server.issuer)
        if let lost = lostClients(of: server.issuer), known.map({ lost.ids.contains(.init($0.clientID)) }) ?? true {
            known = lost.replacement
        }
        if let known, date < known.clientSecretExpiry ?? .distantFuture { return try known.clientAuthentication }
        guard let clientID = options.clientID, server.metadata["client_id_metadata_document_supported"] == true else {
            return nil
        }
        let authentication: any ClientAuthentication = .none(clientID: clientID)
        return authentication
    }

    private func registeredClient(
        at server: AuthorizationServer,
        _ resource: ProtectedResource,
        _ names: [String]
    ) async throws -> any ClientAuthentication {
        guard server.registrationEndpoint != nil else {
            throw OAuth2Error(
                .endpointMissing,
                "the authorization server doesn't register clients\(options.clientID == nil ? "" : " or accept metadata documents"); "
                    + "register one there and return it from `registration`"
            )
        }
        var metadata = metadata
        if metadata.grantTypes.isEmpty { metadata.grantTypes = ["authorization_code", "refresh_token"] }
        if metadata.tokenEndpointAuthenticationMethod == nil { metadata.tokenEndpointAuthenticationMethod = "none" }
        if metadata.members["application_type"] == nil, metadata.redirectURIs.first?.hasPrefix("http://") == true {
            metadata.members["application_type"] = "native"
        }
        if metadata.scope.isEmpty { metadata.scope = scope.all(resource, names) }
        let registrar = ClientRegistrar(server: server, client: options.client, timing: options.timing)
        let registered = try await registrar.register(metadata)
        let authentication = try registered.clientAuthentication
        // The server may replace any value (RFC 7591 §3.2.1).
        let places = registered.metadata.redirectURIs.map(AuthorizationRequest.place)
        let place = AuthorizationRequest.place(metadata.redirectURIs.first ?? "")
        guard places.isEmpty || places.contains(where: place.isExactly) else {
            throw OAuth2Error(
                .protocolViolation,
                "the authorization server registered the client without its redirect URI; ask the server's operator"
            )
        }
        replaceLostClients(of: server.issuer, by: registered)
        try await options.registered(registered, server.issuer)
        return authentication
    }

    // MARK: Tokens

    private func tokens(
        for resource: ProtectedResource,
        _ names: [String],
        _ demand: ResourceDemand?,
        _ server: AuthorizationServer,
        _ oauth: OAuth2Client,
        after signOuts: Int
    ) async throws -> IssuedTokens {
        guard let redirectURI = metadata.redirectURIs.first else {
            throw OAuth2Error(.malformedRequest, "the client's metadata has no redirect URI; set redirectURIs")
        }
        var parameters: [String: String] = [:]
        if let demand, !demand.acrValues.isEmpty {
            parameters["acr_values"] = demand.acrValues.joined(separator: " ")
        }
        parameters["max_age"] = demand?.maxAge.map { String($0.components.seconds) }
        let request = try oauth.authorizationRequest(
            redirectURI: redirectURI,
            scope: names.isEmpty ? nil : names.joined(separator: " "),
            resources: [resource.identifier],
            additionalParameters: parameters
        )
        let page =
            server.requiresPushedAuthorizationRequests
            ? try await oauth.push(request).url(at: server) : try request.url(at: server)
        var grant = try request.grant(from: await browser(page, request), of: server)
        guard self.signOuts == signOuts else { throw Self.signedOut }
        grant.resources = [resource.identifier]
        return try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
    }
}

extension ResourceDemand {
    /// A Boolean value that indicates whether only the scope of the token was insufficient.
    fileprivate var isForScope: Bool { acrValues.isEmpty && maxAge == nil && claims == nil }
}

extension RegisteredClient {
    /// The authentication that the server expects of the client.
    ///
    /// A client must not use another one than the registered one
    /// ([RFC 7591 §2](https://www.rfc-editor.org/rfc/rfc7591#section-2)).
    fileprivate var clientAuthentication: any ClientAuthentication {
        get throws(OAuth2Error) {
            switch (metadata.tokenEndpointAuthenticationMethod, clientSecret) {
            case ("client_secret_post", let secret?): return .clientSecretPost(clientID: clientID, secret: secret)
            case ("client_secret_basic", let secret?), (nil, let secret?):
                return .clientSecretBasic(clientID: clientID, secret: secret)
            case ("none", _), (nil, nil), ("client_secret_basic", nil): return .none(clientID: clientID)
            default:
                throw OAuth2Error(
                    .protocolViolation,
                    "the client is registered with another authentication than none or a secret; register it without one"
                )
            }
        }
    }
}

extension [String] {
    /// Adds the names that aren't in the list, compared as bytes.
    func adding(_ names: [String]) -> Self {
        var known = Set(map(ByteComparedString.init))
        return self + names.filter { known.insert(ByteComparedString($0)).inserted }
    }
}
