/// The way in which a cache answered a request.
@nonexhaustive
public enum CacheUse: Hashable, Sendable {
    /// A fresh stored response, without a request to the server.
    case fresh
    /// A stored response that the server confirmed with 304.
    case revalidated
    /// A stale stored response, which `stale-while-revalidate` or the request's `max-stale` allows.
    case stale
    /// A stale stored response in place of the server's failure, which `stale-if-error` allows.
    case staleOnError
    /// A generated 504, because the request has `only-if-cached` and no stored response matches.
    case missing
}

extension HTTPResponse {
    /// A Boolean value that indicates whether a server has answered the request.
    var isFromServer: Bool { cacheUse == nil || cacheUse == .revalidated }
}
