import Foundation
import Glibc
import Networking
import TokenGeneration

struct RequestOptions: Sendable {
    static let api = Option<ServiceURL>(
        "api",
        isRepeatable: true,
        """
        An API for the token, which is sent to no other origin (default: the origin of URL). With a single API, URL \
        can be a path
        """
    )
    private static let method = Option<String>("request", short: "X", value: "METHOD")
    private static let verbose = Flag("verbose", short: "v")
    private static let header = Option<HeaderField>("header", short: "H", value: "NAME: VALUE", isRepeatable: true)
    private static let data = Option<BodySource>("data", short: "d")
    private static let json = Option<BodySource>("json-body")
    private static let follows = Flag("location", short: "L")
    private static let retries = Option<Int>(
        "retry",
        value: "COUNT",
        in: 0...100,
        """
        The maximum number of retries, for safe requests, after 408, 429, 5xx and network failures, with exponential \
        backoff or as the server requests (default: 0)
        """
    )
    private static let timeout = Option<TimeSpan>(
        "timeout",
        "The total timeout (default: none, but the request fails after a minute without data)"
    )

    static let members =
        [api.definition, timeout.definition, retries.definition] + SignatureOptions.members + AWSOptions.members

    static let options = OptionDefinition.table([
        method: "The request method, instead of the argument METHOD",
        header: "A header field, or @FILE to read one field per line",
        data: "The body: text, a file or, with @-, standard input; sent as a form unless you set Content-Type",
        json: "The body, which must be JSON, from the same sources",
        follows: "Follow up to 10 redirects; other origins receive neither the token nor your header fields",
        retries: nil,
        timeout: nil,
        api: nil,
        verbose: "Show each request and response on standard error, without secrets and bodies",
    ])

    let method: HTTPMethod
    let url: URL
    /// The URL without its query, for messages.
    let name: String
    let origins: [URL]
    private let arguments: ParsedArguments

    var retries: Int { arguments.value(of: Self.retries) ?? 0 }
    var timeout: Duration? { arguments.value(of: Self.timeout)?.duration }
    var isVerbose: Bool { arguments.contains(Self.verbose) }
    private var headers: [HeaderField] { arguments.values(of: Self.header) }
    private var data: BodySource? { arguments.value(of: Self.data) }
    private var json: BodySource? { arguments.value(of: Self.json) }

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        let hasBody = arguments.contains([Self.data.definition, Self.json.definition])
        method = try Self.method(arguments) ?? (hasBody ? .post : .get)
        let apis = arguments.values(of: Self.api)
        let target = try Self.target(arguments, apis)
        url = target.url
        name = target.name
        origins = apis.isEmpty ? [target.url] : apis.map(\.url)
        if data != nil, json != nil {
            throw arguments.usageError("--data and --json-body can't be combined: a request has one body")
        }
    }

    private static func method(_ arguments: ParsedArguments) throws(UsageError) -> HTTPMethod? {
        let stated = arguments.value(of: method)
        let first = arguments.operands.first ?? ""
        if arguments.operands.count > 1 {
            guard stated == nil else { throw arguments.usageError("--request and METHOD can't be combined") }
            guard !first.contains("://") else {
                throw arguments.usageError("URL must be the last argument; pass a body with --data or --json-body")
            }
            return try checked(first, "METHOD", arguments)
        }
        if let stated { return try checked(stated, "--request", arguments) }
        // The only operand is the URL, unless it's a method.
        let names = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]
        let isMethod = names.contains { first.isExactlyIgnoringASCIICase($0) } || first.isEmpty
        if isMethod { throw arguments.usageError("URL is missing") }
        return nil
    }

    private static func checked(
        _ text: String,
        _ name: String,
        _ arguments: ParsedArguments
    ) throws(UsageError) -> HTTPMethod {
        guard let method = HTTPMethod(text), text.utf8.allSatisfy({ !(0x61...0x7A).contains($0) }) else {
            throw arguments.usageError("\(name) must be uppercase, such as GET")
        }
        return method
    }

    private static func target(_ arguments: ParsedArguments, _ apis: [ServiceURL]) throws(UsageError) -> ServiceURL {
        let text = arguments.operands.last ?? ""
        let target: ServiceURL
        if !text.hasPrefix("/") {
            target = try arguments.parse(text, named: "URL")
        } else if apis.count == 1, let origin = HTTPOrigin(apis[0].url) {
            target = try arguments.parse("\(origin.scheme)://\(origin)\(text)", named: "URL")
        } else {
            throw arguments.usageError(
                apis.isEmpty
                    ? "URL is a path, which needs --api URL; or pass the full URL"
                    : "URL is a path, but there are several APIs; pass the full URL"
            )
        }
        guard apis.isEmpty || apis.contains(where: { HTTPOrigin($0.url) == HTTPOrigin(target.url) }) else {
            let names = apis.map(\.name).joined(separator: ", ")
            throw arguments.usageError("the token is only for \(names); use --api URL to allow another API")
        }
        return target
    }

    var standardInputReaders: Int {
        ([data, json].map { $0?.isStandardInput ?? false } + headers.map(\.isStandardInput)).count { $0 }
    }

    func body() throws(CommandFailure) -> HTTPBody? {
        if let json { return try json.jsonBody() }
        return try data.map { data throws(CommandFailure) in try data.body() }
    }

    /// Returns the header fields, and the names of those whose values `--verbose` hides.
    ///
    /// Those are from files. Each file is read once, because standard input and pipes have nothing
    /// to read again.
    func fields(setsAuthorization: Bool) throws(CommandFailure) -> (fields: HTTPHeaders, hiddenNames: [String]) {
        var fields = HTTPHeaders()
        var hiddenNames: [String] = []
        for header in headers {
            for field in try header.fields() {
                fields.append(name: field.name, value: field.value)
                if header.isFile { hiddenNames.append(field.name) }
            }
        }
        for name in ["Authorization", "DPoP"] where setsAuthorization && fields[name] != nil {
            throw CommandFailure(.failed, "the command sets \(name) itself; remove this header field")
        }
        if fields["Content-Type"] == nil {
            if json != nil { fields["Content-Type"] = "application/json" }
            if data != nil { fields["Content-Type"] = FormURLEncoded.contentType }
        }
        return (fields, hiddenNames)
    }

    /// Returns the redirect policy, by which only fields that never are secrets reach other
    /// origins.
    func redirects(_ fields: HTTPHeaders) -> RedirectPolicy {
        guard arguments.contains(Self.follows) else { return .never }
        var policy = RedirectPolicy.follow
        let plain = ["Accept", "Accept-Language", "User-Agent"]
        policy.sensitiveHeaders = Set(fields.map(\.name)).filter { name in
            !plain.contains { $0.lowercased() == name.lowercased() } && !name.lowercased().hasPrefix("content-")
        }
        return policy
    }
}

struct ResponseOutput: Sendable {
    private static let out = OutputFile.option()
    private static let force = Flag("force")
    private static let includesHead = Flag("include", short: "i")
    private static let fails = Flag("fail", short: "f")
    private static let failsWithBody = Flag("fail-with-body")

    static let options = OptionDefinition.table([
        out: "The output file for the body, created only when the body is complete (default: standard output)",
        force: "Replace an existing file",
        includesHead: "Print the status and the header fields before the body",
        fails: "Treat a status of 400 or more as a failure: exit with 1 and discard the body",
        failsWithBody: "Like --fail, but print the body",
    ])

    private static let heldLimit = 64 << 20

    private let arguments: ParsedArguments
    private let console: Console

    private var out: OutputFile { arguments.value(of: Self.out) ?? .standardOutput }
    private var force: Bool { arguments.contains(Self.force) }
    private var fails: Bool { arguments.contains(Self.fails) }
    private var failsWithBody: Bool { arguments.contains(Self.failsWithBody) }

    init(_ arguments: ParsedArguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        try arguments.reject([
            "--fail and --fail-with-body can't be combined": fails && failsWithBody,
            "--force requires --out FILE": force && out.isStandardOutput,
        ])
    }

    func file() throws(CommandFailure) -> StagedFile? {
        out.isStandardOutput ? nil : try StagedFile(path: out.path, mode: 0o644, replaces: force)
    }

    func wantsBody(_ head: HTTPResponse) -> Bool { !(fails && head.status >= 400) }

    /// Prints a response, and holds back a body until it's verified.
    func print(_ head: HTTPResponse, to file: borrowing StagedFile?, verifiesBody: Bool) async throws {
        let isHeld = console.writesJSON || verifiesBody || FileDescriptor.standard(STDOUT_FILENO).isTerminal
        if arguments.contains(Self.includesHead), !console.writesJSON {
            try console.print(Self.text(of: head), terminator: "")
        }
        var held = Data()
        if wantsBody(head) {
            for try await part in head.stream {
                switch file {
                case .some(let file): try file.append(Array(part))
                case .none where isHeld:
                    held.append(part)
                    guard held.count <= Self.heldLimit else {
                        throw CommandFailure(.failed, "the body is larger than 64 MiB; use --out FILE")
                    }
                case .none: try console.write(Array(part))
                }
            }
        }
        if console.writesJSON {
            try console.print(json(of: head, out.isStandardOutput && wantsBody(head) ? held : nil))
        } else if isHeld, !held.isEmpty {
            try console.show(content: held, "body", advice: "use --out FILE or a pipe")
        }
        if wantsBody(head) { try file?.commit() }
    }

    func check(_ head: HTTPResponse, name: String) throws(CommandFailure) {
        guard fails || failsWithBody, head.status >= 400 else { return }
        throw CommandFailure(
            .rejected,
            "\(name): the server responded with \(head.status)",
            cause: ServerError(endpoint: nil, errorCode: head.status)
        )
    }

    private func json(of head: HTTPResponse, _ body: Data?) -> JSONObject {
        var result: JSONObject = [
            "status": .number(JSONNumber(head.status)), "version": .string(head.version),
            "url": .string(head.url.absoluteString),
            "headers": .array(head.headers.map { .object(["name": .string($0.name), "value": .string($0.value)]) }),
        ]
        guard let body else { return result }
        if let text = String(validating: body, as: UTF8.self) {
            result["body"] = .string(text)
        } else {
            result["bodyBase64"] = .string(body.base64EncodedString())
        }
        return result
    }

    private static func text(of head: HTTPResponse) -> String {
        let fields = head.headers.map { VisibleText.line("\($0.name): \($0.value)") + "\n" }.joined()
        return "\(head.version) \(head.status)\n\(fields)\n"
    }
}
