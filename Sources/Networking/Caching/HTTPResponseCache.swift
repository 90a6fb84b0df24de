public import Foundation

/// A storage for the responses of ``CacheInterceptor``.
///
/// The interceptor decides which responses to store and use. A storage only keeps them, and can
/// drop any response at any time. It must be bounded.
public protocol HTTPResponseCache: Sendable {
    /// Returns the responses stored for a key, with all their variants.
    ///
    /// - Parameter key: The key. It contains no secrets, unless the URL does.
    /// - Returns: The responses, in any order.
    func responses(for key: CacheKey) async -> [CachedResponse]

    /// Stores a response, replacing one with the same key, `varyingFields` and `variant`.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - key: The key.
    func store(_ response: CachedResponse, for key: CacheKey) async

    /// Removes all responses for a URL, of all credentials.
    ///
    /// - Parameter url: The ``CacheKey/url`` of their keys.
    func removeResponses(forURL url: String) async
}

/// A response in a cache.
public struct CachedResponse: Sendable {
    /// The response, without the header fields of its connection.
    public var response: HTTPResponse
    /// The time at which the request was sent, by the clock of this machine.
    public var requestTime: Date
    /// The time at which the response arrived, by the clock of this machine.
    public var responseTime: Date
    /// The sorted lowercase names in the response's `Vary`.
    public var varyingFields: [String]
    /// A digest of the request's values of the ``varyingFields``; empty without such fields.
    public var variant: String

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - requestTime: The time at which the request was sent.
    ///   - responseTime: The time at which the response arrived.
    ///   - varyingFields: The sorted lowercase names in the response's `Vary`.
    ///   - variant: A digest of the request's values of these fields.
    public init(
        response: HTTPResponse,
        requestTime: Date,
        responseTime: Date,
        varyingFields: [String] = [],
        variant: String = ""
    ) {
        self.response = response
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.varyingFields = varyingFields
        self.variant = variant
    }
}
