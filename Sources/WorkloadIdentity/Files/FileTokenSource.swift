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
