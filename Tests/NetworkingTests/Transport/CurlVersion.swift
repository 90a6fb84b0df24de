@testable import Networking

extension CurlLibrary {
    /// The numbers of libcurl's version, such as `[8, 5, 0]`.
    private static let numbers = (try? loaded.get().version)?.split(separator: ".").compactMap { Int($0) } ?? []

    /// A Boolean value that indicates whether libcurl begins with IPv6 even if an IPv4 address
    /// comes first.
    ///
    /// 8.14 does, and 8.5 doesn't. The versions between weren't tried.
    static let beginsWithIPv6 = !numbers.lexicographicallyPrecedes([8, 6])

    /// A Boolean value that indicates whether libcurl waits forever: after a violation of HTTP/2,
    /// after the end of an early response with status 200 while a producer is waiting, and with a
    /// header of the request that the socket doesn't take at once.
    ///
    /// 8.5 does, and 7.88 and 8.14 don't. The versions between weren't tried.
    static let waitsForever = !losesEarlyAnswers && numbers.lexicographicallyPrecedes([8, 14])
}
