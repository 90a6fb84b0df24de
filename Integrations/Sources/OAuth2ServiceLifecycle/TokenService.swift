import ClientLogging
public import Logging
import Networking
public import OAuth2
public import ServiceLifecycle

/// A client's tokens as a service: it gets the first token while the other services start.
///
/// ```swift
/// let tokens = TokenService(authenticator, logger: logger)
/// try await ServiceGroup(services: [tokens, server], logger: logger).run()
/// ```
///
/// - Start: The service doesn't delay the others. It gets a token, so that the first request
///   doesn't wait for the discovery and the token request. If that fails, it tries again, until it
///   succeeds or the reason needs a change of the configuration.
/// - Logs: A failure is one line, `oauth2.token.refresh_failed` with `error.type` and
///   `error.message`. If the client has a `LoggingObserver`, that logs it, and the service only at
///   the level `debug`.
/// - Health: ``checkHealth(within:)`` throws if a token isn't available. A valid token in memory is
///   healthy even if the authorization server is down.
/// - Graceful shutdown: The service stops trying, and ends. Requests can use the authenticator
///   until the last of them has ended.
public struct TokenService: Service {
    private let authenticator: OAuth2Authenticator
    private let logger: Logger
    private let delays: Delays

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - authenticator: The authenticator of the client whose tokens the service gets.
    ///   - logger: The logger.
    public init(_ authenticator: OAuth2Authenticator, logger: Logger) {
        self.init(authenticator, logger: logger, delays: Delays())
    }

    init(_ authenticator: OAuth2Authenticator, logger: Logger, delays: Delays) {
        self.authenticator = authenticator
        self.logger = logger
        self.delays = delays
    }

    /// Gets the first token, and runs until the graceful shutdown.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    public func run() async throws {
        await cancelWhenGracefulShutdown { await getFirstToken() }
        try await gracefulShutdown()
    }

    /// Checks that a token is available, for a readiness probe.
    ///
    /// - Parameter timeout: The maximum time to wait for a token request. The default is a second.
    /// - Throws: `OAuth2Error` if a token isn't available; `NetworkError` with the code `timedOut`
    ///   if the authorization server doesn't respond in time.
    public func checkHealth(within timeout: Duration = .seconds(1)) async throws {
        _ = try await authenticator.accessToken(until: .now + timeout)
    }

    private func getFirstToken() async {
        // The observer of the authenticator's client has logged the failure.
        let isLogged = authenticator.observers.contains { $0 is LoggingObserver }
        var failures = 0
        while !Task.isCancelled {
            do {
                _ = try await authenticator.accessToken()
                return logger.info("the first access token is available")
            } catch {
                if Task.isCancelled || error is CancellationError { return }
                failures += 1
                let (code, wait) = delays.next(after: error, failures: failures)
                var metadata: Logger.Metadata = ["error.message": "\(error)"]
                metadata["error.type"] = code.map { "\($0)" }
                metadata["oauth2.token.backoff"] = wait.map { "\($0 / .seconds(1))" }
                let level: Logger.Level = isLogged ? .debug : wait == nil ? .error : .warning
                logger.log(level: level, "oauth2.token.refresh_failed", metadata: metadata)
                guard let wait else { return }
                do { try await delays.sleep(wait) } catch { return }
            }
        }
    }

    /// The delays between attempts to get the first token.
    struct Delays: Sendable {
        /// The codes that another attempt doesn't change.
        private static let permanent: Set<OAuth2Error.Code> = [
            .invalidClient, .requestRejected, .reauthenticationRequired, .invalidIssuer, .issuerMismatch,
            .insecureTransport, .endpointMissing, .unsupportedTokenType,
        ]

        var first = Duration.seconds(1)
        var longest = Duration.seconds(30)
        var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

        func next(after error: any Error, failures: Int) -> (code: OAuth2Error.Code?, wait: Duration?) {
            guard let error = error as? OAuth2Error else { return (nil, delay(failures)) }
            if Self.permanent.contains(error.code) { return (error.code, nil) }
            return (error.code, max(delay(failures), min(error.retryAfter ?? .zero, .seconds(300))))
        }

        private func delay(_ failures: Int) -> Duration { min(first * (1 << min(failures - 1, 10)), longest) }
    }
}
