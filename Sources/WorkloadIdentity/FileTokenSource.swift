import Foundation
import Glibc
import Networking
public import OAuth2

/// A token source that reads a file which another program replaces, such as an agent or a sidecar.
///
/// ```swift
/// let source = FileTokenSource(
///     path: "/run/identity/token",
///     audience: "https://as.example"
/// )
/// ```
///
/// The file is opened by its path for each token, so that a replaced file takes effect at once. It
/// contains one token of at most 64 KiB, with optional white space around it. The source refuses
/// a file that other users may write to, a token for another audience and an expired one.
///
/// While the file is being replaced, a read can fail. The source reads a missing file once more at
/// once, and an empty or incomplete one once more after 100 milliseconds.
///
/// Don't wrap the source in a `CachedTokenSource`; cache the tokens that you exchange for it.
public struct FileTokenSource: TokenSource {
    private let path: String
    private let missing: String
    /// Returns the token's text in the file's content.
    var text: @Sendable ([UInt8]) throws(WorkloadIdentityError) -> [UInt8] = { content in content }
    private let rules: PlatformToken
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - type: The type of the token. The default is a JWT. A token of the type `accessToken`
    ///     can be sent in requests; others are only for token requests.
    ///   - audience: The audience that a JWT must have. The default, `nil`, accepts any. Name the
    ///     server that gets the token.
    ///   - environment: The clocks.
    public init(
        path: String,
        type: TokenType = .jwt,
        audience: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.init(
            path: path,
            form: [.jwt, .idToken].contains(type) ? .jwt : .opaque,
            type: type == .accessToken ? AccessToken.bearer : AccessToken.notApplicable,
            audience: audience,
            missing: "check the path and the program that writes it",
            audienceAdvice: "configure the program that writes the file, or check the audience",
            environment
        )
    }

    init(
        path: String,
        form: PlatformToken.Form,
        type: String = AccessToken.notApplicable,
        audience: String? = nil,
        missing: String,
        audienceAdvice: String = "",
        _ environment: WorkloadEnvironment
    ) {
        self.path = path
        self.missing = missing
        self.environment = environment
        rules = PlatformToken(
            origin: "“\(path)”",
            step: .read,
            form: form,
            type: type,
            audience: audience,
            audienceAdvice: audienceAdvice
        )
    }

    /// Reads the token that the file contains now.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured`, `unreadableFile`,
    ///   `insecureFile`, `tooLarge`, `malformedToken`, `wrongAudience` or `expiredToken`;
    ///   `rejectedToken` if the requirements rule the file's token out.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        var retried: Set<WorkloadIdentityError.Code> = []
        while true {
            try Task.checkCancellation()
            do {
                let content = try await BlockingWork.value { [path, missing] in
                    try PlatformFile.read(path, missing: missing)
                }
                return try rules.accessToken(in: text(content), for: requirements, environment.timeSource)
            } catch let error as WorkloadIdentityError {
                guard [.notConfigured, .malformedToken].contains(error.code), retried.insert(error.code).inserted
                else { throw error }
                if error.code == .malformedToken { try await environment.timeSource.sleep(.milliseconds(100)) }
            }
        }
    }
}

/// A token source for a SPIFFE identity document that `spiffe-helper` or another agent writes to a
/// file ([JWT-SVID](https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md)).
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: .signedAssertion(
///         clientID: "spiffe://example.org/reports",
///         assertion: SPIFFEFileSource(
///             audience: "https://as.example",
///             path: "/run/spiffe/jwt_svid.token"
///         ),
///         type: .jwtSPIFFE
///     )
/// )
/// ```
///
/// The file must contain only the JWT, with a SPIFFE ID as its subject, an audience, an expiry and
/// a signature of the family RS, PS or ES.
public struct SPIFFEFileSource: TokenSource {
    private let file: FileTokenSource

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - audience: The audience that the agent requests.
    ///   - path: The path of the file.
    ///   - environment: The clocks.
    public init(audience: String, path: String, environment: WorkloadEnvironment = WorkloadEnvironment()) {
        file = FileTokenSource(
            path: path,
            form: .svid,
            audience: audience,
            missing: """
                check that the agent runs; spiffe-helper writes the file with “jwt_svids = [{ jwt_audience = \
                "\(audience)", jwt_svid_file_name = … }]”
                """,
            audienceAdvice: "set “jwt_audience” in the configuration of spiffe-helper to it",
            environment
        )
    }

    /// Reads the document, as ``FileTokenSource`` does.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await file.token(for: requirements)
    }
}

/// A token source that reads an environment variable.
///
/// The variable is read for each token. Its value doesn't change while the process runs, so the
/// source can't replace a token.
public struct EnvironmentTokenSource: TokenSource {
    private let variable: String
    private let missing: String
    private let rules: PlatformToken
    private let environment: WorkloadEnvironment

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - variable: The name of the variable.
    ///   - type: The type of the token. The default is a JWT. A token of the type `accessToken`
    ///     can be sent in requests; others are only for token requests.
    ///   - audience: The audience that a JWT must have. The default, `nil`, accepts any. Name the
    ///     server that gets the token.
    ///   - environment: The variables and clocks.
    public init(
        _ variable: String,
        type: TokenType = .jwt,
        audience: String? = nil,
        environment: WorkloadEnvironment = WorkloadEnvironment()
    ) {
        self.init(
            variable,
            form: [.jwt, .idToken].contains(type) ? .jwt : .opaque,
            type: type == .accessToken ? AccessToken.bearer : AccessToken.notApplicable,
            audience: audience,
            missing: "set it to the token",
            audienceAdvice: "check the audience, and what sets the variable",
            expiryAdvice: "the process can't get another one; start it with a new token",
            environment
        )
    }

    init(
        _ variable: String,
        form: PlatformToken.Form,
        type: String = AccessToken.notApplicable,
        audience: String?,
        missing: String,
        audienceAdvice: String,
        expiryAdvice: String,
        _ environment: WorkloadEnvironment
    ) {
        self.variable = variable
        self.missing = missing
        self.environment = environment
        rules = PlatformToken(
            origin: variable,
            step: .read,
            form: form,
            type: type,
            audience: audience,
            audienceAdvice: audienceAdvice,
            expiryAdvice: expiryAdvice
        )
    }

    /// Always `false`.
    public var canReplaceTokens: Bool { false }

    /// Reads the token in the variable.
    ///
    /// - Throws: ``WorkloadIdentityError`` with the code `notConfigured`, `tooLarge`,
    ///   `malformedToken`, `wrongAudience` or `expiredToken`; `rejectedToken` if the requirements
    ///   rule the token out.
    public func token(for requirements: TokenRequirements) throws -> AccessToken {
        let value = try environment.value(of: variable, advice: missing)
        return try rules.accessToken(in: Array(value.utf8), for: requirements, environment.timeSource)
    }
}

enum PlatformFile {
    /// Symbolic links are followed, because Kubernetes replaces files by replacing a link.
    ///
    /// `missing` is the way to get a missing file.
    static func read(
        _ path: String,
        missing: String,
        maximumSize: Int = PlatformToken.maximumSize
    ) throws(WorkloadIdentityError) -> [UInt8] {
        // A pipe without a writer would otherwise block.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw failure(errno, path, missing) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure(errno, path, missing) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw WorkloadIdentityError(.unreadableFile, "“\(path)” isn't a regular file; check the path")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw WorkloadIdentityError(
                .insecureFile,
                "“\(path)” is writable by other users, who could replace the token; run chmod go-w on it"
            )
        }
        guard let content = TokenFile.content(of: descriptor, limit: maximumSize) else {
            throw failure(errno, path, missing)
        }
        guard content.count <= maximumSize else {
            throw WorkloadIdentityError(
                .tooLarge,
                "“\(path)” is larger than \(maximumSize) bytes; check that it contains only a token"
            )
        }
        return content
    }

    private static func failure(_ number: Int32, _ path: String, _ missing: String) -> WorkloadIdentityError {
        let cause = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        if [ENOENT, ENOTDIR].contains(number) {
            return WorkloadIdentityError(.notConfigured, "“\(path)” doesn't exist; \(missing)", cause: cause)
        }
        let problem =
            [EACCES, EPERM].contains(number)
            ? "this process may not read “\(path)”; check the file's owner and group and those of the process"
            : "“\(path)” can't be read (error \(number))"
        return WorkloadIdentityError(.unreadableFile, problem, cause: cause)
    }
}
