import Foundation
import MockNetworking
import Networking
import TestSupport

/// The ways in which a test divides a body into parts.
enum StreamParts {
    /// Returns the whole data, single bytes, and two parts for every split.
    static func all(_ data: Data) -> [[Data]] {
        [[data], data.map { Data([$0]) }] + (1..<max(2, data.count)).map { [data.prefix($0), data.dropFirst($0)] }
    }

    /// Returns parts with random sizes.
    static func random(_ data: Data, seed: UInt64, upTo size: Int) -> [Data] {
        var random = SplitMix(state: seed)
        var rest = data
        var parts: [Data] = []
        while !rest.isEmpty {
            let count = 1 + Int(random.next() % UInt64(size))
            parts.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return parts
    }
}

extension HTTPResponseBody {
    /// Creates a body that is received in the given parts.
    convenience init(parts: [Data]) {
        self.init { deliver in
            for part in parts { try await deliver(part) }
            return [:]
        }
    }
}

extension AsyncSequence {
    /// Returns all elements.
    func collected() async throws -> [Element] {
        var all: [Element] = []
        for try await element in self { all.append(element) }
        return all
    }
}

extension MockTransport.Step {
    /// The end of a mock's event stream.
    enum StreamEnding: Sendable {
        case orderly
        case lost
        case never
        case custom(@Sendable () async throws -> Void)
    }

    /// Returns a response with an event stream.
    static func events(_ text: String, ending: StreamEnding = .orderly, status: Int = 200) -> Self {
        let body = HTTPResponseBody { deliver in
            try await deliver(Data(text.utf8))
            switch ending {
            case .orderly: break
            case .lost: throw NetworkError(.connectionLost, "lost")
            case .never: try await ResponseGate().wait()
            case .custom(let work): try await work()
            }
            return [:]
        }
        return .response(
            HTTPTransportResponse(status: status, headers: ["Content-Type": "text/event-stream"], stream: body)
        )
    }
}
