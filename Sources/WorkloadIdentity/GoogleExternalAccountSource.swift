import Foundation
import FoundationNetworking
public import Networking
public import OAuth2
import TokenGeneration

/// A token source for Google Cloud that exchanges another platform's token, as an
/// `external_account` file describes
/// ([Google](https://cloud.google.com/iam/docs/workload-identity-federation)).
///
/// ```swift
/// let source = CachedTokenSource(try GoogleExternalAccountSource())
/// ```
///
/// The source reads the platform's token from a file or an address, exchanges it at Google's
/// security token service, and then impersonates the service account if the file names one.
///
/// Such a file decides where a token of this machine is sent. Only Google's own hosts are accepted
/// for that. Subject tokens are requested only from the hosts that you name, and programs are never
/// started.
public struct GoogleExternalAccountSource: TokenSource {
    private let exchange: GrantTokenSource
    private let impersonation: GoogleImpersonation?
    private let environment: WorkloadEnvironment

    /// Creates a source from the file in `GOOGLE_APPLICATION_CREDENTIALS`.
    ///
    /// - Parameters:
    ///   - scopes: The requested scopes. The default, an empty list, requests `cloud-platform`.
    ///   - subjectHosts: The hosts from which subject tokens may be requested, for a file with
    ///     `credential_source.url`. The default accepts none.
    ///   - universe: The domain of Google's services. The default is `googleapis.com`.
    ///   - client: The client for requests to Google. Requests for subject tokens use the
    ///     environment's transport.
    ///   - environment: The variables and clocks, and the network for subject tokens.
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured` if the variable or the
    ///   file is missing; `unreadableFile`, `insecureFile` or `tooLarge`; `invalidConfiguration` if
    ///   the file is malformed or of another kind; `insecureEndpoint` for a URL of another host.
    public init(
        scopes: [String] = [],
        subjectHosts: Set<String> = [],
        universe: String = "googleapis.com",
        client: NetworkClient = NetworkClient(),
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) throws(WorkloadIdentityError) {
        let advice = "set it to the path of an “external_account” file, without which Google Cloud isn't reachable here"
        let path = try environment.value(of: "GOOGLE_APPLICATION_CREDENTIALS", advice: advice)
        let content = try PlatformFile.read(path, missing: "GOOGLE_APPLICATION_CREDENTIALS names it")
        let file = try GoogleExternalAccountFile(content, subjectHosts: subjectHosts, universe: universe)
        let scopes = scopes.isEmpty ? [GoogleImpersonation.cloudPlatform] : scopes
        self.environment = environment
        impersonation = file.impersonationURL.map {
            GoogleImpersonation(
                url: $0,
                scopes: scopes,
                lifetime: file.lifetime,
                environment: environment,
                transport: client.transport
            )
        }
        let scope = impersonation == nil ? scopes.joined(separator: " ") : GoogleImpersonation.cloudPlatform
        let authentication: StandardClientAuthentication =
            if let client = file.client {
                .clientSecretBasic(clientID: client.id, secret: client.secret)
            } else {
                .none(clientID: file.audience, sendsClientID: false)
            }
        exchange = GrantTokenSource(
            client: OAuth2Client(
                server: AuthorizationServer(issuer: "https://sts.\(universe)", tokenEndpoint: file.tokenURL),
                clientAuthentication: authentication,
                client: client,
                timing: OAuth2Timing(timeSource: environment.timeSource, random: environment.random)
            ),
            grant: TokenExchangeGrant(
                subject: GoogleSubjectSource(file: file, environment: environment),
                subjectTokenType: file.subjectType,
                identifier: file.audience,
                audiences: [file.audience],
                scope: scope,
                requestedTokenType: .accessToken
            ),
            store: InMemoryTokenStore(timeSource: environment.timeSource)
        )
    }

    /// Gets a token of the security token service, or of the service account, with its expiry.
    ///
    /// - Throws: `OAuth2Error` if the exchange fails, with the error of the subject token as its
    ///   cause; the errors of each request (``WorkloadEnvironment``) if the impersonation fails.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        guard let impersonation else { return try await exchanged(for: requirements) }
        return try await impersonation.token(for: requirements) { try await exchanged(for: $0) }
    }

    private func exchanged(for requirements: TokenRequirements) async throws -> AccessToken {
        let token = try await exchange.token(for: requirements)
        guard let expiry = token.expiry, expiry > environment.timeSource.now() else {
            throw WorkloadIdentityError(
                request: .invalidResponse,
                "Google's security token service issued a token without a lifetime; try again later"
            )
        }
        return token
    }
}

/// The content of an `external_account` file, whose URLs and paths have been checked.
///
/// A file from another party could otherwise send a token of this machine to that party.
struct GoogleExternalAccountFile: Sendable {
    enum Subject: Sendable {
        case file(String)
        case url(URL, [(name: String, value: String)])
    }

    let audience: String
    let subjectType: TokenType
    let subject: Subject
    /// `nil` for text.
    let subjectMember: String?
    let tokenURL: URL
    let client: (id: String, secret: Secret)?
    let impersonationURL: URL?
    /// In seconds.
    let lifetime: Int

    /// `subjectHosts` are those from which subject tokens may be requested.
    init(_ content: [UInt8], subjectHosts: Set<String>, universe: String) throws(WorkloadIdentityError) {
        guard let file = try? JSONObject(parsing: Data(content)) else {
            throw Self.invalid("isn't JSON; create it with “gcloud iam workload-identity-pools create-cred-config”")
        }
        guard file["type"] == "external_account" else {
            throw Self.invalid("isn't an “external_account” file; for a “service_account”, use its own source")
        }
        let text = { (name: String) throws(WorkloadIdentityError) -> String in
            guard let value = file[name]?.string, !value.isEmpty else { throw Self.invalid("has no “\(name)”") }
            return value
        }
        audience = try text("audience")
        subjectType = TokenType(try text("subject_token_type"))
        guard [.jwt, .idToken, .saml2].contains(subjectType) else {
            throw Self.invalid("has an unsupported “subject_token_type”; use a JWT, an ID token or SAML 2.0")
        }
        guard file["workforce_pool_user_project"] == nil else {
            throw Self.invalid("has “workforce_pool_user_project”, but workforce pools aren't supported")
        }
        if let domain = file["universe_domain"], domain.string != universe {
            throw Self.foreign("universe_domain", "pass “universe:” if the domain is yours")
        }
        tokenURL = try Self.serviceURL(try text("token_url"), "token_url", "sts", universe)
        impersonationURL = try file["service_account_impersonation_url"].map { value throws(WorkloadIdentityError) in
            let name = "service_account_impersonation_url"
            let url = try Self.serviceURL(value.string ?? "", name, "iamcredentials", universe)
            guard url.path.hasPrefix("/v1/projects/-/serviceAccounts/"), url.path.hasSuffix(":generateAccessToken")
            else {
                throw Self.foreign(name, "it must end with “:generateAccessToken”")
            }
            return url
        }
        lifetime = file["service_account_impersonation"]?.object?["token_lifetime_seconds"]?.number?.integer ?? 3_600
        guard (600...43_200).contains(lifetime) else {
            throw Self.invalid("has a “token_lifetime_seconds” that isn't from 600 through 43200")
        }
        client = try file["client_id"]?.string.map { id throws(WorkloadIdentityError) in
            (id, Secret(try text("client_secret")))
        }
        guard let source = file["credential_source"]?.object else { throw Self.invalid("has no “credential_source”") }
        (subject, subjectMember) = try Self.subject(source, subjectHosts)
    }

    private static func subject(
        _ source: JSONObject,
        _ hosts: Set<String>
    ) throws(WorkloadIdentityError) -> (Subject, member: String?) {
        for name in ["executable", "environment_id", "certificate"] where source[name] != nil {
            throw invalid("has a “credential_source” with “\(name)”, which isn't supported; use “file” or “url”")
        }
        var member: String?
        if let format = source["format"] {
            switch format.object?["type"]?.string {
            case "text": break
            case "json":
                guard let name = format.object?["subject_token_field_name"]?.string else {
                    throw invalid("has no “subject_token_field_name”")
                }
                member = name
            default: throw invalid("has a “format” that is neither “text” nor “json”")
            }
        }
        switch (source["file"]?.string, source["url"]?.string) {
        case (let path?, nil): return (.file(path), member)
        case (nil, let address?):
            guard let url = URL(string: address), let host = HTTPOrigin(url)?.host, PlatformAddress.isConfined(url)
            else {
                throw foreign("credential_source.url", "it must be https, or an address of this machine or its link")
            }
            guard hosts.contains(where: { $0.lowercased() == host }) else {
                throw foreign("credential_source.url", "pass its host in “subjectHosts:” if the file is yours")
            }
            return (.url(url, try fields(source["headers"])), member)
        default: throw invalid("has a “credential_source” with neither “file” nor “url”, or with both")
        }
    }

    private static func fields(_ headers: JSONValue?) throws(WorkloadIdentityError) -> [(name: String, value: String)] {
        guard let headers else { return [] }
        var fields: [(name: String, value: String)] = []
        for member in headers.object ?? ["": ""] {
            let name = member.name
            guard let value = member.value.string, HTTPSyntax.isToken(name), name.lowercased() != "host",
                value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw invalid("has “headers” that aren't header fields") }
            fields.append((name, value))
        }
        return fields
    }

    /// Returns the URL of a Google service: its global, regional or private name.
    private static func serviceURL(
        _ address: String,
        _ name: String,
        _ service: String,
        _ universe: String
    ) throws(WorkloadIdentityError) -> URL {
        guard let url = URL(string: address), let origin = HTTPOrigin(url),
            origin.scheme == "https", origin.port == 443, url.user == nil, url.query == nil, url.fragment == nil,
            origin.host.hasSuffix(".\(universe)")
        else { throw foreign(name, "it must be the https URL of a host in \(universe)") }
        let labels = origin.host.dropLast(universe.count + 1).split(separator: ".", omittingEmptySubsequences: false)
        let isService =
            switch labels.count {
            case 1: labels[0] == service || labels[0].hasSuffix("-\(service)")
            case 2: labels.contains { $0 == service }
            case 3: labels[0] == service && labels[2] == "rep"
            default: false
            }
        guard isService else { throw foreign(name, "it must be a host of the service “\(service)”") }
        return url
    }

    static func invalid(_ problem: String) -> WorkloadIdentityError {
        WorkloadIdentityError(.invalidConfiguration, "the file in GOOGLE_APPLICATION_CREDENTIALS \(problem)")
    }

    private static func foreign(_ name: String, _ advice: String) -> WorkloadIdentityError {
        WorkloadIdentityError(
            .insecureEndpoint,
            """
            “\(name)” in the file in GOOGLE_APPLICATION_CREDENTIALS isn't permitted, so nothing is sent; check the \
            file's origin; \(advice)
            """
        )
    }
}

struct GoogleSubjectSource: TokenSource {
    private static let advice = "check “credential_source” in the file in GOOGLE_APPLICATION_CREDENTIALS"

    let file: GoogleExternalAccountFile
    let environment: WorkloadEnvironment

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let form: PlatformToken.Form = file.subjectType == .saml2 ? .opaque : .jwt
        let member = file.subjectMember
        switch file.subject {
        case .file(let path):
            var source = FileTokenSource(
                path: path,
                form: form,
                missing: Self.advice,
                environment
            )
            source.text = { content throws(WorkloadIdentityError) in
                try Self.text(in: content, member, "“\(path)”", .read)
            }
            return try await source.token(for: requirements)
        case .url(let url, let fields):
            var request = URLRequest(url: url)
            for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
            let endpoint = PlatformEndpoint(
                name: "the endpoint in “credential_source.url”",
                environment: environment
            )
            let rules = PlatformToken(origin: endpoint.origin, step: .request, form: form)
            let deadline = requirements.deadline
            let response = try await endpoint.response(to: request, until: deadline, expecting: [200, 201])
            return try rules.accessToken(
                in: try Self.text(in: Array(response.body), member, endpoint.origin, .request),
                for: requirements,
                environment.timeSource
            )
        }
    }

    private static func text(
        in content: [UInt8],
        _ member: String?,
        _ origin: String,
        _ step: WorkloadIdentityError.Step
    ) throws(WorkloadIdentityError) -> [UInt8] {
        guard let member else { return content }
        guard let text = (try? JSONObject(parsing: Data(content)))?[member]?.string else {
            throw WorkloadIdentityError(
                .malformedToken,
                step,
                "\(origin) isn't JSON with the “subject_token_field_name”; \(advice)"
            )
        }
        return Array(text.utf8)
    }
}
