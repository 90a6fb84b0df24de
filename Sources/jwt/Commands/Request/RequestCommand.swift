import Foundation
import FoundationNetworking
import Glibc
import Networking
import OAuth2

/// `jwt request`: calls an API with an access token.
struct RequestCommand: Sendable {
    static let definition = CommandDefinition(
        name: "request",
        summary: "Send an HTTP request with an access token",
        discussion: [
            """
            Gets a token as jwt token does, sends the request with it and prints the body of the answer. A token that the API \
            refuses with 401 is replaced, and the request sent once more. A token that is bound to a key is proved \
            (DPoP, RFC 9449), nonces included.
            """,
            """
            The token goes to the origin of URL or, if --api names some, to those alone, and never to where a redirect \
            leads elsewhere. Exit code 0 means that the server answered, whatever its status: see --fail.
            """,
            """
            With --json: {"status": 200, "version": "HTTP/2", "url": "…", "headers": [{"name": "…", "value": "…"}], "body": \
            "…"}, on one line; a body that is not text is in bodyBase64, and one that goes to a file is left out.
            """,
        ],
        options: RequestOptions.options + ResponseOutput.options + TokenOptions.options,
        operands: [
            OperandDefinition(
                name: "METHOD",
                summary: "The request's method; without it GET, or POST for a request with a body"
            ),
            OperandDefinition(name: "URL", isRequired: true, summary: "The request's URL"),
        ],
        examples: [
            .init(purpose: "Read", line: "jwt request https://api.example/reports --profile prod"),
            .init(
                purpose: "Write, and fail if the API refuses",
                line:
                    #"jwt request POST https://api.example/reports --profile prod -f --json-body '{"month":"2026-11"}'"#
            ),
            .init(
                purpose: "Send a file, and keep the answer in another",
                line: """
                    jwt request PUT https://api.example/1 --profile prod -H 'Content-Type: text/csv' -d @1.csv -o 1.json
                    """
            ),
            .init(
                purpose: "With a token that is good only with its key",
                line: "jwt request GET https://api.example/reports --profile prod --dpop"
            ),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The server answered; with --fail, with a status below 400"),
            .init(
                code: 1,
                meaning: "The authorization server refuses the client or the grant; with --fail, the API the request"
            ),
            .init(code: 2, meaning: "A server can't be asked, or a file, a key or the configuration can't be used"),
            .usage,
        ],
        action: { try RequestCommand($0, $1).run(on: $1) }
    )

    /// More than a disk has: whoever asks for a body gets it.
    private static let bodyLimit = 1 << 46

    private let token: TokenOptions
    private let request: RequestOptions
    private let output: ResponseOutput

    private init(_ arguments: ParsedArguments, _ console: Console) throws {
        output = try ResponseOutput(arguments, console)
        token = try TokenOptions(arguments, others: RequestOptions.members)
        request = try RequestOptions(token.arguments)
        if token.standardInputReaders + request.standardInputReaders > 1 {
            throw arguments.usageError(
                "only one of the keys, secrets, header fields and the body can come from standard input"
            )
        }
    }

    private func run(on console: Console) throws {
        let access = try token.access(console)
        let fields = try request.fields()
        let body = try request.body()
        if token.isInteractive {
            _ = try access.token(isForced: false, asksUser: FileDescriptor.standard(STDERR_FILENO).isTerminal)
        }
        let transport = access.transport
        do {
            try AsynchronousWork.result { [self] in
                let client = client(transport, access)
                try await send(fields, body, with: client, console)
                await transport.close()
            }
        } catch let error as NetworkError {
            throw failure(error)
        } catch let error as OAuth2Error {
            throw CommandFailure(error, at: token.server.name)
        }
    }

    private func client(_ transport: CurlTransport, _ access: TokenAccess) -> NetworkClient {
        let authenticator = OAuth2Authenticator(
            source: RequestTokenSource(access.source),
            resources: .origins(of: request.origins),
            timing: OAuth2Timing(timeout: token.server.timeout)
        )
        let retries = Retry.Policy.backoff(.exponential(.seconds(1), until: .maxRetries(request.retries)))
        return NetworkClient(
            transport: transport,
            interceptors: [authenticator] + (request.retries > 0 ? [retries] : []),
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
        try await output.print(response, to: file)
        try output.check(response, name: self.request.name)
    }

    /// The response, whatever its status is.
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

    /// Why a token was refused.
    private static func words(_ refusal: OAuth2Error) -> String {
        let scope = refusal.demand?.scope.joined(separator: " ") ?? ""
        return switch refusal.code {
        case .insufficientScope:
            "the token's scope is not enough" + (scope.isEmpty ? "" : ": the API wants --scope '\(scope)'")
        case .stepUpRequired: "the API wants the user to authenticate anew"
        default: refusal.message
        }
    }

    private func failure(_ error: NetworkError) -> CommandFailure {
        if let cause = error.cause as? OAuth2Error { return CommandFailure(cause, at: token.server.name) }
        let advice = error.tlsFailure == .untrustedChain ? "; to name its root: --roots FILE" : ""
        return CommandFailure(.failed, "\(request.name): \(error.message)\(advice)", cause: error)
    }
}

/// The tokens of a process that sends one request.
///
/// They come without their expiry, so that none is replaced in the background: the process could end in the middle of that, and lose the
/// refresh token that follows.
private struct RequestTokenSource: TokenSource {
    private let source: LastingTokenSource

    init(_ source: LastingTokenSource) {
        self.source = source
    }

    func token(for need: TokenRequirements) async throws -> AccessToken {
        let token = try await source.token(for: need)
        return AccessToken(
            value: token.value,
            type: token.type,
            scope: token.scope,
            expiry: nil,
            requested: token.requested,
            proofGenerator: token.proofGenerator,
            isFound: token.isFound
        )
    }
}
