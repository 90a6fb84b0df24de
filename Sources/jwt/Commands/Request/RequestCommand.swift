import Foundation
import FoundationNetworking
import HTTPSignatures
import Networking
import OAuth2
import WorkloadIdentity

struct RequestCommand: Sendable {
    static let definition = CommandDefinition(
        name: "request",
        summary: "Send an HTTP request with an access token",
        discussion: [
            """
            Gets a token as jwt token does, sends the request with it, and prints the response body. After a 401, gets a \
            new token and retries once. The token goes only to the origin of URL or, with --api, to those origins.
            """
        ],
        details: [
            """
            Tokens that are bound to a key are sent with a DPoP proof (RFC 9449), including server nonces. A token never \
            follows a redirect to another origin. Exit code 0 means that the server responded, regardless of the \
            status; see --fail.
            """,
            """
            With --http-signature, each request to those origins is signed (RFC 9421) as it's sent, with its token and a \
            digest of its body. If the server asks for another signature with a 401 and Accept-Signature, and the profile \
            allows it, the command retries the request once. jwt http verify checks recorded messages.
            """,
            """
            With --aws-sigv4, each request to those origins is signed for AWS instead, with its body. Credentials come \
            from the environment, a profile of the AWS CLI, a container or a machine of AWS, and are never on the \
            command line.
            """,
            """
            With --json, prints {"status": 200, "version": "HTTP/2", "url": "…", "headers": [{"name": "…", "value": \
            "…"}], "body": "…"} on one line. A body that isn't text is in bodyBase64, and a body that is written to \
            a file is omitted.
            """,
        ],
        options: [
            RequestOptions.options.showing([
                "request": "The method, instead of the argument METHOD", "header": "A header field",
                "data": "The body: text, a file or, with @-, standard input", "json-body": "The body, in JSON",
                "location": "Follow redirects, without the token",
                "verbose": "Show what is sent and received, without secrets",
            ]),
            ResponseOutput.options.showing([
                "out": "The output file for the body", "include": "Print the status and the header fields, too",
                "fail": "Exit with 1 for a status of 400 or more",
            ]),
            SignatureOptions.members.showing([:]), AWSOptions.members.showing([:]),
            TokenOptions.options.showing([
                "profile": "A profile in the configuration file", "issuer": "The authorization server's issuer",
                "client-id": "The client ID", "client-secret-env": "The environment variable with the client secret",
                "key": "The client's private key, instead of a secret", "scope": "The requested scope",
            ]),
        ],
        operands: [
            OperandDefinition(
                name: "METHOD",
                summary: "The request method (default: GET, or POST with a body)"
            ),
            OperandDefinition(name: "URL", isRequired: true, summary: "The request URL"),
        ],
        examples: [
            "Send a GET request": "jwt request https://api.example/reports --profile prod",
            "Post JSON": "jwt request https://api.example/orders --profile prod --json-body @new",
        ],
        manualExamples: [
            "Fail if the API rejects the request": "jwt request -f https://api.example/reports --profile prod",
            "Upload a file, and save the response to another file": """
            jwt request PUT https://api.example/1 --profile prod -H 'Content-Type: text/csv' -d @1.csv -o 1.json
            """,
            "Use a token that is bound to a key": "jwt request GET https://api.example/reports --profile prod --dpop",
            "Sign a request, without a token":
                "jwt request https://api.example/orders --http-signature key.pem --json-body @order.json",
            "Call a service of AWS":
                "jwt request https://sts.eu-central-1.amazonaws.com/ --aws-sigv4 sts/eu-central-1 -d "
                + "'Action=GetCallerIdentity&Version=2011-06-15'",
        ],
        exitCodes: [
            0: "The server responded; with --fail, with a status below 400",
            1: "The request was rejected (by the API: --fail), or the response is unsigned",
            2: "A server can't be reached, or a file, key or configuration is unusable",
        ],
        action: { try RequestCommand($0, $1).run(on: $1) }
    )

    /// The maximum size of a response body, which exceeds any disk and so never limits a download.
    private static let bodyLimit = 1 << 46

    private let token: TokenOptions?
    private let signature: SignatureOptions?
    private let aws: AWSOptions?
    private let roots: InputFile?
    private let request: RequestOptions
    private let output: ResponseOutput

    private init(_ arguments: ParsedArguments, _ console: Console) throws {
        output = try ResponseOutput(arguments, console)
        let options = try TokenOptions.Completed(arguments)
        request = try RequestOptions(options.arguments)
        signature = try SignatureOptions(options.arguments)
        aws = try AWSOptions(options.arguments)
        if aws != nil, options.requestsToken {
            throw arguments.usageError(
                "--aws-sigv4 can't be combined with options for a token: each sets Authorization"
            )
        }
        let hasSignature = signature != nil || aws != nil
        token = !hasSignature || options.requestsToken ? try TokenOptions(options) : nil
        roots = options.arguments.value(of: RootsOption.option)
        if token == nil, let warning = options.warnings.first { console.warn(warning) }
        let files = options.arguments.standardInputCount(in: TokenOptions.members + SignatureOptions.members)
        if files + request.standardInputReaders > 1 {
            throw arguments.usageError(
                "only one of the keys, secrets, header fields and the body can come from standard input"
            )
        }
    }

    private func run(on console: Console) throws {
        let signing = try signature?.interceptors(for: request.origins, console)
        let (fields, hiddenNames) = try request.fields(setsAuthorization: token != nil || aws != nil)
        let redaction = Redaction.standard.adding(headers: hiddenNames)
        let log = request.isVerbose ? [WireLog(console: console, redaction: redaction)] : []
        let access = try token?.access(console, interceptors: log)
        let body = try request.body()
        if token?.isInteractive == true {
            _ = try access?.token(isForced: false, asksUser: Console.isAtTerminal)
        }
        let transport = if let access { access.transport } else { try ServerOptions.transport(roots: roots) }
        let first: [any Interceptor] = (signing?.first ?? []) + (access.map { [authenticator($0)] } ?? [])
        let forAWS: [any Interceptor] = aws.map { [$0.interceptor(for: request.origins)] } ?? []
        let signatures: [any Interceptor] = (signing?.last ?? []) + forAWS
        // The log shows requests as they're sent.
        let interceptors = first + retries + signatures + log
        do {
            try AsynchronousWork.result { [self] in
                let client = client(transport, interceptors)
                try await send(fields, body, with: client, console)
                await transport.close()
            }
        } catch let error as NetworkError {
            throw failure(error)
        } catch let error as OAuth2Error {
            throw CommandFailure(error, at: serverName, credential: token?.credential)
        } catch let error as HTTPSignatureError {
            throw rejection(error)
        }
        access?.warnOfLostToken()
    }

    private func authenticator(_ access: TokenAccess) -> any Interceptor {
        OAuth2Authenticator(
            source: RequestTokenSource(source: access.source),
            resources: .origins(of: request.origins),
            timing: token.map { OAuth2Timing(timeout: $0.server.timeout) } ?? OAuth2Timing()
        )
    }

    private var retries: [any Interceptor] {
        guard request.retries > 0 else { return [] }
        return [Retry.Policy.backoff(.exponential(.seconds(1), until: .maxRetries(request.retries)))]
    }

    private func client(_ transport: CurlTransport, _ interceptors: [any Interceptor]) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: NetworkClient.Options(
                timeout: request.timeout,
                maximumBodySize: Self.bodyLimit,
                userAgent: .command,
                errorDecoding: .none
            )
        )
    }

    private func send(
        _ fields: HTTPHeaders,
        _ body: HTTPBody?,
        with client: NetworkClient,
        _ console: Console
    ) async throws {
        let file = try output.file()
        var request = URLRequest(url: self.request.url, timeoutInterval: 0)
        request.httpMethod = self.request.method.rawValue
        try request.addHeaderFields(fields)
        let options = Networking.RequestOptions(
            body: body,
            redirects: self.request.redirects(fields),
            idleTimeout: .seconds(60)
        )
        let response = try await response(to: request, options, client, console)
        try await output.print(response, to: file, verifiesBody: signature?.verifiesResponses ?? false)
        try output.check(response, name: self.request.name)
    }

    private func response(
        to request: URLRequest,
        _ options: Networking.RequestOptions,
        _ client: NetworkClient,
        _ console: Console
    ) async throws -> HTTPResponse {
        do {
            return try await client.stream(request, options: options)
        } catch let error as ServerError {
            guard let response = error.httpResponse else { throw error }
            if case .custom(let refusal as OAuth2Error)? = error.retry?.reason { console.warn(Self.words(refusal)) }
            return response
        }
    }

    private static func words(_ refusal: OAuth2Error) -> String {
        let scope = refusal.demand?.scope.joined(separator: " ") ?? ""
        let demand =
            Console.isAtTerminal
            ? ": the API demands “\(scope)”; pass --scope if it may have that"
            : "; run the command in a terminal to see the scope that the API demands"
        return switch refusal.code {
        case .insufficientScope: "the token's scope is insufficient" + (scope.isEmpty ? "" : demand)
        case .stepUpRequired: "the API requires the user to authenticate again"
        default: refusal.message
        }
    }

    private var serverName: String { token?.server.name ?? request.name }

    private func rejection(_ error: HTTPSignatureError) -> CommandFailure {
        CommandFailure(.rejected, "\(request.name): the response was rejected: \(error.message)", cause: error)
    }

    private func failure(_ error: NetworkError) -> CommandFailure {
        if let cause = error.cause as? OAuth2Error {
            return CommandFailure(cause, at: serverName, credential: token?.credential)
        }
        if let cause = error.cause as? WorkloadIdentityError {
            return CommandFailure(.failed, "\(request.name): can't sign the request: \(cause.message)", cause: cause)
        }
        if let cause = error.cause as? HTTPSignatureError {
            guard error.code == .requestNotMade else { return rejection(cause) }
            return CommandFailure(.failed, "\(request.name): can't sign the request: \(cause.message)", cause: cause)
        }
        return CommandFailure(.failed, "\(request.name): \(error.message)\(error.trustAdvice)", cause: error)
    }
}

/// Shows each request and response as it's on the wire, on standard error, without secrets.
private struct WireLog: WireInterceptor {
    let console: Console
    let redaction: Redaction

    func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        let redaction = redaction.removingCredentials(of: request)
        console.note("> \(request.method) \(redaction.redacted(request.url))")
        show(request.headers, ">", redaction)
        switch request.body.contentLength {
        case 0: break
        case let count?: console.note("> (\(count) bytes)")
        case nil: console.note("> (a body of unknown size)")
        }
        let response = try await next(request)
        console.note("< \(response.version) \(response.status)")
        show(response.headers, "<", redaction)
        return response
    }

    private func show(_ fields: HTTPHeaders, _ mark: String, _ redaction: Redaction) {
        for field in redaction.redacted(fields) { console.note("\(mark) \(field.name): \(field.value)") }
    }
}

/// A token source for a process that sends a single request.
///
/// It hides the expiry of its tokens, so that no token is refreshed in the background. The process
/// could end during such a refresh and lose the rotated refresh token.
private struct RequestTokenSource: TokenSource {
    let source: LastingTokenSource

    func token(for need: TokenRequirements) async throws -> AccessToken {
        let token = try await source.token(for: need)
        var lasting = AccessToken(
            value: token.value,
            type: token.type,
            scope: token.scope,
            expiry: nil,
            requested: token.requested,
            proofGenerator: token.proofGenerator
        )
        lasting.isFound = token.isFound
        return lasting
    }
}
