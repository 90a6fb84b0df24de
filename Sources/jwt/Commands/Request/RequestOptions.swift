import Foundation
import Networking

/// The options that describe the request.
struct RequestOptions: Sendable {
    static let api = Option<ServiceURL>(
        "api",
        isRepeatable: true,
        """
        An API for the token, which is sent to no other origin (default: the origin of URL). With a single API, URL \
        can be a path
        """
    )
    private static let header = Option<HeaderField>(
        "header",
        short: "H",
        value: "NAME: VALUE",
        isRepeatable: true,
        "A header field, or @FILE to read one field per line"
    )
    private static let data = Option<BodySource>(
        "data",
        short: "d",
        "The body: text, a file or, with @-, standard input; sent as a form unless you set Content-Type"
    )
    private static let json = Option<BodySource>("json-body", "The body, which must be JSON, from the same sources")
    private static let follows = Flag(
        "location",
        short: "L",
        "Follow up to 10 redirects; other origins receive neither the token nor your header fields"
    )
    private static let retries = Option<Count>(
        "retry",
        value: "COUNT",
        """
        The maximum number of retries, for safe requests, after 408, 429, 5xx and network failures, with exponential \
        backoff or as the server requests (default: 0)
        """
    )
    private static let timeout = Option<TimeSpan>(
        "timeout",
        "The total timeout (default: none, but the request fails after a minute without data)"
    )

    /// The request options that a profile can set.
    static let members = OptionDefinition.section("Request", [api, timeout, retries]) + SignatureOptions.members

    static let options = OptionDefinition.section("Request", [header, data, json, follows, retries, timeout, api])

    let method: HTTPMethod
    let url: URL
    /// The URL without its query, for messages.
    let name: String
    /// The origins that receive the token, as URLs.
    let origins: [URL]
    let retries: Int
    let timeout: Duration?
    private let headers: [HeaderField]
    private let data: BodySource?
    private let json: BodySource?
    private let follows: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        data = try arguments.value(of: Self.data)
        json = try arguments.value(of: Self.json)
        method = try Self.method(arguments) ?? (data == nil && json == nil ? .get : .post)
        let apis = try arguments.values(of: Self.api)
        let target = try Self.target(arguments, apis)
        url = target.url
        name = target.name
        origins = apis.isEmpty ? [target.url] : apis.map(\.url)
        headers = try arguments.values(of: Self.header)
        follows = arguments.contains(Self.follows)
        retries = try arguments.value(of: Self.retries)?.number ?? 0
        timeout = try arguments.value(of: Self.timeout).map { $0.duration }
        if data != nil, json != nil {
            throw arguments.usageError("--data and --json-body can't be combined: a request has one body")
        }
    }

    /// Returns the method, or `nil` if the command line has only a URL.
    private static func method(_ arguments: ParsedArguments) throws(UsageError) -> HTTPMethod? {
        let text = arguments.operands.first ?? ""
        let method = HTTPMethod(text)
        guard arguments.operands.count > 1 else {
            // A URL contains characters that aren't valid in a method.
            if method != nil { throw arguments.usageError("URL is missing") }
            return nil
        }
        guard let method, text.utf8.allSatisfy({ !(0x61...0x7A).contains($0) }) else {
            throw arguments.usageError("METHOD must be uppercase, such as GET")
        }
        return method
    }

    private static func target(
        _ arguments: ParsedArguments,
        _ apis: [ServiceURL]
    ) throws(UsageError) -> ServiceURL {
        let text = arguments.operands.last ?? ""
        let target: ServiceURL
        do throws(ValueError) {
            if text.hasPrefix("/"), let api = apis.first {
                guard apis.count == 1, let origin = HTTPOrigin(api.url) else {
                    throw ValueError(message: "is a path, but there are several APIs; pass the full URL")
                }
                target = try ServiceURL(argument: "\(origin.scheme)://\(origin)\(text)")
            } else {
                target = try ServiceURL(argument: text)
            }
        } catch {
            throw arguments.usageError("URL \(error.message)")
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

    /// Returns the header fields, of which the command itself sets those of a token.
    func fields(hasToken: Bool) throws(CommandFailure) -> HTTPHeaders {
        var fields = HTTPHeaders()
        for field in try headers.map({ header throws(CommandFailure) in try header.fields() }).joined() {
            fields.append(name: field.name, value: field.value)
        }
        for name in ["Authorization", "DPoP"] where hasToken && fields[name] != nil {
            throw CommandFailure(
                .failed,
                "the command sets \(name) itself; remove this header field"
            )
        }
        if fields["Content-Type"] == nil {
            if json != nil { fields["Content-Type"] = "application/json" }
            if data != nil { fields["Content-Type"] = FormURLEncoded.contentType }
        }
        return fields
    }

    /// Returns the redirect policy.
    ///
    /// Other header fields can be secrets, too, so only fields that never are secrets reach other
    /// origins.
    func redirects(_ fields: HTTPHeaders) -> RedirectPolicy {
        guard follows else { return .never }
        var policy = RedirectPolicy.follow
        let plain = ["Accept", "Accept-Language", "User-Agent"]
        policy.sensitiveHeaders = Set(fields.map(\.name)).filter { name in
            !plain.contains { $0.lowercased() == name.lowercased() } && !name.lowercased().hasPrefix("content-")
        }
        return policy
    }
}
