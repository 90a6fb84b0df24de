public import Foundation
public import FoundationNetworking

extension URLRequest {
    /// The octets of the body, wherever Foundation keeps them.
    ///
    /// A body stream is read to its end, which uses it up. Otherwise it is `httpBody`, where Foundation on Linux leaves
    /// the body even when a `URLProtocol` loads the request.
    ///
    /// - Returns: The octets; `nil` if there is no body or its stream fails.
    public func httpBodyData() -> Data? {
        guard let stream = httpBodyStream else { return httpBody }
        stream.open()
        defer { stream.close() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
                unsafe buffer.baseAddress.map { unsafe stream.read($0, maxLength: buffer.count) } ?? -1
            }
            // Part of a body would pass for all of it.
            guard count >= 0 else { return nil }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer.prefix(count))
        }
    }
}
