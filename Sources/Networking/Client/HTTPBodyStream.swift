import Foundation
import FoundationNetworking

/// The way of a body that is not in memory through a `URLRequest`, which has room for data and for a stream only.
///
/// Interceptors that change a copy of the request keep it. It is never read: the transport gets ``body`` itself.
final class HTTPBodyStream: InputStream {
    let body: HTTPBody

    init(_ body: HTTPBody) {
        self.body = body
        super.init(data: Data())
    }
}

extension URLRequest {
    /// The request with a body that interceptors can see; the same request without one.
    func carrying(_ body: HTTPBody?) -> Self {
        guard let body else { return self }
        var copy = self
        copy.setBody(body)
        return copy
    }

    /// Makes the request carry a body of any kind.
    ///
    /// - Parameter body: The body.
    mutating func setBody(_ body: HTTPBody) {
        switch body.source {
        case .none: httpBody = nil
        case .data(let data): httpBody = data
        case .file, .stream: httpBodyStream = HTTPBodyStream(body)
        }
    }
}
