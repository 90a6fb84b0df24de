public import Foundation
public import FoundationNetworking

extension URLRequest {
    /// Returns the body, from wherever Foundation stores it.
    ///
    /// This reads a body stream to its end, after which it's used up. Without a stream, the body is
    /// `httpBody`, where Foundation on Linux keeps it even if a `URLProtocol` loads the request.
    ///
    /// - Returns: The body, or `nil` if the request has none or its stream fails.
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
            // A partial body must not pass for the whole one.
            guard count >= 0 else { return nil }
            guard count > 0 else { return data }
            data.append(contentsOf: buffer.prefix(count))
        }
    }
}
