import Foundation
import Networking

/// The options that say what is sent.
struct RequestOptions: Sendable {
    static let section = "Request"

    static let api = Option<ServiceURL>(
        "api",
        value: "URL",
        isRepeatable: true,
        section: section,
        """
        An API that the token is for: it is sent to no other origin (default: URL's); if there is one, URL can be a path at \
        its origin
        """
    )
    private static let header = Option<HeaderField>(
        "header",
        short: "H",
        value: "NAME: VALUE",
        isRepeatable: true,
        section: section,
        "A header field, or @FILE for a file with one on each line"
    )
    private static let data = Option<BodySource>(
        "data",
        short: "d",
        value: "TEXT|@FILE",
        section: section,
        "The body: a text, a file or, with @-, standard input; a form unless the header says otherwise"
    )
    private static let json = Option<BodySource>(
        "json-body",
        value: "TEXT|@FILE",
        section: section,
        "The body, which must be JSON, from the same places"
    )
    private static let follows = Flag(
        "location",
        short: "L",
        section: section,
        "Follow redirects, up to 10; to another origin without the token and without header fields of yours"
    )
    private static let retries = Option<Count>(
        "retry",
        value: "COUNT",
        section: section,
        """
        Repeat what is safe to repeat so often after 408, 429, 5xx and failures of the network, with growing pauses or when \
        the server asks for it (default: 0)
        """
    )
    private static let timeout = Option<TimeSpan>(
        "timeout",
        value: "DURATION",
        section: section,
        "The longest time for everything (default: none, but a minute without an octet is the end)"
    )

    /// What a profile may say about requests.
    static let members = [ProfileMember(api), ProfileMember(timeout), ProfileMember(retries)]

    static let options = [
        header.definition, data.definition, json.definition, follows.definition, retries.definition,
        timeout.definition, api.definition,
    ]

    let method: HTTPMethod
    let url: URL
    /// How messages call the URL: without its query.
    let name: String
    /// URLs of the origins that get the token.
    let origins: [URL]
    let retries: Int
    let timeout: Duration?
    private let headers: [HeaderField]
    private let data: BodySource?
    private let json: BodySource?
    private let follows: Bool

    /// - Parameter arguments: The command line with what a profile adds to it.
    /// - Throws: ``UsageError``.
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
        timeout = try arguments.value(of: Self.timeout).map { .seconds($0.seconds) }
        if data != nil, json != nil {
            throw arguments.usageError("--data and --json-body exclude each other: there is one body")
        }
    }

    /// The method; `nil` if there is only a URL.
    private static func method(_ arguments: ParsedArguments) throws(UsageError) -> HTTPMethod? {
        let text = arguments.operands.first ?? ""
        let method = HTTPMethod(text)
        guard arguments.operands.count > 1 else {
            // A URL has characters that no method has.
            if method != nil { throw arguments.usageError("URL is missing") }
            return nil
        }
        guard let method, text.utf8.allSatisfy({ !(0x61...0x7A).contains($0) }) else {
            throw arguments.usageError("METHOD must be in upper case, such as GET")
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
                    throw ValueError(message: "is a path, and there are several APIs: give the whole URL")
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
            throw arguments.usageError("the token is for \(names) alone; --api URL says that it is for others, too")
        }
        return target
    }

    /// How many of the options read standard input.
    var standardInputReaders: Int {
        ([data, json].map { $0?.isStandardInput ?? false } + headers.map(\.isStandardInput)).count { $0 }
    }

    /// The body, if there is one.
    ///
    /// - Throws: ``CommandFailure``.
    func body() throws(CommandFailure) -> HTTPBody? {
        if let json { return try json.jsonBody() }
        return try data.map { data throws(CommandFailure) in try data.body() }
    }

    /// The header fields.
    ///
    /// - Throws: ``CommandFailure`` if there is one that this command sets, or a file of them can't be used.
    func fields() throws(CommandFailure) -> HTTPHeaders {
        var fields = HTTPHeaders()
        for field in try headers.map({ header throws(CommandFailure) in try header.fields() }).joined() {
            fields.append(name: field.name, value: field.value)
        }
        for name in ["Authorization", "DPoP"] where fields[name] != nil {
            throw CommandFailure(
                .failed,
                "the header has \(name) already, which is what this command sets; leave it out"
            )
        }
        if fields["Content-Type"] == nil {
            if json != nil { fields["Content-Type"] = "application/json" }
            if data != nil { fields["Content-Type"] = FormURLEncoded.contentType }
        }
        return fields
    }

    /// Which redirects are followed.
    ///
    /// What the user sends beside the token may be a secret as well, so that only fields which never are go to other origins.
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
