public import Foundation
public import Networking

/// The environment variables, clocks and network that sources of platform tokens use.
///
/// The defaults are those of the process. Tests pass their own:
///
/// ```swift
/// let environment = WorkloadEnvironment(
///     variable: { ["CI_TOKEN": token][$0] },
///     timeSource: time.timeSource
/// )
/// ```
///
/// A source that requests tokens repeats a request up to four times, for at most 30 seconds, if the
/// endpoint can't be reached, is overloaded or fails. Each request can fail with a
/// ``WorkloadIdentityError``: `insecureEndpoint`, `platformUnavailable`, `platformRejected`,
/// `invalidResponse`, `tooLarge`, `malformedToken`, `expiredToken`, `rejectedToken`, or
/// `wrongAudience` for a token with an audience.
public struct WorkloadEnvironment: Sendable {
    /// Returns the value of an environment variable, or `nil` if it isn't set.
    let variable: @Sendable (String) -> String?
    let timeSource: TimeSource
    let random: @Sendable () -> Double
    /// The given transport, if any.
    let transport: (any HTTPTransport)?

    /// Creates an environment.
    ///
    /// - Parameters:
    ///   - variable: Returns the value of an environment variable. The default reads the process's
    ///     environment.
    ///   - timeSource: The source of time.
    ///   - transport: The transport for requests to the platform's endpoints. The default is a
    ///     `CurlTransport` without a proxy, which connects within two seconds. Pass one with a
    ///     proxy only if an endpoint outside the machine needs it, such as GitHub's from a
    ///     self-hosted runner.
    ///   - random: The source of random numbers from 0 through 1, which spread retries.
    public init(
        variable: @escaping @Sendable (String) -> String? = { ProcessInfo.processInfo.environment[$0] },
        timeSource: TimeSource = .system,
        transport: (any HTTPTransport)? = nil,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.variable = variable
        self.timeSource = timeSource
        self.transport = transport
        self.random = random
    }

    /// Returns the transport for requests to the platform.
    ///
    /// - Throws: `NetworkError` with the code `transportUnavailable` if libcurl can't be used.
    func platformTransport() throws(NetworkError) -> any HTTPTransport {
        if let transport { return transport }
        return try Self.direct.get()
    }

    /// The transport of all sources of the process.
    ///
    /// A proxy must not see the tokens of metadata services. An address that doesn't answer
    /// shouldn't delay the start.
    private static let direct = Result { () throws(NetworkError) in
        try CurlTransport(configuration: directConfiguration)
    }

    static var directConfiguration: CurlTransport.Configuration {
        .init(connectTimeout: .seconds(2), maximumConnections: 8, proxy: .none)
    }

    /// Returns the value of a variable that must be set.
    func value(of name: String, advice: String) throws(WorkloadIdentityError) -> String {
        guard let value = variable(name), !value.isEmpty else {
            throw WorkloadIdentityError(.notConfigured, "\(name) isn't set; \(advice)")
        }
        return value
    }
}
